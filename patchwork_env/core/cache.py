"""Machine code on disk: kept until what it follows from changes, and never a reason to fail.

Numba's own cache looks for changes in the function's own file alone, but constants and kernels of other
modules are compiled in too; two processes that compile at once may give the same name to different code; and
what its files hold is unpickled and run unseen, so that a damaged one stops every start. Here a kernel has a
file for each combination of types, named after all that the code follows from, with a digest of both before
it: the bytecode of the function and of all that it calls, and the values that they use in this process. A
file that is damaged or cannot be read counts as missing, and is replaced once the code is compiled.

The digest keeps accidents away, not attackers: whoever may write to the folder can have code run.
"""

from __future__ import annotations

import contextlib
import glob
import hashlib
import inspect
import itertools
import logging
import os
import pickle
import shutil
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numba
import numpy as np
from numba import config, types
from numba.core.caching import FunctionCache
from numba.core.serialize import dumps

from patchwork_env.core.callee import Callee, CalleeOnDisk

_LOGGER = logging.getLogger(__name__)
_DIGEST_SIZE = hashlib.sha256().digest_size
_WARNINGS = itertools.count()


def keep_on_disk(dispatcher: Any) -> None:
    """Makes a function of Numba keep its machine code on disk for later processes.

    The folder is Numba's: one in that of ``NUMBA_CACHE_DIR``, otherwise ``__pycache__`` beside the source,
    otherwise one of the user. If none can be written, nothing is kept.

    Args:
        dispatcher: The function, as ``numba.njit`` returns it.
    """
    try:
        dispatcher._cache = (_CalleeCache if isinstance(dispatcher, Callee) else _Cache)(dispatcher)
    except Exception as error:  # nowhere to write, or a Numba that keeps its cache in another way
        _warn(f"it cannot be kept: {error}")


class _Cache(FunctionCache):  # type: ignore[misc]
    """What Numba asks for the machine code of a function before compiling it, and gives it to afterwards."""

    def __init__(self, dispatcher: Any) -> None:
        super().__init__(dispatcher.py_func)
        os.makedirs(self.cache_path, exist_ok=True)  # Numba has not tried if the source lies in an archive
        self._dispatcher = dispatcher

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The function as compiled for some types of arguments; None if it has to be compiled."""
        target_context.refresh()
        try:
            return self._load(self._index_key(sig, target_context.codegen()), target_context)
        except FileNotFoundError:
            return None
        except Exception as error:
            _warn(str(error))
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keeps what was compiled for some types of arguments."""
        try:
            self._save(self._index_key(sig, data.codegen), data)
        except Exception as error:
            _warn(f"it cannot be kept: {error}")

    def _load(self, key: Any, target_context: Any) -> Any:
        path, purpose = self._file(key)
        contents = path.read_bytes()
        digest, code = contents[:_DIGEST_SIZE], contents[_DIGEST_SIZE:]
        if digest != _digest(purpose, code):
            raise ValueError(f"{path} is damaged")
        try:
            found_key, compiled = pickle.loads(code)  # noqa: S301, the digest has shown that this class wrote it
        except (AttributeError, ImportError):  # made for a class that no longer exists
            return None
        return self._impl.rebuild(target_context, compiled) if found_key == key else None

    def _save(self, key: Any, compiled: Any) -> None:
        if not self._impl.check_cachable(compiled):
            return
        path, purpose = self._file(key)
        code = dumps((key, self._impl.reduce(compiled)))
        os.makedirs(path.parent, exist_ok=True)
        self._remove_outdated(path)
        if path.is_dir():
            shutil.rmtree(path)
        with self._cache_file._open_for_write(str(path)) as opened:
            opened.write(_digest(purpose, code) + code)

    def _file(self, key: Any) -> tuple[Path, bytes]:
        """The file for a key of Numba's, and all that the code follows from."""
        contents = _digest(repr(list(_contents(self._dispatcher))).encode()).hex()
        signature = list(_fields(getattr(key[0], "args", key[0])))
        purpose = repr((numba.__version__, contents, bool(config.BOUNDSCHECK), key, signature)).encode()
        name = ".".join([*self._names(), f"{contents[:8]}-{_digest(purpose).hex()[:16]}", "nbc"])
        return Path(self.cache_path, name), purpose

    def _names(self) -> tuple[str, str]:
        """The function and the version of Python in names of files, without the line of the function."""
        function, _, version = self._impl.filename_base.rpartition("-")
        return function, version.partition(".")[2]

    def _remove_outdated(self, current: Path) -> None:
        """Deletes the files of the same function as it was before."""
        function, version = self._names()
        contents = current.suffixes[-2].partition("-")[0]
        for path in current.parent.glob(f"{glob.escape(function)}.{version}.*"):
            if contents not in path.name:
                with contextlib.suppress(OSError):
                    path.unlink()


class _CalleeCache(_Cache):
    _impl_class = CalleeOnDisk


def _digest(*parts: bytes) -> bytes:
    return hashlib.sha256(b"".join(parts)).digest()


def _warn(reason: str) -> None:
    """Logs a warning, once in a process however many kernels there are."""
    if next(_WARNINGS) == 0:
        _LOGGER.warning("some code is compiled anew and not taken from disk: %s", reason)


# --- what machine code follows from -------------------------------------------------------------------------

_VERSIONED = {"llvmlite", "numba", "numpy"}
"""Libraries of which names say enough, since their versions go with Numba's or change no machine code."""


def _contents(kernel: Any) -> Iterator[object]:
    """A kernel and all functions that it names, directly or not, with the values that they use.

    Yields:
        Objects whose ``repr`` differs if the machine code can; functions stand there by number, in the order
        in which they are met.

    Raises:
        ValueError: There is a value of which this cannot be told.
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
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        used = {name: function.__globals__[name] for name in sorted(names & function.__globals__.keys())}
        used |= {name: cell.cell_contents for name, cell in cells}
        used |= {"": [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]}
        yield options, list(map(_instructions, codes)), [(n, described(v, names)) for n, v in used.items()]


def _codes(code: CodeType) -> Iterator[CodeType]:
    """The code of a function and of those within it."""
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
    """The names of the fields of all named tuples among types, which do not show them."""
    for kind in kinds:
        if isinstance(kind, types.BaseTuple):
            yield getattr(kind, "fields", ()), list(_fields(kind.types))


def _is_versioned(module: str | None) -> bool:
    return (module or "").partition(".")[0] in _VERSIONED
