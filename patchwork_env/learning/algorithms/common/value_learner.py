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
from patchwork_env.learning.algorithms.common.gradients import gradient_step, means
from patchwork_env.learning.algorithms.common.threads import ThreadPool
from patchwork_env.learning.algorithms.common.value_config import TdLearning

Positions = TypeVar("Positions", bound=NamedTuple)


class ValueModule(nn.Module, ABC, Generic[Positions]):
    """The network of a compiled value with gradients; both share their memory, so it learns in place.

    Args:
        weights: A record of arrays, which become parameters of the same names.

    Attributes:
        tables: Names of the weights of which rows are looked up.
        weights: The record.
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
    """Moves a value towards its targets.

    What plays is the average of the weights over the last steps (Polyak and Juditsky 1992): it lacks most
    of the noise that single minibatches bring.

    Args:
        module: The weights that learn.
        config: The algorithm's parameters.
        threads: Share the work on each minibatch.

    Attributes:
        module: The weights that learn.
        average: The moving average of the weights, a record.
        average_arrays: Its arrays by name.
        steps: Steps taken so far.
        optimizer: Takes them.
    """

    def __init__(self, module: ValueModule[Positions], config: TdLearning, threads: ThreadPool) -> None:
        self.module = module
        self.average = module.weights.copy()
        self.average_arrays = arrays_of(self.average)
        self.steps = 0
        self._averages = [torch.from_numpy(array) for array in self.average_arrays.values()]
        self._config, self._threads = config, threads
        names = [name for name, _ in module.named_parameters()]
        self._factors = [config.table_rate if name in module.tables else 1.0 for name in names]
        groups = [{"params": [parameter]} for parameter in module.parameters()]
        self.optimizer = torch.optim.Adam(groups, lr=config.learning_rate.start, fused=True)

    def update(
        self, positions: Positions, steps: int, progress: float, random: np.random.Generator
    ) -> dict[str, float]:
        """Takes so many steps on random minibatches; returns mean losses and diagnostics.

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
                gradient_step(
                    self.optimizer,
                    partial(self._losses, positions),
                    partial(_arrays_of, positions),
                    samples,
                    self._threads,
                    config.max_gradient_norm,
                )
            )
            self._add_to_average()
        return means(metrics)

    def set_average(self, arrays: dict[str, npt.NDArray[Any]]) -> None:
        """Overwrites the average with arrays of the same names and shapes."""
        for name, array in arrays.items():
            self.average_arrays[name][:] = array

    def _losses(self, positions: Positions, samples: npt.NDArray[np.int64]) -> dict[str, Tensor]:
        return self.module.losses(type(positions)(*(array[samples] for array in positions)))

    def _set_rate(self, rate: float) -> None:
        for group, factor in zip(self.optimizer.param_groups, self._factors, strict=True):
            group["lr"] = factor * rate

    def _add_to_average(self) -> None:
        """The average is over all steps at first, later over the last ones."""
        self.steps += 1
        share = max(1 - self._config.ema_decay, 1 / self.steps)
        torch._foreach_lerp_(self._averages, [p.detach() for p in self.module.parameters()], share)


def _arrays_of(positions: Any, samples: npt.NDArray[np.int64]) -> dict[str, npt.NDArray[Any]]:
    return {name: array[samples] for name, array in positions._asdict().items()}
