"""Memory of a WebAssembly module: every array of it has a fixed place in a block.

It is a named tuple of arrays, numbers and other such tuples, as kernels take them. On this machine its arrays
define types, shapes and initial contents. In the module they are consecutive in one block, and
:func:`memory_in` gives exported functions a tuple of views of this block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import typeof
from numba.extending import intrinsic
from numba.np.arrayobj import make_array, populate_array

Array = npt.NDArray[Any]
_INT64 = ir.IntType(64)
_ALIGNMENT = 64


class Block:
    """The block of one memory.

    Args:
        symbol: The name of the block in the module.
        memory: The named tuple of arrays.

    Attributes:
        places: The first byte of every array by its name, such as ``"work.expansion.actions"``.
        size: The number of bytes.
    """

    def __init__(self, symbol: str, memory: tuple[Any, ...]) -> None:
        self.symbol, self.memory = symbol, memory
        self.arrays = dict(_arrays_of(memory))
        self.places: dict[str, int] = {}
        self.size = 0
        for name, array in self.arrays.items():
            self.places[name] = self.size
            self.size += -(-array.nbytes // _ALIGNMENT) * _ALIGNMENT

    def definition(self) -> str:
        """The block as LLVM IR: zeros until a function writes to it."""
        return f"@{self.symbol} = global [{self.size} x i8] zeroinitializer, align {_ALIGNMENT}\n"

    def not_empty(self) -> Iterator[tuple[str, int, Array]]:
        """The arrays with other initial contents than zeros: name, first byte and contents."""
        for name, array in self.arrays.items():
            flat = np.ascontiguousarray(array)
            if flat.view(np.uint8).any():
                yield name, self.places[name], flat


def _arrays_of(value: Any, name: str = "") -> Iterator[tuple[str, Array]]:
    if isinstance(value, np.ndarray):
        yield name, value
    elif isinstance(value, tuple):
        for field, part in zip(value._fields, value, strict=True):  # type: ignore[attr-defined]
            yield from _arrays_of(part, f"{name}.{field}" if name else field)


def memory_in(block: Block) -> Callable[[], Any]:
    """A function for compiled code that returns the memory in the block of the module.

    Its arrays have no owner, so no references are counted. Numbers become constants.
    """
    memory_type = typeof(block.memory)

    @intrinsic
    def memory(typing_context: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            places = iter(block.places.values())
            return _build(context, builder, block, block.memory, memory_type, places)

        return memory_type(), codegen

    given: Callable[[], Any] = memory
    return given


def _build(context: Any, builder: Any, block: Block, value: Any, kind: Any, places: Iterator[int]) -> Any:
    if isinstance(value, np.ndarray):
        return _view(context, builder, block, kind, value.shape, next(places))
    if isinstance(value, tuple):
        parts = [
            _build(context, builder, block, part, part_kind, places)
            for part, part_kind in zip(value, kind, strict=True)
        ]
        return context.make_tuple(builder, kind, parts)
    return context.get_constant(kind, value)


def _view(context: Any, builder: Any, block: Block, kind: Any, shape: tuple[int, ...], place: int) -> Any:
    """An array without an owner at a place of the block."""
    assert kind.layout == "C", f"{kind} is not contiguous"
    array = make_array(kind)(context, builder)
    itemsize = context.get_abi_sizeof(context.get_data_type(kind.dtype))
    whole = ir.ArrayType(ir.IntType(8), block.size)
    known = builder.module.globals.get(block.symbol) or ir.GlobalVariable(builder.module, whole, block.symbol)
    start = builder.gep(known, [ir.Constant(_INT64, 0), ir.Constant(_INT64, place)])
    strides, step = [0] * len(shape), itemsize
    for axis in reversed(range(len(shape))):
        strides[axis] = step
        step *= shape[axis]
    populate_array(
        array,
        data=builder.bitcast(start, array.data.type),
        shape=[ir.Constant(_INT64, length) for length in shape],
        strides=[ir.Constant(_INT64, stride) for stride in strides],
        itemsize=ir.Constant(_INT64, itemsize),
        meminfo=None,
    )
    return array._getvalue()
