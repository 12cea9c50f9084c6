"""Intrinsics that write through pointers refuse arrays of another layout when they are typed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import config
from numba.core.errors import TypingError

from patchwork_env.agents.layers import integer_layer, product_adder, rectifier, rows_adder, short_rows_adder
from patchwork_env.core import intrinsics
from patchwork_env.core.compile import kernel
from patchwork_env.core.intrinsics import add_fitting, and_shifted, copy, copy_record, unpack_bits

pytestmark = pytest.mark.skipif(config.DISABLE_JIT, reason="looks at machine code")
_add_rows, _add_product = rows_adder(4), product_adder(4)
_add_short, _subtract_short = short_rows_adder(4), short_rows_adder(4, -1)
_write_layer, _rectify = integer_layer(4), rectifier(4, 3)


@kernel
def _unpack(out: Any, word: np.uint64) -> None:
    unpack_bits(out, 0, word)


@kernel
def _rows(out: Any, table: Any, rows: Any) -> None:
    _add_rows(out, table, rows, len(rows))


@kernel
def _product(out: Any, matrix: Any, inputs: Any) -> None:
    _add_product(out, matrix, inputs, len(inputs))


@kernel
def _plus_short(out: Any, base: Any, table: Any, rows: Any, at_once: int) -> None:
    _add_short(out, base, table, rows, len(rows), at_once)


@kernel
def _minus_short(out: Any, base: Any, table: Any, rows: Any, at_once: int) -> None:
    _subtract_short(out, base, table, rows, len(rows), at_once)


@kernel
def _layer(out: Any, bias: Any, matrix: Any, inputs: Any, shift: int) -> None:
    _write_layer(out, bias, matrix, inputs, shift)


@kernel
def _leaky(out: Any, numbers: Any) -> None:
    _rectify(out, numbers)


@kernel
def _shift(out: Any, word: np.uint64, begin: Any, shifts: Any) -> int:
    return int(and_shifted(out, 1, word, begin, shifts))


@kernel
def _fit(out: Any, near: Any, taken: Any, rows: Any, columns: Any) -> None:
    add_fitting(out, 1, near, taken, 1, rows, columns, len(rows))


@kernel
def _copy(to: Any, source: Any) -> None:
    copy(to, source)


@kernel
def _copy_record(to: Any, k: int, source: Any, i: int) -> None:
    copy_record(to, k, source, i)


def test_vectors_and_records_are_copied_to_their_places():
    to = np.zeros(12, np.int16)
    _copy(to[2:9], np.arange(1, 8, dtype=np.int16))
    assert to.tolist() == [0, 0, 1, 2, 3, 4, 5, 6, 7, 0, 0, 0]
    with pytest.raises(TypingError, match="the source must be a contiguous array of 1 dimensions of int16"):
        _copy(to, np.zeros(12, np.int32))
    records = np.array([(k, [k, -k << 24]) for k in range(8)], [("a", "u1"), ("b", "<i4", 2)])
    expected = records.copy()
    expected[5] = records[6]
    _copy_record(records[1::2], 2, records[::2], 3)
    assert records.tobytes() == expected.tobytes()
    with pytest.raises(TypingError, match="records are copied between vectors of one type"):
        _copy_record(records, 0, records["a"], 0)


def test_bits_are_unpacked_into_contiguous_arrays_only():
    out, word = np.full((2, 64), 2, np.int8), np.uint64(0b1011)
    _unpack(out[0], word)
    intrinsics._unpack_in_python(out[1], 0, word)
    assert out.tolist() == [[1, 1, 0, 1] + [0] * 60] * 2
    for wrong in (np.zeros(128, np.int8)[::2], np.zeros(64, np.int64), np.zeros((64, 1), np.int8)):
        with pytest.raises(TypingError, match="contiguous array of 1 dimensions of int8"):
            _unpack(wrong, word)


def test_words_are_shifted_in_all_lanes():
    random = np.random.default_rng(5)
    begin = random.integers(2**63, size=8, dtype=np.uint64)
    shifts = random.integers(9, size=(3, 8), dtype=np.uint64)
    word, out = np.uint64(0xFEDC_BA98_7654_3210), np.zeros((2, 10), np.uint64)
    expected = begin & (word >> shifts[0]) & (word >> shifts[1]) & (word >> shifts[2])
    number = sum(int(lane).bit_count() for lane in expected)
    in_python = intrinsics._and_shifted_in_python(out[1], 1, word, begin, shifts)
    assert _shift(out[0], word, begin, shifts) == _shift(None, word, begin, shifts) == in_python == number
    assert out.tolist() == [[0, *expected, 0]] * 2
    with pytest.raises(TypingError, match="the shifts must be a contiguous array of 2 dimensions of uint64"):
        _shift(out[0], word, begin, shifts[:, ::-1])


def test_anchors_are_added_where_a_tile_touches_and_is_free():
    near, taken, out = np.zeros(12, np.uint64), np.zeros(12, np.uint64), np.zeros((2, 10), np.uint64)
    near[3], taken[9] = 0b100, 0b1
    rows, columns = np.array([0, 1]), np.array([0, 2])  # two cells: the second one lower, and two columns on
    out[:, 3] = 0b1000
    _fit(out[0], near, taken, rows, columns)
    intrinsics._add_fitting_in_python(out[1], 1, near, taken, 1, rows, columns, len(rows))
    assert out.tolist() == [[0, 0, 0b1, 0b1100, 0, 0, 0, 0, 0, 0]] * 2
    taken[3] = 0b100
    out[:] = 0
    _fit(out[0], near, taken, rows, columns)
    assert not out.any()
    with pytest.raises(TypingError, match="cells must be a contiguous array of 1 dimensions of int64"):
        _fit(out[0], near, taken, rows[::-1], columns)


def test_a_lock_in_python_is_taken_once_until_its_release():
    lock = np.zeros(1, np.int64)
    for _ in range(2):
        assert [intrinsics._take_in_python(lock) for _ in range(3)] == [True, False, False]
        intrinsics._release_in_python(lock)


def test_sums_of_rows_and_products_take_contiguous_arrays_only():
    table, rows, inputs = np.ones((5, 4), np.float32), np.zeros(3, np.int32), np.ones(3, np.float32)
    out = np.zeros(4, np.float32)
    _rows(out, table, rows)
    _product(out, table, inputs)
    assert out.tolist() == [6] * 4
    for add, last in ((_rows, rows), (_product, inputs)):
        for wrong in (
            (np.zeros(8, np.float32)[::2], table, last),
            (np.zeros(4), table, last),
            (out, np.asfortranarray(table), last),
            (out, table[:, ::2], last),
            (out, table, last.astype(np.int64)),
        ):
            with pytest.raises(TypingError, match="must be a contiguous array"):
                add(*wrong)


def test_sums_of_short_integers_are_exact():
    """Whether all rows are added at once, or some remain for a last time."""
    table = np.array([[1, -2, 10000, -10000], [5, 6, 10000, -10000]], np.int16)
    base, out = np.array([10, 10, 2**20, -(2**20)], np.int32), np.zeros(4, np.int32)
    rows = np.array([0, 1, 1, 0, 1], np.int32)
    for at_once in (1, 2, 3):
        _plus_short(out, base, table, rows, at_once)
        assert (out - base).tolist() == [17, 14, 50000, -50000]
        _minus_short(out, out, table, rows, at_once)
        assert out.tolist() == base.tolist()
    _plus_short(out, base, table, rows[:0], 3)
    assert out.tolist() == base.tolist()
    right = out, base, table, rows
    for k, wrong in enumerate((out.astype(np.int16), base[::-1], table.astype(np.int32), rows.astype(int))):
        with pytest.raises(TypingError, match="must be a contiguous array"):
            _plus_short(*[wrong if k == place else array for place, array in enumerate(right)], 1)


def test_a_layer_of_integers_is_rounded_once_and_stops_at_the_ends_of_its_range():
    """Pairs of inputs alternate, and a weight of 2 ** -shift has an effect from half a unit on."""
    random = np.random.default_rng(6)
    weights, inputs = random.integers(-999, 999, (10, 4)), random.integers(-9999, 9999, 10)
    bias, out = np.array([3, -7, 2**30, -(2**30)]), np.zeros(4, np.int16)
    arrays = (
        bias.astype(np.int32),
        weights.reshape(5, 2, 4).swapaxes(1, 2).astype(np.int16, order="C"),
        inputs.astype(np.int16),
    )
    for shift in (1, 9, 14):
        _layer(out, *arrays, shift)
        rounded = np.floor((bias + inputs @ weights) / 2**shift + 0.5)
        assert out.tolist() == np.clip(rounded, -(2**15), 2**15 - 1).tolist()
    for k, wrong in enumerate((out.astype(np.int32), bias, arrays[1][:, ::-1], arrays[2][::-1])):
        with pytest.raises(TypingError, match="must be a contiguous array"):
            _layer(*[wrong if k == place else array for place, array in enumerate((out, *arrays))], 1)


def test_negative_short_integers_leak():
    numbers, out = np.array([-32768, -13, -12, 32767], np.int16), np.zeros(4, np.int16)
    _leaky(out, numbers)
    assert out.tolist() == [-4096, -2, -1, 32767]
    _leaky(out, np.array([-(2**30), -13, 12, 2**30], np.int32))
    assert out.tolist() == [-4096, -2, 12, 32767]
    with pytest.raises(TypingError, match="the numbers must be a contiguous array"):
        _leaky(out, numbers[::-1])
