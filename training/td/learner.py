"""Learning a value from the positions of self-play."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from patchwork_env.agents.value.network import MARGIN_SCALE, Weights
from training.config import Td
from training.crew import Crew
from training.gradients import descend, means
from training.td.module import ValueModule
from training.td.self_play import Positions


class TdLearner:
    """Moves a value towards its targets.

    Args:
        weights: Changed in place.
        config: The algorithm's parameters.
        crew: Shares the work on each minibatch.
    """

    def __init__(self, weights: Weights, config: Td, crew: Crew) -> None:
        self.config = config
        self.module = ValueModule(weights)
        self._crew = crew
        self.optimizer = torch.optim.Adam(self.module.parameters(), lr=config.learning_rate.start, fused=True)

    def update(self, positions: Positions, progress: float, random: np.random.Generator) -> dict[str, float]:
        """Takes ``config.updates`` steps on random minibatches; returns mean losses and diagnostics.

        Raises:
            DivergenceError: The loss or its gradient is not finite.
        """
        for group in self.optimizer.param_groups:
            group["lr"] = self.config.learning_rate.at(progress)
        number = len(positions.states)
        size = min(self.config.minibatch_size, number)
        metrics = []
        for _ in range(self.config.updates):
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
        return means(metrics)

    def _losses(self, positions: Positions, samples: npt.NDArray[np.int64]) -> dict[str, Tensor]:
        margins, logits = self.module(positions.states[samples])
        targets = torch.from_numpy(positions.margins[samples]) / MARGIN_SCALE
        wins = torch.from_numpy(positions.wins[samples])
        margin_loss = (margins - targets).square().mean()
        win_loss = binary_cross_entropy_with_logits(logits, wins)
        return {
            "loss": self.config.margin_coefficient * margin_loss + win_loss,
            "margin_loss": margin_loss,
            "win_loss": win_loss,
            "explained_variance": 1 - margin_loss.detach() / targets.var().clamp_min(1e-9),
        }


def _batch_of(positions: Positions, samples: npt.NDArray[np.int64]) -> dict[str, npt.NDArray[Any]]:
    return {name: array[samples] for name, array in positions._asdict().items()}
