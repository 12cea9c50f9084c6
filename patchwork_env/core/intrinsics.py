"""What kernels do by instructions that Numba does not write by itself, for bits and for sums of rows.

Each intrinsic checks the layout of its arrays when a kernel is compiled, since it reads and writes through
pointers. With ``NUMBA_DISABLE_JIT=1`` they are plain Python.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import TypingError, config, types
from numba.core import cgutils
from numba.extending import intrinsic

Floats = npt.NDArray[np.float32]
Rows = npt.NDArray[np.int32]

CACHE_LINE = 64
"""The bytes of a cache line."""
LANES = 8
"""The words that :data:`and_shifted` computes with at once."""
_INT64 = ir.IntType(64)
_MOST_SUMS, _FLOATS_OF_SUMS = 4, 128
"""The most sums of one loop, and their floats: they fit into the vector registers of most processors."""


def _require_layout(array: Any, name: str, ndim: int, *dtypes: Any) -> None:
    """Raises TypingError for what is no contiguous, aligned array of that many dimensions of these types."""
    if not (
        isinstance(array, types.Array)
        and array.ndim == ndim
        and array.layout == "C"
        and array.aligned
        and array.dtype in dtypes
    ):
        allowed = " or ".join(map(str, dtypes))
        raise TypingError(f"{name} must be a contiguous array of {ndim} dimensions of {allowed}, not {array}")


def _array(context: Any, builder: Any, signature: Any, args: Any, k: int = 0) -> Any:
    """The ``k``-th argument of an intrinsic, an array."""
    return context.make_array(signature.args[k])(context, builder, args[k])


def _vector_at(builder: Any, data: Any, index: Any, kind: ir.VectorType) -> Any:
    """A pointer to the vector that begins with an entry of an array."""
    return builder.bitcast(builder.gep(data, [index]), kind.as_pointer())


def _in_all_lanes(builder: Any, scalar: Any, vector: ir.VectorType) -> Any:
    undefined = ir.Constant(vector, ir.Undefined)
    lane = builder.insert_element(undefined, scalar, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(
        lane, undefined, ir.Constant(ir.VectorType(ir.IntType(32), vector.count), None)
    )


# --- bits ---------------------------------------------------------------------------------------------------


def _unpack_in_python(out: Any, start: int, word: np.uint64) -> None:
    out[start : start + 64] = [(int(word) >> bit) & 1 for bit in range(64)]


@intrinsic  # type: ignore[untyped-decorator]
def _unpack_compiled(typing_context: Any, out: Any, start: Any, word: Any) -> Any:
    """One vector conversion and one unaligned store."""
    _require_layout(out, "the array to which bits are written", 1, types.int8)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array, lanes = _array(context, builder, signature, args), ir.VectorType(ir.IntType(8), 64)
        bits = builder.bitcast(args[2], ir.VectorType(ir.IntType(1), 64))
        builder.store(builder.zext(bits, lanes), _vector_at(builder, array.data, args[1], lanes), align=1)
        return context.get_dummy_value()

    return types.void(out, types.intp, types.uint64), codegen


unpack_bits = _unpack_in_python if config.DISABLE_JIT else _unpack_compiled
"""``unpack_bits(out, start, word)`` writes the 64 bits of ``word`` as 0 or 1 to ``out[start : start + 64]``,
lowest first. ``out`` must be a contiguous one-dimensional array of int8 with room for them; with any other
array the kernel does not compile."""


def _and_shifted_in_python(out: Any, start: int, word: np.uint64, begin: Any, shifts: Any) -> int:
    words = begin.copy()
    for row in shifts:
        words &= word >> row
    if out is not None:
        out[start : start + LANES] = words
    return sum(int(word).bit_count() for word in words)


@intrinsic  # type: ignore[untyped-decorator]
def _and_shifted_compiled(
    typing_context: Any, out: Any, start: Any, word: Any, begin: Any, shifts: Any
) -> Any:
    """Vectors of all lanes, which LLVM makes of a loop over lanes only if it does not unroll that first."""
    for array, name, ndim in ((out, "the output", 1), (begin, "the begin", 1), (shifts, "the shifts", 2)):
        if not (array is out and isinstance(out, types.NoneType)):
            _require_layout(array, name, ndim, types.uint64)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        lanes, zero = ir.VectorType(_INT64, LANES), ir.Constant(_INT64, 0)
        table = _array(context, builder, signature, args, 4)

        def load(data: Any, index: Any) -> Any:
            return builder.load(_vector_at(builder, data, index, lanes), align=8)

        words = _in_all_lanes(builder, args[2], lanes)
        total = cgutils.alloca_once_value(
            builder, load(_array(context, builder, signature, args, 3).data, zero)
        )
        with cgutils.for_range(builder, cgutils.unpack_tuple(builder, table.shape)[0]) as loop:
            shift = load(table.data, builder.mul(loop.index, ir.Constant(_INT64, LANES)))
            builder.store(builder.and_(builder.load(total), builder.lshr(words, shift)), total)
        result = builder.load(total)
        if not isinstance(out, types.NoneType):
            data = _array(context, builder, signature, args, 0).data
            builder.store(result, _vector_at(builder, data, args[1], lanes), align=8)
        kinds = ir.FunctionType(lanes, [lanes]), ir.FunctionType(_INT64, [lanes])
        names = f"llvm.ctpop.v{LANES}i64", f"llvm.vector.reduce.add.v{LANES}i64"
        count, add = map(partial(cgutils.get_or_insert_function, builder.module), kinds, names)
        return builder.call(add, [builder.call(count, [result])])

    return types.int64(out, types.intp, types.uint64, begin, shifts), codegen


and_shifted = _and_shifted_in_python if config.DISABLE_JIT else _and_shifted_compiled
"""``and_shifted(out, start, word, begin, shifts)`` ANDs ``begin``, ``(8,)``, with ``word >> row`` for each
row of ``shifts``, ``(n, 8)``. It writes the words to ``out[start : start + 8]``, unless ``out`` is None, and
returns how many ones they have. All arrays are contiguous, of uint64."""


def _add_fitting_in_python(
    out: Any, start: int, near: Any, taken: Any, first: int, rows: Any, columns: Any, number: int
) -> None:
    for lane in range(LANES):
        places = [(first + lane + rows[k], np.uint64(columns[k])) for k in range(number)]
        touches = np.bitwise_or.reduce([near[row] >> column for row, column in places])
        overlaps = np.bitwise_or.reduce([taken[row] >> column for row, column in places])
        out[start + lane] |= touches & ~overlaps


@intrinsic  # type: ignore[untyped-decorator]
def _add_fitting_compiled(
    typing_context: Any,
    out: Any,
    start: Any,
    near: Any,
    taken: Any,
    first: Any,
    rows: Any,
    columns: Any,
    number: Any,
) -> Any:
    for array in (out, near, taken):
        _require_layout(array, "rows of bits", 1, types.uint64)
    for array in (rows, columns):
        _require_layout(array, "cells", 1, types.int64)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        lanes = ir.VectorType(_INT64, LANES)
        words, *sources, down, right = (_array(context, builder, signature, args, k) for k in (0, 2, 3, 5, 6))
        sums = [cgutils.alloca_once_value(builder, ir.Constant(lanes, None)) for _ in sources]
        with cgutils.for_range(builder, args[7]) as loop:
            row = builder.add(args[4], builder.load(builder.gep(down.data, [loop.index])))
            column = _in_all_lanes(builder, builder.load(builder.gep(right.data, [loop.index])), lanes)
            for source, total in zip(sources, sums, strict=True):
                cells = builder.load(_vector_at(builder, source.data, row, lanes), align=8)
                builder.store(builder.or_(builder.load(total), builder.lshr(cells, column)), total)
        target = _vector_at(builder, words.data, args[1], lanes)
        touches, overlaps = map(builder.load, sums)
        fitting = builder.and_(touches, builder.not_(overlaps))
        builder.store(builder.or_(builder.load(target, align=8), fitting), target, align=8)
        return context.get_dummy_value()

    return types.void(out, types.intp, near, taken, types.intp, rows, columns, types.intp), codegen


add_fitting = _add_fitting_in_python if config.DISABLE_JIT else _add_fitting_compiled
"""``add_fitting(out, start, near, taken, first, rows, columns, number)`` ORs anchors of a tile to the words
``out[start : start + 8]``, which stand for rows as their bits for columns: those at which one of its cells
``(rows[k], columns[k])``, ``number`` in all, lies on a one of ``near``, and none on a one of ``taken``, both
read from row ``first`` on. All arrays are contiguous, the cells int64, the others uint64."""


# --- sums of rows -------------------------------------------------------------------------------------------
#
# Written as two nested loops, the inner one over the entries of a row, such a sum is stored and loaded again
# with every row, which takes several times as long as keeping it in vector registers.


def rows_adder(width: int, sign: int = 1) -> Callable[[Floats, Floats, Rows, int], None]:
    """A compiled ``add(out, table, rows, count)``.

    It adds ``sign`` times the rows ``rows[:count]`` of ``table``, float32 ``(n, width)``, to ``out``, float32
    ``(width,)``. All arrays are contiguous.
    """

    def add_in_python(out: Floats, table: Floats, rows: Rows, count: int) -> None:
        for row in rows[:count]:
            out += np.float32(sign) * table[row]

    def row_of(builder: Any, arrays: list[Any], k: Any) -> Any:
        return builder.sext(builder.load(builder.gep(arrays[2].data, [k])), _INT64)

    def term(builder: Any, arrays: list[Any], k: Any, total: Any) -> Any:
        values = _load_row(builder, arrays[1], row_of(builder, arrays, k), width)
        return builder.fadd(total, values) if sign > 0 else builder.fsub(total, values)

    return add_in_python if config.DISABLE_JIT else _sum_of_terms(width, types.int32, row_of, term)


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
        factor = _in_all_lanes(builder, scalar, vector)
        kind = ir.FunctionType(vector, [vector] * 3)
        # Rounded once where the processor has such an instruction; llvm.fma would call a function elsewhere.
        multiply_add = cgutils.get_or_insert_function(builder.module, kind, f"llvm.fmuladd.v{width}f32")
        return builder.call(multiply_add, [factor, _load_row(builder, matrix, k, width), total])

    def row_of(builder: Any, arrays: list[Any], k: Any) -> Any:
        return k

    return add_in_python if config.DISABLE_JIT else _sum_of_terms(width, types.float32, row_of, term)


def _sum_of_terms(width: int, selected: Any, row_of: Callable[..., Any], term: Callable[..., Any]) -> Any:
    """The loop ``out += term(k)`` over ``k`` below a count, as an intrinsic of four arguments.

    ``selected`` is the type of what the third argument holds, and ``row_of(k)`` the row of the table that
    ``term(k)`` reads. Terms take turns with several sums, so that one addition need not wait for the one
    before.
    """
    vector = ir.VectorType(ir.FloatType(), width)
    num_sums = max(1, min(_MOST_SUMS, _FLOATS_OF_SUMS // width))

    @intrinsic  # type: ignore[untyped-decorator]
    def add(typing_context: Any, out: Any, table: Any, selection: Any, count: Any) -> Any:
        _require_layout(out, "the sum", 1, types.float32)
        _require_layout(table, "the table", 2, types.float32)
        _require_layout(selection, "the rows or inputs", 1, selected)

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            arrays = [_array(context, builder, signature, args, k) for k in range(3)]
            if config.BOUNDSCHECK:
                _check_rows(context, builder, arrays, args[3], row_of)
            target = _vector_at(builder, arrays[0].data, ir.Constant(_INT64, 0), vector)
            first = builder.load(target, align=4)
            others = [ir.Constant(vector, None)] * (num_sums - 1)
            sums = [cgutils.alloca_once_value(builder, start) for start in (first, *others)]
            rounds = builder.udiv(args[3], ir.Constant(_INT64, num_sums))
            with cgutils.for_range(builder, rounds) as loop:
                begin = builder.mul(loop.index, ir.Constant(_INT64, num_sums))
                for offset, total in enumerate(sums):
                    k = builder.add(begin, ir.Constant(_INT64, offset))
                    builder.store(term(builder, arrays, k, builder.load(total)), total)
            begin = builder.mul(rounds, ir.Constant(_INT64, num_sums))
            with cgutils.for_range(builder, builder.sub(args[3], begin)) as loop:
                k = builder.add(begin, loop.index)
                builder.store(term(builder, arrays, k, builder.load(sums[0])), sums[0])
            result = builder.load(sums[0])
            for total in sums[1:]:
                result = builder.fadd(result, builder.load(total))
            builder.store(result, target, align=4)
            return context.get_dummy_value()

        return types.void(out, table, selection, types.intp), codegen

    return add


def _check_rows(
    context: Any, builder: Any, arrays: list[Any], count: Any, row_of: Callable[..., Any]
) -> None:
    """Lets the loop raise IndexError before it reads beyond an array, as Numba's own code does then."""
    _, rows, selected = (cgutils.unpack_tuple(builder, array.shape)[0] for array in arrays)
    with cgutils.for_range(builder, count) as loop:
        cgutils.do_boundscheck(context, builder, loop.index, selected)
        cgutils.do_boundscheck(context, builder, row_of(builder, arrays, loop.index), rows)


def _load_row(builder: Any, table: Any, row: Any, width: int) -> Any:
    start = builder.mul(row, ir.Constant(_INT64, width))
    return builder.load(_vector_at(builder, table.data, start, ir.VectorType(ir.FloatType(), width)), align=4)
