"""The network of the value of NMBR 9 as a PyTorch module."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import leaky_relu

from patchwork_env.agents.compiled.records import LEAK
from patchwork_env.agents.compiled.vectors import Floats, Rows
from patchwork_env.agents.nmbr9 import features
from patchwork_env.agents.nmbr9.value import (
    MAX_WINDOWS,
    SCALE,
    TABLES,
    Buffer,
    new_buffer,
    read_table,
)
from patchwork_env.core.compile import kernel
from patchwork_env.learning.algorithms.common.row_sums import Counts, SumOfRows
from patchwork_env.learning.algorithms.common.value_learner import ValueModule
from patchwork_env.learning.algorithms.solo_td.self_play import Positions
from patchwork_env.nmbr9.engine import num_placed
from patchwork_env.nmbr9.state import States


class Nmbr9ValueModule(ValueModule[Positions]):
    """The forward pass of :mod:`patchwork_env.agents.nmbr9.value`, with gradients.

    Args:
        weights: The weights, which learning changes in place.
    """

    tables = TABLES
    relief_bias: Tensor
    bias: Tensor
    numbers: Tensor
    weights_1: Tensor
    bias_2: Tensor
    weights_2: Tensor
    bias_3: Tensor
    weights_3: Tensor

    def forward(self, states: States) -> Tensor:
        """The outputs in units of ``SCALE``, ``(n,)``.

        Args:
            states: The ``(n,)`` records of games that go on; the values are those of the first players.
        """
        windows, window_counts, rows, counts, inputs = rows_of(states)
        relief = leaky_relu(self.relief_bias + SumOfRows.apply(self.windows, windows, window_counts), LEAK)
        hidden = self.bias + SumOfRows.apply(self.features, rows, counts)
        hidden = leaky_relu(hidden + torch.from_numpy(inputs) @ self.numbers + relief @ self.weights_1, LEAK)
        hidden_2 = leaky_relu(self.bias_2 + hidden @ self.weights_2, LEAK)
        return self.bias_3 + hidden_2 @ self.weights_3

    def losses(self, samples: Positions) -> dict[str, Tensor]:
        """See :meth:`ValueModule.losses`."""
        values = self(samples.states)
        targets = torch.from_numpy(samples.targets) / SCALE
        loss = (values - targets).square().mean()
        return {
            "loss": loss,
            "error": SCALE * loss.detach().sqrt(),
            "explained_variance": 1 - loss.detach() / targets.var().clamp_min(1e-9),
        }


def rows_of(states: States) -> tuple[Rows, Counts, Rows, Counts, Floats]:
    """What the network reads of some states.

    Returns:
        The rows of windows, int32 ``(n, MAX_WINDOWS)``, and how many are used, int64 ``(n,)``; the rows of
        features, int32 ``(n, MAX_ROWS)``, and how many are used; and the inputs, float32 ``(n, NUM_INPUTS)``.
    """
    n = len(states)
    windows, rows = np.empty((n, MAX_WINDOWS), np.int32), np.empty((n, features.MAX_ROWS), np.int32)
    window_counts, counts = np.empty(n, np.int64), np.empty(n, np.int64)
    inputs = np.empty((n, features.NUM_INPUTS), np.float32)
    _write_rows(states, new_buffer(), windows, window_counts, rows, counts, inputs)
    return windows, window_counts, rows, counts, inputs


@kernel(allocates=True)
def _write_rows(
    states: States,
    buffer: Buffer,
    windows: Rows,
    window_counts: Counts,
    rows: Rows,
    counts: Counts,
    inputs: Floats,
) -> None:
    for i in range(len(states)):
        number, found = read_table(states, i, 0, buffer[0])
        windows[i, :found] = buffer[0]["rows"][:found]
        window_counts[i] = found
        left = int(states[i]["num_rounds"]) - num_placed(states, i, 0)
        counts[i] = features.list_rows(buffer[0], number, left, rows[i])
        inputs[i] = buffer[0]["inputs"]
