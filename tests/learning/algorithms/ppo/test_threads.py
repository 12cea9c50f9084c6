"""The threads: every part is worked on once, results keep their order, and errors come through."""

import threading

import pytest
import torch

from patchwork_env.learning.algorithms.common.gradients import ThreadPool


def test_results_in_the_order_of_the_parts_and_errors_come_through():
    for size in (1, 2, 3):
        assert ThreadPool(size).map(lambda part: part * 10, [1, 2, 3]) == [10, 20, 30]
    with pytest.raises(ZeroDivisionError):
        ThreadPool(2).map(lambda part: 1 / part, [1, 0])


def test_new_threads_round_as_the_others_do():
    generator = torch.Generator().manual_seed(0)
    inputs, weights = torch.randn(5, 500, generator=generator), torch.randn(16, 500, generator=generator)
    meeting = threading.Barrier(3, timeout=30)

    def product(_):
        meeting.wait()  # one part for each thread
        return inputs @ weights.T

    first, *others = ThreadPool(3).map(product, range(3))
    assert all(torch.equal(first, other) for other in others)
