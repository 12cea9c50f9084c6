"""The policy and value network for Patchwork, shaped after the game.

The policy first chooses a kind of move (advance, one of three slots, special patch) and then a placement,
``log p(action) = log p(kind) + log p(placement | kind)``, so that the choice between advancing and buying
does not depend on how many placements a patch has. Only legal actions enter the softmax; they come as flat
lists (:mod:`~patchwork_env.agents.ragged`).

With ``features``, the network reads the features of positions and actions (:mod:`.features`); ``offers`` adds
those of the patches offered after each move. A small layer scores kinds by their features and the trunk. The
score of a placement is the product of its features with weights from the trunk. With ``lookahead``, the score
of a kind also depends on the value of the position after it, unless the weights for that value are 0; then it
is not computed.

With ``channels``, maps score placements too. A convolution describes each anchor of the own quilt by its 7x7
window, which spans a patch anchored there and its neighborhood. The score is the product with a key. Every
orientation of every patch has a key: a learned one plus one that is computed from the shape, which all
patches learn together.

Entries are selected with ``index_select``: with several threads of a CPU its gradient is deterministic,
unlike that of ``tensor[indices]``. Batch sizes are ``tensor.shape[0]``, which an export keeps variable;
``len(tensor)`` would make them constant.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from patchwork_env.agents import networks
from patchwork_env.agents.network_config import NetworkConfig
from patchwork_env.agents.patchwork.placements import NUM_KINDS, clipped_margin, kind_of
from patchwork_env.agents.patchwork.policy.features import (
    KIND_FEATURES,
    KIND_OFFERS,
    PLACEMENT_FEATURES,
    POSITION_FEATURES,
    POSITION_OFFERS,
    Features,
    Indices,
    features_of,
    is_possible,
    position_features,
)
from patchwork_env.agents.patchwork.value.features import signed
from patchwork_env.agents.ragged import end_of_row
from patchwork_env.agents.ragged_policy import array_of, hierarchical_policy, ragged_products
from patchwork_env.core.compile import kernel
from patchwork_env.core.intrinsics import Floats, copy_record
from patchwork_env.core.polyomino import NUM_ORIENTATIONS
from patchwork_env.games import PATCHWORK
from patchwork_env.patchwork import observation
from patchwork_env.patchwork.actions import FIRST_BUY, NUM_ACTIONS, ORIENTED, SLOT_SIZE
from patchwork_env.patchwork.components import NUM_CELLS, NUM_OFFERED, NUM_PATCHES, QUILT_SIZE
from patchwork_env.patchwork.engine import NUM_MAPS, LegalSet, apply, is_over, legal, nth_legal, outcome
from patchwork_env.patchwork.observation import OBSERVATION_SIZE, SLICES, read_observation, write_observation
from patchwork_env.patchwork.state import States, empty_states

# --- successors by kind of move -----------------------------------------------------------------------------

NUM_SUCCESSOR_VALUES = 3
"""The values of a successor: outcome and margin if the game is over, else the network's value."""
_VALUE = NUM_SUCCESSOR_VALUES - 1
_FULL_LEAD = 40.0  # points; larger leads count as this one
_MOST_KINDS = NUM_KINDS - 1  # the most kinds of move in a position: special patches exclude the others


class Successors(NamedTuple):
    """The ``m`` successors by kind of move in which the game goes on, of ``n`` states.

    States without a choice between kinds have none. Where a successor ends the game, ``successor_values`` has
    1 or -1 for a win or a loss of the player to move, and the margin; all else is 0.
    """

    observations: Tensor  # float32 (m, OBSERVATION_SIZE), of the players with the next choice
    places: Tensor  # int64 (m,), state * NUM_KINDS + kind
    signs: Tensor  # float32 (m,), 1 if the same player has the next choice, else -1
    successor_values: Tensor  # float32 (n, NUM_KINDS, NUM_SUCCESSOR_VALUES)


def successors_of(observations: Tensor, rows: Tensor, actions: Tensor, scores: Tensor) -> Successors:
    """Play the best action of each kind and the forced moves after it; return the successors.

    ``scores``, ``(total,)``, are those of the legal actions; for the rest see :func:`.features_of`.
    """
    most = observations.shape[0] * _MOST_KINDS
    found = np.empty((most, OBSERVATION_SIZE), np.float32)
    places, signs = np.empty(most, np.int64), np.empty(most, np.float32)
    successor_values = np.zeros((observations.shape[0], NUM_KINDS, NUM_SUCCESSOR_VALUES), np.float32)
    memory = _Memory(empty_states(2), np.empty((2, NUM_MAPS), np.uint64), np.empty(NUM_KINDS, np.int64))
    arrays = array_of(observations), array_of(rows), array_of(actions), array_of(scores)
    count = _write_successors(*arrays, memory, found, places, signs, successor_values)
    written = found[:count], places[:count], signs[:count], successor_values
    return Successors(*(torch.from_numpy(array).to(observations.device) for array in written))


class _Memory(NamedTuple):
    states: States  # a state and a successor
    legal_set: LegalSet
    best: Indices  # the best action of each kind


@kernel
def _write_successors(
    observations: Floats,
    rows: Indices,
    actions: Indices,
    scores: Floats,
    memory: _Memory,
    found: Floats,
    places: Indices,
    signs: Floats,
    successor_values: Floats,
) -> int:
    """Write the arrays of :class:`Successors`; return their number."""
    states, count, begin = memory.states, 0, 0
    while begin < len(actions):
        end, row = end_of_row(rows, begin), rows[begin]
        if _find_best(actions[begin:end], scores[begin:end], memory.best) > 1:
            read_observation(observations[row], states, 0)
            for kind in range(_MOST_KINDS):
                if memory.best[kind] < 0 or not is_possible(states, kind):
                    continue
                copy_record(states, 1, states, 0)
                apply(states, 1, actions[begin + memory.best[kind]])
                while legal(states, 1, memory.legal_set) == 1:
                    apply(states, 1, nth_legal(memory.legal_set, 0))
                if is_over(states, 1):
                    successor_values[row, kind, 0] = outcome(states, 1, 0)
                    successor_values[row, kind, 1] = clipped_margin(states, 1, _FULL_LEAD, 1.0)
                    continue
                mover = signed(states[1]["current_player"])
                write_observation(states, 1, mover, found[count])
                places[count] = row * NUM_KINDS + kind
                signs[count] = 1 - 2 * mover
                count += 1
        begin = end
    return count


@kernel
def _find_best(actions: Indices, scores: Floats, best: Indices) -> int:
    """Write the index of each kind's action with the highest score, or -1; return the number of kinds."""
    kinds = 0
    for kind in range(NUM_KINDS):
        best[kind] = -1
    for k in range(len(actions)):
        kind = kind_of(actions[k])
        if best[kind] < 0:
            kinds += 1
            best[kind] = k
        elif scores[k] > scores[best[kind]]:
            best[kind] = k
    return kinds


# --- the network --------------------------------------------------------------------------------------------


_NUM_PLACES = NUM_OFFERED * SLOT_SIZE + NUM_CELLS
_WINDOW = 7
_WINDOW_BEFORE, _WINDOW_AFTER = 1, 5
_PATCH_FEATURES = 4
_KIND_UNITS = 64
_AHEAD, _AHEAD_SCALE = 3.0, 10.0
"""The initial addition to a kind's logit for a successor with the value 1, and that for a weight of 1."""
_KINDS = torch.from_numpy(1 + (np.arange(NUM_ACTIONS) - FIRST_BUY) // SLOT_SIZE)
"""The kind of every action; a lookup takes a quarter of the time of a division."""


class PatchworkNetwork(networks.PolicyNetwork):
    """Policy and value of the current player; see the module for its structure."""

    game = PATCHWORK
    num_kinds = NUM_KINDS
    default_reads = ("quilts", "offered", "players", "specials")
    patch_features: Tensor

    def __init__(self, config: NetworkConfig | None = None, reads: Sequence[str] = ()) -> None:
        super().__init__(config, reads)
        self._prepared: tuple[Tensor, Tensor, Tensor] | None = None
        width, channels = self.config.width, self.config.channels
        inputs = self.num_read + NUM_PATCHES * _PATCH_FEATURES
        inputs += self.config.features * POSITION_FEATURES + self.config.offers * POSITION_OFFERS
        self.trunk = networks.new_trunk(inputs, self.config)
        self.value = nn.Linear(width, 1, **networks.NEW)
        self.kind = nn.Linear(width, NUM_KINDS, **networks.NEW)
        # Size, prices and income of every patch as in the observation; row 0 is for no patch.
        patches = torch.from_numpy(observation.OFFERED_TABLE[:, -_PATCH_FEATURES:])
        self.register_buffer("patch_features", functional.pad(patches, (0, 0, 1, 0)), persistent=False)
        if self.config.features:
            self.placement = nn.Linear(width, PLACEMENT_FEATURES, **networks.NEW)
            self.kind_hidden = nn.Linear(
                KIND_FEATURES + self.config.offers * KIND_OFFERS, _KIND_UNITS, **networks.NEW
            )
            self.kind_context = nn.Linear(width, _KIND_UNITS, bias=False, **networks.NEW)
            self.kind_score = nn.Linear(_KIND_UNITS, 1, bias=False, **networks.NEW)
        if self.config.lookahead:
            # This draws no random number: the other layers begin the same with and without it.
            self.ahead = nn.Linear(NUM_SUCCESSOR_VALUES, 1, bias=False, device="meta", dtype=torch.float32)
            self.ahead.to_empty(device="cpu")
        if channels:
            self.modulation = nn.Linear(width, channels, **networks.NEW)
            self.window = nn.Conv2d(1, channels, _WINDOW, **networks.NEW)
            self.keys = nn.Embedding((NUM_PATCHES + 1) * NUM_ORIENTATIONS, channels, **networks.NEW)
            self.key_of_shape = nn.Linear(2 * _WINDOW * _WINDOW, channels, **networks.NEW)
            self.special_key = nn.Parameter(torch.zeros(channels, **networks.NEW))
            self.register_buffer("shapes", _shapes(), persistent=False)
        self._initialize()

    def _initialize(self) -> None:
        networks.initialize(self.trunk)
        heads = [self.value, self.kind]
        if self.config.features:
            heads.append(self.placement)
            nn.init.normal_(self.kind_score.weight, std=0.01)
        if self.config.lookahead:
            self.look_ahead(_AHEAD)
        if self.config.channels:
            heads.append(self.modulation)
            nn.init.normal_(self.keys.weight, std=0.1)
            nn.init.normal_(self.key_of_shape.weight, std=0.02)
            nn.init.zeros_(self.key_of_shape.bias)
        networks.initialize(heads, networks.HEAD_GAIN)

    @staticmethod
    def kinds_of(actions: Any) -> Any:
        """Return 0 for advancing, 1-3 for a slot, and 4 for a special patch."""
        if isinstance(actions, Tensor):
            return _KINDS.to(actions.device).index_select(0, actions)
        return _KINDS.numpy()[actions]

    def features_of(self, inputs: networks.Inputs) -> Features | None:
        return features_of(*inputs, self.config.offers) if self.config.features else None

    def forward(
        self,
        inputs: networks.Inputs,
        successor_values: Tensor | None = None,
        features: Features | None = None,
    ) -> networks.Output:
        """Evaluate a batch, which may be empty."""
        observations, rows, actions = inputs
        features = features or self.features_of(inputs)
        trunk = self.trunk_of(observations, None if features is None else features.positions)
        kind_logits, scores = self.kind(trunk), trunk.new_zeros(actions.shape[0])
        if features is not None:
            kind_logits = kind_logits + self.kind_scores(trunk, features.kinds)
            scores = scores + ragged_products(self.placement(trunk), features.placements, rows)
        if self.config.channels:
            maps = self.placement_maps(observations, trunk)
            # Advancing is the only action of its kind: its score has no effect.
            places = (actions - FIRST_BUY).clamp(min=0)
            scores = scores + maps.view(-1).index_select(0, rows * _NUM_PLACES + places).float()
        if successor_values is None:
            successor_values = self.successor_values_of(inputs, scores)
        if successor_values.shape[2]:
            kind_logits = kind_logits + _AHEAD_SCALE * self.ahead(successor_values).squeeze(2)
        policy = hierarchical_policy(kind_logits, scores, rows, self.kinds_of(actions))
        return networks.Output(*policy, self.value(trunk).squeeze(1), successor_values)

    @property
    def looks_ahead(self) -> bool:
        return self.config.lookahead and bool(self.ahead.weight.any())

    @property
    def successor_values_shape(self) -> tuple[int, int]:
        return NUM_KINDS, NUM_SUCCESSOR_VALUES if self.looks_ahead else 0

    def look_ahead(self, factor: float) -> None:
        nn.init.constant_(self.ahead.weight, factor / _AHEAD_SCALE)

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> Any:
        """Load weights; those of a network without look-ahead turn it off."""
        if self.config.lookahead:
            state_dict = {"ahead.weight": torch.zeros_like(self.ahead.weight), **state_dict}
        return super().load_state_dict(state_dict, strict, assign)

    def values(self, observations: Tensor) -> Tensor:
        positions = position_features(observations, self.config.offers) if self.config.features else None
        values: Tensor = self.value(self.trunk_of(observations, positions))
        return values.squeeze(1)

    def trunk_of(self, observations: Tensor, positions: Tensor | None) -> Tensor:
        """Return the trunk's output for observations, features of patches in the circle, and positions."""
        patches = functional.embedding(circles_of(observations), self.patch_features).flatten(1)
        parts = [*self.tensors_of(observations), patches]
        trunk: Tensor = self.trunk(torch.cat(parts if positions is None else [*parts, positions], 1))
        return trunk

    def kind_scores(self, trunk: Tensor, kinds: Tensor) -> Tensor:
        """Return the part of the logits of kinds from their features, ``(n, NUM_KINDS)``."""
        context = self.kind_context(trunk).unsqueeze(1)
        scores: Tensor = self.kind_score(torch.relu(self.kind_hidden(kinds) + context))
        return scores.squeeze(2)

    def successor_values_of(self, inputs: networks.Inputs, scores: Tensor) -> Tensor:
        """Return the values after each kind's best action, ``(n, *successor_values_shape)``."""
        kinds, numbers = self.successor_values_shape
        if not numbers:
            return scores.new_zeros(inputs.observations.shape[0], kinds, 0)
        with torch.no_grad():
            successors = successors_of(*inputs, scores)
            values = successors.signs * self.values(successors.observations)
            successors.successor_values.view(-1, NUM_SUCCESSOR_VALUES)[successors.places, _VALUE] = values
            return successors.successor_values

    def _map_factors(self) -> tuple[Tensor, Tensor, Tensor]:
        """Return the factors of maps that depend on weights alone: matrix, walls, and keys.

        The convolution of quilts with walls around them is one product, ``quilts @ matrix + walls``, which is
        several times faster: ``(81, channels * 81)`` and ``(1, channels * 81)``. The keys of all orientations
        are ``(34, 8 * channels)``; row 0 stands for no patch.
        """
        padding = (_WINDOW_BEFORE, _WINDOW_AFTER) * 2
        one_hot = torch.eye(NUM_CELLS, device=self.device, dtype=torch.float32).view(
            NUM_CELLS, 1, QUILT_SIZE, QUILT_SIZE
        )
        matrix = functional.conv2d(functional.pad(one_hot, padding), self.window.weight)
        walls = self.window(functional.pad(torch.zeros_like(one_hot[:1]), padding, value=1.0))
        keys = (self.keys.weight + self.key_of_shape(self.shapes)).view(NUM_PATCHES + 1, -1)
        return matrix.view(NUM_CELLS, -1), walls.view(1, -1), keys

    def prepare_maps(self, dtype: torch.dtype) -> None:
        if self.config.channels:
            with torch.no_grad():
                matrix, walls, keys = self._map_factors()
                self._prepared = matrix.to(dtype), walls.to(dtype), keys

    def placement_maps(self, observations: Tensor, trunk: Tensor) -> Tensor:
        """Return the scores of placements from maps, ``(n, 25, 81)``: of the slots, then special."""
        rows, channels = observations.shape[0], self.config.channels
        quilts = observations[:, SLICES["quilts"]][:, :NUM_CELLS]
        offered = circles_of(observations)[:, :NUM_OFFERED]
        matrix, walls, keys = self._prepared or self._map_factors()
        cells = torch.relu(torch.addmm(walls, quilts.to(matrix.dtype), matrix))
        keys = keys.index_select(0, offered.flatten()).view(rows, NUM_OFFERED * NUM_ORIENTATIONS, channels)
        keys = torch.cat([keys, self.special_key.expand(rows, 1, -1)], 1)
        keys = keys * (1 + self.modulation(trunk)).unsqueeze(1)
        return torch.bmm(keys.to(matrix.dtype), cells.view(rows, channels, NUM_CELLS))


def circles_of(observations: Tensor) -> Tensor:
    """Return the circle as ``index + 1`` of each patch, 0 past its end, int64 ``(n, 33)``."""
    return (observations[:, SLICES["circle"]] * NUM_PATCHES).round().long()


def _shapes() -> Tensor:
    """Return every orientation of every patch in its 7x7 window, ``(34 * 8, 98)``: cells, then neighbors.

    The first 8 rows stand for no patch.
    """
    shapes = np.zeros((NUM_PATCHES + 1, NUM_ORIENTATIONS, 2, _WINDOW, _WINDOW), np.float32)
    for patch, oriented in enumerate(ORIENTED):
        for orientation, cells in enumerate(oriented):
            own = {(row + _WINDOW_BEFORE, column + _WINDOW_BEFORE) for row, column in cells}
            beside = {(r + dr, c + dc) for r, c in own for dr, dc in ((0, 1), (1, 0), (0, -1), (-1, 0))} - own
            for plane, marked in enumerate((own, beside)):
                for cell in marked:
                    shapes[patch + 1, orientation, plane, *cell] = 1
    return torch.from_numpy(shapes.reshape((NUM_PATCHES + 1) * NUM_ORIENTATIONS, -1))
