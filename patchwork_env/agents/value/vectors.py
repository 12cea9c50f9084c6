"""Sums of table rows kept in vector registers, for compiled kernels.

Written as two nested loops, the inner one over the entries of a row, such a sum is stored and loaded again
with every row, which takes several times as long.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

Floats = npt.NDArray[np.float32]
Rows = npt.NDArray[np.int32]

_INT64 = ir.IntType(64)
CACHE_LINE = 64
"""Bytes."""


def rows_adder(width: int, sign: int = 1) -> Callable[[Floats, Floats, Rows, int], None]:
    """A compiled ``add(out, table, rows, count)``.

    It adds ``sign`` times the rows ``rows[:count]`` of ``table``, float32 ``(n, width)``, to ``out``, float32
    ``(width,)``. All arrays are contiguous.
    """

    def add_in_python(out: Floats, table: Floats, rows: Rows, count: int) -> None:
        for row in rows[:count]:
            out += np.float32(sign) * table[row]

    def term(builder: Any, arrays: list[Any], k: Any, total: Any) -> Any:
        _, table, rows = arrays
        row = builder.sext(builder.load(builder.gep(rows.data, [k])), _INT64)
        values = _load_row(builder, table, row, width)
        return builder.fadd(total, values) if sign > 0 else builder.fsub(total, values)

    return add_in_python if config.DISABLE_JIT else _compiled(width, term)


def product_adder(width: int) -> Callable[[Floats, Floats, Floats, int], None]:
    """A compiled ``add(out, matrix, inputs, count)``.

    It adds ``inputs[:count] @ matrix[:count]`` to ``out``, float32 ``(width,)``; ``matrix`` is float32
    ``(n, width)``. All arrays are contiguous.
    """

    def add_in_python(out: Floats, matrix: Floats, inputs: Floats, count: int) -> None:
        out += inputs[:count] @ matrix[:count]

    def term(builder: Any, arrays: list[Any], k: Any, total: Any) -> Any:
        _, matrix, inputs = arrays
        scalar = builder.load(builder.gep(inputs.data, [k]))
        vector = ir.VectorType(ir.FloatType(), width)
        lane = builder.insert_element(
            ir.Constant(vector, ir.Undefined), scalar, ir.Constant(ir.IntType(32), 0)
        )
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), width), None)
        factor = builder.shuffle_vector(lane, ir.Constant(vector, ir.Undefined), zeros)
        kind = ir.FunctionType(vector, [vector] * 3)
        fma = cgutils.get_or_insert_function(builder.module, kind, f"llvm.fma.v{width}f32")
        return builder.call(fma, [factor, _load_row(builder, matrix, k, width), total])

    return add_in_python if config.DISABLE_JIT else _compiled(width, term)


def _compiled(width: int, term: Callable[[Any, list[Any], Any, Any], Any]) -> Any:
    """The loop ``out += term(k)`` over ``k`` below a count, as an intrinsic of four arguments.

    Even and odd terms have sums of their own, so that one addition need not wait for the one before.
    """
    vector = ir.VectorType(ir.FloatType(), width)
    one = ir.Constant(_INT64, 1)

    @intrinsic  # type: ignore[untyped-decorator]
    def add(typing_context: Any, out: Any, table: Any, selection: Any, count: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            arrays = [make_array(signature.args[k])(context, builder, args[k]) for k in range(3)]
            target = _pointer(builder, arrays[0].data, width)
            even = cgutils.alloca_once_value(builder, builder.load(target, align=4))
            odd = cgutils.alloca_once_value(builder, ir.Constant(vector, None))
            pairs = builder.lshr(args[3], one)
            with cgutils.for_range(builder, pairs) as loop:
                k = builder.shl(loop.index, one)
                builder.store(term(builder, arrays, k, builder.load(even)), even)
                builder.store(term(builder, arrays, builder.add(k, one), builder.load(odd)), odd)
            with builder.if_then(builder.trunc(args[3], ir.IntType(1))):
                last = builder.sub(args[3], one)
                builder.store(term(builder, arrays, last, builder.load(even)), even)
            builder.store(builder.fadd(builder.load(even), builder.load(odd)), target, align=4)
            return context.get_dummy_value()

        return types.void(out, table, selection, types.intp), codegen

    return add


def _load_row(builder: Any, table: Any, row: Any, width: int) -> Any:
    start = builder.gep(table.data, [builder.mul(row, ir.Constant(_INT64, width))])
    return builder.load(_pointer(builder, start, width), align=4)


def _pointer(builder: Any, data: Any, width: int) -> Any:
    return builder.bitcast(data, ir.VectorType(ir.FloatType(), width).as_pointer())
