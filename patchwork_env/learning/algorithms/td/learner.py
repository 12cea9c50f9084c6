"""Learning a value from the positions of self-play."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from patchwork_env.agents.compiled.records import arrays_of
from patchwork_env.agents.patchwork.value.network import (
    OTHER_EMPTY,
    OTHER_SCORE,
    OWN_EMPTY,
    OWN_SCORE,
    SCALES,
    TABLES,
    WIN,
    Weights,
)
from patchwork_env.learning.algorithms.common.descent import Descent
from patchwork_env.learning.algorithms.common.threads import Crew
from patchwork_env.learning.algorithms.td.config import Td
from patchwork_env.learning.algorithms.td.games import Positions
from patchwork_env.learning.algorithms.td.module import ValueModule


class TdLearner(Descent[Positions]):
    """Moves a value towards its targets.

    Args:
        weights: Where to begin.
        config: The algorithm's parameters.
        crew: Shares the work on each minibatch.

    Attributes:
        average: The moving average of the weights.
    """

    def __init__(self, weights: Weights, config: Td, crew: Crew) -> None:
        self.average = weights.copy()
        self._score_coefficient = config.score_coefficient
        super().__init__(ValueModule(weights), arrays_of(self.average), TABLES, self._losses, config, crew)

    def _losses(self, positions: Positions, samples: npt.NDArray[np.int64]) -> dict[str, Tensor]:
        outputs = self.module(positions.states[samples])
        targets = torch.from_numpy(positions.targets[samples] / SCALES)
        squares = (outputs - targets).square().mean(0)
        score_loss = squares[OWN_SCORE] + squares[OTHER_SCORE]
        empty_loss = squares[OWN_EMPTY] + squares[OTHER_EMPTY]
        win_loss = binary_cross_entropy_with_logits(outputs[:, WIN], targets[:, WIN])
        margins, expected = (x[:, OWN_SCORE] - x[:, OTHER_SCORE] for x in (targets, outputs.detach()))
        return {
            "loss": self._score_coefficient * (score_loss + empty_loss) + win_loss,
            "score_loss": score_loss,
            "empty_loss": empty_loss,
            "win_loss": win_loss,
            "margin_error": SCALES[OWN_SCORE] * (expected - margins).square().mean().sqrt(),
            "explained_variance": 1 - (expected - margins).square().mean() / margins.var().clamp_min(1e-9),
        }
