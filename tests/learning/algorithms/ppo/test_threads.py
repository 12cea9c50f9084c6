"""The threads: every part is worked on once, results keep their order, and errors come through."""

import threading

import pytest
import torch

from patchwork_env.learning.algorithms.common.gradients import ThreadPool


@pytest.mark.parametrize("size", [1, 2, 3])
def test_results_in_the_order_of_the_parts(size):
    assert ThreadPool(size).map(lambda part: part * 10, [1, 2, 3]) == [10, 20, 30]


def test_parts_are_worked_on_at_the_same_time():
    meeting = threading.Barrier(2, timeout=30)
    assert ThreadPool(2).map(lambda _: meeting.wait() >= 0, ["one", "other"]) == [True, True]


def test_errors_come_through():
    with pytest.raises(ZeroDivisionError):
        ThreadPool(2).map(lambda part: 1 / part, [1, 0])


def test_new_threads_round_as_the_others_do():
    generator = torch.Generator().manual_seed(0)
    inputs, weights = torch.randn(5, 500, generator=generator), torch.randn(16, 500, generator=generator)
    meeting = threading.Barrier(3, timeout=30)

    def product(_: int) -> torch.Tensor:
        meeting.wait()  # one part for each thread
        return inputs @ weights.T

    first, *others = ThreadPool(3).map(product, range(3))
    assert all(torch.equal(first, other) for other in others)
