"""The greedy agent: its choices against a naive computation."""

import random

import pytest

from patchwork_env.agents import GreedyAgent
from tests.patchwork.naive import ALL_CELLS, FIRST_SPECIAL_ACTION, INCOME_SPACES, PATCHES
from tests.patchwork.twins import both, random_circle


def naive_value(naive, patch, size):
    """Return the later income plus the penalty saved, minus the price and the time."""
    price, time, income = PATCHES[patch][1:]
    space = naive.positions[naive.current_player]
    target = min(53, space + time)
    later = income * sum(mark > space for mark in INCOME_SPACES)
    return later + 2 * size * target / 53 - price - (target - space)


def joints_after(naive, cells):
    """Pairs of empty cells that share an edge once ``cells`` are covered."""
    empty = ALL_CELLS - naive.quilts[naive.current_player] - cells
    return sum(((r, c + 1) in empty) + ((r + 1, c) in empty) for r, c in empty)


def naive_choice(naive):
    """Return the action by the description of the agent."""
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
def test_choices_match_the_naive_ones(variant):
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
