"""Levels for people in NMBR 9: how they decide, and what they do where digits are chosen."""

from __future__ import annotations

from patchwork_env import agents
from patchwork_env.agents.nmbr9.partner import HABITS, _note, new_candidates
from patchwork_env.agents.partner import Habits, decide
from patchwork_env.core.checks import seed_streams
from patchwork_env.nmbr9 import Game
from patchwork_env.nmbr9.actions import FIRST_CHOICE, NUM_ANCHORS

SURE = Habits(turning=1.0, misjudging=0.0, carelessness=0.0)


def test_the_highest_digit_is_chosen() -> None:
    game = Game(order="free", max_digit=5, deck_size=7, seed=1)
    for level in HABITS:
        assert agents.load(f"partner:level={level}").act(game) == FIRST_CHOICE + 5


def decided(habits: Habits, judged: list[tuple[int, int, float]], seed: int = 1) -> int:
    candidates = new_candidates()
    for k, (orientation, level, value) in enumerate(judged):
        _note(candidates, k, orientation * NUM_ANCHORS, level, value)
    return decide(candidates, len(judged), habits, seed_streams(seed)) // NUM_ANCHORS


def test_habits_decide_on_what_is_seen() -> None:
    assert decided(SURE, [(0, 0, 1.0), (1, 1, 3.0), (2, 0, 2.0)]) == 1
    assert decided(SURE._replace(turning=0.0), [(0, 0, 1.0), (1, 1, 3.0)]) == 0
    judged = [(0, 0, 1.0), (1, 0, 0.9), (2, 1, 1.0)]
    assert {decided(SURE._replace(misjudging=1.0), judged, seed) for seed in range(30)} == {0, 2}
