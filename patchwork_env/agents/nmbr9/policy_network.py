"""A policy and value network for NMBR 9, which scores the legal placements alone.

Legal actions are 240 of 16,394 on average in random play, and only they enter the softmax. In free order the
digits to choose from are scored by the trunk alone.

With ``features`` (:mod:`.policy_features`), placements are scored by a product of theirs with weights that
come from the trunk, and by a small layer that reads them together with the trunk.

With ``channels``, a placement is scored by the window around it as well, as it would be afterwards: the cells
that lie lower than the tile, as high as its foundation, or higher, and those of the tile itself; by the tile;
by its level; and by the trunk. All windows are read by the same two layers, so what is learned in one place
helps in all others.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from patchwork_env.agents.networks import (
    HEAD_GAIN,
    Inputs,
    NetworkConfig,
    Output,
    PolicyNetwork,
    initialize,
    new_trunk,
)
from patchwork_env.agents.nmbr9.policy_features import (
    IS_LIKELY,
    PLACEMENT_FEATURES,
    POSITION_FEATURES,
    features_of,
    position_features,
)
from patchwork_env.agents.policy import PolicyAgent, read_network
from patchwork_env.agents.ragged_policy import hierarchical_policy, ragged_products
from patchwork_env.games import NMBR9
from patchwork_env.nmbr9.actions import (
    FIRST_CHOICE,
    LONGEST_SIDE,
    NUM_ANCHORS,
    NUM_TURNS,
    ORIENTED,
    TABLE_SIZE,
)
from patchwork_env.nmbr9.components import NUM_DIGITS
from patchwork_env.nmbr9.observation import FIRST_VIEWED, SLICES, VIEW_SIZE

_MARGIN = 1
_WINDOW = LONGEST_SIDE + 2 * _MARGIN
_FRAMED = VIEW_SIZE + 2 * _WINDOW
_LOOKS = 4  # how a cell may look: lower, as high as the foundation, higher, the tile's own
_PLACEMENT_UNITS = 32
_HEIGHT_UNIT = 8  # levels per unit of the observation's heights
_TRUNK_TENSORS = ("heights", "tile", "remaining", "upcoming", "phase", "players")


class Nmbr9Network(PolicyNetwork):
    """Policy and value of the current player; see the module for its structure."""

    game = NMBR9
    footprints: Tensor
    offsets: Tensor

    def __init__(self, config: NetworkConfig | None = None) -> None:
        super().__init__(config)
        config = self.config
        width, channels = config.width, config.channels
        self.trunk = new_trunk(_trunk_inputs(config), config)
        self.value = nn.Linear(width, 1)
        self.choice = nn.Linear(width, NUM_DIGITS)
        if config.features:
            self.placement = nn.Linear(width, PLACEMENT_FEATURES)
            self.placement_hidden = nn.Linear(PLACEMENT_FEATURES, _PLACEMENT_UNITS)
            self.placement_context = nn.Linear(width, _PLACEMENT_UNITS, bias=False)
            self.placement_score = nn.Linear(_PLACEMENT_UNITS, 1, bias=False)
        if channels:
            self.modulation = nn.Linear(width, channels)
            self.window = nn.Linear(_WINDOW**2 * _LOOKS, channels)
            self.tiles = nn.Embedding(NUM_DIGITS * NUM_TURNS, channels)
            self.level = nn.Linear(2, channels, bias=False)
            self.hidden = nn.Linear(channels, channels)
            self.score = nn.Linear(channels, 1)
            self.register_buffer("footprints", _footprints(), persistent=False)
            self.register_buffer("offsets", _offsets(), persistent=False)
        self._initialize()

    def _initialize(self) -> None:
        layers, heads = [*self.trunk], [self.value, self.choice]
        if self.config.features:
            heads.append(self.placement)
            nn.init.normal_(self.placement_score.weight, std=0.01)
        if self.config.channels:
            layers += [self.window, self.hidden]
            heads += [self.modulation, self.score]
        initialize(layers)
        initialize(heads, HEAD_GAIN)
        if self.config.channels:
            nn.init.normal_(self.tiles.weight, std=0.1)

    def forward(self, inputs: Inputs, outcomes: Tensor | None = None) -> Output:
        """See :meth:`PolicyNetwork.forward`; there are never any outcomes."""
        observations, rows, actions = inputs
        features = features_of(*inputs) if self.config.features else None
        trunk = self.trunk(_trunk_input(observations, None if features is None else features.positions))
        choices = (
            self.choice(trunk)
            .view(-1)
            .index_select(0, rows * NUM_DIGITS + (actions - FIRST_CHOICE).clamp(min=0))
        )
        placements = trunk.new_zeros(actions.shape[0])
        if features is not None:
            placements = placements + self._scores_of_features(trunk, features.placements, rows)
        if self.config.channels:
            places = actions.clamp(max=FIRST_CHOICE - 1)
            placements = placements + self._scores_of_windows(observations, trunk, rows, places)
        scores = torch.where(actions < FIRST_CHOICE, placements, choices)
        one_kind = scores.new_zeros(observations.shape[0], 1)
        policy = hierarchical_policy(one_kind, scores, rows, torch.zeros_like(rows))
        nothing = trunk.new_zeros(trunk.shape[0], *self.outcomes_shape)
        return Output(*policy, self.value(trunk).squeeze(1), nothing)

    def values(self, observations: Tensor) -> Tensor:
        """See :meth:`PolicyNetwork.values`."""
        positions = position_features(observations) if self.config.features else None
        values: Tensor = self.value(self.trunk(_trunk_input(observations, positions)))
        return values.squeeze(1)

    def _scores_of_features(self, trunk: Tensor, placements: Tensor, rows: Tensor) -> Tensor:
        """What the features of placements add to their logits, ``(total,)``."""
        linear = ragged_products(self.placement(trunk), placements, rows)
        likely = placements[:, IS_LIKELY].nonzero().squeeze(1)
        context = self.placement_context(trunk).index_select(0, rows.index_select(0, likely))
        hidden = torch.relu(self.placement_hidden(placements.index_select(0, likely)) + context)
        scores: Tensor = linear.index_add(0, likely, self.placement_score(hidden).squeeze(1))
        return scores

    def _scores_of_windows(
        self, observations: Tensor, trunk: Tensor, rows: Tensor, actions: Tensor
    ) -> Tensor:
        """What the windows around placements add to their logits, ``(total,)``."""
        digits = observations[:, SLICES["tile"]].argmax(1).index_select(0, rows)
        pieces = digits * NUM_TURNS + actions // NUM_ANCHORS
        heights = self._windows(observations, rows, actions % NUM_ANCHORS)
        footprints = self.footprints.index_select(0, pieces)
        levels = (heights * footprints).amax(1)
        lower, higher, own = heights < levels[:, None], heights > levels[:, None], footprints > 0
        looks = torch.stack([lower, ~(lower | higher | own), higher, own], 1)
        windows = looks.flatten(1).to(trunk.dtype)
        level_and_points = torch.stack([levels, levels * digits], 1) / _HEIGHT_UNIT
        hidden = self.window(windows) + self.level(level_and_points)
        hidden = hidden + self.tiles.weight.index_select(0, pieces)
        hidden = torch.relu(hidden + self.modulation(trunk).index_select(0, rows))
        scores: Tensor = self.score(torch.relu(self.hidden(hidden)))
        return scores.squeeze(1)

    def _windows(self, observations: Tensor, rows: Tensor, anchors: Tensor) -> Tensor:
        """Heights around anchors, float32 ``(total, window * window)``; beyond the picture they are 0."""
        heights = (observations[:, SLICES["heights"]] * _HEIGHT_UNIT).round()
        framed = functional.pad(heights.view(-1, VIEW_SIZE, VIEW_SIZE), (_WINDOW,) * 4).reshape(-1)
        # Windows that begin further out see nothing of the picture, like those that begin on its frame.
        first = FIRST_VIEWED + _MARGIN
        row = (anchors // TABLE_SIZE - first).clamp(-_WINDOW, VIEW_SIZE) + _WINDOW
        column = (anchors % TABLE_SIZE - first).clamp(-_WINDOW, VIEW_SIZE) + _WINDOW
        corners = (rows * _FRAMED + row) * _FRAMED + column
        cells = (corners[:, None] + self.offsets).flatten()
        return framed.index_select(0, cells).view(-1, _WINDOW**2)


def _trunk_input(observations: Tensor, positions: Tensor | None) -> Tensor:
    parts = [observations[:, SLICES[name]] for name in _TRUNK_TENSORS]
    return torch.cat(parts if positions is None else [*parts, positions], 1)


def _trunk_inputs(config: NetworkConfig) -> int:
    of_observation: int = sum(SLICES[name].stop - SLICES[name].start for name in _TRUNK_TENSORS)
    return of_observation + config.features * POSITION_FEATURES


def _footprints() -> Tensor:
    """The cells of every piece in its window, float32 ``(40, window * window)``, 0 or 1."""
    footprints = np.zeros((NUM_DIGITS, NUM_TURNS, _WINDOW, _WINDOW), np.float32)
    for digit, oriented in enumerate(ORIENTED):
        for orientation, cells in enumerate(oriented):
            for row, column in cells:
                footprints[digit, orientation, row + _MARGIN, column + _MARGIN] = 1
    return torch.from_numpy(footprints.reshape(NUM_DIGITS * NUM_TURNS, -1))


def _offsets() -> Tensor:
    """The offsets of the cells of a window in a framed picture, from its first cell."""
    offsets = _FRAMED * torch.arange(_WINDOW)[:, None] + torch.arange(_WINDOW)
    return offsets.flatten()


def load(path: str | Path, seed: int | None = None, *, sample: bool = False) -> PolicyAgent:
    """The agent that plays the policy of a checkpoint folder."""
    network, _ = read_network(Path(path), Nmbr9Network)
    return PolicyAgent(network, Path(path).name, sample=sample, seed=seed)
