"""Compilation of the rules: one decorator, so that every kernel is compiled with the same options."""

import logging
from collections.abc import Callable
from typing import Any, TypeVar, overload

from numba import njit

_Function = TypeVar("_Function", bound=Callable[..., Any])

_LOGGER = logging.getLogger(__name__)


@overload
def kernel(function: _Function) -> _Function: ...
@overload
def kernel(*, parallel: bool = False, inline: bool = False) -> Callable[[_Function], _Function]: ...
def kernel(
    function: _Function | None = None, *, parallel: bool = False, inline: bool = False
) -> _Function | Callable[[_Function], _Function]:
    """Compile a function with Numba at its first call, and keep the machine code on disk for the next process.

    Used plain (``@kernel``) or with options (``@kernel(parallel=True)``). The compiled function releases the
    interpreter lock, follows NumPy's rules for division by zero and does not check array bounds. With the
    environment variable ``NUMBA_DISABLE_JIT=1`` the function stays plain Python.

    Args:
        function: The function to compile.
        parallel: Spread the loops over ``numba.prange`` across the cores.
        inline: Always insert the machine code into the callers, instead of where LLVM finds it worthwhile.

    Returns:
        The compiled function, called like the original; without ``function``, a decorator.
    """

    def compiled(original: _Function) -> _Function:
        options = {"nogil": True, "error_model": "numpy", "parallel": parallel, "forceinline": inline}
        return _with_cache(original, options)

    return compiled if function is None else compiled(function)


def _with_cache(function: _Function, options: dict[str, Any]) -> _Function:
    """Compile with Numba's cache on disk, or without it where no folder can be written."""
    try:
        dispatcher: _Function = njit(cache=True, **options)(function)
    except (RuntimeError, OSError) as error:
        _LOGGER.info("%s is compiled anew in every process: %s", function.__name__, error)
        dispatcher = njit(**options)(function)
    return dispatcher
