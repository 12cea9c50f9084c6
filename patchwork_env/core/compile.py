"""Compilation of the rules: one decorator, so that every kernel is compiled and cached in the same way.

A kernel that is the same for every game is written once, as a :func:`template` over the global name ``game``,
and compiled for each game by :func:`specialize`.
"""

from __future__ import annotations

import ast
import functools
import glob
import hashlib
import logging
import os
import sys
from collections.abc import Callable, Iterator
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import resolve_name
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, TypeVar, overload

from numba import njit, types
from numba.core.errors import TypingError

_Function = TypeVar("_Function", bound=Callable[..., Any])

_LOGGER = logging.getLogger(__name__)
_LIBRARY = __name__.partition(".")[0]
_INTERNALS = ("_source_stamp", "_index_path", "_load_index", "_save_index", "_save_data", "save")
"""The attributes of Numba's cache files that this module uses; Numba does not promise to keep them."""


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

    Args:
        function: The function to compile.
        inline: Whether the machine code is always inserted into the callers, instead of only where LLVM finds
            that worthwhile.
        allocates: Whether the function makes arrays, which includes the results of array arithmetic and
            copies from slice to slice; without this Numba refuses to compile it. Only such a function may
            return an array.

    Returns:
        The compiled function, called like the original; without ``function``, a decorator.
    """

    def compiled(original: _Function) -> _Function:
        compiled_function: _Function = _compile(original, inline, allocates, (original.__module__,))
        return compiled_function

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
    """A template as a kernel for one game, with machine code on disk of its own.

    Args:
        function: The template, marked with :func:`template`.
        game: The module object that takes the place of the global name ``game``. It holds the game's kernels
            and constants; its ``__name__`` is the name of the game, and its ``__source__`` is the name of the
            module that defines them, or a tuple of such names.

    Returns:
        The compiled function, always the same for the same arguments.
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
    sources = (game.__source__,) if isinstance(game.__source__, str) else game.__source__
    kernel_of_game: _Function = _compile(copy, inline, allocates, (copy.__module__, *sources))
    return kernel_of_game


def require_layout(array: Any, name: str, ndim: int, *dtypes: Any) -> None:
    """Refuses, when an intrinsic is compiled, arrays whose memory is not laid out as its code expects.

    Args:
        array: Numba's type of an argument.
        name: The name of the argument in messages.
        ndim: The number of dimensions that the array must have.
        dtypes: The types of entries that are allowed, as Numba's types.

    Raises:
        TypingError: The argument is not a contiguous, aligned array of such entries.
    """
    allowed = " or ".join(map(str, dtypes))
    if not (
        isinstance(array, types.Array)
        and array.ndim == ndim
        and array.layout == "C"
        and array.aligned
        and array.dtype in dtypes
    ):
        raise TypingError(f"{name} must be a contiguous array of {ndim} dimensions of {allowed}, not {array}")


def _compile(function: Any, inline: bool, allocates: bool, modules: tuple[str, ...]) -> Any:
    """Compiles a function with Numba; its machine code depends on the sources of ``modules``."""
    options = {"nogil": True, "error_model": "numpy", "forceinline": inline, "_nrt": allocates}
    try:
        dispatcher: Any = njit(cache=True, **options)(function)
        if hasattr(dispatcher, "stats"):
            # Numba has not looked at the folder yet if the package lies in an archive.
            os.makedirs(dispatcher.stats.cache_path, exist_ok=True)
            _mend_cache(dispatcher, modules)
    except (AttributeError, RuntimeError, OSError) as error:
        _LOGGER.warning("%s is compiled anew in every process: %s", function.__name__, error)
        dispatcher = njit(**options)(function)
    return dispatcher


def _mend_cache(dispatcher: Any, modules: tuple[str, ...]) -> None:
    """Makes the cache on disk safe against changed imports, and against processes that compile at once.

    Numba looks for changes in the function's own file alone, but constants and kernels of other modules are
    compiled in too. And it numbers the files of machine code by the entries of the index, so that two
    processes may give the same name to different code.

    Raises:
        AttributeError: This version of Numba keeps its cache in another way, which cannot be trusted.
    """
    file = dispatcher._cache._cache_file
    missing = [name for name in _INTERNALS if not hasattr(file, name)]
    if missing:
        raise AttributeError(f"the cache of this version of Numba has no {', '.join(missing)}")
    file._load_index = functools.partial(_load_index, file, file._load_index, modules)
    file.save = functools.partial(_save, file, modules)


def _save(file: Any, modules: tuple[str, ...], key: Any, data: Any) -> None:
    """Writes machine code to a file named after what it was compiled for, and then adds it to the index.

    If two processes change the index at once, one entry is lost, and is compiled again when it is needed.
    """
    if _digest_of_sources(modules) is None:
        return
    index = Path(file._index_path)
    overloads = file._load_index()
    if not overloads:
        for leftover in index.parent.glob(f"{glob.escape(index.stem)}.*.nbc"):
            leftover.unlink(missing_ok=True)
    purpose = repr((key, file._source_stamp)).encode()
    name = f"{index.stem}.{hashlib.sha256(purpose).hexdigest()[:16]}.nbc"
    file._save_data(name, data)
    overloads[key] = name
    file._save_index(overloads)


def _load_index(file: Any, load: Callable[[], dict[Any, Any]], modules: tuple[str, ...]) -> dict[Any, Any]:
    """The index of the machine code on disk that was compiled from the sources as they are now.

    It is empty if they cannot be read, or if the code was compiled for a class that no longer exists.
    """
    file._source_stamp = _digest_of_sources(modules)
    if file._source_stamp is None:
        return {}
    try:
        return load()
    except (AttributeError, ImportError):
        return {}


# --- the sources on which machine code depends --------------------------------------------------------------


@functools.cache
def _digest_of_sources(modules: tuple[str, ...]) -> str | None:
    """SHA-256 over the sources of modules and of all that they import, directly or not; None without sources.

    Only imports from the modules' own top-level packages and from this library are followed.
    """
    names = [_true_name(module) for module in modules]
    roots = {_LIBRARY, *(name.partition(".")[0] for name in names)}
    sources: dict[str, str] = {}
    while names:
        name = names.pop()
        if name in sources or name.partition(".")[0] not in roots:
            continue
        source = _source(name)
        if source is None and name in modules:
            _LOGGER.warning("kernels of %s are compiled anew in every process: it has no source", name)
            return None
        sources[name] = source or ""
        names.extend(_imported_modules(name))
    return hashlib.sha256("\0".join(sources[name] for name in sorted(sources)).encode()).hexdigest()


def _true_name(module: str) -> str:
    """The name under which a module is imported, even if it runs as a script with ``python -m``."""
    spec = getattr(sys.modules.get(module), "__spec__", None)
    return module if spec is None else str(spec.name)


@functools.cache
def _find(name: str) -> ModuleSpec | None:
    """Finds the module or package of a name in the folder of its parent, without importing anything."""
    parent = name.rpartition(".")[0]
    path = getattr(sys.modules.get(parent), "__path__", ()) if parent else None
    return None if path == () else PathFinder.find_spec(name, path)


@functools.cache
def _source(name: str) -> str | None:
    """The source of a module; None if there is no such module, or only its machine code."""
    try:
        source: str | None = _find(name).loader.get_source(name)  # type: ignore[union-attr]
    except (AttributeError, ImportError, OSError):
        return None
    return source


@functools.cache
def _imported_modules(name: str) -> tuple[str, ...]:
    """All modules that a module imports when it is loaded, and all names imported from them."""
    spec = _find(name)
    is_package = spec is not None and spec.submodule_search_locations is not None
    package = name if is_package else name.rpartition(".")[0]
    found: list[str] = []
    for node in _statements(ast.parse(_source(name) or "")):
        if isinstance(node, ast.Import):
            found.extend(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = resolve_name("." * node.level + (node.module or ""), package)
            found += [module, *(f"{module}.{alias.name}" for alias in node.names)]
    return tuple(found)


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """The statements that run when a module is loaded: those of functions do not."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING"):
            continue
        yield child
        yield from _statements(child)
