"""One step of an optimizer, shared among threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from patchwork_env.errors import DivergenceError
from patchwork_env.learning.algorithms.common.threads import ThreadPool

Losses = Callable[[npt.NDArray[np.int64]], dict[str, Tensor]]
"""The ``loss`` of some samples, its terms and diagnostics: means over the samples."""
BatchOf = Callable[[npt.NDArray[np.int64]], dict[str, npt.NDArray[Any]]]
"""What the losses of some samples are computed from: arrays by name, to be looked at after a divergence."""


def gradient_step(
    optimizer: torch.optim.Optimizer,
    losses: Losses,
    batch_of: BatchOf,
    samples: npt.NDArray[np.int64],
    threads: ThreadPool,
    max_gradient_norm: float,
) -> dict[str, Tensor]:
    """Takes one step down the gradient of a minibatch; see :func:`compute_gradient`."""
    metrics = compute_gradient(optimizer, losses, batch_of, samples, threads, max_gradient_norm)
    optimizer.step()
    return metrics


def compute_gradient(
    optimizer: torch.optim.Optimizer,
    losses: Losses,
    batch_of: BatchOf,
    samples: npt.NDArray[np.int64],
    threads: ThreadPool,
    max_gradient_norm: float,
) -> dict[str, Tensor]:
    """Gives the parameters the gradient of a minibatch; each thread computes it for a part of the samples.

    Args:
        optimizer: Has the parameters, all of which have a share in the loss.
        losses: Called with parts of the samples.
        batch_of: Called with all samples if the loss is not finite.
        samples: Indices, ``(n,)``, or rows of them, ``(n, k)``.
        threads: Share the work.
        max_gradient_norm: Longer gradients are scaled down to it.

    Returns:
        What ``losses`` gives for the whole minibatch, and the ``gradient_norm`` before it was scaled.

    Raises:
        DivergenceError: The loss or its gradient is not finite; the error holds the losses and the batch.
    """
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]

    def work(part: npt.NDArray[np.int64]) -> tuple[tuple[Tensor, ...], dict[str, Tensor]]:
        metrics = losses(part)
        weight = len(part) / len(samples)
        gradients = torch.autograd.grad(metrics["loss"] * weight, parameters)
        return gradients, {name: value.detach() * weight for name, value in metrics.items()}

    parts = [part for part in np.array_split(samples, threads.size) if len(part)]
    gradients, metrics_of_parts = zip(*threads.map(work, parts), strict=True)
    for parameter, of_parts in zip(parameters, zip(*gradients, strict=True), strict=True):
        parameter.grad = torch.stack(of_parts).sum(0)
    metrics = {name: torch.stack([m[name] for m in metrics_of_parts]).sum() for name in metrics_of_parts[0]}
    metrics["gradient_norm"] = nn.utils.clip_grad_norm_(parameters, max_gradient_norm)
    if not torch.isfinite(metrics["loss"] + metrics["gradient_norm"]):
        values = {name: value.item() for name, value in metrics.items()}
        raise DivergenceError(
            f"training diverged: the loss is {values['loss']:.4g} ({listed(values)})",
            values,
            batch_of(samples),
        )
    return metrics


def listed(values: dict[str, float]) -> str:
    """Figures by name as text, for messages."""
    return ", ".join(f"{name} {value:.4g}" for name, value in values.items())


def means(metrics: list[dict[str, Tensor]]) -> dict[str, float]:
    """Means of the metrics of several steps, by name."""
    return {name: float(torch.stack([step[name] for step in metrics]).mean()) for name in metrics[0]}
