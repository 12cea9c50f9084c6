"""The value of a player's table: sums of rows of learned tables and two small layers, compiled.

The relief is embedded as the sum of one row per window, the other features as the sum of one row each
(:mod:`.features`). With ``leaky(x) = max(x, LEAK * x)``::

    relief   = leaky(relief_bias + sum(windows[rows]))
    hidden   = leaky(bias + sum(features[rows]) + inputs @ numbers + relief @ weights_1)
    hidden_2 = leaky(bias_2 + hidden @ weights_2)
    output   = bias_3 + hidden_2 @ weights_3

The output is the expected number of points from the tiles to come, in units of :data:`SCALE`.

The tables after the placements of a position differ only in the windows around the tile, and in the fits of
other tiles on its level and the one above.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env.agents import compiled
from patchwork_env.agents.checkpoints import Checkpoint
from patchwork_env.agents.layers import product_adder, rows_adder
from patchwork_env.agents.nmbr9 import features, relief
from patchwork_env.agents.nmbr9.features import Record, Tile
from patchwork_env.agents.nmbr9.greedy import list_placements
from patchwork_env.core.compile import kernel
from patchwork_env.core.intrinsics import Floats, copy, copy_record
from patchwork_env.core.kernels import LegalSet
from patchwork_env.games import NMBR9
from patchwork_env.nmbr9 import engine
from patchwork_env.nmbr9.actions import NUM_TURNS, TABLE_SIZE
from patchwork_env.nmbr9.components import MAX_CARDS
from patchwork_env.nmbr9.engine import NUM_ROWS as NUM_TABLE_ROWS
from patchwork_env.nmbr9.state import NO_DIGIT, States, empty_states
from patchwork_env.nmbr9.tables import FOOTPRINTS, HEIGHTS, SIZES, WIDTHS

RELIEF_WIDTH, HIDDEN, HIDDEN_2 = 32, 64, 32
SCALE = 20.0  # the points per unit of the output

SHAPES: dict[str, tuple[int, ...]] = {
    "windows": (relief.NUM_WINDOWS, RELIEF_WIDTH),
    "features": (features.NUM_FEATURES, HIDDEN),
    "relief_bias": (RELIEF_WIDTH,),
    "bias": (HIDDEN,),
    "numbers": (features.NUM_INPUTS, HIDDEN),
    "weights_1": (RELIEF_WIDTH, HIDDEN),
    "weights_2": (HIDDEN, HIDDEN_2),
    "bias_2": (HIDDEN_2,),
    "weights_3": (HIDDEN_2,),
    "bias_3": (1,),
}
"""The shapes of the weights by name."""
TABLES = ("windows", "features")  # the names of the weights that are tables of rows
MAX_WINDOWS = MAX_CARDS * relief.AREA  # the maximum number of windows of a table that are not empty

WEIGHTS = compiled.record_type({name: (np.float32, shape) for name, shape in SHAPES.items()})
Weights = npt.NDArray[np.void]
"""Array of one :data:`WEIGHTS` record."""

_TILE_FIELDS = dict.fromkeys(("piece", "level", "row", "column"), (np.int64, (MAX_CARDS + 1,)))
BUFFER = compiled.record_type(
    features.FIT_FIELDS
    | features.FIELDS
    | _TILE_FIELDS
    | {
        "levels": (np.uint64, (engine.MAX_LEVELS + 1, NUM_TABLE_ROWS)),
        "base_fits": features.FIELDS["fits"],
        "grid": (np.int32, relief.GRID_SHAPE),
        "rows": (np.int32, (4096,)),
        "old": (np.int32, (relief.AREA + 1,)),
        "new": (np.int32, (relief.AREA + 1,)),
        "base_relief": (np.float32, (RELIEF_WIDTH,)),
        "relief": (np.float32, (RELIEF_WIDTH,)),
        "hidden": (np.float32, (HIDDEN,)),
        "hidden_2": (np.float32, (HIDDEN_2,)),
    }
)
Buffer = npt.NDArray[np.void]  # array of one `BUFFER` record: the buffers of one thread


def new_buffer() -> Buffer:
    """Return a buffer for one thread."""
    return compiled.aligned_records(BUFFER)


def new_weights(seed: int) -> Weights:
    """Return random initial weights; values are close to 0, but differ."""
    scales = {
        "windows": 0.5 / math.sqrt(100),  # windows of a table
        "features": 0.5 / math.sqrt(features.MAX_ROWS),
        "numbers": 1.0,
        "weights_1": math.sqrt(2 / RELIEF_WIDTH),
        "weights_2": math.sqrt(2 / HIDDEN),
        "weights_3": 0.01,
    }
    return compiled.random_record(WEIGHTS, scales, seed)


def read_value(checkpoint: Checkpoint) -> Weights:
    """Read the weights of a value."""
    return compiled.read_weights(checkpoint, NMBR9, WEIGHTS)


add_windows, subtract_windows = rows_adder(RELIEF_WIDTH), rows_adder(RELIEF_WIDTH, -1)
add_features = rows_adder(HIDDEN)
_add_hidden = product_adder(HIDDEN)
_add_hidden_2 = product_adder(HIDDEN_2)


@kernel
def evaluate(states: States, i: int, player: int, weights: Weights, buffer: Buffer) -> float:
    """Return the expected points from the tiles to come; the next one is treated as unknown."""
    left = int(states[i]["num_rounds"]) - engine.num_placed(states, i, player)
    if left == 0:
        return 0.0
    number, count = read_table(states, i, player, buffer[0])
    copy(buffer[0]["relief"], weights[0]["relief_bias"])
    add_windows(buffer[0]["relief"], weights[0]["windows"], buffer[0]["rows"], count)
    return value_of(number, left, weights[0], buffer[0])


@kernel
def read_table(states: States, i: int, player: int, buffer: Record) -> tuple[int, int]:
    """Write a table to the buffer; return the number of its levels and of the windows in ``rows``."""
    placed = engine.num_placed(states, i, player)
    count_remaining(states, i, placed, buffer)
    number = engine.paint(states, i, player, buffer["levels"])
    buffer["tiles_on"][: number + 2] = 0
    buffer["area"][: number + 2] = 0
    for t in range(placed):
        piece, level = int(states[i]["piece"][player, t]), int(states[i]["level"][player, t])
        buffer["piece"][t], buffer["level"][t] = piece, level
        buffer["row"][t], buffer["column"][t] = states[i]["row"][player, t], states[i]["column"][player, t]
        buffer["tiles_on"][level] += 1
        buffer["area"][level] += SIZES[piece // NUM_TURNS]
    for level in range(1, number + 1):
        fits = buffer["fits"][level]
        features.count_fits(buffer["levels"], level, placed, buffer, buffer["remaining"], fits)
    buffer["grid"][:, :] = relief.EMPTY
    if placed == 0:
        return 0, 0
    top, left, height, width = engine.bounds(states, i, player, placed)
    rows = buffer["rows"]
    return number, relief.list_windows(buffer["levels"], top, left, height, width, buffer["grid"], rows)


@kernel
def count_remaining(states: States, i: int, placed: int, buffer: Record) -> None:
    """Count the cards of each digit after the first ``placed`` ones."""
    remaining = buffer["remaining"]
    remaining[:] = 0
    for k in range(placed, states[i]["num_cards"]):
        remaining[states[i]["deck"][k]] += 1


@kernel
def value_of(number: int, left: int, weights: Record, buffer: Record) -> float:
    """Return the value from the features and the sum of windows in ``relief``, rectified in place."""
    hidden = buffer["hidden"]
    copy(hidden, weights["bias"])
    compiled.rectify(buffer["relief"])
    _add_hidden(hidden, weights["weights_1"], buffer["relief"], RELIEF_WIDTH)
    count = features.list_rows(buffer, number, left, buffer["rows"])
    add_features(hidden, weights["features"], buffer["rows"], count)
    _add_hidden(hidden, weights["numbers"], buffer["inputs"], features.NUM_INPUTS)
    compiled.rectify(hidden)
    copy(buffer["hidden_2"], weights["bias_2"])
    _add_hidden_2(buffer["hidden_2"], weights["weights_2"], hidden, HIDDEN)
    compiled.rectify(buffer["hidden_2"])
    output = weights["bias_3"][0]
    for k in range(HIDDEN_2):
        output += buffer["hidden_2"][k] * weights["weights_3"][k]
    return SCALE * float(output)


LIKELY = 16  # the number of placements on each level that are played in the games from which values learn
MOST_CONTACT = 40  # the maximum contact of a placement; no tile has a longer outline

_U, _U1 = np.uint64, np.uint64(1)


class Expansion(NamedTuple):
    """The successors of a position, whose number :func:`expand` returns, and the buffers of one thread."""

    actions: npt.NDArray[np.int64]  # ascending
    values: Floats  # the points of each action plus the expected points from the tiles to come
    levels: npt.NDArray[np.int64]
    contacts: npt.NDArray[np.int64]
    histogram: npt.NDArray[np.int64]  # the number of actions by level and contact
    maps: LegalSet
    successor: States  # one record
    buffer: Buffer


def new_expansion() -> Expansion:
    """Return buffers for one thread."""
    return Expansion(
        np.empty(engine.MAX_LEGAL_ACTIONS, np.int64),
        np.empty(engine.MAX_LEGAL_ACTIONS, np.float32),
        np.empty(engine.MAX_LEGAL_ACTIONS, np.int64),
        np.empty(engine.MAX_LEGAL_ACTIONS, np.int64),
        np.empty((engine.MAX_LEVELS + 1, MOST_CONTACT + 1), np.int64),
        np.empty((engine.NUM_MAPS, TABLE_SIZE), np.uint64),
        empty_states(1),
        new_buffer(),
    )


@kernel
def expand(states: States, i: int, width: int, weights: Weights, expansion: Expansion) -> int:
    """Evaluate the likely placements of the current player, whose next tile is known; return their number.

    On each level, they are the ``width`` placements with the most contact and all that tie with the last.
    """
    buffer = expansion.buffer[0]
    player = int(states[i]["current_player"])
    placed = engine.num_placed(states, i, player)
    digit = engine.digit_to_place(states, i)
    left = int(states[i]["num_rounds"]) - placed - 1
    number, windows = read_table(states, i, player, buffer)
    engine.legal(states, i, expansion.maps)
    count = _list_likely(buffer, number, digit, width, expansion)
    copy(buffer["base_relief"], weights[0]["relief_bias"])
    add_windows(buffer["base_relief"], weights[0]["windows"], buffer["rows"], windows)
    for level in range(number + 1):
        copy(buffer["base_fits"][level], buffer["fits"][level])
    buffer["remaining"][digit] -= 1
    for k in range(count):
        tile = features.tile_of(expansion.actions[k], digit, expansion.levels[k])
        expansion.values[k] = digit * tile.level
        if left > 0 and not _is_beyond(tile):
            expansion.values[k] += _value_with(tile, placed, number, left, weights[0], buffer)
    for k in range(count):  # last, because these change the buffer
        if _is_beyond(features.tile_of(expansion.actions[k], digit, expansion.levels[k])):
            copy_record(expansion.successor, 0, states, i)
            engine.apply(expansion.successor, 0, expansion.actions[k])
            expansion.values[k] += evaluate(expansion.successor, 0, player, weights, expansion.buffer)
    return count


@kernel(inline=True)
def _is_beyond(tile: Tile) -> bool:
    """Return True if a tile extends past the last column, so that the table must be shifted."""
    return bool(tile.column + WIDTHS[tile.piece] > TABLE_SIZE)


@kernel
def write_solo_game(states: States, i: int, order: int, game: States) -> int:
    """Write the current player's table as a game of one player; return the number of its tiles."""
    player = int(states[i]["current_player"])
    placed = engine.num_placed(states, i, player)
    copy_record(game, 0, states, i)
    for t in range(MAX_CARDS):  # assignments between slices take Numba seconds to compile
        game[0]["piece"][0, t] = states[i]["piece"][player, t]
        game[0]["level"][0, t] = states[i]["level"][player, t]
        game[0]["row"][0, t] = states[i]["row"][player, t]
        game[0]["column"][0, t] = states[i]["column"][player, t]
    game[0]["chosen"][0] = NO_DIGIT
    game[0]["num_players"] = 1
    game[0]["current_player"] = 0
    game[0]["round"] = placed
    game[0]["order"] = order
    return placed


@kernel
def best_action(expansion: Expansion, count: int) -> int:
    """Return the index of the first action with the highest value among the first ``count``."""
    best, most = 0, -math.inf
    for k in range(count):
        if expansion.values[k] > most:
            best, most = k, expansion.values[k]
    return best


@kernel
def list_all(states: States, i: int, expansion: Expansion) -> int:
    """List the placements of a legal set with their levels and contacts; return their number."""
    painted = expansion.buffer[0]["levels"]
    number = engine.paint(states, i, states[i]["current_player"], painted)
    return _list(painted, number, engine.digit_to_place(states, i), expansion)


@kernel(inline=True)
def _list(painted: engine.Levels, number: int, digit: int, expansion: Expansion) -> int:
    actions, levels, contacts = expansion.actions, expansion.levels, expansion.contacts
    return list_placements(painted, number, digit, expansion.maps, actions, levels, contacts)


@kernel
def _list_likely(buffer: Record, number: int, digit: int, width: int, expansion: Expansion) -> int:
    """List the legal actions with the most contact on each level; return their number."""
    histogram, contacts, levels = expansion.histogram, expansion.contacts, expansion.levels
    count = _list(buffer["levels"], number, digit, expansion)
    histogram[: number + 1] = 0
    for k in range(count):
        histogram[levels[k], contacts[k]] += 1
    for level in range(number + 1):  # entry 0 receives the least contact that is kept
        histogram[level, 0] = least_contact(histogram[level], width)
    kept = 0
    for k in range(count):
        if contacts[k] >= histogram[levels[k], 0]:
            expansion.actions[kept], levels[kept] = expansion.actions[k], levels[k]
            kept += 1
    return kept


@kernel(inline=True)
def least_contact(histogram: npt.NDArray[np.int64], width: int) -> int:
    """Return the highest contact that at least ``width`` placements reach, or 0."""
    least, sum_of = MOST_CONTACT, histogram[MOST_CONTACT]
    while least > 0 and sum_of < width:
        least -= 1
        sum_of += histogram[least]
    return least


@kernel
def _value_with(tile: Tile, placed: int, number: int, left: int, weights: Record, buffer: Record) -> float:
    """Return the value of the table with one more tile; the buffer is restored."""
    new_number = put(tile, placed, number, buffer)
    gone, come = relief.list_changes(buffer["levels"], tile, buffer["grid"], buffer["old"], buffer["new"])
    copy(buffer["relief"], buffer["base_relief"])
    subtract_windows(buffer["relief"], weights["windows"], buffer["old"], gone)
    add_windows(buffer["relief"], weights["windows"], buffer["new"], come)
    value = value_of(new_number, left, weights, buffer)
    take_back(tile, number, buffer)
    return value


@kernel(inline=True)
def put(tile: Tile, placed: int, number: int, buffer: Record) -> int:
    """Put a tile on a table of ``placed`` tiles on ``number`` levels; return the new number of levels.

    Update the buffer except the relief.
    """
    piece, level, levels = tile.piece, tile.level, buffer["levels"]
    if level == number:
        levels[number + 1] = _U(0)
        buffer["tiles_on"][number + 1] = buffer["area"][number + 1] = 0
    for k in range(HEIGHTS[piece]):
        levels[level, tile.row + k] |= FOOTPRINTS[piece, k] << _U(tile.column)
    buffer["piece"][placed], buffer["level"][placed] = piece, level
    buffer["row"][placed], buffer["column"][placed] = tile.row, tile.column
    buffer["tiles_on"][level] += 1
    buffer["area"][level] += SIZES[piece // NUM_TURNS]
    for above in range(max(level, 1), level + 2):
        features.count_fits(levels, above, placed + 1, buffer, buffer["remaining"], buffer["fits"][above])
    return max(number, level + 1)


@kernel(inline=True)
def take_back(tile: Tile, number: int, buffer: Record) -> None:
    """Restore the buffer from before :func:`put`; ``base_fits`` are the fits of that table."""
    level = tile.level
    for k in range(HEIGHTS[tile.piece]):
        buffer["levels"][level, tile.row + k] &= ~(FOOTPRINTS[tile.piece, k] << _U(tile.column))
    buffer["tiles_on"][level] -= 1
    buffer["area"][level] -= SIZES[tile.piece // NUM_TURNS]
    for above in range(max(level, 1), min(level + 1, number) + 1):
        copy(buffer["fits"][above], buffer["base_fits"][above])
