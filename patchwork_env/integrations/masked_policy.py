"""Evaluation of the project's networks from observations and masks, for other libraries."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from patchwork_env.agents import ragged
from patchwork_env.agents.networks import Inputs, Output, PolicyNetwork

IMPOSSIBLE = float(torch.finfo(torch.float32).min)
"""The log-probability of illegal actions: finite, so that no gradient becomes undefined."""


class Evaluated(NamedTuple):
    """The output of a network for ``n`` observations with ``total`` legal actions, ascending within a row."""

    rows: Tensor
    actions: Tensor
    output: Output

    def dense(self, num_actions: int) -> Tensor:
        """Return log-probabilities ``(n, num_actions)``; :data:`IMPOSSIBLE` for illegal actions."""
        shape = len(self.output.values), num_actions
        dense = self.output.values.new_full(shape, IMPOSSIBLE)
        return dense.index_put((self.rows, self.actions), self.output.log_probabilities)

    def log_probabilities_of(self, chosen: Tensor) -> Tensor:
        """Return log-probabilities ``(n,)`` of one action per row; :data:`IMPOSSIBLE` for an illegal one."""
        width = int(max(self.actions.max(), chosen.max())) + 1 if len(self.actions) else 1
        listed = self.rows * width + self.actions
        wanted = torch.arange(len(chosen), device=chosen.device) * width + chosen
        positions = torch.searchsorted(listed, wanted).clamp(max=len(listed) - 1)
        found = listed[positions] == wanted
        return torch.where(found, self.output.log_probabilities.index_select(0, positions), IMPOSSIBLE)


def evaluate(network: PolicyNetwork, observations: Tensor, masks: Tensor) -> Evaluated:
    """Evaluate a network for observations ``(n, size)``, with masks ``(n, actions)`` of legal actions."""
    rows, actions = legal_actions(masks)
    return Evaluated(rows, actions, network(Inputs(observations, rows, actions)))


def draw(evaluated: Evaluated) -> Tensor:
    """Draw a legal action for each observation, int64 ``(n,)``, with PyTorch's random numbers."""
    uniforms = torch.rand(len(evaluated.output.values), dtype=torch.float64, device="cpu").numpy()
    return _actions_at(evaluated, ragged.sample(*_counts_and_log_probabilities(evaluated), uniforms))


def likeliest(network: PolicyNetwork, evaluated: Evaluated) -> Tensor:
    """Return the action that an agent with the network plays for each observation, int64 ``(n,)``."""
    counts, log_probabilities = _counts_and_log_probabilities(evaluated)
    kinds = network.kinds_of(evaluated.actions.cpu().numpy())
    return _actions_at(evaluated, ragged.most_probable(counts, kinds, log_probabilities, network.num_kinds))


def _counts_and_log_probabilities(
    evaluated: Evaluated,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
    """Return the numbers of legal actions ``(n,)``, and all log-probabilities ``(total,)``."""
    counts = np.bincount(evaluated.rows.cpu().numpy(), minlength=len(evaluated.output.values))
    if not counts.all():
        raise ValueError(f"observation {counts.argmin()} of {len(counts)} has a mask without a legal action")
    return counts, evaluated.output.log_probabilities.detach().cpu().numpy()


def _actions_at(evaluated: Evaluated, positions: npt.NDArray[np.int64]) -> Tensor:
    return evaluated.actions[torch.from_numpy(positions).to(evaluated.actions.device)]


def legal_actions(masks: Tensor) -> tuple[Tensor, Tensor]:
    """Return the rows and columns of the legal actions; on the CPU with NumPy, which is faster."""
    if masks.device.type != "cpu":
        rows, actions = masks.nonzero(as_tuple=True)
        return rows, actions
    flat = np.flatnonzero(masks.numpy())
    rows_and_actions = np.divmod(flat, masks.shape[1])
    return torch.from_numpy(rows_and_actions[0]), torch.from_numpy(rows_and_actions[1])
