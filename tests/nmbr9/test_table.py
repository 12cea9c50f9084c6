"""The table: tiles stay in its middle, their spread is limited, and some placement is always left."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from patchwork_env.nmbr9 import Game, engine
from patchwork_env.nmbr9.actions import MAX_SPREAD, NUM_ACTIONS, NUM_ANCHORS, TABLE_SIZE
from patchwork_env.nmbr9.components import MAX_CARDS
from patchwork_env.nmbr9.tables import HEIGHTS, WIDTHS
from tests.nmbr9.naive import spread
from tests.nmbr9.twins import play_out


def upward(moves, rng):
    return min(moves, key=lambda move: (min(moves[move].cells), move))


def leftward(moves, rng):
    """The first tile lies, so that 60 columns are reached: then the next one may begin in the last column."""
    return min(moves, key=lambda move: (min(column for _, column in moves[move].cells), -move.orientation))


def spread_of(game, player=0):
    return spread(cell for move in game.placements(player) for cell in move.cells)


@pytest.mark.parametrize("policy", [upward, leftward])
def test_a_line_turns_where_it_would_spread_too_far(policy):
    """The longest tile, end to end: all placements within the limit are legal, no others."""
    game = Game(deck=[1] * 17)
    play_out(game, policy, random.Random(1))
    assert MAX_SPREAD - 2 < max(spread_of(game)) <= MAX_SPREAD
    assert Game.from_bytes(game.to_bytes()) == game


Reach = Callable[[npt.NDArray[np.int64], npt.NDArray[np.int64]], npt.NDArray[np.int64]]
FURTHEST: dict[str, Reach] = {
    "up": lambda rows, columns: -rows,
    "down": lambda rows, columns: rows,
    "left": lambda rows, columns: -columns,
    "right": lambda rows, columns: columns,
    "up left": lambda rows, columns: -rows - columns,
    "up right": lambda rows, columns: columns - rows,
    "down left": lambda rows, columns: rows - columns,
    "down right": lambda rows, columns: rows + columns,
}
SIZES = {
    "20 cards": {},
    "40 cards": {"copies": 4},
    "the longest tile": {"deck": [1] * MAX_CARDS},
    "mixed": {"deck": [1, 3, 1, 6, 7] * 8, "deck_size": 37},
    "few digits": {"max_digit": 3, "copies": 10},
}


def furthest(game, directions):
    """The legal action that places the tile as far as possible in the direction of the round."""
    actions = game.legal_actions().astype(np.int64)
    if game.digit is None:
        return int(actions[0])
    pieces = 4 * game.digit + actions // NUM_ANCHORS
    rows, columns = actions % NUM_ANCHORS // TABLE_SIZE, actions % TABLE_SIZE
    reach = directions[game.round % len(directions)]
    far = np.maximum(reach(rows, columns), reach(rows + HEIGHTS[pieces], columns + WIDTHS[pieces]))
    return int(actions[far.argmax()])


@pytest.mark.parametrize("directions", [*FURTHEST, "all in turn"])
def test_some_placement_is_always_left(directions):
    """All tiles as far away as possible, in every variant, for 1-4 players."""
    reaches = [*FURTHEST.values()] if directions == "all in turn" else [FURTHEST[directions]]
    widest = 0
    for players, size in enumerate(SIZES.values(), 1):
        for order in ("unknown", "known", "free"):
            game = Game(players=min(players, 4), order=order, **size)  # type: ignore[arg-type]
            while not game.is_over:
                game.play(furthest(game, reaches))
            spreads = [max(spread_of(game, player)) for player in range(game.num_players)]
            assert max(spreads) <= MAX_SPREAD
            widest = max(widest, *spreads)
    assert widest > MAX_SPREAD - 4


def test_a_table_that_spreads_as_far_as_it_may_in_both_directions():
    """Exactly the listed actions are legal, and none leads further."""
    game = Game(deck=[4] * MAX_CARDS)
    diagonal = FURTHEST["down right"]
    while min(spread_of(game) if game.round else (0, 0)) <= MAX_SPREAD - 3:
        game.play(furthest(game, [diagonal]))
    assert not game.is_over
    legal = game.legal_actions().tolist()
    assert legal == [action for action in range(NUM_ACTIONS) if engine.is_legal(game.state, 0, action)]
    for action in legal:
        copy = game.clone()
        copy.play(action)
        assert max(spread_of(copy)) <= MAX_SPREAD


def test_the_table_follows_the_tiles():
    """As many rows of anchors above the tiles as below them, or one less; likewise columns."""
    for seed in range(2):
        game, rng = Game(seed=seed), random.Random(seed)
        while not game.is_over:
            game.play(rng.choice(game.legal_actions().tolist()))
            rows = [row for move in game.placements() for row, _ in move.cells]
            columns = [column for move in game.placements() for _, column in move.cells]
            for indices in (rows, columns):
                before, after = min(indices) - 4, 63 - (max(indices) + 1)
                assert after - before in (0, 1) or game.is_over
                assert min(indices) >= 0
                assert max(indices) <= 63
