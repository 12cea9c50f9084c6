"""One step of an optimizer, shared among threads."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from training.crew import Crew
from training.trainer import DivergenceError

Losses = Callable[[npt.NDArray[np.int64]], dict[str, Tensor]]
"""The ``loss`` of some samples, its terms and diagnostics: means over the samples."""


def descend(
    optimizer: torch.optim.Optimizer,
    losses: Losses,
    samples: npt.NDArray[np.int64],
    crew: Crew,
    max_gradient_norm: float,
) -> dict[str, Tensor]:
    """Takes one step down the gradient of a minibatch; each of the crew computes it for a part.

    Args:
        optimizer: Of parameters that all have a share in the loss.
        losses: Called with parts of the samples.
        samples: Indices, ``(n,)``, or rows of them, ``(n, k)``.
        crew: Shares the work.
        max_gradient_norm: Longer gradients are scaled down to it.

    Returns:
        What ``losses`` gives for the whole minibatch, and the ``gradient_norm`` before it was scaled.

    Raises:
        DivergenceError: The loss or its gradient is not finite; no parameter was changed.
    """
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]

    def work(part: npt.NDArray[np.int64]) -> tuple[tuple[Tensor, ...], dict[str, Tensor]]:
        metrics = losses(part)
        weight = len(part) / len(samples)
        gradients = torch.autograd.grad(metrics["loss"] * weight, parameters)
        return gradients, {name: value.detach() * weight for name, value in metrics.items()}

    parts = [part for part in np.array_split(samples, crew.size) if len(part)]
    gradients, metrics_of_parts = zip(*crew.map(work, parts), strict=True)
    for parameter, of_parts in zip(parameters, zip(*gradients, strict=True), strict=True):
        parameter.grad = torch.stack(of_parts).sum(0)
    metrics = {name: torch.stack([m[name] for m in metrics_of_parts]).sum() for name in metrics_of_parts[0]}
    metrics["gradient_norm"] = nn.utils.clip_grad_norm_(parameters, max_gradient_norm)
    if not torch.isfinite(metrics["loss"] + metrics["gradient_norm"]):
        values = ", ".join(f"{name} {value.item():.4g}" for name, value in metrics.items())
        raise DivergenceError(f"training diverged: the loss is {metrics['loss'].item():.4g} ({values})")
    optimizer.step()
    return metrics


def means(metrics: list[dict[str, Tensor]]) -> dict[str, float]:
    """Means of the metrics of several steps, by name."""
    return {name: float(torch.stack([step[name] for step in metrics]).mean()) for name in metrics[0]}
