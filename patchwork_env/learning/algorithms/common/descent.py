"""Learning of any value: steps down the gradient, and the average of the weights over them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from patchwork_env.learning.algorithms.common.gradients import descend, means
from patchwork_env.learning.algorithms.common.threads import Crew
from patchwork_env.learning.algorithms.common.value_config import TdLearning

_Positions = TypeVar("_Positions", bound=NamedTuple)
Losses = Callable[[_Positions, npt.NDArray[np.int64]], dict[str, Tensor]]


class Descent(Generic[_Positions]):
    """Moves a value towards its targets.

    What plays is the average of the weights over the last updates (Polyak and Juditsky 1992): it lacks most
    of the noise that single minibatches bring.

    Args:
        module: The weights that learn.
        averages: By the names of the module's parameters and in their order: receive the moving average.
        tables: Names of the weights of which rows are looked up.
        losses: The ``loss`` of some samples of some positions, its terms and diagnostics.
        config: The algorithm's parameters.
        crew: Shares the work on each minibatch.

    Attributes:
        module: The weights that learn.
        updates: Steps taken so far.
    """

    def __init__(
        self,
        module: nn.Module,
        averages: Mapping[str, npt.NDArray[np.float32]],
        tables: Collection[str],
        losses: Losses[_Positions],
        config: TdLearning,
        crew: Crew,
    ) -> None:
        self.module = module
        self.updates = 0
        self._averages = [torch.from_numpy(array) for array in averages.values()]
        self._config, self._losses_of, self._crew = config, losses, crew
        names = [name for name, _ in module.named_parameters()]
        self._factors = [config.table_rate if name in tables else 1.0 for name in names]
        groups = [{"params": [parameter]} for parameter in module.parameters()]
        self.optimizer = torch.optim.Adam(groups, lr=config.learning_rate.start, fused=True)

    def update(
        self, positions: _Positions, updates: int, progress: float, random: np.random.Generator
    ) -> dict[str, float]:
        """Takes so many steps on random minibatches; returns mean losses and diagnostics.

        Raises:
            DivergenceError: The loss or its gradient is not finite.
        """
        config, number = self._config, len(positions[0])
        size = min(config.minibatch_size, number)
        metrics = []
        rate = config.learning_rate.at(progress)
        for _ in range(updates):
            self._set_rate(rate * min(1, (self.updates + 1) / config.warmup))
            samples = random.integers(number, size=size)
            metrics.append(
                descend(
                    self.optimizer,
                    partial(self._losses_of, positions),
                    partial(_batch_of, positions),
                    samples,
                    self._crew,
                    config.max_gradient_norm,
                )
            )
            self._add_to_average()
        return means(metrics)

    def _set_rate(self, rate: float) -> None:
        for group, factor in zip(self.optimizer.param_groups, self._factors, strict=True):
            group["lr"] = factor * rate

    def _add_to_average(self) -> None:
        """The average is over all updates at first, later over the last ones."""
        self.updates += 1
        share = max(1 - self._config.ema_decay, 1 / self.updates)
        torch._foreach_lerp_(self._averages, [p.detach() for p in self.module.parameters()], share)


def _batch_of(positions: Any, samples: npt.NDArray[np.int64]) -> dict[str, npt.NDArray[Any]]:
    return {name: array[samples] for name, array in positions._asdict().items()}
