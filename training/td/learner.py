"""Learning a value from the positions of self-play."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from patchwork_env.agents.value.network import (
    OTHER_EMPTY,
    OTHER_SCORE,
    OWN_EMPTY,
    OWN_SCORE,
    SCALES,
    TABLES,
    WIN,
    Weights,
    arrays_of,
)
from training.config import Td
from training.crew import Crew
from training.gradients import descend, means
from training.td.games import Positions
from training.td.module import ValueModule


class TdLearner:
    """Moves a value towards its targets.

    What plays is the average of the weights over the last updates (Polyak and Juditsky 1992): it lacks most
    of the noise that single minibatches bring.

    Args:
        weights: Where to begin.
        config: The algorithm's parameters.
        crew: Shares the work on each minibatch.

    Attributes:
        module: The weights that learn.
        average: Their moving average.
        updates: Steps taken so far.
    """

    def __init__(self, weights: Weights, config: Td, crew: Crew) -> None:
        self.config = config
        self.module = ValueModule(weights)
        self.average = weights.copy()
        self.updates = 0
        self._crew = crew
        self.optimizer = torch.optim.Adam(self._groups(), lr=config.learning_rate.start, fused=True)

    def _groups(self) -> list[dict[str, Any]]:
        """Every parameter by itself, in the order of the module."""
        return [{"params": [parameter]} for parameter in self.module.parameters()]

    def _factors(self) -> list[float]:
        """What the learning rate of each parameter is multiplied by."""
        names = [name for name, _ in self.module.named_parameters()]
        return [self.config.table_rate if name in TABLES else 1.0 for name in names]

    def update(
        self, positions: Positions, updates: int, progress: float, random: np.random.Generator
    ) -> dict[str, float]:
        """Takes so many steps on random minibatches; returns mean losses and diagnostics.

        Raises:
            DivergenceError: The loss or its gradient is not finite.
        """
        number = len(positions.states)
        size = min(self.config.minibatch_size, number)
        metrics = []
        rate = self.config.learning_rate.at(progress)
        for _ in range(updates):
            self._set_rate(rate * min(1, (self.updates + 1) / self.config.warmup))
            samples = random.integers(number, size=size)
            metrics.append(
                descend(
                    self.optimizer,
                    partial(self._losses, positions),
                    partial(_batch_of, positions),
                    samples,
                    self._crew,
                    self.config.max_gradient_norm,
                )
            )
            self._add_to_average()
        return means(metrics)

    def _set_rate(self, rate: float) -> None:
        for group, factor in zip(self.optimizer.param_groups, self._factors(), strict=True):
            group["lr"] = factor * rate

    def _add_to_average(self) -> None:
        """The average is over all updates at first, later over the last ones."""
        self.updates += 1
        share = max(1 - self.config.averaging, 1 / self.updates)
        averages = [torch.from_numpy(array) for array in arrays_of(self.average).values()]
        torch._foreach_lerp_(averages, [p.detach() for p in self.module.parameters()], share)

    def _losses(self, positions: Positions, samples: npt.NDArray[np.int64]) -> dict[str, Tensor]:
        outputs = self.module(positions.states[samples])
        targets = torch.from_numpy(positions.targets[samples] / SCALES)
        squares = (outputs - targets).square().mean(0)
        score_loss = squares[OWN_SCORE] + squares[OTHER_SCORE]
        empty_loss = squares[OWN_EMPTY] + squares[OTHER_EMPTY]
        win_loss = binary_cross_entropy_with_logits(outputs[:, WIN], targets[:, WIN])
        margins, expected = (x[:, OWN_SCORE] - x[:, OTHER_SCORE] for x in (targets, outputs.detach()))
        return {
            "loss": self.config.score_coefficient * (score_loss + empty_loss) + win_loss,
            "score_loss": score_loss,
            "empty_loss": empty_loss,
            "win_loss": win_loss,
            "margin_error": SCALES[OWN_SCORE] * (expected - margins).square().mean().sqrt(),
            "explained_variance": 1 - (expected - margins).square().mean() / margins.var().clamp_min(1e-9),
        }


def _batch_of(positions: Positions, samples: npt.NDArray[np.int64]) -> dict[str, npt.NDArray[Any]]:
    return {name: array[samples] for name, array in positions._asdict().items()}
