"""Threads that share the work on a batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

Part = TypeVar("Part")
Result = TypeVar("Result")


class ThreadPool:
    """``size`` threads that each work on a part of a batch; the calling thread is one of them.

    PyTorch's operations and the compiled kernels release the interpreter lock. These threads wait for each
    other once a batch. PyTorch's own threads wait for each other in every operation; on a machine that has
    other work they are slower than a single thread.
    """

    def __init__(self, size: int = 1) -> None:
        self.size = size
        # Until a new thread asks PyTorch for the number of threads of an operation, its products take as many
        # as there are cores, and are rounded differently.
        ask = torch.get_num_threads
        self._executor = ThreadPoolExecutor(size - 1, "learner", initializer=ask) if size > 1 else None

    def map(self, function: Callable[[Part], Result], parts: Sequence[Part]) -> list[Result]:
        """The results of ``function``, in the order of the parts."""
        if self._executor is None:
            return [function(part) for part in parts]
        others = [self._executor.submit(function, part) for part in parts[1:]]
        return [function(part) for part in parts[:1]] + [other.result() for other in others]
