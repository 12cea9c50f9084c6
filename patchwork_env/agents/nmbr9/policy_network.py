"""A policy and value network for NMBR 9, which scores the legal placements alone.

Of 16,394 actions, 240 are legal on average in random play, and only they enter the softmax. The trunk alone
scores the choices of a digit in free order. The score of a placement is the product of its features with
weights from the trunk, plus the output of a small layer that reads the features and the trunk.

The features are those of the observer's own table, and most are scaled to -2 ... 2. A network learns these
numbers only slowly from the cells.

**Positions**, :data:`POSITION_FEATURES`: for each of the :data:`LEVELS` lowest levels the numbers of tiles,
covered cells and open cells, and above the table itself for each digit left the logarithm of the number of
its placements. For each digit the highest level with room for its tile. The points of all tiles left if each
were placed on that level, the number of tiles left, and the rows and columns that the tiles span.

**Placements**, :data:`PLACEMENT_FEATURES` each: the points, the level, and the contact with its tiles
(:func:`~patchwork_env.agents.nmbr9.greedy.contact`). The changes in the dents of the level (empty cells with
two, three and four covered neighbors) and in its extent. For the tiles left, the changes in the numbers of
their placements on the level and the one above, and in their highest levels. Choices of a digit have none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from patchwork_env.agents import networks
from patchwork_env.agents.network_config import NetworkConfig
from patchwork_env.agents.nmbr9 import value
from patchwork_env.agents.nmbr9.features import Record, Tile, box_of, tile_of
from patchwork_env.agents.nmbr9.greedy import contact
from patchwork_env.agents.ragged import end_of_row
from patchwork_env.agents.ragged_policy import array_of, hierarchical_policy, ragged_products
from patchwork_env.core.bits import popcount
from patchwork_env.core.compile import kernel
from patchwork_env.core.intrinsics import Floats, copy
from patchwork_env.games import NMBR9
from patchwork_env.nmbr9.actions import FIRST_CHOICE
from patchwork_env.nmbr9.components import NUM_DIGITS
from patchwork_env.nmbr9.engine import MAX_LEVELS, Levels, bounds, digit_to_place, level_at, num_placed
from patchwork_env.nmbr9.observation import read_observation
from patchwork_env.nmbr9.state import NO_DIGIT, States, empty_states
from patchwork_env.nmbr9.tables import HEIGHTS

LEVELS = 5  # the number of levels that are described one by one
LIKELY = 6  # the number of placements on each level, those with the most contact, whose effects are counted
_OF_LEVEL = 3 + NUM_DIGITS
_OF_TABLE = 5
POSITION_FEATURES = LEVELS * _OF_LEVEL + NUM_DIGITS + _OF_TABLE
_IS_LEGAL, _POINTS, _LEVEL, _IS_NEW_LEVEL, _IS_ON_TABLE, _CONTACT, IS_LIKELY = range(7)
_DENTS, _SPREAD, _SUMS = 7, 10, 11
_ABOVE = 16
_SAME = _ABOVE + NUM_DIGITS
_BEST = _SAME + NUM_DIGITS
PLACEMENT_FEATURES = _BEST + NUM_DIGITS

_U, _U1 = np.uint64, np.uint64(1)
_LOGARITHMS = np.log1p(np.arange(513)).astype(np.float32)

Indices = npt.NDArray[np.int64]


class Features(NamedTuple):
    """The features of ``n`` positions with ``total`` legal actions."""

    positions: Tensor  # float32 (n, POSITION_FEATURES)
    placements: Tensor  # float32 (total, PLACEMENT_FEATURES); zeros for choices of a digit

    def packed(self) -> None:
        """Return None: features of an iteration take hundreds of megabytes and are computed again."""


def features_of(observations: Tensor, rows: Tensor, actions: Tensor) -> Features:
    """Return the features of positions and their legal actions, as in :class:`.networks.Inputs`."""
    placements = np.zeros((actions.shape[0], PLACEMENT_FEATURES), np.float32)
    seen = array_of(observations), array_of(rows), array_of(actions)
    _write_placements(*seen, empty_states(1), value.new_buffer(), placements)
    device = observations.device
    return Features(position_features(observations), torch.from_numpy(placements).to(device))


def position_features(observations: Tensor) -> Tensor:
    """Return the features of positions alone, float32 ``(n, POSITION_FEATURES)``."""
    positions = np.zeros((observations.shape[0], POSITION_FEATURES), np.float32)
    _write_positions(array_of(observations), empty_states(1), value.new_buffer(), positions)
    return torch.from_numpy(positions).to(observations.device)


@kernel(inline=True)
def _logarithm(fits: int) -> float:
    return float(_LOGARITHMS[min(fits, 512)])


# --- positions ----------------------------------------------------------------------------------------------


@kernel
def _write_positions(observations: Floats, states: States, buffer: value.Buffer, positions: Floats) -> None:
    """Write into an array of zeros; ``states`` is memory for a record."""
    for i in range(len(observations)):
        read_observation(observations[i], states, 0)
        number, _ = value.read_table(states, 0, 0, buffer[0])
        _write_levels(number, buffer[0], positions[i])
        rest = positions[i, LEVELS * _OF_LEVEL :]
        points = 0
        for digit in range(NUM_DIGITS):
            best = _best_level(number, digit, buffer[0])
            rest[digit] = best / 3
            points += int(buffer[0]["remaining"][digit]) * digit * best
        placed = num_placed(states, 0, 0)
        left, cards = int(states[0]["num_rounds"]) - placed, int(states[0]["num_cards"]) - placed
        rest[NUM_DIGITS] = points / 100
        rest[NUM_DIGITS + 1] = points / (10 * cards) if cards > 0 else 0.0
        rest[NUM_DIGITS + 2] = left / 10
        if placed > 0:
            _, _, height, width = bounds(states, 0, 0, placed)
            rest[NUM_DIGITS + 3] = max(height, width) / 10
            rest[NUM_DIGITS + 4] = min(height, width) / 10


@kernel
def _write_levels(number: int, buffer: Record, out: Floats) -> None:
    for level in range(min(number + 1, LEVELS)):
        features = out[level * _OF_LEVEL : (level + 1) * _OF_LEVEL]
        features[0] = buffer["tiles_on"][level] / 5
        features[1] = buffer["area"][level] / 40
        features[2] = (buffer["area"][level] - buffer["area"][level + 1]) / 20
        for digit in range(NUM_DIGITS):
            features[3 + digit] = _logarithm(buffer["fits"][level, digit]) / 2


@kernel(inline=True)
def _best_level(number: int, digit: int, buffer: Record) -> int:
    """Return the highest of the levels up to ``number`` that has room for a tile that is left, or 0."""
    level = number if buffer["remaining"][digit] > 0 else 0
    while level > 0 and buffer["fits"][level, digit] <= 0:
        level -= 1
    return level


# --- placements ---------------------------------------------------------------------------------------------


@kernel(allocates=True)
def _write_placements(
    observations: Floats, rows: Indices, actions: Indices, states: States, buffer: value.Buffer, out: Floats
) -> None:
    """Write into an array of zeros; ``states`` is memory for a record."""
    best = np.zeros(NUM_DIGITS, np.int64)
    histogram = np.zeros((MAX_LEVELS, value.MOST_CONTACT + 1), np.int64)
    begin = 0
    while begin < len(actions):
        end = end_of_row(rows, begin)
        read_observation(observations[rows[begin]], states, 0)
        placed = num_placed(states, 0, 0)
        digit = digit_to_place(states, 0) if placed < states[0]["num_cards"] else NO_DIGIT
        if digit != NO_DIGIT:
            number = _begin(states, digit, best, buffer[0])
            histogram[: number + 1] = 0
            for k in range(begin, end):
                if actions[k] < FIRST_CHOICE:
                    _write_now(actions[k], digit, number, buffer[0]["levels"], histogram, out[k])
            for level in range(min(number + 1, MAX_LEVELS)):
                histogram[level, 0] = value.least_contact(histogram[level], LIKELY)
            for k in range(begin, end):
                if out[k, _IS_LEGAL]:
                    tile = tile_of(actions[k], digit, int(2 * out[k, _LEVEL]))
                    if int(5 * out[k, _CONTACT] + 0.5) >= histogram[tile.level, 0]:
                        _write_later(tile, placed, number, best, buffer[0], out[k])
        begin = end


@kernel
def _begin(states: States, digit: int, best: Indices, buffer: Record) -> int:
    """Read a table, and the best level of each digit; return the number of levels."""
    number, _ = value.read_table(states, 0, 0, buffer)
    buffer["remaining"][digit] -= 1
    buffer["fits"][number + 1] = 0
    for level in range(number + 2):
        copy(buffer["base_fits"][level], buffer["fits"][level])
    for one in range(NUM_DIGITS):
        best[one] = _best_level(number, one, buffer)
    return int(number)


@kernel
def _write_now(
    action: int, digit: int, number: int, levels: Levels, histogram: npt.NDArray[np.int64], out: Floats
) -> None:
    """Write the level, points and contact of a placement, and count it, if it is legal."""
    piece, _, row, column = tile_of(action, digit, 0)
    level = level_at(levels, number, piece, row, column)
    if not 0 <= level < MAX_LEVELS:
        return
    edges = contact(levels, level, piece, row, column)
    histogram[level, edges] += 1
    out[_IS_LEGAL] = 1
    out[_POINTS] = level * digit / 10
    out[_LEVEL] = level / 2
    out[_IS_NEW_LEVEL] = level == number
    out[_IS_ON_TABLE] = level == 0
    out[_CONTACT] = edges / 5


@kernel
def _write_later(tile: Tile, placed: int, number: int, best: Indices, buffer: Record, out: Floats) -> None:
    level, end = tile.level, tile.row + HEIGHTS[tile.piece] + 1
    two, three, four = _count_dents(buffer["levels"][level], tile.row - 1, end)
    spread = _spread(level, placed, buffer)
    after = value.put(tile, placed, number, buffer)
    two_after, three_after, four_after = _count_dents(buffer["levels"][level], tile.row - 1, end)
    out[IS_LIKELY] = 1
    out[_DENTS] = (two_after - two) / 4
    out[_DENTS + 1] = (three_after - three) / 2
    out[_DENTS + 2] = four_after - four
    out[_SPREAD] = (_spread(level, placed + 1, buffer) - spread) / 3
    _write_fits(level, after, best, buffer, out)
    value.take_back(tile, number, buffer)


@kernel
def _write_fits(level: int, number: int, best: Indices, buffer: Record, out: Floats) -> None:
    """Write the changes for the tiles left; the buffer is that of the table with a placement."""
    fits, before, remaining = buffer["fits"], buffer["base_fits"], buffer["remaining"]
    for digit in range(NUM_DIGITS):
        left = remaining[digit]
        if left <= 0:
            continue
        above = _logarithm(fits[level + 1, digit]) - _logarithm(before[level + 1, digit])
        same = _logarithm(fits[level, digit]) - _logarithm(before[level, digit])
        higher = _best_level(number, digit, buffer) - best[digit]
        out[_ABOVE + digit] = above / 2
        out[_SAME + digit] = same / 2
        out[_BEST + digit] = higher
        out[_SUMS] += left * digit * above * (level + 1) / 100
        out[_SUMS + 1] += left * digit * same * level / 100
        out[_SUMS + 2] += left * digit * higher / 20
        out[_SUMS + 3] += left * above / 20
        out[_SUMS + 4] += left * same / 20


@kernel
def _spread(level: int, placed: int, buffer: Record) -> int:
    """Return the number of rows plus that of columns that the tiles of a level span."""
    top, left, bottom, right, _ = box_of(level, placed, buffer)
    return max(bottom - top, 0) + max(right - left, 0)


@kernel
def _count_dents(level: npt.NDArray[np.uint64], first: int, end: int) -> tuple[int, int, int]:
    """Count the empty cells in some rows with at least two, three and four covered neighbors."""
    two, three, four = 0, 0, 0
    for row in range(max(first, 1), min(end, len(level) - 1)):
        upper, lower = level[row - 1], level[row + 1]
        left, right = level[row] << _U1, level[row] >> _U1
        empty = ~level[row]
        some, all_of = upper ^ lower, upper & lower
        other, both = left ^ right, left & right
        two += popcount(empty & (all_of | both | (some & other)))
        three += popcount(empty & ((all_of & (both | other)) | (both & some)))
        four += popcount(empty & all_of & both)
    return two, three, four


_PLACEMENT_UNITS = 32


class Nmbr9Network(networks.PolicyNetwork):
    """Policy and value of the current player; see the module for its structure."""

    game = NMBR9
    default_reads = ("heights", "tile", "remaining", "upcoming", "phase", "players")

    def __init__(self, config: NetworkConfig | None = None, reads: Sequence[str] = ()) -> None:
        super().__init__(config, reads)
        width = self.config.width
        self.trunk = networks.new_trunk(self.num_read + POSITION_FEATURES, self.config)
        self.value = nn.Linear(width, 1, **networks.NEW)
        self.choice = nn.Linear(width, NUM_DIGITS, **networks.NEW)
        self.placement = nn.Linear(width, PLACEMENT_FEATURES, **networks.NEW)
        self.placement_hidden = nn.Linear(PLACEMENT_FEATURES, _PLACEMENT_UNITS, **networks.NEW)
        self.placement_context = nn.Linear(width, _PLACEMENT_UNITS, bias=False, **networks.NEW)
        self.placement_score = nn.Linear(_PLACEMENT_UNITS, 1, bias=False, **networks.NEW)
        nn.init.normal_(self.placement_score.weight, std=0.01)
        networks.initialize(self.trunk)
        networks.initialize([self.value, self.choice, self.placement], networks.HEAD_GAIN)

    def features_of(self, inputs: networks.Inputs) -> Features:
        return features_of(*inputs)

    def forward(
        self,
        inputs: networks.Inputs,
        successor_values: Tensor | None = None,
        features: Features | None = None,
    ) -> networks.Output:
        observations, rows, actions = inputs
        features = features or self.features_of(inputs)
        trunk = self._trunk_of(observations, features.positions)
        places = rows * NUM_DIGITS + (actions - FIRST_CHOICE).clamp(min=0)
        choices = self.choice(trunk).view(-1).index_select(0, places)
        placements = self._scores_of_placements(trunk, features.placements, rows)
        scores = torch.where(actions < FIRST_CHOICE, placements, choices)
        one_kind = scores.new_zeros(observations.shape[0], 1)
        policy = hierarchical_policy(one_kind, scores, rows, torch.zeros_like(rows))
        nothing = trunk.new_zeros(trunk.shape[0], *self.successor_values_shape)
        return networks.Output(*policy, self.value(trunk).squeeze(1), nothing)

    def values(self, observations: Tensor) -> Tensor:
        values: Tensor = self.value(self._trunk_of(observations, position_features(observations)))
        return values.squeeze(1)

    def _trunk_of(self, observations: Tensor, positions: Tensor) -> Tensor:
        trunk: Tensor = self.trunk(torch.cat([*self.tensors_of(observations), positions], 1))
        return trunk

    def _scores_of_placements(self, trunk: Tensor, placements: Tensor, rows: Tensor) -> Tensor:
        """Return the logits of placements by their features, ``(total,)``."""
        linear = ragged_products(self.placement(trunk), placements, rows)
        likely = placements[:, IS_LIKELY].nonzero().squeeze(1)
        context = self.placement_context(trunk).index_select(0, rows.index_select(0, likely))
        hidden = torch.relu(self.placement_hidden(placements.index_select(0, likely)) + context)
        scores: Tensor = linear.index_add(0, likely, self.placement_score(hidden).squeeze(1))
        return scores
