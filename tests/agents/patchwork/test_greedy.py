"""The greedy agent against a naive computation of the same choice, and the strength that it owes to it."""

from __future__ import annotations

import random

import pytest

from patchwork_env.agents import GreedyAgent, RandomAgent
from patchwork_env.agents.patchwork.greedy import patch_value
from patchwork_env.learning.evaluation.matches import play_matches
from tests.patchwork.naive import ALL_CELLS, FIRST_SPECIAL_ACTION, INCOME_SPACES, PATCHES, Cell, NaiveGame
from tests.patchwork.twins import both, game_at, random_circle


def naive_value(naive: NaiveGame, patch: int, size: int) -> float:
    """Income still to come, plus the penalty saved, minus both prices."""
    price, time, income = PATCHES[patch][1:]
    space = naive.positions[naive.current_player]
    target = min(53, space + time)
    return (
        income * len([mark for mark in INCOME_SPACES if mark > space])
        + 2 * size * target / 53
        - price
        - (target - space)
    )


def joints_after(naive: NaiveGame, cells: frozenset[Cell]) -> int:
    """Pairs of empty cells that share an edge once ``cells`` are covered."""
    empty = ALL_CELLS - naive.quilts[naive.current_player] - cells
    return sum(((r, c + 1) in empty) + ((r + 1, c) in empty) for r, c in empty)


def naive_choice(naive: NaiveGame) -> int:
    """The action that the documentation of the agent describes."""
    moves = naive.legal_moves()
    if naive.pending_special:
        candidates = moves
    else:
        sizes = {(action - 1) // 648: len(cells) for action, cells in moves.items() if action}
        values = {slot: naive_value(naive, naive.circle[slot], size) for slot, size in sizes.items()}
        slot = max(values, key=lambda slot: (values[slot], -slot), default=None)
        if slot is None or values[slot] <= 0:
            return 0
        candidates = {a: cells for a, cells in moves.items() if a and (a - 1) // 648 == slot}
    return max(candidates, key=lambda action: (joints_after(naive, candidates[action]), -action))


@pytest.mark.parametrize("variant", ["revised", "2014"])
def test_its_choice_is_the_naive_one(variant: str) -> None:
    rng, greedy = random.Random(variant), GreedyAgent()
    kinds = set()
    for _ in range(10):
        game, naive = both(random_circle(rng), rng.randrange(2), variant)
        careless = rng.randrange(2)
        while not game.is_over:
            action = greedy.act(game)
            assert action == naive_choice(naive)
            kinds.add("advance" if action == 0 else "special" if action >= FIRST_SPECIAL_ACTION else "buy")
            if game.current_player == careless:
                action = rng.choice(naive.legal_actions())
            game.play(action)
            naive.play(action)
    assert kinds == {"advance", "buy", "special"}


def position(
    circle: list[int], space: int, buttons: int, covered: frozenset[Cell] = frozenset()
) -> NaiveGame:
    """Player 0 to move on ``space`` with ``buttons``; the opponent is at the end."""
    naive = NaiveGame(circle)
    naive.positions, naive.buttons = [space, 53], [buttons, 0]
    naive.quilts[0] = set(covered)
    return naive


@pytest.mark.parametrize(
    ("space", "patch", "value"),
    [
        (0, 0, 0 + 2 * 2 * 1 / 53 - 2 - 1),  # 1x2: 2 buttons, time 1, no income
        (0, 10, 3 * 9 + 2 * 4 * 6 / 53 - 7 - 6),  # 4 cells, 7 buttons, time 6, income 3, all nine marks ahead
        (29, 10, 3 * 4 + 2 * 4 * 35 / 53 - 7 - 6),  # the mark on 29 is behind the token
        (50, 10, 3 * 1 + 2 * 4 - 7 - 3),  # only three spaces are left of six
    ],
)
def test_a_patch_is_worth_what_a_player_would_calculate(space: int, patch: int, value: float) -> None:
    game = game_at(position([patch, 1, 2], space, 9), "revised")
    assert patch_value(game.state, 0, patch) == pytest.approx(value)


def test_it_beats_random_play() -> None:
    result = play_matches(GreedyAgent(), RandomAgent(), 1000, seed=20)
    assert result.win_rate >= 0.98
    assert result.means(0)["score"] > 20
