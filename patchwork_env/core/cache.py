"""Machine code on disk, which is used until an input of the compilation changes.

Numba's own cache checks only the function's own file, although constants and kernels of other modules are
compiled in, and fails at every start if a file is damaged. Here a kernel has a file for each combination of
argument types. The file begins with a digest of its contents and of all inputs: the bytecode of the function
and of the functions that it calls, and the values that they use in this process. A file with another digest
counts as missing and is replaced. A kernel with inputs that cannot be compared is compiled in every process.

The digest detects damage, not attacks. Since machine code is executed, it is read only from folders and files
that belong to the user or to root and that no other user can write to.
"""

from __future__ import annotations

import builtins
import functools
import hashlib
import inspect
import itertools
import logging
import os
import pickle
import sys
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numba
import numpy as np
from numba import config
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps
from numba.core.typing.templates import builtin_registry

_LOGGER = logging.getLogger(__name__)
_WARNINGS = itertools.count()
_DIGEST_SIZE = hashlib.sha256().digest_size


class DiskCache(NullCache):  # type: ignore[misc]
    """The cache of one function, as Numba's dispatchers call it.

    ``form`` converts the function to picklable values and back; Numba's own form is machine code.
    """

    def __init__(self, dispatcher: Any, form: Any = CompileResult) -> None:
        self._dispatcher, self._form = dispatcher, form

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the function compiled for some types of arguments; None if it must be compiled."""
        try:
            name, kinds = self._file(sig, target_context.codegen())
            origin = self._origin(kinds)
            for folder in self._folders:
                contents = _read(folder / name)
                digest, code = contents[:_DIGEST_SIZE], contents[_DIGEST_SIZE:]
                if digest == _digest(origin, code):
                    target_context.refresh()
                    # The digest has shown that this class wrote it.
                    return self._form._rebuild(target_context, *pickle.loads(code))  # noqa: S301
        except Exception as error:
            _warn(error)
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Store a function compiled for some types of arguments in the first writable folder."""
        if data.library.has_dynamic_globals:
            return  # it holds an address of this process
        try:
            name, kinds = self._file(sig, data.codegen)
            code = dumps(self._form._reduce(data))
            contents = _digest(self._origin(kinds), code) + code
            problem: object = "the user has no home"
            for folder in self._folders:
                try:
                    _write(folder / name, contents)
                    return
                except OSError as error:
                    problem = error
            _warn(problem)
        except Exception as error:
            _warn(error)

    @property
    def _folders(self) -> list[Path]:
        return _folders_for(Path(inspect.getfile(self._dispatcher.py_func)))

    def _file(self, sig: Any, codegen: Any) -> tuple[str, bytes]:
        """Return the name of the file for some types of arguments and this machine, and bytes of both."""
        function = self._dispatcher.py_func
        arguments = sig, list(_classes(getattr(sig, "args", sig)))
        kinds = repr((arguments, codegen.magic_tuple(), bool(config.BOUNDSCHECK), config.OPT)).encode()
        module = function.__module__.rpartition(".")[2]
        name = f"{module}.{function.__qualname__}".replace("<", "").replace(">", "")
        form = type(self._dispatcher).__name__.lower()
        return f"{name}.{form}.{sys.implementation.cache_tag}.{_digest(kinds).hex()[:16]}.nbc", kinds

    def _origin(self, kinds: bytes) -> bytes:
        """Return all inputs of the contents of a file."""
        own = _digest_of_own_code()
        return repr((numba.__version__, own, kinds, list(_contents(self._dispatcher)))).encode()


@functools.cache
def _digest_of_own_code() -> bytes:
    """Return the digest of the modules that compile kernels and write their files."""
    return _digest(*(Path(__file__).with_name(name).read_bytes() for name in ("cache.py", "linking.py")))


def _digest(*parts: bytes) -> bytes:
    return hashlib.sha256(b"".join(parts)).digest()


# --- files ------------------------------------------------------------------------------------------------


def _folders_for(source: Path) -> list[Path]:
    """Return the folders for the machine code of a source file, in order; they need not exist.

    They are ``__pycache__`` beside the source and a folder in the user's cache; with ``NUMBA_CACHE_DIR``,
    only one in that folder.
    """
    folder = source.absolute().parent
    name = f"{folder.name}_{hashlib.sha256(str(folder).encode()).hexdigest()[:16]}"
    if config.CACHE_DIR:
        return [Path(config.CACHE_DIR, name)]
    folders = [folder / "__pycache__"] if folder.is_dir() else []
    with suppress(RuntimeError):  # the user has no home
        users = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "patchwork_env")
        folders.append(users / name)
    return folders


def _is_safe(status: os.stat_result) -> bool:
    """Whether a file or folder belongs to the user or to root, and no other user can write to it."""
    if os.name == "nt":  # its modes do not describe other users
        return True
    return status.st_uid in (0, os.geteuid()) and not status.st_mode & 0o022


def _read(path: Path) -> bytes:
    """Return the contents of a file; empty if it is missing or not safe to read."""
    with suppress(OSError), path.open("rb") as file:
        if _is_safe(path.parent.stat()) and _is_safe(os.fstat(file.fileno())):
            return file.read()
    return b""


def _write(path: Path, contents: bytes) -> None:
    """Replace a file atomically. Other users can read it, but only the user can change it.

    Raises:
        OSError: The folder cannot be written to, or is not safe to read from.
    """
    path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    if not _is_safe(path.parent.stat()):
        raise PermissionError(f"other users can write to {path.parent}")
    partial = path.with_name(f".{path.name}-{os.urandom(4).hex()}")
    try:
        with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644), "wb") as file:
            file.write(contents)
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def _warn(problem: object) -> None:
    """Log once in a process why machine code is not stored, and the remedy."""
    if next(_WARNINGS) == 0:
        _LOGGER.warning(
            "some code is compiled anew in every process: %s; "
            "set NUMBA_CACHE_DIR to a folder that you alone can write to",
            problem,
        )


# --- inputs of the compilation ------------------------------------------------------------------------------

_VERSIONED = {"llvmlite", "numba", "numpy"}
"""Libraries whose functions are described by name: their versions follow Numba's or do not matter."""


def _contents(kernel: Any) -> Iterator[object]:
    """Yield descriptions of a kernel and of all functions that it names, directly or not.

    If the machine code can differ, the ``repr`` of the descriptions differs. They refer to functions by
    number, in the order in which they are found. ValueError for a value that cannot be compared.
    """
    return _Inputs().follow(kernel)


class _Inputs:
    """The inputs of a compilation that were found so far."""

    def __init__(self) -> None:
        self._numbers: dict[FunctionType, int] = {}
        self._following: list[tuple[FunctionType, object]] = []
        self._overloads = _overloads(len(builtin_registry.functions), len(builtin_registry.attributes))

    def follow(self, kernel: Any) -> Iterator[object]:
        self._describe(kernel, ())
        for function, options in self._following:  # the list is extended during the loop
            codes = list(_codes(function.__code__))
            names = {name for code in codes for name in code.co_names}
            values = {name: vars(builtins)[name] for name in names & vars(builtins).keys()}
            values |= {name: function.__globals__[name] for name in names & function.__globals__.keys()}
            values |= inspect.getclosurevars(function).nonlocals
            values |= {"": [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]}
            used = [(name, self._describe(values[name], names)) for name in sorted(values)]
            attributes = sorted(names & self._overloads.keys())
            methods = [(name, self._describe(self._overloads[name], ())) for name in attributes]
            yield options, list(map(_instructions, codes)), used, methods

    def _describe(self, value: Any, names: Collection[str]) -> object:
        """Describe a value; of a module, only its attributes ``names``."""
        implementations = [self._describe(each, names) for each in self._overloads.get(id(value), ())]
        function = inspect.unwrap(value) if callable(value) else value
        if isinstance(function, FunctionType):
            return implementations, self._describe_function(function, value)
        if isinstance(value, ModuleType):
            inside = sorted(vars(value).keys() & names)
            if _is_versioned(value.__name__):
                inside = [name for name in inside if id(vars(value)[name]) in self._overloads]
            return value.__name__, [(name, self._describe(vars(value)[name], names)) for name in inside]
        if isinstance(value, tuple | list):
            return _describe_class(type(value)), [self._describe(each, names) for each in value]
        return implementations, _describe_value(value)

    def _describe_function(self, function: FunctionType, value: Any) -> object:
        if _is_versioned(function.__module__):
            return function.__module__, function.__qualname__
        if function not in self._numbers:
            self._numbers[function] = len(self._numbers)
            self._following.append((function, sorted(getattr(value, "targetoptions", {}).items())))
        return self._numbers[function]


def _describe_value(value: Any) -> object:
    if isinstance(value, type):
        return _describe_class(value)
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return value.dtype, value.shape, value.strides, _digest(value.tobytes())
    if not _is_versioned(type(value).__module__) and type(value).__module__ != "builtins":
        raise ValueError(f"a kernel uses {value!r}, whose changes cannot be detected")
    return type(value).__qualname__, repr(value)


@functools.cache
def _overloads(*registered: int) -> dict[Any, list[FunctionType]]:
    """Return the implementations of ``@overload`` by the ``id()`` of the function that they implement.

    The key of methods and attributes is their name. Numba's own implementations are left out.
    ``registered`` are the numbers of Numba's templates, which only grow; new ones need a new result.
    """
    found: dict[Any, list[FunctionType]] = {}
    for template in (*builtin_registry.functions, *builtin_registry.attributes):
        implementation = getattr(template, "_overload_func", None)
        if implementation and not _is_versioned(implementation.__module__):
            key = getattr(template, "_attr", None) or id(template.key)
            if key != id(implementation):  # Numba also registers methods in this way
                found.setdefault(key, []).append(implementation)
    return found


def _describe_class(kind: type) -> object:
    """Return a description of a class with which kernels can compute; ValueError for other classes."""
    name = kind.__module__, kind.__qualname__
    if issubclass(kind, tuple):
        return name, getattr(kind, "_fields", ()), repr(getattr(kind, "_field_defaults", {}))
    package = kind.__module__.partition(".")[0]
    if package in _VERSIONED | sys.stdlib_module_names or issubclass(kind, BaseException):
        return name
    raise ValueError(f"a kernel uses {kind!r}, whose changes cannot be detected")


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _instructions(code: CodeType) -> object:
    """Return the instructions of a code object, without line numbers."""
    constants = [constant for constant in code.co_consts if not isinstance(constant, CodeType)]
    variables = code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
    counts = code.co_argcount, code.co_kwonlyargcount
    return code.co_name, *counts, code.co_flags, code.co_code, constants, variables


def _classes(kinds: Iterable[Any]) -> Iterator[object]:
    """Yield descriptions of the named tuples and enums among types."""
    for kind in kinds:
        made = getattr(kind, "instance_class", None)
        if made is not None:
            yield _describe_class(made)
        yield from _classes(getattr(kind, "types", ()))


def _is_versioned(module: str | None) -> bool:
    return (module or "").partition(".")[0] in _VERSIONED
