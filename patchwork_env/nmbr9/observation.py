"""Observations of a state, as one float32 vector or as named tensors of the same content.

=============  ==============  ===============================================================================
name           shape           content
=============  ==============  ===============================================================================
``heights``    (24, 24)        the middle of the observer's table, rows and columns 20-43: number of tiles on
                               each cell / 8
``tops``       (24, 24)        the same cells: number of the uppermost tile, from 1 in the order of placing,
                               / 40; 0 if there is none
``tile``       (10,)           1 for the digit that the observer must place next; zeros if it is not known yet
``remaining``  (10,)           tiles left of each digit / 2: cards that have not been turned, or in free order
                               the tiles from which the observer may choose
``upcoming``   (40,)           in known order, the cards after ``tile``: (digit + 1) / 10; then zeros
``phase``      (5,)            the observer is to move, must choose a digit; tiles that the observer has still
                               to place / 40; the order is known, is free
``players``    (4, 3)          the observer first, others by turns: takes part, score / 100, tiles placed
                               / 40
``tiles``      (4, 40, 6)      their tiles, in the order of placing: present, digit / 9, orientation / 3,
                               level / 8, row / 63, column / 63
=============  ==============  ===============================================================================

The vector holds them in this order, each flattened row by row; :data:`SLICES` has their slices. All entries
are in 0 ... 1 except those of levels, remaining tiles and scores; see ``LAYOUT.upper_bounds``. Rows and
columns are those of the actions. ``tiles`` has all tiles of a table, however far it spreads; ``heights`` and
``tops`` show its middle as an image.

Players place the tile of a card at the same time, so the tables of other players are shown as they were at
the end of the last complete round.
"""

from __future__ import annotations

import numpy as np

from patchwork_env.core.compile import kernel
from patchwork_env.core.tensors import Layout, Observation, read_number, shares
from patchwork_env.nmbr9.actions import NUM_TURNS, TABLE_SIZE
from patchwork_env.nmbr9.components import MAX_CARDS, MAX_PLAYERS, NUM_DIGITS
from patchwork_env.nmbr9.engine import MAX_LEVELS, bounds, digit_to_place, is_over, num_placed, points, supply
from patchwork_env.nmbr9.state import FREE, KNOWN, NO_DIGIT, UNKNOWN, States
from patchwork_env.nmbr9.tables import (
    CELL_COLUMNS,
    CELL_ROWS,
    FIRST_INDEX,
    HEIGHTS,
    NUM_PIECES,
    SIZES,
    WIDTHS,
)

VIEW_SIZE = 24
"""The number of rows, and of columns, of a table that ``heights`` and ``tops`` show."""
FIRST_VIEWED = (TABLE_SIZE - VIEW_SIZE) // 2
"""The first row, and the first column, that they show."""
TILE_FEATURES = 6
PLAYER_FEATURES = 3

SHAPES: dict[str, tuple[int, ...]] = {
    "heights": (VIEW_SIZE, VIEW_SIZE),
    "tops": (VIEW_SIZE, VIEW_SIZE),
    "tile": (NUM_DIGITS,),
    "remaining": (NUM_DIGITS,),
    "upcoming": (MAX_CARDS,),
    "phase": (5,),
    "players": (MAX_PLAYERS, PLAYER_FEATURES),
    "tiles": (MAX_PLAYERS, MAX_CARDS, TILE_FEATURES),
}
"""The shapes of the tensors by name, in the order of the vector."""

LAYOUT = Layout(SHAPES)
SLICES = LAYOUT.slices
"""The slices of the vector that hold the tensors, by name."""
OBSERVATION_SIZE = LAYOUT.size
"""The length of the vector."""
as_dict = LAYOUT.as_dict

_BOUNDS = as_dict(LAYOUT.upper_bounds)
_BOUNDS["heights"][:] = MAX_LEVELS / 8
_BOUNDS["remaining"][:] = MAX_CARDS / 2
_BOUNDS["players"][:, 1] = (NUM_DIGITS - 1) * MAX_LEVELS * MAX_CARDS / 100
_BOUNDS["tiles"][:, :, 3] = MAX_LEVELS / 8

_HEIGHTS, _TOPS, _TILE, _REMAINING, _UPCOMING, _PHASE, _PLAYERS, _TILES = (
    SLICES[name].start for name in SHAPES
)
"""The first indices of the tensors."""
_PIECES = np.stack(
    [shares(np.arange(NUM_PIECES) // NUM_TURNS, 9), shares(np.arange(NUM_PIECES) % NUM_TURNS, 3)], axis=1
)
_PLACES = shares(np.arange(TABLE_SIZE), TABLE_SIZE - 1)
_ORDER = shares(np.arange(MAX_CARDS) + 1, MAX_CARDS)
_F = np.float32
_EIGHTH = _F(1 / 8)
_HALF = _F(0.5)


@kernel
def write_observation(states: States, i: int, observer: int, out: Observation) -> None:
    """Write the observation of a player to ``out``, a contiguous array ``(OBSERVATION_SIZE,)``."""
    out[:] = 0
    _write_picture(states, i, observer, out)
    _write_cards(states, i, observer, out)
    number = int(states[i]["num_players"])
    for k in range(number):
        player = (observer + k) % number
        placed = num_placed(states, i, player) if k == 0 else int(states[i]["round"])
        begin = _PLAYERS + k * PLAYER_FEATURES
        out[begin] = 1
        out[begin + 1] = points(states, i, player, placed) / _F(100)
        out[begin + 2] = placed / _F(MAX_CARDS)
        _write_tiles(states, i, player, placed, out, _TILES + k * MAX_CARDS * TILE_FEATURES)


@kernel
def read_observation(observation: Observation, states: States, i: int) -> None:
    """Write the game of one player that an observation shows, with the observer's table.

    The next card is the tile to be placed; without one, a digit is to be chosen. The cards to come are in
    ascending order. For an array that is not an observation the result has no meaning, but its fields are
    within their bounds.
    """
    state = states[i]
    placed = _read_tiles(observation, states, i)
    cards = placed
    for digit in range(NUM_DIGITS):
        if observation[_TILE + digit] > _HALF and cards == placed and cards < MAX_CARDS:
            state["deck"][cards] = digit
            cards += 1
    state["order"] = UNKNOWN if cards > placed else FREE
    state["chosen"][:] = NO_DIGIT
    is_free = observation[_PHASE + 4] > _HALF  # the chosen tile still counts as left
    for digit in range(NUM_DIGITS):
        chosen = is_free and cards > placed and state["deck"][placed] == digit
        for _ in range(int(chosen), read_number(observation[_REMAINING + digit], 2, MAX_CARDS - cards)):
            state["deck"][cards] = digit
            cards += 1
    to_come = read_number(observation[_PHASE + 2], MAX_CARDS, MAX_CARDS - placed)
    state["num_cards"], state["num_rounds"] = cards, min(placed + to_come, cards)
    state["num_players"], state["current_player"] = 1, 0


@kernel
def _read_tiles(observation: Observation, states: States, i: int) -> int:
    """Read the tiles of the observer, with their round and cards; return their number."""
    state, begin, placed = states[i], _TILES, 0
    while placed < MAX_CARDS and observation[begin] > _HALF:
        digit = read_number(observation[begin + 1], 9, NUM_DIGITS - 1)
        piece = NUM_TURNS * digit + read_number(observation[begin + 2], 3, NUM_TURNS - 1)
        state["piece"][0, placed] = piece
        state["level"][0, placed] = read_number(observation[begin + 3], 8, MAX_LEVELS - 1)
        last_row, last_column = TABLE_SIZE - HEIGHTS[piece], TABLE_SIZE - WIDTHS[piece]
        state["row"][0, placed] = read_number(observation[begin + 4], TABLE_SIZE - 1, last_row)
        state["column"][0, placed] = read_number(observation[begin + 5], TABLE_SIZE - 1, last_column)
        state["deck"][placed] = digit
        placed += 1
        begin += TILE_FEATURES
    state["round"] = placed
    return placed


@kernel
def _write_picture(states: States, i: int, player: int, out: Observation) -> None:
    for t in range(num_placed(states, i, player)):
        piece = states[i]["piece"][player, t]
        row = int(states[i]["row"][player, t]) - FIRST_VIEWED
        column = int(states[i]["column"][player, t]) - FIRST_VIEWED
        for k in range(SIZES[piece // NUM_TURNS]):
            r, c = row + CELL_ROWS[piece, k], column + CELL_COLUMNS[piece, k]
            if 0 <= r < VIEW_SIZE and 0 <= c < VIEW_SIZE:
                cell, level = r * VIEW_SIZE + c, states[i]["level"][player, t]
                height = (level + 1) * _EIGHTH
                if height > out[_HEIGHTS + cell]:
                    out[_HEIGHTS + cell] = height
                    out[_TOPS + cell] = _ORDER[t]


@kernel(allocates=True)
def _write_cards(states: States, i: int, observer: int, out: Observation) -> None:
    placed, rounds = num_placed(states, i, observer), int(states[i]["num_rounds"])
    to_move = not is_over(states, i) and states[i]["current_player"] == observer
    is_known, is_free = states[i]["order"] == KNOWN, states[i]["order"] == FREE
    out[_PHASE] = to_move
    out[_PHASE + 1] = to_move and digit_to_place(states, i) == NO_DIGIT
    out[_PHASE + 2] = (rounds - placed) / _F(MAX_CARDS)
    out[_PHASE + 3] = is_known
    out[_PHASE + 4] = is_free
    turned = min(int(states[i]["round"]) + 1, rounds)
    if is_free:
        if states[i]["chosen"][observer] != NO_DIGIT:
            out[_TILE + int(states[i]["chosen"][observer])] = 1
        counts = np.empty(NUM_DIGITS, np.int64)
        supply(states, i, observer, counts)
        for digit in range(NUM_DIGITS):
            out[_REMAINING + digit] = counts[digit] / _F(2)
        return
    if placed < rounds and (is_known or placed < turned):
        out[_TILE + int(states[i]["deck"][placed])] = 1
    for k in range(turned, states[i]["num_cards"]):
        out[_REMAINING + int(states[i]["deck"][k])] += _F(0.5)
    if is_known:
        for k in range(placed + 1, rounds):
            out[_UPCOMING + k - placed - 1] = (states[i]["deck"][k] + 1) / _F(10)


@kernel
def _write_tiles(states: States, i: int, player: int, number: int, out: Observation, begin: int) -> None:
    """Write the first tiles of a table, shifted as if the later, hidden ones were not there."""
    if number == 0:
        return
    top, left, height, width = bounds(states, i, player, number)
    down, right = FIRST_INDEX[height] - top, FIRST_INDEX[width] - left
    for t in range(number):
        piece = states[i]["piece"][player, t]
        out[begin] = 1
        out[begin + 1] = _PIECES[piece, 0]
        out[begin + 2] = _PIECES[piece, 1]
        out[begin + 3] = states[i]["level"][player, t] * _EIGHTH
        out[begin + 4] = _PLACES[states[i]["row"][player, t] + down]
        out[begin + 5] = _PLACES[states[i]["column"][player, t] + right]
        begin += TILE_FEATURES
