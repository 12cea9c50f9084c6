"""Instructions that Numba does not generate by itself, for bits and for memory.

Each intrinsic reads and writes through pointers, so it checks the layout of its arrays when a kernel is
compiled. With ``NUMBA_DISABLE_JIT=1`` they are plain Python.
"""

from __future__ import annotations

import threading
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
Shorts = npt.NDArray[np.int16]

CACHE_LINE = 64
"""The bytes of a cache line."""
LANES = 8
"""The number of words that :data:`and_shifted` and :data:`add_fitting` compute at once."""
INT16, INT32, INT64 = ir.IntType(16), ir.IntType(32), ir.IntType(64)


def require_layout(array: Any, name: str, ndim: int, *dtypes: Any) -> None:
    """Raise TypingError unless a type is that of a contiguous, aligned array of these dtypes."""
    if not (
        isinstance(array, types.Array)
        and array.ndim == ndim
        and array.layout == "C"
        and array.aligned
        and array.dtype in dtypes
    ):
        allowed = " or ".join(map(str, dtypes))
        raise TypingError(f"{name} must be a contiguous array of {ndim} dimensions of {allowed}, not {array}")


def array_of(context: Any, builder: Any, signature: Any, args: Any, k: int = 0) -> Any:
    """Return the ``k``-th argument of an intrinsic, an array."""
    return context.make_array(signature.args[k])(context, builder, args[k])


def vector_at(builder: Any, data: Any, index: Any, kind: ir.VectorType) -> Any:
    """Return a pointer to the vector that begins with an entry of an array."""
    return builder.bitcast(builder.gep(data, [index]), kind.as_pointer())


def in_all_lanes(builder: Any, scalar: Any, vector: ir.VectorType) -> Any:
    """Return a vector with a scalar in all lanes."""
    undefined = ir.Constant(vector, ir.Undefined)
    lane = builder.insert_element(undefined, scalar, ir.Constant(INT32, 0))
    return builder.shuffle_vector(lane, undefined, ir.Constant(ir.VectorType(INT32, vector.count), None))


# --- bits ---------------------------------------------------------------------------------------------------


def _unpack_in_python(out: Any, start: int, word: np.uint64) -> None:
    out[start : start + 64] = [(int(word) >> bit) & 1 for bit in range(64)]


@intrinsic  # type: ignore[untyped-decorator]
def _unpack_compiled(typing_context: Any, out: Any, start: Any, word: Any) -> Any:
    """Return one vector conversion and one unaligned store."""
    require_layout(out, "the array to which bits are written", 1, types.int8)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array, lanes = array_of(context, builder, signature, args), ir.VectorType(ir.IntType(8), 64)
        bits = builder.bitcast(args[2], ir.VectorType(ir.IntType(1), 64))
        builder.store(builder.zext(bits, lanes), vector_at(builder, array.data, args[1], lanes), align=1)
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
    """Return vectors of all lanes; LLVM vectorizes a loop over lanes only if it does not unroll it first."""
    for array, name, ndim in ((out, "the output", 1), (begin, "the begin", 1), (shifts, "the shifts", 2)):
        if not (array is out and isinstance(out, types.NoneType)):
            require_layout(array, name, ndim, types.uint64)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        lanes, zero = ir.VectorType(INT64, LANES), ir.Constant(INT64, 0)
        table = array_of(context, builder, signature, args, 4)

        def load(data: Any, index: Any) -> Any:
            return builder.load(vector_at(builder, data, index, lanes), align=8)

        words = in_all_lanes(builder, args[2], lanes)
        total = cgutils.alloca_once_value(
            builder, load(array_of(context, builder, signature, args, 3).data, zero)
        )
        with cgutils.for_range(builder, cgutils.unpack_tuple(builder, table.shape)[0]) as loop:
            shift = load(table.data, builder.mul(loop.index, ir.Constant(INT64, LANES)))
            builder.store(builder.and_(builder.load(total), builder.lshr(words, shift)), total)
        result = builder.load(total)
        if not isinstance(out, types.NoneType):
            data = array_of(context, builder, signature, args, 0).data
            builder.store(result, vector_at(builder, data, args[1], lanes), align=8)
        kinds = ir.FunctionType(lanes, [lanes]), ir.FunctionType(INT64, [lanes])
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
        require_layout(array, "rows of bits", 1, types.uint64)
    for array in (rows, columns):
        require_layout(array, "cells", 1, types.int64)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        lanes = ir.VectorType(INT64, LANES)
        words, *sources, down, right = (
            array_of(context, builder, signature, args, k) for k in (0, 2, 3, 5, 6)
        )
        sums = [cgutils.alloca_once_value(builder, ir.Constant(lanes, None)) for _ in sources]
        with cgutils.for_range(builder, args[7]) as loop:
            row = builder.add(args[4], builder.load(builder.gep(down.data, [loop.index])))
            column = in_all_lanes(builder, builder.load(builder.gep(right.data, [loop.index])), lanes)
            for source, total in zip(sources, sums, strict=True):
                cells = builder.load(vector_at(builder, source.data, row, lanes), align=8)
                builder.store(builder.or_(builder.load(total), builder.lshr(cells, column)), total)
        target = vector_at(builder, words.data, args[1], lanes)
        touches, overlaps = map(builder.load, sums)
        fitting = builder.and_(touches, builder.not_(overlaps))
        builder.store(builder.or_(builder.load(target, align=8), fitting), target, align=8)
        return context.get_dummy_value()

    return types.void(out, types.intp, near, taken, types.intp, rows, columns, types.intp), codegen


add_fitting = _add_fitting_in_python if config.DISABLE_JIT else _add_fitting_compiled
"""``add_fitting(out, start, near, taken, first, rows, columns, number)`` adds the anchors of a tile in eight
rows to ``out[start : start + 8]``: a word for each row, a bit for each column. At these anchors one of the
tile's ``number`` cells ``(rows[k], columns[k])`` meets a one of ``near``, and no cell meets a one of
``taken``, both read from row ``first`` on. All arrays are contiguous, the cells int64, the others uint64."""


# --- memory -------------------------------------------------------------------------------------------------


def _copy_in_python(to: Any, source: Any) -> None:
    to[:] = source


@intrinsic  # type: ignore[untyped-decorator]
def _copy_compiled(typing_context: Any, to: Any, source: Any) -> Any:
    """Return one copy of memory; a loop of known length is unrolled before it becomes vectors."""
    for array in (to, source):
        require_layout(array, "the source", 1, getattr(to, "dtype", None))

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        target, origin = (array_of(context, builder, signature, args, k) for k in range(2))
        cgutils.raw_memcpy(builder, target.data, origin.data, target.nitems, target.itemsize)
        return context.get_dummy_value()

    return types.void(to, source), codegen


copy = _copy_in_python if config.DISABLE_JIT else _copy_compiled
"""``copy(to, source)`` copies a vector to another one of its type and length, both contiguous."""


def _copy_record_in_python(to: Any, k: int, source: Any, i: int) -> None:
    to[k] = source[i]


@intrinsic  # type: ignore[untyped-decorator]
def _copy_record_compiled(typing_context: Any, to: Any, k: Any, source: Any, i: Any) -> Any:
    """Return one copy of memory; Numba emits one instruction for every byte that is read or written."""
    for array in (to, source):
        if not isinstance(array, types.Array) or array.ndim != 1 or array.dtype != to.dtype:
            raise TypingError(f"records are copied between vectors of one type, not from {source} to {to}")

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        target, origin = (
            cgutils.get_item_pointer(
                context,
                builder,
                signature.args[at],
                array_of(context, builder, signature, args, at),
                [args[at + 1]],
            )
            for at in (0, 2)
        )
        size = context.get_abi_sizeof(context.get_data_type(to.dtype))
        cgutils.raw_memcpy(builder, target, origin, ir.Constant(INT64, 1), size)
        return context.get_dummy_value()

    return types.void(to, types.intp, source, types.intp), codegen


copy_record = _copy_record_in_python if config.DISABLE_JIT else _copy_record_compiled
"""``copy_record(to, k, source, i)`` is ``to[k] = source[i]``, for vectors of records."""


@intrinsic  # type: ignore[untyped-decorator]
def _prefetch_compiled(typing_context: Any, array: Any, index: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        entry = builder.gep(array_of(context, builder, signature, args).data, [args[1]])
        byte = ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [byte, *[INT32] * 3])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        to_read, in_all_caches, data = (ir.Constant(INT32, number) for number in (0, 3, 1))
        builder.call(function, [builder.bitcast(entry, byte), to_read, in_all_caches, data])
        return context.get_dummy_value()

    return types.void(array, types.intp), codegen


def _prefetch_in_python(array: Any, index: int) -> None:
    pass


prefetch = _prefetch_in_python if config.DISABLE_JIT else _prefetch_compiled
"""``prefetch(array, index)`` begins to load the cache line of an entry of a contiguous array, whose index is
counted over all dimensions."""


_GUARD = threading.Lock()


def _take_in_python(lock: Any) -> bool:
    with _GUARD:
        was_free, lock[0] = lock[0] == 0, 1
    return bool(was_free)


@intrinsic  # type: ignore[untyped-decorator]
def _take_compiled(typing_context: Any, lock: Any) -> Any:
    require_layout(lock, "a lock", 1, types.int64)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = array_of(context, builder, signature, args).data
        before = builder.atomic_rmw("xchg", data, ir.Constant(INT64, 1), "acquire")
        return builder.icmp_unsigned("==", before, ir.Constant(INT64, 0))

    return types.boolean(lock), codegen


def _release_in_python(lock: Any) -> None:
    lock[0] = 0


@intrinsic  # type: ignore[untyped-decorator]
def _release_compiled(typing_context: Any, lock: Any) -> Any:
    require_layout(lock, "a lock", 1, types.int64)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = array_of(context, builder, signature, args).data
        builder.store_atomic(ir.Constant(INT64, 0), data, "release", 8)
        return context.get_dummy_value()

    return types.void(lock), codegen


take_lock, release_lock = (
    (_take_in_python, _release_in_python) if config.DISABLE_JIT else (_take_compiled, _release_compiled)
)
"""``take_lock(lock)`` tries to take a lock, an int64 array ``(1,)`` that is 0 while it is free, and returns
whether this thread has it now. ``release_lock(lock)`` frees it; the next thread sees all earlier writes."""
