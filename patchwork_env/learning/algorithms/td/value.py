"""The network of the value of Patchwork as a PyTorch module."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, leaky_relu

from patchwork_env.agents.compiled.records import LEAK
from patchwork_env.agents.compiled.vectors import Rows
from patchwork_env.agents.patchwork import features, patterns
from patchwork_env.agents.patchwork.value import (
    OTHER_EMPTY,
    OTHER_SCORE,
    OWN_EMPTY,
    OWN_SCORE,
    SCALES,
    TABLES,
    WIN,
    Weights,
)
from patchwork_env.core.compile import kernel
from patchwork_env.learning.algorithms.common.row_sums import Counts, SumOfRows
from patchwork_env.learning.algorithms.common.value_learner import ValueModule
from patchwork_env.learning.algorithms.td.games import Positions
from patchwork_env.patchwork.components import NUM_PLAYERS
from patchwork_env.patchwork.state import States


class PatchworkValueModule(ValueModule[Positions]):
    """The forward pass of :mod:`patchwork_env.agents.patchwork.value`, with gradients.

    Args:
        weights: The weights, which learning changes in place.
        score_coefficient: The weight of scores and empty cells in the loss, beside that of the winner.
    """

    tables = TABLES
    quilt_bias: Tensor
    game_bias: Tensor
    own: Tensor
    others: Tensor
    bias_2: Tensor
    weights_2: Tensor
    bias_3: Tensor
    weights_3: Tensor

    def __init__(self, weights: Weights, score_coefficient: float = 1.0) -> None:
        super().__init__(weights)
        self._score_coefficient = score_coefficient

    def forward(self, states: States) -> Tensor:
        """The outputs in units of ``SCALES``, ``(n, OUTPUTS)``.

        Args:
            states: The ``(n,)`` records of games that go on; the values are those of the players to move.
        """
        quilt_rows, game_rows, counts = rows_of(states)
        windows = np.full(NUM_PLAYERS * len(states), patterns.NUM_WINDOWS)
        quilts = leaky_relu(self.quilt_bias + SumOfRows.apply(self.patterns, quilt_rows, windows), LEAK)
        own, other = quilts.view(len(states), NUM_PLAYERS, -1).unbind(1)
        game = self.game_bias + SumOfRows.apply(self.features, game_rows, counts)
        hidden = leaky_relu(game + own @ self.own + other @ self.others, LEAK)
        hidden_2 = leaky_relu(self.bias_2 + hidden @ self.weights_2, LEAK)
        return self.bias_3 + hidden_2 @ self.weights_3

    def losses(self, samples: Positions) -> dict[str, Tensor]:
        """See :meth:`ValueModule.losses`."""
        outputs = self(samples.states)
        targets = torch.from_numpy(samples.targets / SCALES)
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


def rows_of(states: States) -> tuple[Rows, Rows, Counts]:
    """The rows that the network looks up.

    Returns:
        The rows of patterns, int32 ``(2n, NUM_WINDOWS)``; the rows of features, int32 ``(n, MAX_ROWS)``; and
        how many of the latter are used, int64 ``(n,)``.
    """
    n = len(states)
    quilt_rows = np.empty((NUM_PLAYERS * n, patterns.NUM_WINDOWS), np.int32)
    game_rows = np.empty((n, features.MAX_ROWS), np.int32)
    counts = np.empty(n, np.int64)
    _write_rows(states, quilt_rows, game_rows, counts)
    return quilt_rows, game_rows, counts


@kernel(allocates=True)
def _write_rows(states: States, quilt_rows: Rows, game_rows: Rows, counts: Counts) -> None:
    bands = np.empty(patterns.NUM_BANDS, np.uint64)
    for i in range(len(states)):
        mover = features.signed(states[i]["current_player"])
        quilt = states[i]["quilt"]
        for role in range(NUM_PLAYERS):
            player = mover if role == 0 else 1 - mover
            patterns.write_bands(quilt[player, 0], quilt[player, 1], bands)
            patterns.list_rows(bands, quilt_rows[NUM_PLAYERS * i + role])
        counts[i] = features.list_left_rows(states, i, game_rows[i])
        counts[i] += features.list_game_rows(states, i, game_rows[i, counts[i] :])
        for role in range(NUM_PLAYERS):
            counts[i] += features.list_fit_rows(states, i, role, game_rows[i, counts[i] :])
        counts[i] += features.list_square_rows(states, i, game_rows[i, counts[i] :])
