"""Compilation of the rules: one decorator, so that every kernel is compiled and cached in the same way."""

from __future__ import annotations

import functools
import glob
import hashlib
import logging
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar, overload

from numba import njit

_Function = TypeVar("_Function", bound=Callable[..., Any])

_LOGGER = logging.getLogger(__name__)
_IMPORT = re.compile(r"^from (patchwork_env[\w.]*) import (\([^)]*\)|.*)", re.MULTILINE)


@overload
def kernel(function: _Function) -> _Function: ...
@overload
def kernel(*, inline: bool = False, allocates: bool = False) -> Callable[[_Function], _Function]: ...
def kernel(
    function: _Function | None = None, *, inline: bool = False, allocates: bool = False
) -> _Function | Callable[[_Function], _Function]:
    """Compile a function with Numba at its first call, and keep the machine code on disk for later processes.

    Used plain (``@kernel``) or with options (``@kernel(inline=True)``). The compiled function releases the
    interpreter lock, follows NumPy's rules for division by zero and does not check array bounds. With the
    environment variable ``NUMBA_DISABLE_JIT=1`` the function stays plain Python.

    Numba counts the references to every array that it passes on, with atomic instructions that can take as
    long as all the rest. A kernel needs none of that as long as it only borrows arrays from its caller, so
    the counting is off (Numba's option ``_nrt``) unless the kernel asks for it.

    Args:
        function: The function to compile.
        inline: Always insert the machine code into the callers, instead of where LLVM finds it worthwhile.
        allocates: Whether the function makes arrays, which includes the results of array arithmetic and
            copies from slice to slice; without this Numba refuses to compile it. Only such a function may
            return an array.

    Returns:
        The compiled function, called like the original; without ``function``, a decorator.
    """

    def compiled(original: _Function) -> _Function:
        options = {"nogil": True, "error_model": "numpy", "forceinline": inline, "_nrt": allocates}
        return _with_cache(original, options)

    return compiled if function is None else compiled(function)


def _with_cache(function: _Function, options: dict[str, Any]) -> _Function:
    """Compile with Numba's cache on disk, or without it where no folder can be written."""
    try:
        dispatcher: Any = njit(cache=True, **options)(function)
        if hasattr(dispatcher, "stats"):
            # Numba has not looked at the folder yet if the package lies in an archive.
            os.makedirs(dispatcher.stats.cache_path, exist_ok=True)
    except (RuntimeError, OSError) as error:
        _LOGGER.info("%s is compiled anew in every process: %s", function.__name__, error)
        dispatcher = njit(**options)(function)
    else:
        _mend_cache(dispatcher)
    return dispatcher  # type: ignore[no-any-return]


def _mend_cache(dispatcher: Any) -> None:
    """Make the cache on disk notice changed imports, and processes that compile at the same time.

    Numba looks at the function's own file alone, but constants and kernels of other modules are compiled in
    too. And it numbers the files of machine code by what the index says, so that two processes give the same
    name to different code. Where there is nothing to mend (plain Python, another Numba, code typed by hand),
    its own rules stay.
    """
    with suppress(AttributeError, ImportError, OSError, TypeError, ValueError):
        file = dispatcher._cache._cache_file
        file._source_stamp = _digest_of_sources(dispatcher.__module__)
        file._load_index = functools.partial(_load_index, file._load_index)
        file.save = functools.partial(_save, file, Path(file._index_path))


def _save(file: Any, index: Path, key: Any, data: Any) -> None:
    """Keep machine code in a file named after what it was compiled for, and then tell the index.

    If two processes change the index at once, one entry is lost, and compiled again when it is needed.
    """
    overloads = file._load_index()
    if not overloads:
        for leftover in index.parent.glob(f"{glob.escape(index.stem)}.*.nbc"):
            leftover.unlink(missing_ok=True)
    purpose = repr((key, file._source_stamp)).encode()
    name = f"{index.stem}.{hashlib.sha256(purpose).hexdigest()[:16]}.nbc"
    file._save_data(name, data)
    overloads[key] = name
    file._save_index(overloads)


def _load_index(load: Callable[[], dict[Any, Any]]) -> dict[Any, Any]:
    """What Numba has on disk, or nothing if it was compiled for a class that is no longer there."""
    try:
        return load()
    except (AttributeError, ImportError):
        return {}


@functools.cache
def _digest_of_sources(module: str) -> str:
    """SHA-256 over the source of a module and of all modules of this package that it needs, near and far."""
    sources: dict[str, str] = {}
    names = [module]
    while names:
        name = names.pop()
        if name not in sources:
            sources[name] = find_spec(name).loader.get_source(name)  # type: ignore[union-attr]
            names.extend(_imported_modules(sources[name]))
    return hashlib.sha256("\0".join(sources[name] for name in sorted(sources)).encode()).hexdigest()


def _imported_modules(source: str) -> Iterator[str]:
    """Our modules in lines such as ``from package import module`` and ``from module import name``."""
    for module, names in _IMPORT.findall(source):
        inside = (f"{module}.{name}" for name in re.findall(r"\w+", names))
        yield from (module, *(name for name in inside if name in sys.modules))
