"""The gradient of a minibatch, computed by threads that share it, and averages of weights."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from patchwork_env.agents.networks import Shared
from patchwork_env.errors import DivergenceError

Part = TypeVar("Part")
Result = TypeVar("Result")
Losses = Callable[[npt.NDArray[np.int64]], dict[str, Tensor]]
"""The ``loss`` of some samples, its terms and diagnostics, by name: means over the samples."""


class ThreadPool:
    """``size`` threads that each work on a part of a batch; the calling thread is one of them.

    PyTorch's operations and the compiled kernels release the interpreter lock. These threads wait for each
    other once a batch. PyTorch's own threads wait for each other in every operation; on a machine that has
    other work they are slower than a single thread.
    """

    def __init__(self, size: int = 1) -> None:
        self.size = size
        # A new thread multiplies with as many threads as there are cores, which rounds differently, until it
        # asks PyTorch for their number.
        ask = torch.get_num_threads
        self._executor = ThreadPoolExecutor(size - 1, "learner", initializer=ask) if size > 1 else None

    def __reduce__(self) -> tuple[type[ThreadPool], tuple[int]]:
        """Give copies and pickles threads of their own."""
        return ThreadPool, (self.size,)

    def split(self, batch: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
        """Return a part of a batch for each thread; fewer parts if there are fewer entries."""
        return [part for part in np.array_split(batch, self.size) if len(part)]

    def share(self, function: Callable[[Any], Result], batch: npt.NDArray[Any]) -> list[Result]:
        """Return the results of a function for the parts of a batch, one for each thread, in their order."""
        return self.map(function, self.split(batch))

    def map(self, function: Callable[[Part], Result], parts: Sequence[Part]) -> list[Result]:
        """Return the results of ``function`` in the order of the parts."""
        if self._executor is None:
            return [function(part) for part in parts]
        others = [self._executor.submit(function, part) for part in parts[1:]]
        return [function(part) for part in parts[:1]] + [other.result() for other in others]


def divided_by(threads: ThreadPool, device: torch.device) -> tuple[ThreadPool, Shared | None]:
    """Return the threads that share the batches of a network, and the function that shares their encoding.

    On a CPU, threads work on parts of a batch. A GPU gets a whole batch, whose parts the threads encode.
    """
    return (threads, None) if device.type == "cpu" else (ThreadPool(), threads.share)


def compute_gradient(
    optimizer: torch.optim.Optimizer,
    losses: Losses,
    samples: npt.NDArray[np.int64],
    threads: ThreadPool,
    max_gradient_norm: float,
) -> dict[str, Tensor]:
    """Compute the gradient of a minibatch into the optimizer's parameters, for the next step.

    Args:
        optimizer: The optimizer of the parameters; those that the loss does not depend on get gradients of 0.
        losses: The function that returns the losses of a part of the samples; each thread calls it once.
        samples: The samples of the minibatch: indices ``(n,)``, or rows of indices ``(n, k)``.
        threads: The threads that share the work.
        max_gradient_norm: The norm to which longer gradients are scaled down.

    Returns:
        The losses of the whole minibatch, and the ``gradient_norm`` before scaling.

    Raises:
        DivergenceError: The loss or its gradient is not finite.
    """
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]

    def work(part: npt.NDArray[np.int64]) -> tuple[tuple[Tensor, ...], dict[str, Tensor]]:
        metrics = losses(part)
        weight = len(part) / len(samples)
        gradients = torch.autograd.grad(metrics["loss"] * weight, parameters, materialize_grads=True)
        return gradients, {name: value.detach() * weight for name, value in metrics.items()}

    gradients, metrics_of_parts = zip(*threads.map(work, threads.split(samples)), strict=True)
    for parameter, of_parts in zip(parameters, zip(*gradients, strict=True), strict=True):
        parameter.grad = reduce(torch.add, of_parts)
    metrics = {name: torch.stack([m[name] for m in metrics_of_parts]).sum() for name in metrics_of_parts[0]}
    metrics["gradient_norm"] = nn.utils.clip_grad_norm_(parameters, max_gradient_norm)
    if not torch.isfinite(metrics["loss"] + metrics["gradient_norm"]):
        values = {name: value.item() for name, value in metrics.items()}
        raise DivergenceError(f"training diverged: the loss is {values['loss']:.4g} ({listed(values)})")
    return metrics


def listed(values: dict[str, float]) -> str:
    """Return figures by name as text for messages."""
    return ", ".join(f"{name} {value:.4g}" for name, value in values.items())


def means(metrics: list[dict[str, Tensor]]) -> dict[str, float]:
    """Return the means of the metrics of several steps by name."""
    return {name: float(torch.stack([step[name] for step in metrics]).mean()) for name in metrics[0]}


def add_to_average(
    average: Iterable[Tensor], newest: Iterable[Tensor], share: float, power: float | None
) -> None:
    """Add the newest weights, from a ``share`` of all steps so far, to the average, in place.

    This is polynomial-decay averaging (Shamir and Zhang 2013): a step counts in proportion to its number to a
    ``power``. With None the newest weights alone count.
    """
    weight = 1.0 if power is None else 1 - (1 - share) ** (power + 1)
    own, new = ([tensor.detach() for tensor in tensors] for tensors in (average, newest))
    torch._foreach_lerp_(own, new, weight)
