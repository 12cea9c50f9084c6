"""The policy and value network for Patchwork, shaped after the game.

The policy first chooses a kind of move (advance, one of three slots, special patch) and then a placement:

    log p(action) = log p(kind) + log p(placement | kind)

so that the choice between advancing and buying does not depend on how many placements a patch has. Placements
are scored by maps of positions: every cell of the own quilt is described by the 7x7 window that spans a patch
anchored there and its neighborhood, and matched with a key for every orientation of every patch. The key is a
learned one plus one that is computed from the shape, so that what is learned with one patch helps with all
others. Only legal actions enter the softmax; they come as flat lists (:mod:`~patchwork_env.agents.ragged`),
which takes a small fraction of the work of a dense softmax over 2026 actions.

Entries are picked with ``index_select``: on a CPU its gradient is summed in one order every time. That of
``tensor[indices]`` is not if there are several threads, and no two training runs would be equal. Sizes of
batches are ``tensor.shape[0]``, which an export leaves open; ``len(tensor)`` would fix them.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from patchwork_env.agents.networks import (
    Inputs,
    NetworkConfig,
    Output,
    PolicyNetwork,
    hierarchical_policy,
    linear_shapes,
    new_trunk,
    trunk_shapes,
)
from patchwork_env.core.polyomino import NUM_ORIENTATIONS
from patchwork_env.games import PATCHWORK
from patchwork_env.patchwork import observation
from patchwork_env.patchwork.actions import FIRST_BUY, ORIENTED
from patchwork_env.patchwork.components import NUM_CELLS, NUM_OFFERED, NUM_PATCHES, QUILT_SIZE
from patchwork_env.patchwork.observation import OBSERVATION_SIZE, SLICES

NUM_KINDS = 2 + NUM_OFFERED
"""Advance, the three slots, special patch."""

SLOT_SIZE = NUM_ORIENTATIONS * NUM_CELLS
"""The number of actions that buy from one slot."""
_NUM_PLACES = NUM_OFFERED * SLOT_SIZE + NUM_CELLS
_WINDOW = 7
_WINDOW_BEFORE, _WINDOW_AFTER = 1, 5
_PATCH_FEATURES = 4


class PatchworkNetwork(PolicyNetwork):
    """Policy and value of the current player; see the module for its structure."""

    game = PATCHWORK
    num_kinds = NUM_KINDS
    patch_features: Tensor

    def __init__(self, config: NetworkConfig | None = None) -> None:
        super().__init__(config)
        config = self.config
        self.trunk = new_trunk(_trunk_inputs(), config)
        self.value = nn.Linear(config.width, 1)
        self.kind = nn.Linear(config.width, NUM_KINDS)
        self.modulation = nn.Linear(config.width, config.channels)
        self.window = nn.Conv2d(1, config.channels, _WINDOW)
        self.keys = nn.Embedding((NUM_PATCHES + 1) * NUM_ORIENTATIONS, config.channels)
        self.key_of_shape = nn.Linear(2 * _WINDOW * _WINDOW, config.channels)
        self.special_key = nn.Parameter(torch.zeros(config.channels))
        self.register_buffer("patch_features", _patch_features(), persistent=False)
        self.register_buffer("shapes", _shapes(), persistent=False)
        self._initialize()

    @staticmethod
    def weight_shapes(config: NetworkConfig) -> dict[str, tuple[int, ...]]:
        """See :meth:`PolicyNetwork.weight_shapes`."""
        width, channels = config.width, config.channels
        return (
            trunk_shapes(_trunk_inputs(), config)
            | linear_shapes(
                {"value": (width, 1), "kind": (width, NUM_KINDS), "modulation": (width, channels)}
            )
            | {"window.weight": (channels, 1, _WINDOW, _WINDOW), "window.bias": (channels,)}
            | {"keys.weight": ((NUM_PATCHES + 1) * NUM_ORIENTATIONS, channels), "special_key": (channels,)}
            | linear_shapes({"key_of_shape": (2 * _WINDOW * _WINDOW, channels)})
        )

    def _initialize(self) -> None:
        for module in self.trunk:
            if isinstance(module, nn.Linear):
                nn.init.orthogonal_(module.weight, 2**0.5)
                nn.init.zeros_(module.bias)
        for module in (self.value, self.kind, self.modulation):
            nn.init.orthogonal_(module.weight, 0.01)
            nn.init.zeros_(module.bias)
        nn.init.normal_(self.keys.weight, std=0.1)
        nn.init.normal_(self.key_of_shape.weight, std=0.02)
        nn.init.zeros_(self.key_of_shape.bias)

    @staticmethod
    def kinds_of(actions: Any) -> Any:
        """The kind of each action: 0 advance, 1-3 a slot, 4 special patch."""
        return 1 + (actions - FIRST_BUY) // SLOT_SIZE

    def forward(self, inputs: Inputs) -> Output:
        """Evaluates a batch, which may be empty."""
        observations, rows, actions = inputs
        kind_logits, maps, values = self.scores(observations)
        places = (actions - FIRST_BUY).clamp(min=0)  # advancing is alone in its kind: its place has no effect
        scores = maps.view(-1).index_select(0, rows * _NUM_PLACES + places)
        policy = hierarchical_policy(kind_logits, scores, rows, self.kinds_of(actions))
        return Output(*policy, values)

    def scores(self, observations: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The logits that the policy is made from once the legal actions are known, and the values.

        Args:
            observations: float32 ``(n, OBSERVATION_SIZE)``, from the view of the players to move.

        Returns:
            The logits of the kinds, ``(n, NUM_KINDS)``; the logits of all placements within their kind,
            ``(n, NUM_ACTIONS - 1)``, that of action ``i`` in column ``i - 1``; and the values, ``(n,)``.
        """
        patches, quilts = self.patches_and_quilts(observations)
        features = self.trunk(self.trunk_input(observations, patches))
        maps = self._placement_maps(quilts, patches[:, :NUM_OFFERED], features)
        return self.kind(features), maps.flatten(1), self.value(features).squeeze(1)

    def values(self, observations: Tensor) -> Tensor:
        """The values ``(n,)`` alone, without the work on the policy; see :meth:`scores`."""
        patches, _ = self.patches_and_quilts(observations)
        values: Tensor = self.value(self.trunk(self.trunk_input(observations, patches)))
        return values.squeeze(1)

    def patches_and_quilts(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        """The patches of the circle and the cells that are covered, from observations.

        Returns:
            The circle as ``index + 1`` of each patch, 0 behind its end, int64 ``(n, 33)``; the own quilts as
            0 and 1, float32 ``(n, 81)``.
        """
        return _patch_numbers(observations), observations[:, SLICES["quilts"]][:, :NUM_CELLS]

    def trunk_input(self, observations: Tensor, patches: Tensor) -> Tensor:
        """The input of the trunk: observations, with the features of each patch instead of its number."""
        circle = self.patch_features[patches].flatten(1)
        return torch.cat([_without_circle(observations), circle], 1)

    def keys_by_patch(self) -> Tensor:
        """The keys of all orientations, ``(34, 8 * channels)``; row 0 stands for no patch."""
        keys: Tensor = self.keys.weight + self.key_of_shape(self.shapes)
        return keys.view(NUM_PATCHES + 1, -1)

    def window_matrix(self) -> tuple[Tensor, Tensor]:
        """The convolution of quilts with walls around them as one product, ``quilts @ matrix + walls``.

        A convolution with one input channel is linear in 81 numbers; the product is several times faster.

        Returns:
            ``(81, channels * 81)`` and ``(1, channels * 81)``.
        """
        padding = (_WINDOW_BEFORE, _WINDOW_AFTER) * 2
        one_hot = torch.eye(NUM_CELLS, device=self.device).view(NUM_CELLS, 1, QUILT_SIZE, QUILT_SIZE)
        matrix = functional.conv2d(functional.pad(one_hot, padding), self.window.weight)
        walls = self.window(functional.pad(torch.zeros_like(one_hot[:1]), padding, value=1.0))
        return matrix.view(NUM_CELLS, -1), walls.view(1, -1)

    def _placement_maps(self, quilts: Tensor, offered: Tensor, features: Tensor) -> Tensor:
        """Scores of all placements, ``(n, 25, 81)``.

        24 maps for the slots and orientations, and one for special patches.
        """
        matrix, walls = self.window_matrix()
        cells = torch.relu(torch.addmm(walls, quilts, matrix))
        cells = cells.view(quilts.shape[0], self.config.channels, NUM_CELLS)
        keys = self.keys_by_patch().index_select(0, offered.flatten())
        keys = keys.view(quilts.shape[0], NUM_OFFERED * NUM_ORIENTATIONS, self.config.channels)
        special = self.special_key.expand(quilts.shape[0], 1, -1)
        keys = torch.cat([keys, special], 1) * (1 + self.modulation(features)).unsqueeze(1)
        return torch.bmm(keys, cells)


def _patch_numbers(observations: Tensor) -> Tensor:
    """The circle as ``index + 1`` of each patch, 0 behind its end, int64 ``(n, 33)``."""
    return (observations[:, SLICES["circle"]] * NUM_PATCHES).round().long()


def _without_circle(observations: Tensor) -> Tensor:
    circle = SLICES["circle"]
    return torch.cat([observations[:, : circle.start], observations[:, circle.stop :]], 1)


def _trunk_inputs() -> int:
    observation_without_circle: int = OBSERVATION_SIZE - NUM_PATCHES
    return observation_without_circle + NUM_PATCHES * _PATCH_FEATURES


def _patch_features() -> Tensor:
    """Size, prices and income of every patch as in the observation, ``(34, 4)``; row 0 is for no patch."""
    table = torch.from_numpy(observation.OFFERED_TABLE[:, -_PATCH_FEATURES:])
    return torch.cat([torch.zeros(1, _PATCH_FEATURES), table])


def _shapes() -> Tensor:
    """Every orientation of every patch in its 7x7 window: its cells, then the cells next to it.

    The shape is ``(34 * 8, 98)``, the entries are 0 or 1; the first 8 rows stand for no patch.
    """
    shapes = torch.zeros(NUM_PATCHES + 1, NUM_ORIENTATIONS, 2, _WINDOW, _WINDOW)
    for patch, oriented in enumerate(ORIENTED):
        for orientation, cells in enumerate(oriented):
            own = {(row + _WINDOW_BEFORE, column + _WINDOW_BEFORE) for row, column in cells}
            beside = {(r + dr, c + dc) for r, c in own for dr, dc in ((0, 1), (1, 0), (0, -1), (-1, 0))} - own
            for plane, marked in enumerate((own, beside)):
                for cell in marked:
                    shapes[patch + 1, orientation, plane][cell] = 1
    return shapes.view((NUM_PATCHES + 1) * NUM_ORIENTATIONS, -1)
