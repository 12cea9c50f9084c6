"""Machine code on disk: kept until what it follows from changes, and never a reason to fail.

Numba's own cache looks for changes in the function's own file alone, but constants and kernels of other
modules are compiled in too; and what its files hold is unpickled and run unseen, so that a damaged one stops
every start. Here a kernel has a file for each combination of types. It begins with a digest of its contents
and of all that they follow from: the bytecode of the function and of all that it calls, and the values that
they use in this process. A file with another digest, outdated or damaged, counts as missing, and is replaced
once the code is compiled.

The digest keeps accidents away, not attackers: whoever may write to the folder can have code run.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import itertools
import logging
import os
import pickle
import sys
import tempfile
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numba
import numpy as np
from numba import config, types
from numba.core.caching import CompileResultCacheImpl, NullCache
from numba.core.serialize import dumps

_LOGGER = logging.getLogger(__name__)
_DIGEST_SIZE = hashlib.sha256().digest_size
_WARNINGS = itertools.count()


class DiskCache(NullCache):  # type: ignore[misc]
    """What Numba asks for the machine code of a function before compiling it, and gives it to afterwards.

    The folder is Numba's: one in that of ``NUMBA_CACHE_DIR``, otherwise ``__pycache__`` beside the source,
    otherwise one of the user. If none can be written, nothing is kept. ``form`` turns what Numba compiles
    into bytes and back.
    """

    def __init__(self, dispatcher: Any, form: type[CompileResultCacheImpl] = CompileResultCacheImpl) -> None:
        self._dispatcher, self._form = dispatcher, form

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The function as compiled for some types of arguments; None if it has to be compiled."""
        try:
            path, kinds = self._file(sig, target_context.codegen())
            contents = path.read_bytes()
            digest, code = contents[:_DIGEST_SIZE], contents[_DIGEST_SIZE:]
            if digest == _digest(self._origin(kinds), code):
                target_context.refresh()
                # The digest has shown that this class wrote it.
                return self._on_disk.rebuild(target_context, pickle.loads(code))  # noqa: S301
        except FileNotFoundError:
            pass
        except Exception as error:
            _warn(error)
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keeps what was compiled for some types of arguments."""
        try:
            if self._on_disk.check_cachable(data):
                path, kinds = self._file(sig, data.codegen)
                code = dumps(self._on_disk.reduce(data))
                _replace(path, _digest(self._origin(kinds), code) + code)
        except Exception as error:
            _warn(error)

    @functools.cached_property
    def _on_disk(self) -> Any:
        return self._form(self._dispatcher.py_func)

    def _file(self, sig: Any, codegen: Any) -> tuple[Path, bytes]:
        """The file for some types of arguments and this machine, and bytes that say which these are."""
        function = self._dispatcher.py_func
        arguments = sig, list(_fields(getattr(sig, "args", sig)))
        kinds = repr((arguments, codegen.magic_tuple(), bool(config.BOUNDSCHECK))).encode()
        module = function.__module__.rpartition(".")[2]
        name = f"{module}.{function.__qualname__}".replace("<", "").replace(">", "")
        number = _digest(kinds).hex()[:16]
        form = type(self._dispatcher).__name__.lower()
        path = Path(
            self._on_disk.locator.get_cache_path(),
            f"{name}.{form}.{sys.implementation.cache_tag}.{number}.nbc",
        )
        return path, kinds

    def _origin(self, kinds: bytes) -> bytes:
        """All that the contents of a file follow from."""
        return repr((numba.__version__, kinds, list(_contents(self._dispatcher)))).encode()


def _replace(path: Path, contents: bytes) -> None:
    """Writes a file at once, whoever else writes or reads it."""
    os.makedirs(path.parent, exist_ok=True)
    handle, partial = tempfile.mkstemp(dir=path.parent)
    try:
        with open(handle, "wb") as opened:
            opened.write(contents)
        os.replace(partial, path)
    except BaseException:
        os.unlink(partial)
        raise


def _digest(*parts: bytes) -> bytes:
    return hashlib.sha256(b"".join(parts)).digest()


def _warn(error: Exception) -> None:
    """Logs a warning, once in a process however many kernels there are."""
    if next(_WARNINGS) == 0:
        _LOGGER.warning("some code is compiled anew in every process: %s", error)


# --- what machine code follows from -------------------------------------------------------------------------

_VERSIONED = {"llvmlite", "numba", "numpy"}
"""Libraries of which names say enough, since their versions go with Numba's or change no machine code."""


def _contents(kernel: Any) -> Iterator[object]:
    """A kernel and all functions that it names, directly or not, with the values that they use.

    Yields objects whose ``repr`` differs if the machine code can; functions stand there by number, in the
    order in which they are met. A value of which this cannot be told is a ValueError.
    """
    numbers: dict[FunctionType, int] = {}
    following: list[tuple[FunctionType, object]] = []

    def described(value: Any, names: Collection[str]) -> object:
        function = inspect.unwrap(value) if callable(value) else value
        if isinstance(function, FunctionType) and not _is_versioned(function.__module__):
            if function not in numbers:
                numbers[function] = len(numbers)
                following.append((function, sorted(getattr(value, "targetoptions", {}).items())))
            return numbers[function]
        if isinstance(value, ModuleType):
            inside = () if _is_versioned(value.__name__) else sorted(vars(value).keys() & names)
            return value.__name__, [(name, described(vars(value)[name], names)) for name in inside]
        if isinstance(value, type | FunctionType):
            return value.__module__, value.__qualname__, getattr(value, "_fields", ())
        if isinstance(value, np.ndarray) and not value.dtype.hasobject:
            return value.dtype, value.shape, value.strides, _digest(value.tobytes())
        if isinstance(value, tuple | list):
            return type(value).__qualname__, [described(each, names) for each in value]
        if not _is_versioned(type(value).__module__) and type(value).__module__ != "builtins":
            raise ValueError(f"a kernel uses {value!r}, of which nobody can tell whether it stays the same")
        return type(value).__qualname__, repr(value)

    described(kernel, ())
    for function, options in following:  # which grows
        codes = list(_codes(function.__code__))
        names = {name for code in codes for name in code.co_names}
        values = {name: function.__globals__[name] for name in sorted(names & function.__globals__.keys())}
        values |= inspect.getclosurevars(function).nonlocals
        values |= {"": [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]}
        yield options, list(map(_instructions, codes)), [(n, described(v, names)) for n, v in values.items()]


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _instructions(code: CodeType) -> object:
    """What a code does, wherever it stands in its file."""
    constants = [constant for constant in code.co_consts if not isinstance(constant, CodeType)]
    variables = code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
    counts = code.co_argcount, code.co_kwonlyargcount
    return code.co_name, *counts, code.co_flags, code.co_code, constants, variables


def _fields(kinds: Iterable[Any]) -> Iterator[object]:
    """The classes of all named tuples among types, which do not show their modules and fields."""
    for kind in kinds:
        if isinstance(kind, types.BaseTuple):
            made = getattr(kind, "instance_class", tuple)
            yield made.__module__, made.__qualname__, getattr(kind, "fields", ()), list(_fields(kind.types))


def _is_versioned(module: str | None) -> bool:
    return (module or "").partition(".")[0] in _VERSIONED
