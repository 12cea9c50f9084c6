"""Gradients of a batch, computed by several threads within one ordinary ``backward()``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from patchwork_env.learning.algorithms.common.threads import ThreadPool

Evaluate = Callable[..., tuple[Tensor, ...]]


def in_parallel(
    threads: ThreadPool, evaluate: Evaluate, parameters: list[Tensor], samples: Sequence[Tensor]
) -> tuple[Tensor, ...]:
    """Computes ``evaluate(*samples)``, and later its gradient, by threads that each do a part of the samples.

    ``evaluate`` takes samples ``(n, ...)`` and returns tensors ``(n, ...)``, row by row; the parameters get
    gradients.
    """
    if threads.size == 1 or not torch.is_grad_enabled():
        return evaluate(*samples)
    results: tuple[Tensor, ...] = _InParallel.apply(threads, evaluate, samples, *parameters)
    return results


class _InParallel(torch.autograd.Function):
    """Keeps one graph per part: PyTorch goes through a single graph with a single thread."""

    @staticmethod
    def forward(
        ctx: Any, threads: ThreadPool, evaluate: Evaluate, samples: Sequence[Tensor], *parameters: Tensor
    ) -> tuple[Tensor, ...]:
        def work(part: Sequence[Tensor]) -> tuple[Tensor, ...]:
            with torch.enable_grad():
                return evaluate(*part)

        parts = list(zip(*(tensor.tensor_split(threads.size) for tensor in samples), strict=True))
        ctx.threads, ctx.parameters = threads, parameters
        ctx.results = threads.map(work, parts)
        return tuple(torch.cat(of_parts).detach() for of_parts in zip(*ctx.results, strict=True))

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        def work(number: int) -> tuple[Tensor, ...]:
            results = ctx.results[number]
            return torch.autograd.grad(results, ctx.parameters, [split[number] for split in splits])

        splits = [gradient.tensor_split(ctx.threads.size) for gradient in gradients]
        of_parts = ctx.threads.map(work, range(ctx.threads.size))
        sums = (torch.stack(parts).sum(0) for parts in zip(*of_parts, strict=True))
        return (None, None, None, *sums)
