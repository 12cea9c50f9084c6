"""Compilation of the rules: one decorator, so that every kernel is compiled and cached in the same way.

Kernels are linked and kept on disk by means that Numba does not promise. With a version of Numba that has
others, ``numba.njit`` alone compiles them: everything works, but every process compiles anew what it calls.

A kernel that is the same for every game is written once, as a :func:`template` over the global name ``game``,
and compiled for each game by :func:`specialize`.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any, TypeVar, cast, overload

from numba import config, njit

try:
    from patchwork_env.core.linking import Kernel

    IS_LINKING = True
except ImportError as error:
    logging.getLogger(__name__).warning("kernels are compiled anew in every process: %s", error)
    IS_LINKING = False

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
    return cast(_Function, _compile(copy, inline, allocates))


def _compile(function: Any, inline: bool, allocates: bool) -> Any:
    if config.DISABLE_JIT:
        return function
    if not IS_LINKING:
        return njit(nogil=True, error_model="numpy")(function)
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
