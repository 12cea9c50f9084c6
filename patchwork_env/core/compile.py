"""The decorator of all kernels, which compiles and caches them.

Linking kernels and caching them use internals of Numba. With a version of Numba that has others,
``numba.njit`` compiles and caches kernels: they run as fast, and only take longer to compile.

A kernel that is the same for every game is written once, as a :func:`template` over the global name ``game``,
and compiled for each game by :func:`specialize`.
"""

from __future__ import annotations

import functools
import hashlib
import logging
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, TypeVar, cast, overload

import numba
from numba import config, njit

from patchwork_env.core import cache_folder

try:
    from patchwork_env.core.linking import Kernel

    IS_LINKING = True
except ImportError as error:
    logging.getLogger(__name__).warning("kernels take longer to compile: %s", error)
    IS_LINKING = False

_OWN_PACKAGE = __name__.partition(".")[0]
_FOLDERS, _MOST_FOLDERS = "numba-", 6
"""The prefix of the folders in which Numba keeps code, and the number of folders that are kept."""

_OPTIONS = {"nogil": True, "error_model": "numpy"}
"""The options of all kernels that every version of Numba accepts."""

_Function = TypeVar("_Function", bound=Callable[..., Any])


@overload
def kernel(function: _Function) -> _Function: ...
@overload
def kernel(*, inline: bool = False, allocates: bool = False) -> Callable[[_Function], _Function]: ...
def kernel(
    function: _Function | None = None, *, inline: bool = False, allocates: bool = False
) -> _Function | Callable[[_Function], _Function]:
    """Compile a function with Numba at its first call, and keep the code on disk for later processes.

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
    """Mark a function as a kernel that :func:`specialize` compiles for one game after the other.

    The function uses the global name ``game`` for the kernels and constants of the game that it is compiled
    for, and may call other templates of its module. The options are those of :func:`kernel`.
    """

    def marked(original: _Function) -> _Function:
        original.__template__ = (inline, allocates)  # type: ignore[attr-defined]
        return original

    return marked if function is None else marked(function)


@functools.cache
def specialize(function: _Function, game: ModuleType) -> _Function:
    """Return a template as a kernel for one game, always the same, with machine code on disk of its own.

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
    options = {
        **_OPTIONS,
        "boundscheck": None,  # as the environment variable NUMBA_BOUNDSCHECK says
        "forceinline": inline,
        "_nrt": allocates,
        "no_cfunc_wrapper": True,  # only pointers to functions need it
    }
    if IS_LINKING:
        return Kernel(function, {"nopython": True, **options})
    parts = [function, *(vars(game).values() if game else ())]
    modules = [getattr(part, "__module__", None) for part in parts]
    packages = {module.partition(".")[0] for module in modules if isinstance(module, str)}
    folder = _folder_for(frozenset(packages | {_OWN_PACKAGE}))
    return _compile_without_linking(function, options if _accepts_options() else _OPTIONS, folder)


# --- without linking ----------------------------------------------------------------------------------------


@functools.cache
def _accepts_options() -> bool:
    """Whether Numba accepts the options that make kernels fast; it refuses them when it compiles."""
    try:
        njit(forceinline=False, _nrt=False, no_cfunc_wrapper=True)(lambda: None).compile(())
    except Exception as error:
        logging.getLogger(__name__).warning("kernels run more slowly: %s", error)
        return False
    return True


def _compile_without_linking(function: Any, options: Mapping[str, Any], folder: Path | None) -> Any:
    """Compile a function with Numba's own decorator and, if there is a folder, with Numba's own cache."""
    if folder:
        own, config.CACHE_DIR = config.CACHE_DIR, str(folder)
        try:
            kept = njit(**options, cache=True)(function)
            if folder in Path(kept.stats.cache_path).parents:
                return kept
        except RuntimeError:  # the function has no source file
            pass
        finally:
            config.CACHE_DIR = own
    return njit(**options)(function)


@functools.cache
def _folder_for(packages: frozenset[str]) -> Path | None:
    """Return the folder for kernels of these packages; None if they are no folders or it cannot be written.

    Numba does not see when other files change than that of a function, whose constants and kernels it
    compiles in all the same. So the folder is named after all sources of the packages.
    """
    sources = [_digest_of(package) for package in sorted(packages)]
    if None in sources:
        return None
    settings = numba.__version__, config.BOUNDSCHECK, config.OPT
    name = _FOLDERS + hashlib.sha256(repr((settings, sources)).encode()).hexdigest()[:16]
    problem: object = "the user has no home"
    own = [Path(__file__).parent / "__pycache__", *cache_folder.user_folders()]
    for parent in [Path(config.CACHE_DIR)] if config.CACHE_DIR else own:
        try:
            cache_folder.write(parent / name / "used", b"")  # its time is that of the last use
        except OSError as error:
            problem = error
        else:
            _remove_old_folders(parent)
            return parent / name
    cache_folder.warn(problem)
    return None


def _remove_old_folders(parent: Path) -> None:
    folders = sorted(parent.glob(f"{_FOLDERS}*"), key=lambda folder: folder.stat().st_mtime, reverse=True)
    for old in folders[_MOST_FOLDERS:]:
        shutil.rmtree(old, ignore_errors=True)


@functools.cache
def _digest_of(package: str) -> str | None:
    """Return the digest of all sources of a package that is imported; None if it is no folder of its own."""
    module = sys.modules.get(package)
    root = Path(getattr(module, "__file__", None) or "").parent
    sources = sorted(root.rglob("*.py")) if hasattr(module, "__path__") else []
    if root / "__init__.py" not in sources:
        return None
    digest = hashlib.sha256()
    for source in sources:
        digest.update(repr((str(source.relative_to(root)), source.read_bytes())).encode())
    return digest.hexdigest()
