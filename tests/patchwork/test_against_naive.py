"""The engine agrees with the naive game in every state of many games."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from tests.patchwork import recorded
from tests.patchwork.naive import NaiveGame
from tests.patchwork.twins import (
    Policy,
    always_advance,
    assert_same,
    assert_same_layouts,
    assert_same_moves,
    at_random,
    both,
    crowded_position,
    game_at,
    largest_patch,
    least_time,
    play_out,
    random_circle,
    replay,
    tightest,
)

GAMES = {at_random: 40, always_advance: 6, largest_patch: 8, least_time: 8, tightest: 6}


@pytest.mark.parametrize("policy", GAMES)
@pytest.mark.parametrize("variant", ["revised", "2014"])
def test_whole_games(policy: Policy, variant: str) -> None:
    rng = random.Random(f"{policy.__name__} {variant}")
    for number in range(GAMES[policy]):
        game, naive = both(random_circle(rng), number % 2, variant)
        play_out(game, naive, policy, rng)
        assert_same_layouts(game, naive)


def test_the_meaning_of_every_legal_action() -> None:
    rng = random.Random(3)
    for number in range(4):
        game, naive = both(random_circle(rng), number % 2, "revised")
        while not naive.is_over:
            moves = naive.legal_moves()
            assert_same_moves(game, naive, moves, list(moves))
            action = at_random(naive, moves, rng)
            game.play(action)
            naive.play(action)


@pytest.mark.slow
def test_every_rare_event_occurs() -> None:
    """In games by biased policies, in games found by search, and from positions near the end."""
    rng = random.Random(12)
    seen: Counter[str] = Counter()
    for policy in GAMES:
        for number in range(25):
            game, naive = both(random_circle(rng), number % 2, "revised")
            seen += play_out(game, naive, policy, rng)
    for record in recorded.GAMES:
        seen += replay(record)
    for number in range(400):
        naive, variant = crowded_position(rng)
        seen += play_out(game_at(naive, variant), naive, largest_patch if number % 2 else at_random, rng)
    expected = {
        "bonus tile by a patch",
        "bonus tile by a special patch",
        "special patch and income in one move",
        "special patch before the opponent's turn",
        "special patch discarded",
        "two incomes in one move",
        "longest advance",
        "advance to an opponent on the last space",
        "time beyond the last space",
        "arrival on the opponent's space",
        "several moves in a row",
        "two patches left",
        "one patch left",
        "no patch left",
        "purchase from fewer than three patches",
        "quilt filled by a patch",
        "quilt filled by a special patch",
        "tie",
    }
    assert expected <= set(seen), f"never occurred: {sorted(expected - set(seen))}"


def test_equal_scores_go_to_the_first_to_finish() -> None:
    """Both ways round, at positions where every move is forced."""
    for first in (0, 1):
        naive = NaiveGame([], 0, "revised")
        naive.positions = [53, 53]
        naive.positions[1 - first] = 50
        naive.special_spaces = []
        naive.first_finisher = first
        naive.last_mover = first
        naive.buttons = [10, 10]
        naive.buttons[1 - first] = 7
        game = game_at(naive, "revised")
        play_out(game, naive, at_random, random.Random(0))
        assert game.scores() == (10 - 162, 10 - 162)
        assert game.winner() == first


def test_the_last_to_arrive_moves_first_on_a_shared_space() -> None:
    """Patches 20 and 1 both cost 3 time; the player who catches up moves again, and only then the other."""
    game, naive = both([20, *range(1, 20), *range(21, 33), 0], 0, "revised")
    buy_in_the_corner, advance = 1, 0
    for action, player in ((buy_in_the_corner, 0), (buy_in_the_corner, 1), (advance, 1)):
        assert game.current_player == naive.current_player == player
        game.play(action)
        naive.play(action)
    assert game.positions == (3, 4)
    assert_same(game, naive, naive.legal_moves())
