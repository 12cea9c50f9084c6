"""Levels for people in NMBR 9: how they decide, and what they do where digits are chosen."""

from __future__ import annotations

import pytest

from patchwork_env import agents
from patchwork_env.agents.nmbr9.partner import HABITS, _note, new_candidates
from patchwork_env.agents.partner import Habits, decide
from patchwork_env.core.checks import seed_streams
from patchwork_env.nmbr9 import Game
from patchwork_env.nmbr9.actions import FIRST_CHOICE, NUM_ANCHORS

SURE = Habits(turning=1.0, misjudging=0.0, carelessness=0.0)


@pytest.mark.parametrize("level", sorted(HABITS))
@pytest.mark.parametrize("settings", [{"players": 2}, {"order": "known"}, {"order": "free", "max_digit": 5}])
def test_all_set_ups_are_played_to_the_end(level: int, settings: dict) -> None:
    agent, game = agents.load(f"partner:level={level}", seed=1), Game(seed=2, deck_size=6, **settings)
    while not game.is_over:
        game.play(agent.act(game))


def test_the_highest_digit_is_chosen() -> None:
    game = Game(order="free", max_digit=5, deck_size=7, seed=1)
    for level in HABITS:
        assert agents.load(f"partner:level={level}").act(game) == FIRST_CHOICE + 5


def decided(habits: Habits, judged: list[tuple[int, int, float]], seed: int = 1) -> int:
    candidates = new_candidates()
    for k, (orientation, level, value) in enumerate(judged):
        _note(candidates, k, orientation * NUM_ANCHORS, level, value)
    return decide(candidates, len(judged), habits, seed_streams(seed)) // NUM_ANCHORS


def test_who_overlooks_and_misjudges_nothing_takes_the_best_placement() -> None:
    assert decided(SURE, [(0, 0, 1.0), (1, 1, 3.0), (2, 0, 2.0)]) == 1


def test_who_does_not_turn_the_tile_takes_the_first_placement() -> None:
    assert decided(SURE._replace(turning=0.0), [(0, 0, 1.0), (1, 1, 3.0)]) == 0


def test_misjudging_concerns_levels() -> None:
    judged = [(0, 0, 1.0), (1, 0, 0.9), (2, 1, 1.0)]
    assert {decided(SURE._replace(misjudging=1.0), judged, seed) for seed in range(30)} == {0, 2}
