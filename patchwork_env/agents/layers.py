"""Sums of rows and layers of integers in vector instructions, for learned values.

Each intrinsic checks the layout of its arrays when a kernel is compiled, since it reads and writes through
pointers. With ``NUMBA_DISABLE_JIT=1`` they are plain Python.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic

from patchwork_env.core.intrinsics import (
    INT16,
    INT32,
    INT64,
    Floats,
    Rows,
    Shorts,
    array_of,
    in_all_lanes,
    require_layout,
    vector_at,
)

_MOST_SUMS, _LANES_OF_SUMS = 4, 128
"""The most sums of one loop, and their lanes: they fit into the vector registers of most processors."""
_ENDS = -(2**15), 2**15 - 1
"""The least and the greatest number of int16."""


# --- sums of rows -------------------------------------------------------------------------------------------
#
# Two nested loops, the inner one over the entries of a row, would store and load the sum for every row. That
# takes several times as long as keeping it in vector registers.


def rows_adder(width: int, sign: int = 1) -> Callable[[Any, Any, Rows, int], None]:
    """Return a compiled ``add(out, table, rows, count)``.

    It adds ``sign`` times the rows ``rows[:count]`` of ``table``, ``(n, width)``, to ``out``, ``(width,)``.
    Both are float32, and all arrays are contiguous.
    """

    def add_in_python(out: Any, table: Any, rows: Rows, count: int) -> None:
        for row in rows[:count]:
            out += np.float32(sign) * table[row]

    def term(builder: Any, arrays: list[Any], k: Any, total: Any) -> Any:
        values = _load_row(builder, arrays[1], _row_of(builder, arrays, k), total.type)
        return builder.fadd(total, values) if sign > 0 else builder.fsub(total, values)

    return add_in_python if config.DISABLE_JIT else _sum_of_terms(width, types.int32, _row_of, term)


def short_rows_adder(width: int, sign: int = 1) -> Callable[[Rows, Rows, Shorts, Rows, int, int], None]:
    """Return a compiled ``add(out, base, table, rows, count, at_once)``.

    It writes ``base``, int32 ``(width,)``, plus ``sign`` times the rows ``rows[:count]`` of ``table``, int16
    ``(n, width)``, to ``out``, which may be ``base``. The sum of any ``at_once`` rows must be in the range of
    int16: so many are added before their sum is widened, which is faster. All arrays are contiguous.
    """

    def add_in_python(out: Rows, base: Rows, table: Shorts, rows: Rows, count: int, at_once: int) -> None:
        out[:] = base + sign * table[rows[:count]].sum(0)

    shorts, lanes = ir.VectorType(INT16, width), ir.VectorType(INT32, width)

    @intrinsic  # type: ignore[untyped-decorator]
    def add(typing_context: Any, out: Any, base: Any, table: Any, rows: Any, count: Any, at_once: Any) -> Any:
        require_layout(out, "the sum", 1, types.int32)
        require_layout(base, "the base", 1, types.int32)
        require_layout(table, "the table", 2, types.int16)
        require_layout(rows, "the rows", 1, types.int32)

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            target, *arrays = (array_of(context, builder, signature, args, k) for k in range(4))
            end, step = args[4:]
            if config.BOUNDSCHECK:
                _check_rows(context, builder, arrays, end, _row_of)
            zero = ir.Constant(INT64, 0)
            total = cgutils.alloca_once_value(builder, _load_row(builder, arrays[0], zero, lanes))
            part = cgutils.alloca_once(builder, shorts)
            with cgutils.for_range_slice(builder, zero, end, step, INT64) as (begin, _):
                left = builder.sub(end, begin)
                here = builder.select(builder.icmp_signed("<", left, step), left, step)
                builder.store(ir.Constant(shorts, None), part)
                with cgutils.for_range(builder, here) as loop:
                    row = _row_of(builder, arrays, builder.add(begin, loop.index))
                    values = _load_row(builder, arrays[1], row, shorts)
                    builder.store(builder.add(builder.load(part), values), part)
                wide = builder.sext(builder.load(part), lanes)
                change = builder.add if sign > 0 else builder.sub
                builder.store(change(builder.load(total), wide), total)
            builder.store(builder.load(total), vector_at(builder, target.data, zero, lanes), align=4)
            return context.get_dummy_value()

        return types.void(out, base, table, rows, types.intp, types.intp), codegen

    return add_in_python if config.DISABLE_JIT else add


def _row_of(builder: Any, arrays: list[Any], k: Any) -> Any:
    return builder.sext(builder.load(builder.gep(arrays[2].data, [k])), INT64)


def product_adder(width: int) -> Callable[[Floats, Floats, Floats, int], None]:
    """Return a compiled ``add(out, matrix, inputs, count)``.

    It adds ``inputs[:count] @ matrix[:count]`` to ``out``, float32 ``(width,)``; ``matrix`` is float32
    ``(n, width)``. All arrays are contiguous.
    """

    def add_in_python(out: Floats, matrix: Floats, inputs: Floats, count: int) -> None:
        out += inputs[:count] @ matrix[:count]

    def term(builder: Any, arrays: list[Any], k: Any, total: Any) -> Any:
        _, matrix, inputs = arrays
        factor = in_all_lanes(builder, builder.load(builder.gep(inputs.data, [k])), total.type)
        # Rounded once where the processor has such an instruction; llvm.fma would call a function elsewhere.
        return _call(builder, "llvm.fmuladd", factor, _load_row(builder, matrix, k, total.type), total)

    def row_of(builder: Any, arrays: list[Any], k: Any) -> Any:
        return k

    return add_in_python if config.DISABLE_JIT else _sum_of_terms(width, types.float32, row_of, term)


def _sum_of_terms(width: int, selected: Any, row_of: Callable[..., Any], term: Callable[..., Any]) -> Any:
    """Return the loop ``out += term(k)`` over ``k`` below a count, as an intrinsic of four arguments.

    ``selected`` is the dtype of the third argument, and ``row_of(k)`` the row of the table that ``term(k)``
    reads. Terms are added to several sums in turn, so that an addition need not wait for the one before.
    """

    @intrinsic  # type: ignore[untyped-decorator]
    def add(typing_context: Any, out: Any, table: Any, selection: Any, count: Any) -> Any:
        require_layout(out, "the sum", 1, types.float32)
        require_layout(table, "the table", 2, types.float32)
        require_layout(selection, "the rows or inputs", 1, selected)

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            arrays = [array_of(context, builder, signature, args, k) for k in range(3)]
            vector = ir.VectorType(ir.FloatType(), width)
            if config.BOUNDSCHECK:
                _check_rows(context, builder, arrays, args[3], row_of)
            target = vector_at(builder, arrays[0].data, ir.Constant(INT64, 0), vector)
            first = builder.load(target, align=2)
            terms = partial(term, builder, arrays)
            result = _total(builder, first, _num_sums(width), args[3], terms, builder.fadd)
            builder.store(result, target, align=2)
            return context.get_dummy_value()

        return types.void(out, table, selection, types.intp), codegen

    return add


def _num_sums(width: int) -> int:
    return max(1, min(_MOST_SUMS, _LANES_OF_SUMS // width))


def _total(builder: Any, first: Any, num_sums: int, count: Any, term: Callable[..., Any], plus: Any) -> Any:
    """Return ``first`` plus all terms below a count: ``term(k, total)`` adds term ``k`` to a total."""
    others = [ir.Constant(first.type, None)] * (num_sums - 1)
    sums = [cgutils.alloca_once_value(builder, start) for start in (first, *others)]
    step = ir.Constant(INT64, num_sums)
    rounds = builder.udiv(count, step)
    with cgutils.for_range(builder, rounds) as loop:
        begin = builder.mul(loop.index, step)
        for offset, total in enumerate(sums):
            k = builder.add(begin, ir.Constant(INT64, offset))
            builder.store(term(k, builder.load(total)), total)
    begin = builder.mul(rounds, step)
    with cgutils.for_range(builder, builder.sub(count, begin)) as loop:
        builder.store(term(builder.add(begin, loop.index), builder.load(sums[0])), sums[0])
    return reduce(plus, map(builder.load, sums))


def _check_rows(
    context: Any, builder: Any, arrays: list[Any], count: Any, row_of: Callable[..., Any]
) -> None:
    """Raise IndexError before the loop reads past the end of an array, as Numba's own checks do."""
    _, rows, selected = (cgutils.unpack_tuple(builder, array.shape)[0] for array in arrays)
    with cgutils.for_range(builder, count) as loop:
        cgutils.do_boundscheck(context, builder, loop.index, selected)
        cgutils.do_boundscheck(context, builder, row_of(builder, arrays, loop.index), rows)


def _load_row(builder: Any, table: Any, row: Any, vector: ir.VectorType) -> Any:
    start = builder.mul(row, ir.Constant(INT64, vector.count))
    return builder.load(vector_at(builder, table.data, start, vector), align=2)


def _call(builder: Any, name: str, *args: Any) -> Any:
    """Call a function of LLVM on vectors of one type."""
    vector = args[0].type
    element = "f32" if vector.element == ir.FloatType() else f"i{vector.element.width}"
    kind = ir.FunctionType(vector, [vector] * len(args))
    return builder.call(
        cgutils.get_or_insert_function(builder.module, kind, f"{name}.v{vector.count}{element}"), args
    )


# --- layers of integers -------------------------------------------------------------------------------------


def _saturated(numbers: Any) -> Any:
    """Convert integers to int16, clipped to its range."""
    return np.clip(numbers, *_ENDS).astype(np.int16)


def _to_shorts(builder: Any, values: Any) -> Any:
    """Convert a vector of int32 as :func:`_saturated` does, in a form that becomes one instruction."""
    for name, end in zip(("llvm.smax", "llvm.smin"), _ENDS, strict=True):
        values = _call(builder, name, values, ir.Constant(values.type, [end] * values.type.count))
    return builder.trunc(values, ir.VectorType(INT16, values.type.count))


def integer_layer(width: int) -> Callable[[Shorts, Rows, Shorts, Shorts, int], None]:
    """Return a compiled ``write(out, bias, matrix, inputs, shift)``.

    It writes ``bias + inputs @ matrix``, divided by ``2 ** shift``, rounded and clipped, to ``out``, int16
    ``(width,)``. ``bias`` is int32 ``(width,)``, ``inputs`` int16 ``(2 n,)``, and ``matrix`` int16
    ``(n, width, 2)``: row ``k`` has the factors of inputs ``2 k`` and ``2 k + 1``. All arrays are contiguous,
    sums are int32, and ``shift`` is at least 1.
    """

    def write_in_python(out: Shorts, bias: Rows, matrix: Shorts, inputs: Shorts, shift: int) -> None:
        sums = bias + np.einsum("ki,kwi->w", inputs.reshape(-1, 2), matrix, dtype=np.int32)
        out[:] = _saturated((sums + (1 << shift >> 1)) >> shift)

    lanes = ir.VectorType(INT32, width)

    @intrinsic  # type: ignore[untyped-decorator]
    def write(typing_context: Any, out: Any, bias: Any, matrix: Any, inputs: Any, shift: Any) -> Any:
        for array, name, ndim, kind in (
            (out, "the output", 1, types.int16),
            (bias, "the bias", 1, types.int32),
            (matrix, "the matrix", 3, types.int16),
            (inputs, "the inputs", 1, types.int16),
        ):
            require_layout(array, name, ndim, kind)

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            target, start, factors, source = (
                array_of(context, builder, signature, args, k) for k in range(4)
            )
            zero, amount = ir.Constant(INT64, 0), builder.trunc(args[4], INT32)
            half = builder.lshr(builder.shl(ir.Constant(INT32, 1), amount), ir.Constant(INT32, 1))
            first = builder.add(_load_row(builder, start, zero, lanes), in_all_lanes(builder, half, lanes))
            rows = cgutils.unpack_tuple(builder, factors.shape)[0]
            add = partial(_add_products, builder, factors, source)
            result = _total(builder, first, _num_sums(width), rows, add, builder.add)
            result = builder.ashr(result, in_all_lanes(builder, amount, lanes))
            shorts = _to_shorts(builder, result)
            builder.store(shorts, vector_at(builder, target.data, zero, shorts.type), align=2)
            return context.get_dummy_value()

        return types.void(out, bias, matrix, inputs, types.intp), codegen

    return write_in_python if config.DISABLE_JIT else write


def _add_products(builder: Any, matrix: Any, inputs: Any, k: Any, total: Any) -> Any:
    """Add two products to the total in each lane, in a form that becomes one instruction."""
    lanes = total.type
    pairs, wide = ir.VectorType(INT16, 2 * lanes.count), ir.VectorType(INT32, 2 * lanes.count)
    pair = builder.load(builder.gep(builder.bitcast(inputs.data, INT32.as_pointer()), [k]), align=2)
    factors = builder.bitcast(in_all_lanes(builder, pair, lanes), pairs)
    row = _load_row(builder, matrix, k, pairs)
    products = builder.mul(builder.sext(factors, wide), builder.sext(row, wide), flags=("nsw",))
    undefined = ir.Constant(wide, ir.Undefined)
    places = (ir.Constant(lanes, list(range(begin, wide.count, 2))) for begin in range(2))
    even, odd = (builder.shuffle_vector(products, undefined, place) for place in places)
    return builder.add(total, builder.add(even, odd))


def rectifier(width: int, shift: int) -> Callable[[Shorts, Shorts | Rows], None]:
    """Return a compiled ``write(out, numbers)``, which divides numbers below 0 by ``2 ** shift``.

    ``numbers`` is int16 or int32 ``(width,)``, clipped to int16 first. ``out`` is int16 ``(width,)``.
    """

    def write_in_python(out: Shorts, numbers: Shorts | Rows) -> None:
        shorts = _saturated(numbers)
        np.maximum(shorts, (shorts + np.int16(1 << shift >> 1)) >> shift, out=out)

    lanes = ir.VectorType(INT16, width)

    @intrinsic  # type: ignore[untyped-decorator]
    def write(typing_context: Any, out: Any, numbers: Any) -> Any:
        require_layout(out, "the output", 1, types.int16)
        require_layout(numbers, "the numbers", 1, types.int16, types.int32)

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            target, source = (array_of(context, builder, signature, args, k) for k in range(2))
            zero = ir.Constant(INT64, 0)
            kind = ir.VectorType(context.get_data_type(numbers.dtype), width)
            values = _load_row(builder, source, zero, kind)
            if numbers.dtype == types.int32:
                values = _to_shorts(builder, values)
            half, amount = (ir.Constant(lanes, [number] * width) for number in (1 << shift >> 1, shift))
            small = builder.ashr(builder.add(values, half), amount)
            result = _call(builder, "llvm.smax", values, small)
            builder.store(result, vector_at(builder, target.data, zero, lanes), align=2)
            return context.get_dummy_value()

        return types.void(out, numbers), codegen

    return write_in_python if config.DISABLE_JIT else write
