"""Learning a compiled value: its network as a PyTorch module, and steps down the gradient."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from functools import partial
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from patchwork_env.agents.compiled.records import arrays_of
from patchwork_env.learning.algorithms.common.gradients import compute_gradient, means
from patchwork_env.learning.algorithms.common.threads import ThreadPool
from patchwork_env.learning.algorithms.common.value_config import TdLearning

Positions = TypeVar("Positions", bound=NamedTuple)
_ONE_THREAD = ThreadPool()
"""Two threads would hand each other gradients of whole tables, which takes as long as computing them."""


class ValueModule(nn.Module, ABC, Generic[Positions]):
    """The network of a compiled value as a PyTorch module, with a parameter for each array of its weights.

    Module and record share their memory, so that a step of the optimizer changes what plays.

    Attributes:
        tables: The names of the weights that are tables, of which the network looks up rows.
        weights: The record of the weights.
    """

    tables: ClassVar[Collection[str]]

    def __init__(self, weights: Any) -> None:
        super().__init__()
        self.weights = weights
        for name, array in arrays_of(weights).items():
            self.register_parameter(name, nn.Parameter(torch.from_numpy(array)))

    @abstractmethod
    def losses(self, samples: Positions) -> dict[str, Tensor]:
        """The ``loss`` of some positions, its terms and diagnostics: means over the positions."""


class ValueLearner(Generic[Positions]):
    """Brings a value closer to its targets, by steps of Adam.

    Self-play has the average over the last steps (Polyak and Juditsky 1992), which lacks most of the noise of
    single minibatches. The trained value can be an average over the whole run, with polynomial decay (Shamir
    and Zhang 2013), which lacks more of the noise, but would be too old to learn from its games.

    Attributes:
        module: The network that learns.
        average: The moving average of the weights, a record.
        average_arrays: The arrays of ``average``, by name.
        trained: The weights of the trained value, a record.
        trained_arrays: The arrays of ``trained``, by name.
        steps: The number of steps taken so far.
        optimizer: The optimizer that takes the steps.
    """

    def __init__(self, module: ValueModule[Positions], config: TdLearning) -> None:
        self.module = module
        self.average = module.weights.copy()
        self.average_arrays = arrays_of(self.average)
        self.steps = 0
        self.trained = self.average.copy()
        self.trained_arrays = arrays_of(self.trained)
        self._averages = _tensors_of(self.average_arrays)
        self._trained = _tensors_of(self.trained_arrays)
        self._config = config
        names = [name for name, _ in module.named_parameters()]
        self._factors = [config.table_rate if name in module.tables else 1.0 for name in names]
        groups = [{"params": [parameter]} for parameter in module.parameters()]
        self.optimizer = torch.optim.Adam(groups, lr=config.learning_rate.start, fused=True)

    def update(
        self, positions: Positions, steps: int, progress: float, random: np.random.Generator
    ) -> dict[str, float]:
        """Takes steps on random minibatches of positions with targets; returns mean losses and diagnostics.

        ``progress`` is the fraction of the run that is over, for the schedules.

        Raises:
            DivergenceError: The loss or its gradient is not finite.
        """
        config, number = self._config, len(positions[0])
        size = min(config.minibatch_size, number)
        metrics = []
        rate = config.learning_rate.at(progress)
        for _ in range(steps):
            self._set_rate(rate * min(1, (self.steps + 1) / config.warmup))
            samples = random.integers(number, size=size)
            metrics.append(
                compute_gradient(
                    self.optimizer,
                    partial(self._losses, positions),
                    partial(_arrays_of, positions),
                    samples,
                    _ONE_THREAD,
                    config.max_gradient_norm,
                )
            )
            self.optimizer.step()
            self._add_to_average()
        self._add_to_trained(steps)
        return means(metrics)

    def _losses(self, positions: Positions, samples: npt.NDArray[np.int64]) -> dict[str, Tensor]:
        return self.module.losses(type(positions)(*(array[samples] for array in positions)))

    def _set_rate(self, rate: float) -> None:
        for group, factor in zip(self.optimizer.param_groups, self._factors, strict=True):
            group["lr"] = factor * rate

    def _add_to_average(self) -> None:
        """Adds the present weights to the average: over all steps at first, later over the last ones."""
        self.steps += 1
        share = max(1 - self._config.ema_decay, 1 / self.steps)
        torch._foreach_lerp_(self._averages, [p.detach() for p in self.module.parameters()], share)

    def _add_to_trained(self, steps: int) -> None:
        """Adds the average to the weights of the trained value, for the last ``steps`` steps."""
        power = self._config.averaging_power
        share = 1.0 if power is None else 1 - (1 - steps / self.steps) ** (power + 1)
        torch._foreach_lerp_(self._trained, self._averages, share)


def _arrays_of(positions: Any, samples: npt.NDArray[np.int64]) -> dict[str, npt.NDArray[Any]]:
    return {name: array[samples] for name, array in positions._asdict().items()}


def _tensors_of(arrays: dict[str, npt.NDArray[Any]]) -> list[Tensor]:
    return [torch.from_numpy(array) for array in arrays.values()]
