"""What holds in every game, whatever is played."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from patchwork_env.core.polyomino import normalize, orient
from patchwork_env.nmbr9 import TILES, Game, Move
from tests.nmbr9.naive import neighbors

SEEDS = st.integers(0, 2**32 - 1)
DECKS = st.lists(st.integers(0, 9), min_size=1, max_size=16)
SOME = settings(max_examples=25)


def random_action(game: Game, rng: random.Random) -> int:
    """Any action half of the time, else one of a highest level, so that towers are built."""
    actions = game.legal_actions().tolist()
    if rng.random() < 0.5 or game.digit is None:
        return rng.choice(actions)
    sample = rng.sample(actions, min(len(actions), 40))
    return max(sample, key=lambda action: game.decode(action).level)


def turns(deck: list[int], seed: int, players: int = 1) -> Iterator[tuple[Game, Move, Game]]:
    """Plays a game to its end; yields each turn as the game before, the move, and the game after."""
    rng, game = random.Random(seed), Game(deck=deck, players=players)
    while not game.is_over:
        before, action = game.clone(), random_action(game, rng)
        game.play(action)
        yield before, before.decode(action), game


def lying_on(game: Game, player: int, level: int | None) -> list[Move]:
    return [move for move in game.placements(player) if move.level == level]


@SOME
@given(DECKS, SEEDS)
def test_every_tile_lies_by_the_rules(deck: list[int], seed: int) -> None:
    """Turned and not flipped, beside those of its level, and on two others without overhang."""
    for before, move, _ in turns(deck, seed):
        assert move.level is not None
        assert normalize(move.cells) in [orient(TILES[move.digit], orientation) for orientation in range(4)]
        level = {cell for tile in lying_on(before, 0, move.level) for cell in tile.cells}
        assert not move.cells & level
        assert not level or level & set().union(*map(neighbors, move.cells))
        if move.level > 0:
            below = lying_on(before, 0, move.level - 1)
            assert move.cells <= set().union(*(tile.cells for tile in below))
            assert sum(bool(tile.cells & move.cells) for tile in below) >= 2


@SOME
@given(DECKS, SEEDS)
def test_levels_are_heights_and_scores_are_digit_times_level(deck: list[int], seed: int) -> None:
    for before, move, after in turns(deck, seed):
        assert move.level is not None
        assert {before.heights()[cell] for cell in move.cells} == {move.level}
        assert after.heights().sum() == sum(len(tile.cells) for tile in after.placements())
        assert after.scores()[0] == before.scores()[0] + move.digit * move.level
        assert after.scores() == (sum(m.digit * (m.level or 0) for m in after.placements()),)
    assert [tile.digit for tile in after.placements()] == deck


@SOME
@given(st.lists(st.integers(0, 9), min_size=1, max_size=8), SEEDS, st.integers(2, 4))
def test_nobody_touches_another_table(deck: list[int], seed: int, players: int) -> None:
    """Every player meets on an own table what the same moves alone would meet."""
    alone = [Game(deck=deck) for _ in range(players)]
    for before, move, after in turns(deck, seed, players):
        player = before.current_player
        assert before.legal_actions().tolist() == alone[player].legal_actions().tolist()
        alone[player].play(alone[player].encode(move))
        for other in range(players):
            assert after.placements(other) == alone[other].placements()
    assert after.scores() == tuple(game.scores()[0] for game in alone)
    assert after.winners() == tuple(np.flatnonzero(np.array(after.scores()) == max(after.scores())))
