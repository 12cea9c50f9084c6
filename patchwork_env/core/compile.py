"""Compilation of the rules: one decorator, so that every kernel is compiled and cached in the same way.

Kernels are linked and kept on disk by means that Numba does not promise. With a version of Numba that has
others, ``numba.njit`` alone compiles them and keeps them on disk: everything works, but compiles for longer.

A kernel that is the same for every game is written once, as a :func:`template` over the global name ``game``,
and compiled for each game by :func:`specialize`.
"""

from __future__ import annotations

import functools
import hashlib
import logging
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, TypeVar, cast, overload

import numba
from numba import config, njit

try:
    from patchwork_env.core.linking import Kernel

    IS_LINKING = True
except ImportError as error:
    logging.getLogger(__name__).warning("kernels take longer to compile: %s", error)
    IS_LINKING = False

_OWN_PACKAGE = __name__.partition(".")[0]
_FOLDERS, _MOST_FOLDERS = "numba-", 6
"""How the folders begin in which Numba keeps code, and how many of them stay, those used last."""

_Function = TypeVar("_Function", bound=Callable[..., Any])


@overload
def kernel(function: _Function) -> _Function: ...
@overload
def kernel(*, inline: bool = False, allocates: bool = False) -> Callable[[_Function], _Function]: ...
def kernel(
    function: _Function | None = None, *, inline: bool = False, allocates: bool = False
) -> _Function | Callable[[_Function], _Function]:
    """Compiles a function with Numba at its first call, and keeps the code on disk for later processes.

    Used plain (``@kernel``) or with options (``@kernel(inline=True)``). The compiled function releases the
    interpreter lock, follows NumPy's rules for division by zero and does not check array bounds. With the
    environment variable ``NUMBA_DISABLE_JIT=1`` the function stays plain Python.

    Numba counts the references to every array that it passes on, with atomic instructions that can take as
    long as all the rest. A kernel needs none of that as long as it only borrows arrays from its caller, so
    the counting is off (Numba's option ``_nrt``) unless the kernel asks for it.

    With ``inline`` the machine code is always inserted into the callers, not only where LLVM finds that
    worthwhile. Only with ``allocates`` may it make or return arrays, which includes the results of array
    arithmetic and copies from slice to slice; without it Numba refuses to compile such a function.
    """
    compiled: Callable[[_Function], _Function]
    compiled = functools.partial(_compile, inline=inline, allocates=allocates)
    return compiled if function is None else compiled(function)


@overload
def template(function: _Function) -> _Function: ...
@overload
def template(*, inline: bool = False, allocates: bool = False) -> Callable[[_Function], _Function]: ...
def template(
    function: _Function | None = None, *, inline: bool = False, allocates: bool = False
) -> _Function | Callable[[_Function], _Function]:
    """Marks a function as a kernel that :func:`specialize` compiles for one game after the other.

    The function uses the global name ``game`` for the kernels and constants of the game that it is compiled
    for, and may call other templates of its module. The options are those of :func:`kernel`.
    """

    def marked(original: _Function) -> _Function:
        original.__template__ = (inline, allocates)  # type: ignore[attr-defined]
        return original

    return marked if function is None else marked(function)


@functools.cache
def specialize(function: _Function, game: ModuleType) -> _Function:
    """A template as a kernel for one game, always the same, with machine code on disk of its own.

    The module object ``game`` takes the place of the global name; it holds the game's kernels and constants.
    """
    names = {**function.__globals__, "game": game}
    for name in function.__code__.co_names:
        if hasattr(names.get(name), "__template__"):
            names[name] = specialize(names[name], game)
    copy = FunctionType(function.__code__, names, function.__name__, function.__defaults__)
    copy.__doc__, copy.__module__ = function.__doc__, function.__module__
    copy.__qualname__ = f"{game.__name__}.{function.__qualname__}"  # becomes part of the name of the file
    copy.__annotations__ = function.__annotations__
    inline, allocates = function.__template__  # type: ignore[attr-defined]
    return cast(_Function, _compile(copy, inline, allocates, game))


def _compile(function: Any, inline: bool, allocates: bool, game: ModuleType | None = None) -> Any:
    if config.DISABLE_JIT:
        return function
    if not IS_LINKING:
        parts = [function, *(vars(game).values() if game else ())]
        modules = [getattr(part, "__module__", None) for part in parts]
        packages = {module.partition(".")[0] for module in modules if isinstance(module, str)}
        return _compile_as_promised(function, _folder_for(frozenset(packages | {_OWN_PACKAGE})))
    options = {
        "nopython": True,
        "nogil": True,
        "error_model": "numpy",
        "boundscheck": None,  # as the environment variable NUMBA_BOUNDSCHECK says
        "forceinline": inline,
        "_nrt": allocates,
        "no_cfunc_wrapper": True,  # only pointers to functions need it
    }
    return Kernel(function, options)


# --- what Numba promises ------------------------------------------------------------------------------------


def _compile_as_promised(function: Any, folder: Path | None) -> Any:
    """A function as Numba alone compiles it, kept in a folder if there is one."""
    if folder:
        own, config.CACHE_DIR = config.CACHE_DIR, str(folder)
        try:
            kept = njit(nogil=True, error_model="numpy", cache=True)(function)
            if folder in Path(kept.stats.cache_path).parents:
                return kept
        except RuntimeError:  # the function stands in no file
            pass
        finally:
            config.CACHE_DIR = own
    return njit(nogil=True, error_model="numpy")(function)


@functools.cache
def _folder_for(packages: frozenset[str]) -> Path | None:
    """The folder for kernels made of these packages; None if they are no folders or nothing can be kept.

    Numba does not see when other files change than that of a function, whose constants and kernels it
    compiles in all the same. So the folder is named after all sources of the packages.
    """
    sources = [_digest_of(package) for package in sorted(packages)]
    if None in sources:
        return None
    settings = numba.__version__, config.BOUNDSCHECK, config.OPT
    name = _FOLDERS + hashlib.sha256(repr((settings, sources)).encode()).hexdigest()[:16]
    beside, of_user = (
        Path(__file__).parent / "__pycache__",
        Path(os.path.expanduser("~/.cache"), _OWN_PACKAGE),
    )
    for parent in [Path(config.CACHE_DIR)] if config.CACHE_DIR else [beside, of_user]:
        with suppress(OSError):
            (parent / name).mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=parent / name).close()
            os.utime(parent / name)
            _remove_old_folders(parent)
            return parent / name
    return None


def _remove_old_folders(parent: Path) -> None:
    folders = sorted(parent.glob(f"{_FOLDERS}*"), key=os.path.getmtime, reverse=True)
    for old in folders[_MOST_FOLDERS:]:
        shutil.rmtree(old, ignore_errors=True)


@functools.cache
def _digest_of(package: str) -> str | None:
    """The digest of all sources of a package that is imported; None if it is no folder of its own."""
    module = sys.modules.get(package)
    root = Path(getattr(module, "__file__", None) or "").parent
    sources = sorted(root.rglob("*.py")) if hasattr(module, "__path__") else []
    if root / "__init__.py" not in sources:
        return None
    digest = hashlib.sha256()
    for source in sources:
        digest.update(repr((str(source.relative_to(root)), source.read_bytes())).encode())
    return digest.hexdigest()
