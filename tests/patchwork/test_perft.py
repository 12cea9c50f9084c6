"""Move counts: how many sequences of 1, 2 and 3 legal actions begin at fixed positions.

The counts come from the naive game, which recounts the two shorter lengths in every run.
"""

from __future__ import annotations

import copy
from typing import NamedTuple

import pytest

from patchwork_env.patchwork import Game
from tests.patchwork.naive import NaiveGame
from tests.patchwork.recorded import numbers


class Position(NamedTuple):
    """A set-up, what is played from there, and the number of sequences of length 1, 2 and 3 that follow."""

    name: str
    variant: str
    first_player: int
    circle: str
    counts: tuple[int, int, int]
    played: str = ""


POSITIONS = (
    Position(
        "set-up, circle against the order of the indices",
        variant="revised",
        first_player=0,
        circle="32 31 30 29 28 27 26 25 24 23 22 21 20 19 18 17 16 15 14 13 12 11 10 9 8 7 6 5 4 3 2 1 0",
        counts=(253, 21477, 403101),
    ),
    Position(
        "set-up, dear patches first",
        variant="2014",
        first_player=1,
        circle="18 15 29 1 2 3 4 5 6 7 8 9 10 11 12 13 14 16 17 19 20 21 22 23 24 25 26 27 28 30 31 32 0",
        counts=(50, 18817, 10747220),
    ),
    Position(
        "set-up, symmetric patches first",
        variant="revised",
        first_player=1,
        circle="15 9 17 32 30 2 6 1 3 4 5 7 8 10 11 12 13 14 16 18 19 20 21 22 23 24 25 26 27 28 29 31 0",
        counts=(50, 4215, 11580),
    ),
    Position(
        "early",
        variant="revised",
        first_player=0,
        circle="7 20 23 25 21 17 8 9 24 29 10 3 15 22 31 13 27 16 2 5 4 6 11 18 19 32 26 30 14 1 12 28 0",
        played="934 1090 7 706 0 685 1461 1319 0 168",
        counts=(59, 242, 53717),
    ),
    Position(
        "early, nothing to buy",
        variant="revised",
        first_player=1,
        circle="6 30 20 22 27 24 21 17 2 26 12 15 25 4 23 10 13 29 7 8 3 1 28 14 31 5 18 32 19 9 16 11 0",
        played="4 3 852 868 40 791 790 16 894 0",
        counts=(1, 148, 33182),
    ),
    Position(
        "early, rich choice",
        variant="revised",
        first_player=1,
        circle="11 14 23 31 21 10 16 7 26 17 6 30 28 8 1 18 12 15 27 25 2 3 4 29 20 9 22 13 5 19 24 32 0",
        played="220 128 328 1074 0 0 1307 1413 43 0",
        counts=(142, 16891, 110326),
    ),
    Position(
        "before a special patch",
        variant="revised",
        first_player=0,
        circle="10 9 22 21 28 4 11 19 6 1 14 30 3 27 5 26 16 32 8 7 25 12 24 15 31 17 23 18 13 2 29 20 0",
        played="1329 52 814 127 1387 671 1763 0 0 0 0 848 1063 391 0 353 3 0",
        counts=(29, 1383, 23327),
    ),
    Position(
        "middle",
        variant="2014",
        first_player=1,
        circle="9 8 1 20 15 6 23 4 24 21 12 3 31 32 2 11 27 28 19 17 22 7 30 10 5 26 25 18 29 14 13 16 0",
        played="1226 196 1396 905 283 0 1496 0 677 735 0 0 0 0 2023 247 1364 0",
        counts=(174, 10255, 661744),
    ),
    Position(
        "after the middle",
        variant="revised",
        first_player=0,
        circle="11 21 8 27 29 9 16 31 18 17 6 25 20 23 32 19 26 30 5 24 13 2 14 7 10 15 4 1 22 12 3 28 0",
        played="766 140 0 0 60 1460 19 1424 823 0 0 355 124 826 0 95 1958 1837 52 110 0 655 2024 1580 649",
        counts=(53, 1151, 20508),
    ),
    Position(
        "special patch to place",
        variant="2014",
        first_player=0,
        circle="30 20 12 9 5 6 22 1 11 17 15 31 3 24 18 2 13 21 32 8 14 7 26 10 4 25 19 23 27 29 28 16 0",
        played=(
            "932 610 717 1582 0 101 1398 146 0 1301 251 0 328 745 2025 0 444 200 82 1980 895 0 1747 0 0 0 "
            "1059 2007 0 1298 718 739 0 0 105 1736"
        ),
        counts=(26, 104, 104),
    ),
)


def count(game: Game, length: int) -> int:
    """Sequences of ``length`` legal actions; a game that ends earlier has none."""
    actions = game.legal_actions().tolist()
    if length == 1:
        return len(actions)
    total = 0
    for action in actions:
        following = game.clone()
        following.play(action)
        total += count(following, length - 1)
    return total


def count_naively(game: NaiveGame, length: int) -> int:
    actions = game.legal_actions()
    if length == 1:
        return len(actions)
    total = 0
    for action in actions:
        following = copy.deepcopy(game)
        following.play(action)
        total += count_naively(following, length - 1)
    return total


@pytest.mark.parametrize("position", POSITIONS, ids=lambda position: position.name)
def test_counts(position: Position) -> None:
    circle = numbers(position.circle)
    game = Game(circle=circle, first_player=position.first_player, special_patches=position.variant)
    naive = NaiveGame(list(circle), position.first_player, position.variant)
    for action in numbers(position.played):
        game.play(action)
        naive.play(action)
    assert tuple(count(game, length) for length in (1, 2, 3)) == position.counts
    assert tuple(count_naively(naive, length) for length in (1, 2)) == position.counts[:2]


def test_no_sequence_goes_on_after_the_end() -> None:
    """Two rich players who only ever advanced: every action of the last turn ends the game."""
    game = Game(seed=4)
    while sorted(game.positions) != [52, 53]:
        game.play(game.legal_actions()[0])
    assert count(game, 1) > 100
    assert count(game, 2) == 0
    assert count(game, 3) == 0
