"""Learning the value of NMBR 9 from the positions of games."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from patchwork_env.agents.compiled.records import arrays_of
from patchwork_env.agents.nmbr9.value.network import SCALE, TABLES, Weights
from patchwork_env.learning.algorithms.common.descent import Descent
from patchwork_env.learning.algorithms.common.threads import Crew
from patchwork_env.learning.algorithms.solo_td.config import SoloTd
from patchwork_env.learning.algorithms.solo_td.module import ValueModule
from patchwork_env.learning.algorithms.solo_td.self_play import Positions


class SoloTdLearner(Descent[Positions]):
    """Moves a value towards its targets.

    Args:
        weights: Where to begin.
        config: The algorithm's parameters.
        crew: Shares the work on each minibatch.

    Attributes:
        average: The moving average of the weights.
    """

    def __init__(self, weights: Weights, config: SoloTd, crew: Crew) -> None:
        self.average = weights.copy()
        module = ValueModule(weights)
        super().__init__(module, arrays_of(self.average), TABLES, self._losses, config, crew)

    def _losses(self, positions: Positions, samples: npt.NDArray[np.int64]) -> dict[str, Tensor]:
        values = self.module(positions.states[samples])
        targets = torch.from_numpy(positions.targets[samples]) / SCALE
        loss = (values - targets).square().mean()
        return {
            "loss": loss,
            "error": SCALE * loss.detach().sqrt(),
            "explained_variance": 1 - loss.detach() / targets.var().clamp_min(1e-9),
        }
