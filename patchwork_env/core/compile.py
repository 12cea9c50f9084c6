"""The decorator of all kernels, which compiles and caches them.

Linking and caching use internals of Numba. With a version of Numba that has other internals, kernels run as
fast, but take longer to compile, and without a cache are compiled in every process.

A kernel for all games is written once, as a :func:`template` over the global name ``game``, and compiled for
each game by :func:`specialize`.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any, TypeVar, cast, overload

from numba import config, njit

_LOGGER = logging.getLogger(__name__)
IS_LINKING = IS_KEPT = False
try:
    from patchwork_env.core.cache import DiskCache

    IS_KEPT = True
    from patchwork_env.core.linking import Kernel

    IS_LINKING = True
except ImportError as error:
    _LOGGER.warning("kernels take longer to compile: %s", error)

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

    The decorator is ``@kernel`` or has options, as in ``@kernel(inline=True)``. The compiled function
    releases the interpreter lock, follows NumPy's rules for division by zero and does not check array bounds.
    With the environment variable ``NUMBA_DISABLE_JIT=1`` the function stays plain Python.

    Numba counts the references to every array that a function passes on, with atomic instructions that can
    take half of the time. A kernel that only borrows arrays from its caller needs no counting, so it is off
    by default (Numba's option ``_nrt``).

    With ``inline``, the machine code is always inserted into the callers. With ``allocates``, the kernel may
    make or return arrays, such as the results of array arithmetic; otherwise Numba refuses to compile it.
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
    """Mark a function as a kernel that :func:`specialize` compiles for each game.

    The function uses the global name ``game`` for the kernels and constants of the game that it is compiled
    for, and may call other templates of its module. The options are those of :func:`kernel`.
    """

    def marked(original: _Function) -> _Function:
        original.__template__ = (inline, allocates)  # type: ignore[attr-defined]
        return original

    return marked if function is None else marked(function)


@functools.cache
def specialize(function: _Function, game: ModuleType) -> _Function:
    """Return the kernel of a template for one game, always the same object, with its own file on disk.

    The module object ``game`` replaces the global name; it holds the game's kernels and constants.
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
    return cast(_Function, _compile(copy, inline, allocates))


def _compile(function: Any, inline: bool, allocates: bool) -> Any:
    if config.DISABLE_JIT:
        return function
    options = {
        **_OPTIONS,
        "boundscheck": None,  # set by the environment variable NUMBA_BOUNDSCHECK
        "forceinline": inline,
        "_nrt": allocates,
        "no_cfunc_wrapper": True,  # only pointers to functions need it
    }
    if IS_LINKING:
        return Kernel(function, {"nopython": True, **options})
    compiled = njit(**(options if _accepts_options() else _OPTIONS))(function)
    if IS_KEPT:
        compiled._cache = DiskCache(compiled)
    return compiled


@functools.cache
def _accepts_options() -> bool:
    """Whether Numba accepts the options that make kernels fast; it refuses unknown ones when it compiles."""
    try:
        njit(forceinline=False, _nrt=False, no_cfunc_wrapper=True)(lambda: None).compile(())
    except Exception as error:
        _LOGGER.warning("kernels run more slowly: %s", error)
        return False
    return True
