"""Compiled values: the layout of records, draws, and layers in plain Python."""

import numpy as np
from numba import config

from patchwork_env.agents.compiled import aligned_records, draw_by_softmax, record_type
from patchwork_env.agents.layers import integer_layer, product_adder, rectifier, rows_adder, short_rows_adder
from patchwork_env.core.checks import seed_streams


def test_fields_start_a_cache_line_rather_than_cross_its_end():
    shapes = [(np.int8, ()), (np.float32, (15,)), (np.int16, (1,)), (np.int64, (8,)), (np.int8, (3,))]
    kind = record_type(dict(zip("abcdef", [*shapes, (np.float32, (5, 8))], strict=True)))
    assert [kind.fields[name][1] for name in kind.names] == [0, 4, 64, 128, 192, 256]
    assert kind.itemsize == 448
    for number in (1, 3, 50):
        records = aligned_records(kind, number)
        assert (records.shape, records.ctypes.data % 64) == ((number,), 0)
        assert not records.view(np.uint8).any()


def test_draws_follow_the_softmax():
    values, streams = np.array([-3.0, 900.0, 901.0, 899.5]), seed_streams(5)
    found = np.bincount([draw_by_softmax(values, 0.5, streams, 0) for _ in range(4000)], minlength=4)
    weights = np.exp((values - 901) / 0.5)
    np.testing.assert_allclose(found / 4000, weights / weights.sum(), atol=0.02)


def test_layers_in_plain_python_do_what_machine_code_does(monkeypatch):
    monkeypatch.setattr(config, "DISABLE_JIT", 1)
    random = np.random.default_rng(3)
    table, rows = random.integers(-99, 99, (6, 4)), np.array([5, 0, 3, 1])
    out, expected = np.ones(4, np.float32), 1 - table[rows[:3]].sum(0)
    rows_adder(4, -1)(out, np.float32(table), rows, 3)
    assert out.tolist() == expected.tolist()
    product_adder(4)(out, np.float32(table), np.arange(1, 7, dtype=np.float32), 3)
    assert out.tolist() == (expected + np.arange(1, 4) @ table[:3]).tolist()
    sums = np.zeros(4, np.int32)
    short_rows_adder(4, -1)(sums, np.full(4, 10**6, np.int32), np.int16(table), rows, 3, 2)
    assert sums.tolist() == (10**6 - 1 + expected).tolist()
    weights, inputs = random.integers(-999, 999, (10, 4)), random.integers(-9999, 9999, 10)
    pairs, shorts = np.int16(weights).reshape(5, 2, 4).swapaxes(1, 2), np.zeros(4, np.int16)
    integer_layer(4)(shorts, np.int32([3, -7, 2**30, -(2**30)]), pairs, np.int16(inputs), 9)
    rounded = np.floor(([3, -7, 2**30, -(2**30)] + inputs @ weights) / 2**9 + 0.5)
    assert shorts.tolist() == np.clip(rounded, -(2**15), 2**15 - 1).tolist()
    for numbers, leaky in (
        (np.int16([-32768, -13, -12, 32767]), [-4096, -2, -1, 32767]),
        (np.int32([-(2**30), -13, 12, 2**30]), [-4096, -2, 12, 32767]),
    ):
        rectifier(4, 3)(shorts, numbers)
        assert shorts.tolist() == leaky
