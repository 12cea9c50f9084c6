"""A policy and value network for NMBR 9, which scores the legal placements alone.

Legal actions are 240 of 16,394 on average in random play, and only they enter the softmax. In free order the
digits to choose from are scored by the trunk alone.

Placements are scored by a product of their features (:mod:`.policy_features`) with weights that come from the
trunk, and by a small layer that reads them together with the trunk.
"""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor, nn

from patchwork_env.agents.networks import (
    HEAD_GAIN,
    Inputs,
    NetworkConfig,
    Output,
    PolicyAgent,
    PolicyNetwork,
    initialize,
    new_trunk,
    read_network,
)
from patchwork_env.agents.nmbr9.policy_features import (
    IS_LIKELY,
    PLACEMENT_FEATURES,
    POSITION_FEATURES,
    features_of,
    position_features,
)
from patchwork_env.agents.ragged_policy import hierarchical_policy, ragged_products
from patchwork_env.games import NMBR9
from patchwork_env.nmbr9.actions import FIRST_CHOICE
from patchwork_env.nmbr9.components import NUM_DIGITS
from patchwork_env.nmbr9.observation import SLICES

_PLACEMENT_UNITS = 32
_TRUNK_TENSORS = ("heights", "tile", "remaining", "upcoming", "phase", "players")
_TRUNK_INPUTS = sum(SLICES[name].stop - SLICES[name].start for name in _TRUNK_TENSORS) + POSITION_FEATURES


class Nmbr9Network(PolicyNetwork):
    """Policy and value of the current player; see the module for its structure."""

    game = NMBR9

    def __init__(self, config: NetworkConfig | None = None) -> None:
        super().__init__(config)
        width = self.config.width
        self.trunk = new_trunk(_TRUNK_INPUTS, self.config)
        self.value = nn.Linear(width, 1)
        self.choice = nn.Linear(width, NUM_DIGITS)
        self.placement = nn.Linear(width, PLACEMENT_FEATURES)
        self.placement_hidden = nn.Linear(PLACEMENT_FEATURES, _PLACEMENT_UNITS)
        self.placement_context = nn.Linear(width, _PLACEMENT_UNITS, bias=False)
        self.placement_score = nn.Linear(_PLACEMENT_UNITS, 1, bias=False)
        nn.init.normal_(self.placement_score.weight, std=0.01)
        initialize(self.trunk)
        initialize([self.value, self.choice, self.placement], HEAD_GAIN)

    def forward(self, inputs: Inputs, outcomes: Tensor | None = None) -> Output:
        """See :meth:`PolicyNetwork.forward`; there are never any outcomes."""
        observations, rows, actions = inputs
        features = features_of(*inputs)
        trunk = self.trunk(_trunk_input(observations, features.positions))
        choices = (
            self.choice(trunk)
            .view(-1)
            .index_select(0, rows * NUM_DIGITS + (actions - FIRST_CHOICE).clamp(min=0))
        )
        placements = self._scores_of_placements(trunk, features.placements, rows)
        scores = torch.where(actions < FIRST_CHOICE, placements, choices)
        one_kind = scores.new_zeros(observations.shape[0], 1)
        policy = hierarchical_policy(one_kind, scores, rows, torch.zeros_like(rows))
        nothing = trunk.new_zeros(trunk.shape[0], *self.outcomes_shape)
        return Output(*policy, self.value(trunk).squeeze(1), nothing)

    def values(self, observations: Tensor) -> Tensor:
        """See :meth:`PolicyNetwork.values`."""
        inputs = _trunk_input(observations, position_features(observations))
        values: Tensor = self.value(self.trunk(inputs))
        return values.squeeze(1)

    def _scores_of_placements(self, trunk: Tensor, placements: Tensor, rows: Tensor) -> Tensor:
        """The logits of placements by their features, ``(total,)``."""
        linear = ragged_products(self.placement(trunk), placements, rows)
        likely = placements[:, IS_LIKELY].nonzero().squeeze(1)
        context = self.placement_context(trunk).index_select(0, rows.index_select(0, likely))
        hidden = torch.relu(self.placement_hidden(placements.index_select(0, likely)) + context)
        scores: Tensor = linear.index_add(0, likely, self.placement_score(hidden).squeeze(1))
        return scores


def _trunk_input(observations: Tensor, positions: Tensor) -> Tensor:
    return torch.cat([*(observations[:, SLICES[name]] for name in _TRUNK_TENSORS), positions], 1)


def load(path: str | Path, seed: int | None = None, *, sample: bool = False) -> PolicyAgent:
    """The agent that plays the policy of a checkpoint folder."""
    network, _ = read_network(Path(path), Nmbr9Network)
    return PolicyAgent(network, Path(path).name, sample=sample, seed=seed)
