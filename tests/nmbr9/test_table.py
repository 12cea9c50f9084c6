"""The table: it follows the tiles, and its edge is met with an error and not with a loss."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from patchwork_env.nmbr9 import Game, Move, TableEdgeError
from patchwork_env.nmbr9.actions import MAX_SPREAD
from tests.nmbr9.naive import NaiveMove, NaiveTable
from tests.nmbr9.twins import Moves, Policy, assert_same, play_out


def upward(moves: Moves, rng: random.Random) -> NaiveMove:
    return min(moves, key=lambda move: (min(moves[move].cells), move))


def downward(moves: Moves, rng: random.Random) -> NaiveMove:
    return max(moves, key=lambda move: (max(moves[move].cells), move))


def leftward(moves: Moves, rng: random.Random) -> NaiveMove:
    return min(moves, key=lambda move: (min(column for _, column in moves[move].cells), move))


def rightward(moves: Moves, rng: random.Random) -> NaiveMove:
    return max(moves, key=lambda move: (max(column for _, column in moves[move].cells), move))


DIRECTIONS = pytest.mark.parametrize("policy", [upward, downward, leftward, rightward])


def spread(moves: Sequence[Move]) -> tuple[int, int]:
    rows = [row for move in moves for row, _ in move.cells]
    columns = [column for move in moves for _, column in move.cells]
    return max(rows) - min(rows) + 1, max(columns) - min(columns) + 1


def next_action(game: Game, table: NaiveTable, policy: Policy) -> int:
    """The policy's action, after a comparison of all legal ones; the naive table plays it."""
    moves = table.legal_moves(3)
    actions = assert_same(game, [table], moves)
    wanted = policy(moves, random.Random(1))
    table.tiles.append(moves[wanted])
    return next(action for action, (move, _) in actions.items() if move == wanted)


def spread_after(game: Game, action: int) -> tuple[int, int]:
    return spread([*game.placements(), game.decode(action)])


@DIRECTIONS
def test_fifteen_tiles_never_meet_the_edge(policy: Policy) -> None:
    """The longest tile, end to end in any direction: all its placements have a number until the last."""
    game = Game(deck=[1] * 15)
    play_out(game, policy, random.Random(1))
    assert max(spread(game.placements())) in (58, 60)


@DIRECTIONS
def test_a_line_of_twenty_meets_the_edge(policy: Policy) -> None:
    game, table = Game(deck=[3] * 20), NaiveTable()
    action = next_action(game, table, policy)
    while max(spread_after(game, action)) <= MAX_SPREAD:
        game.play(action)
        action = next_action(game, table, policy)
    before = game.to_bytes()
    with pytest.raises(TableEdgeError, match=f"more than {MAX_SPREAD} rows or columns"):
        game.play(action)
    assert game.to_bytes() == before
    assert len(game.placements()) + 1 == len(table.tiles) >= 15
    assert max(spread(game.placements())) + 4 > MAX_SPREAD
    played = 0
    for action in game.legal_actions():
        copy = game.clone()
        try:
            copy.play(action)
        except TableEdgeError:
            continue
        assert max(spread(copy.placements())) <= MAX_SPREAD
        played += 1
    assert played > 10


def test_the_table_follows_the_tiles() -> None:
    """As many rows of anchors above the tiles as below them, or one less; likewise columns."""
    for seed in range(5):
        game, rng = Game(seed=seed), random.Random(seed)
        while not game.is_over:
            game.play(rng.choice(game.legal_actions().tolist()))
            rows = [row for move in game.placements() for row, _ in move.cells]
            columns = [column for move in game.placements() for _, column in move.cells]
            for indices in (rows, columns):
                before, behind = min(indices) - 4, 63 - (max(indices) + 1)
                assert behind - before in (0, 1) or game.is_over
                assert min(indices) >= 0
                assert max(indices) <= 63


def test_a_table_that_moves_stays_the_same() -> None:
    game, rng = Game(seed=4), random.Random(4)
    while not game.is_over:
        before = game.placements()
        move = game.decode(action := rng.choice(game.legal_actions().tolist()))
        game.play(action)
        after = game.placements()
        down = min(after[0].cells)[0] - min((*before, move)[0].cells)[0]
        right = min(after[0].cells)[1] - min((*before, move)[0].cells)[1]
        for old, new in zip((*before, move), after, strict=True):
            assert new.cells == {(row + down, column + right) for row, column in old.cells}
            assert (new.digit, new.level) == (old.digit, old.level)
