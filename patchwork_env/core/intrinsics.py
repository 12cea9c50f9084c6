"""What kernels do by instructions that Numba does not write by itself, for bits and for sums of rows.

Each intrinsic checks the layout of its arrays when a kernel is compiled, since it reads and writes through
pointers. With ``NUMBA_DISABLE_JIT=1`` they are plain Python.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial, reduce
from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import TypingError, config, types
from numba.core import cgutils
from numba.extending import intrinsic

Floats = npt.NDArray[np.float32]
Rows = npt.NDArray[np.int32]
Shorts = npt.NDArray[np.int16]

CACHE_LINE = 64
"""The bytes of a cache line."""
LANES = 8
"""The words that :data:`and_shifted` computes with at once."""
_INT16, _INT32, _INT64 = ir.IntType(16), ir.IntType(32), ir.IntType(64)
_MOST_SUMS, _LANES_OF_SUMS = 4, 128
"""The most sums of one loop, and their lanes: they fit into the vector registers of most processors."""
_ENDS = -(2**15), 2**15 - 1
"""The least and the greatest number of int16."""


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


# --- memory -------------------------------------------------------------------------------------------------


def _copy_in_python(to: Any, source: Any) -> None:
    to[:] = source


@intrinsic  # type: ignore[untyped-decorator]
def _copy_compiled(typing_context: Any, to: Any, source: Any) -> Any:
    """One copy of memory; a loop of known length is unrolled before it becomes vectors."""
    for array in (to, source):
        _require_layout(array, "what is copied", 1, getattr(to, "dtype", None))

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        target, origin = (_array(context, builder, signature, args, k) for k in range(2))
        cgutils.raw_memcpy(builder, target.data, origin.data, target.nitems, target.itemsize)
        return context.get_dummy_value()

    return types.void(to, source), codegen


copy = _copy_in_python if config.DISABLE_JIT else _copy_compiled
"""``copy(to, source)`` copies a vector to another one of its type and length, both contiguous."""


def _copy_record_in_python(to: Any, k: int, source: Any, i: int) -> None:
    to[k] = source[i]


@intrinsic  # type: ignore[untyped-decorator]
def _copy_record_compiled(typing_context: Any, to: Any, k: Any, source: Any, i: Any) -> Any:
    """One copy of memory, where Numba writes one instruction for every byte that is read or written."""
    for array in (to, source):
        if not isinstance(array, types.Array) or array.ndim != 1 or array.dtype != to.dtype:
            raise TypingError(f"records are copied between vectors of one type, not from {source} to {to}")

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        target, origin = (
            cgutils.get_item_pointer(
                context,
                builder,
                signature.args[at],
                _array(context, builder, signature, args, at),
                [args[at + 1]],
            )
            for at in (0, 2)
        )
        size = context.get_abi_sizeof(context.get_data_type(to.dtype))
        cgutils.raw_memcpy(builder, target, origin, ir.Constant(_INT64, 1), size)
        return context.get_dummy_value()

    return types.void(to, types.intp, source, types.intp), codegen


copy_record = _copy_record_in_python if config.DISABLE_JIT else _copy_record_compiled
"""``copy_record(to, k, source, i)`` is ``to[k] = source[i]``, for vectors of records."""


@intrinsic  # type: ignore[untyped-decorator]
def _prefetch_compiled(typing_context: Any, array: Any, index: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        entry = builder.gep(_array(context, builder, signature, args).data, [args[1]])
        byte = ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [byte, *[_INT32] * 3])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        to_read, in_all_caches, data = (ir.Constant(_INT32, number) for number in (0, 3, 1))
        builder.call(function, [builder.bitcast(entry, byte), to_read, in_all_caches, data])
        return context.get_dummy_value()

    return types.void(array, types.intp), codegen


def _prefetch_in_python(array: Any, index: int) -> None:
    pass


prefetch = _prefetch_in_python if config.DISABLE_JIT else _prefetch_compiled
"""``prefetch(array, index)`` asks for the cache line at which an entry of a contiguous array begins, counted
over all dimensions, so that it is there when it is needed soon."""


_GUARD = threading.Lock()


def _take_in_python(lock: Any) -> bool:
    with _GUARD:
        was_free, lock[0] = lock[0] == 0, 1
    return bool(was_free)


@intrinsic  # type: ignore[untyped-decorator]
def _take_compiled(typing_context: Any, lock: Any) -> Any:
    _require_layout(lock, "a lock", 1, types.int64)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = _array(context, builder, signature, args).data
        before = builder.atomic_rmw("xchg", data, ir.Constant(_INT64, 1), "acquire")
        return builder.icmp_unsigned("==", before, ir.Constant(_INT64, 0))

    return types.boolean(lock), codegen


def _release_in_python(lock: Any) -> None:
    lock[0] = 0


@intrinsic  # type: ignore[untyped-decorator]
def _release_compiled(typing_context: Any, lock: Any) -> Any:
    _require_layout(lock, "a lock", 1, types.int64)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = _array(context, builder, signature, args).data
        builder.store_atomic(ir.Constant(_INT64, 0), data, "release", 8)
        return context.get_dummy_value()

    return types.void(lock), codegen


take_lock, release_lock = (
    (_take_in_python, _release_in_python) if config.DISABLE_JIT else (_take_compiled, _release_compiled)
)
"""``take_lock(lock)`` says whether this thread has the lock now, an int64 array ``(1,)`` that holds 0 as long
as nobody has it; ``release_lock(lock)`` gives it back. Who takes it next sees all that was written before."""


# --- sums of rows -------------------------------------------------------------------------------------------
#
# Written as two nested loops, the inner one over the entries of a row, such a sum is stored and loaded again
# with every row, which takes several times as long as keeping it in vector registers.


def rows_adder(width: int, sign: int = 1) -> Callable[[Any, Any, Rows, int], None]:
    """A compiled ``add(out, table, rows, count)``.

    It adds ``sign`` times the rows ``rows[:count]`` of ``table``, ``(n, width)``, to ``out``, ``(width,)``.
    Both are of float32, or of int16, whose sums stop at the ends of their range. All arrays are contiguous.
    """

    def add_in_python(out: Any, table: Any, rows: Rows, count: int) -> None:
        for row in rows[:count]:
            if out.dtype == np.int16:
                out[:] = _saturated(out.astype(np.int32) + sign * table[row].astype(np.int32))
            else:
                out += np.float32(sign) * table[row]

    def row_of(builder: Any, arrays: list[Any], k: Any) -> Any:
        return builder.sext(builder.load(builder.gep(arrays[2].data, [k])), _INT64)

    def term(builder: Any, arrays: list[Any], k: Any, total: Any) -> Any:
        values = _load_row(builder, arrays[1], row_of(builder, arrays, k), total.type)
        if total.type.element == ir.FloatType():
            return builder.fadd(total, values) if sign > 0 else builder.fsub(total, values)
        return _call(builder, "llvm.sadd.sat" if sign > 0 else "llvm.ssub.sat", total, values)

    numbers = types.float32, types.int16
    return add_in_python if config.DISABLE_JIT else _sum_of_terms(width, numbers, types.int32, row_of, term)


def product_adder(width: int) -> Callable[[Floats, Floats, Floats, int], None]:
    """A compiled ``add(out, matrix, inputs, count)``.

    It adds ``inputs[:count] @ matrix[:count]`` to ``out``, float32 ``(width,)``; ``matrix`` is float32
    ``(n, width)``. All arrays are contiguous.
    """

    def add_in_python(out: Floats, matrix: Floats, inputs: Floats, count: int) -> None:
        out += inputs[:count] @ matrix[:count]

    def term(builder: Any, arrays: list[Any], k: Any, total: Any) -> Any:
        _, matrix, inputs = arrays
        factor = _in_all_lanes(builder, builder.load(builder.gep(inputs.data, [k])), total.type)
        # Rounded once where the processor has such an instruction; llvm.fma would call a function elsewhere.
        return _call(builder, "llvm.fmuladd", factor, _load_row(builder, matrix, k, total.type), total)

    def row_of(builder: Any, arrays: list[Any], k: Any) -> Any:
        return k

    numbers = (types.float32,)
    return add_in_python if config.DISABLE_JIT else _sum_of_terms(width, numbers, types.float32, row_of, term)


def _sum_of_terms(
    width: int, numbers: tuple[Any, ...], selected: Any, row_of: Callable[..., Any], term: Callable[..., Any]
) -> Any:
    """The loop ``out += term(k)`` over ``k`` below a count, as an intrinsic of four arguments.

    ``numbers`` are the types of which table and sum can be, ``selected`` is the type of what the third
    argument holds, and ``row_of(k)`` the row of the table that ``term(k)`` reads. Terms take turns with
    several sums, so that one addition need not wait for the one before.
    """

    @intrinsic  # type: ignore[untyped-decorator]
    def add(typing_context: Any, out: Any, table: Any, selection: Any, count: Any) -> Any:
        _require_layout(out, "the sum", 1, *numbers)
        _require_layout(table, "the table", 2, out.dtype)
        _require_layout(selection, "the rows or inputs", 1, selected)
        # Sums that stop at an end depend on the order of their terms, which is that of the rows.
        num_sums = 1 if out.dtype == types.int16 else _num_sums(width)

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            arrays = [_array(context, builder, signature, args, k) for k in range(3)]
            vector = ir.VectorType(context.get_data_type(out.dtype), width)
            if config.BOUNDSCHECK:
                _check_rows(context, builder, arrays, args[3], row_of)
            target = _vector_at(builder, arrays[0].data, ir.Constant(_INT64, 0), vector)
            first = builder.load(target, align=2)
            result = _total(builder, first, num_sums, args[3], partial(term, builder, arrays), builder.fadd)
            builder.store(result, target, align=2)
            return context.get_dummy_value()

        return types.void(out, table, selection, types.intp), codegen

    return add


def _num_sums(width: int) -> int:
    return max(1, min(_MOST_SUMS, _LANES_OF_SUMS // width))


def _total(builder: Any, first: Any, num_sums: int, count: Any, term: Callable[..., Any], plus: Any) -> Any:
    """The vector ``first`` and all terms below a count: ``term(k, total)`` adds term ``k`` to a total."""
    others = [ir.Constant(first.type, None)] * (num_sums - 1)
    sums = [cgutils.alloca_once_value(builder, start) for start in (first, *others)]
    step = ir.Constant(_INT64, num_sums)
    rounds = builder.udiv(count, step)
    with cgutils.for_range(builder, rounds) as loop:
        begin = builder.mul(loop.index, step)
        for offset, total in enumerate(sums):
            k = builder.add(begin, ir.Constant(_INT64, offset))
            builder.store(term(k, builder.load(total)), total)
    begin = builder.mul(rounds, step)
    with cgutils.for_range(builder, builder.sub(count, begin)) as loop:
        builder.store(term(builder.add(begin, loop.index), builder.load(sums[0])), sums[0])
    return reduce(plus, map(builder.load, sums))


def _check_rows(
    context: Any, builder: Any, arrays: list[Any], count: Any, row_of: Callable[..., Any]
) -> None:
    """Lets the loop raise IndexError before it reads beyond an array, as Numba's own code does then."""
    _, rows, selected = (cgutils.unpack_tuple(builder, array.shape)[0] for array in arrays)
    with cgutils.for_range(builder, count) as loop:
        cgutils.do_boundscheck(context, builder, loop.index, selected)
        cgutils.do_boundscheck(context, builder, row_of(builder, arrays, loop.index), rows)


def _load_row(builder: Any, table: Any, row: Any, vector: ir.VectorType) -> Any:
    start = builder.mul(row, ir.Constant(_INT64, vector.count))
    return builder.load(_vector_at(builder, table.data, start, vector), align=2)


def _call(builder: Any, name: str, *args: Any) -> Any:
    """Calls a function of LLVM on vectors of one type."""
    vector = args[0].type
    element = "f32" if vector.element == ir.FloatType() else f"i{vector.element.width}"
    kind = ir.FunctionType(vector, [vector] * len(args))
    return builder.call(
        cgutils.get_or_insert_function(builder.module, kind, f"{name}.v{vector.count}{element}"), args
    )


# --- layers of integers -------------------------------------------------------------------------------------


def _saturated(numbers: Any) -> Any:
    """Integers as int16, those beyond its range as its ends."""
    return np.clip(numbers, *_ENDS).astype(np.int16)


def integer_layer(width: int) -> Callable[[Shorts, Rows, Shorts, Shorts, int], None]:
    """A compiled ``write(out, bias, matrix, inputs, shift)``.

    It writes ``bias + inputs @ matrix``, divided by ``2 ** shift`` and rounded, to ``out``, int16
    ``(width,)``; what is beyond its range becomes its end. ``bias`` is int32 ``(width,)``, ``inputs`` int16
    ``(2 n,)``, and ``matrix`` int16 ``(n, width, 2)``: row ``k`` has the factors of inputs ``2 k`` and
    ``2 k + 1``. All arrays are contiguous, sums are int32, and ``shift`` is at least 1.
    """

    def write_in_python(out: Shorts, bias: Rows, matrix: Shorts, inputs: Shorts, shift: int) -> None:
        sums = bias + np.einsum("ki,kwi->w", inputs.reshape(-1, 2), matrix, dtype=np.int32)
        out[:] = _saturated((sums + (1 << shift >> 1)) >> shift)

    lanes = ir.VectorType(_INT32, width)

    @intrinsic  # type: ignore[untyped-decorator]
    def write(typing_context: Any, out: Any, bias: Any, matrix: Any, inputs: Any, shift: Any) -> Any:
        for array, name, ndim, kind in (
            (out, "the output", 1, types.int16),
            (bias, "the bias", 1, types.int32),
            (matrix, "the matrix", 3, types.int16),
            (inputs, "the inputs", 1, types.int16),
        ):
            _require_layout(array, name, ndim, kind)

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            target, start, factors, source = (_array(context, builder, signature, args, k) for k in range(4))
            zero, amount = ir.Constant(_INT64, 0), builder.trunc(args[4], _INT32)
            half = builder.lshr(builder.shl(ir.Constant(_INT32, 1), amount), ir.Constant(_INT32, 1))
            first = builder.add(_load_row(builder, start, zero, lanes), _in_all_lanes(builder, half, lanes))
            rows = cgutils.unpack_tuple(builder, factors.shape)[0]
            add = partial(_add_products, builder, factors, source)
            result = _total(builder, first, _num_sums(width), rows, add, builder.add)
            result = builder.ashr(result, _in_all_lanes(builder, amount, lanes))
            for name, end in zip(("llvm.smax", "llvm.smin"), _ENDS, strict=True):
                result = _call(builder, name, result, ir.Constant(lanes, [end] * width))
            shorts = ir.VectorType(_INT16, width)
            builder.store(
                builder.trunc(result, shorts), _vector_at(builder, target.data, zero, shorts), align=2
            )
            return context.get_dummy_value()

        return types.void(out, bias, matrix, inputs, types.intp), codegen

    return write_in_python if config.DISABLE_JIT else write


def _add_products(builder: Any, matrix: Any, inputs: Any, k: Any, total: Any) -> Any:
    """The total and two products more in each lane, in the form that LLVM knows as one instruction."""
    lanes = total.type
    pairs, wide = ir.VectorType(_INT16, 2 * lanes.count), ir.VectorType(_INT32, 2 * lanes.count)
    pair = builder.load(builder.gep(builder.bitcast(inputs.data, _INT32.as_pointer()), [k]), align=2)
    factors = builder.bitcast(_in_all_lanes(builder, pair, lanes), pairs)
    row = _load_row(builder, matrix, k, pairs)
    products = builder.mul(builder.sext(factors, wide), builder.sext(row, wide), flags=("nsw",))
    undefined = ir.Constant(wide, ir.Undefined)
    places = (ir.Constant(lanes, list(range(begin, wide.count, 2))) for begin in range(2))
    even, odd = (builder.shuffle_vector(products, undefined, place) for place in places)
    return builder.add(total, builder.add(even, odd))


def rectifier(width: int, shift: int) -> Callable[[Shorts, Shorts], None]:
    """A compiled ``write(out, numbers)`` of int16 ``(width,)``, those below 0 divided by ``2 ** shift``."""

    def write_in_python(out: Shorts, numbers: Shorts) -> None:
        np.maximum(numbers, (numbers + np.int16(1 << shift >> 1)) >> shift, out=out)

    lanes = ir.VectorType(_INT16, width)

    @intrinsic  # type: ignore[untyped-decorator]
    def write(typing_context: Any, out: Any, numbers: Any) -> Any:
        for array in (out, numbers):
            _require_layout(array, "the numbers", 1, types.int16)

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            target, source = (
                _vector_at(
                    builder, _array(context, builder, signature, args, k).data, ir.Constant(_INT64, 0), lanes
                )
                for k in range(2)
            )
            values = builder.load(source, align=2)
            half, amount = (ir.Constant(lanes, [number] * width) for number in (1 << shift >> 1, shift))
            small = builder.ashr(builder.add(values, half), amount)
            builder.store(_call(builder, "llvm.smax", values, small), target, align=2)
            return context.get_dummy_value()

        return types.void(out, numbers), codegen

    return write_in_python if config.DISABLE_JIT else write
