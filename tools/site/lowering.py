"""Python functions as LLVM IR, compiled by Numba."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from numba import types
from numba.core.compiler_lock import global_compiler_lock

from patchwork_env.core.linking import LinkedKernel

_OPTIONS = {
    "nopython": True,
    "nogil": True,
    "error_model": "numpy",
    "boundscheck": None,
    "_nrt": False,
    "no_cfunc_wrapper": True,
}


class Lowered(NamedTuple):
    """An export as LLVM IR.

    Attributes:
        name: The name under which it is exported.
        symbol: The name that Numba gave it.
        arguments: The number of its arguments, all of them int64; its result is float64.
        code: The module with it and everything that it calls.
    """

    name: str
    symbol: str
    arguments: int
    code: str


def lower(function: Callable[..., float]) -> Lowered:
    """The code of a function with integer arguments that returns a number."""
    arguments = (types.int64,) * function.__code__.co_argcount
    kernel = LinkedKernel(function, _OPTIONS)
    kernel.compile(types.float64(*arguments))
    compiled: Any = kernel.overloads[arguments]
    with global_compiler_lock:
        code = str(compiled.library._get_module_for_linking())
    return Lowered(function.__name__, compiled.fndesc.llvm_func_name, len(arguments), code)
