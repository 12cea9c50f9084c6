"""Levels for people in Patchwork: what they look at, and how they decide."""

from __future__ import annotations

import numpy as np
import pytest

from patchwork_env import agents
from patchwork_env.agents.patchwork.partner.decision import decide, new_thoughts
from patchwork_env.agents.patchwork.partner.eye import look, new_sight
from patchwork_env.agents.patchwork.partner.levels import EYES, HABITS, Habits
from patchwork_env.agents.patchwork.value.placements import list_likely, new_ranking_buffer
from patchwork_env.core.checks import seed_streams
from patchwork_env.patchwork import Game, engine
from patchwork_env.patchwork.actions import ADVANCE, FIRST_BUY, FIRST_SPECIAL, buy_action, placement
from patchwork_env.patchwork.components import PATCHES
from patchwork_env.patchwork.state import States
from tests.agents.positions import many_states

SURE = Habits(placements=16, turning=1.0, flipping=1.0, misjudging=0.0, carelessness=0.0)


def snuggest(states: States, i: int, width: int) -> list[int]:
    """Advancing and the snuggest placements of each patch."""
    actions, anchors = np.empty(engine.MAX_LEGAL_ACTIONS, np.int16), np.empty((2, 25), np.uint64)
    engine.legal(states, i, anchors)
    return actions[: list_likely(states, i, width, anchors, new_ranking_buffer(), actions)].tolist()


@pytest.mark.parametrize("level", sorted(HABITS))
def test_patches_lie_snugly_on_every_level(level: int) -> None:
    states = many_states()[::4]
    chosen = agents.load(f"partner:level={level}", seed=1).act_batch(states)
    width = HABITS[level].placements
    assert all(action in snuggest(states, i, width) for i, action in enumerate(chosen))


def test_the_highest_level_is_the_champion() -> None:
    states = many_states()[::20]
    expected = agents.load("champion:instant").act_batch(states)
    assert agents.load("partner:level=5", seed=1).act_batch(states).tolist() == expected.tolist()


def decided(habits: Habits, judged: dict[int, float], seed: int = 1) -> int:
    thoughts = new_thoughts()
    thoughts.actions[: len(judged)] = list(judged)
    thoughts.worths[: len(judged)] = list(judged.values())
    return int(decide(thoughts, len(judged), habits, seed_streams(seed)))


def test_who_overlooks_and_misjudges_nothing_takes_the_best_move() -> None:
    judged = {ADVANCE: 0.5, FIRST_BUY: 1.0, buy_action(1, 6, 0, 0): 3.0, buy_action(2, 0, 0, 0): 2.0}
    assert decided(SURE, judged) == buy_action(1, 6, 0, 0)


def test_who_never_flips_a_patch_overlooks_where_it_would_fit() -> None:
    judged = {ADVANCE: 0.5, buy_action(0, 1, 0, 0): 1.0, buy_action(1, 6, 0, 0): 3.0}
    assert decided(SURE._replace(flipping=0.0), judged) == buy_action(0, 1, 0, 0)
    assert decided(SURE._replace(flipping=0.0, turning=0.0), judged) == ADVANCE


def test_a_special_patch_is_never_overlooked() -> None:
    judged = {FIRST_SPECIAL: 1.0, FIRST_SPECIAL + 5: 2.0}
    assert decided(SURE._replace(flipping=0.0, turning=0.0), judged) == FIRST_SPECIAL + 5


def test_misjudging_concerns_patches_and_carelessness_places() -> None:
    judged = {buy_action(slot, 0, 0, column): float(-column) for slot in (0, 1) for column in (0, 1)}
    patches = {decided(SURE._replace(misjudging=1.0), judged, seed) for seed in range(30)}
    assert {(placement(action).slot, placement(action).column) for action in patches} == {(0, 0), (1, 0)}
    places = {decided(SURE._replace(carelessness=3.0), judged, seed) for seed in range(30)}
    assert places == set(judged)


def test_some_moves_are_made_without_much_thought() -> None:
    judged = {ADVANCE: 0.0, FIRST_BUY: 2.0}
    habits = SURE._replace(lapses=0.2, lapse=20.0)
    advances = sum(decided(habits, judged, seed) == ADVANCE for seed in range(400))
    assert 20 <= advances <= 60  # half of the lapses


def test_the_eye_sees_what_a_move_costs_and_brings() -> None:
    game, sight, thoughts, eye = Game(seed=1), new_sight(), new_thoughts(), EYES[1]
    blind = eye._replace(income=0.0, price=0.0, time=0.0, cover=1.0, early=1.0, snugness=0.0)
    count = look(game.state, 0, 16, blind, sight, thoughts)
    for action, worth in zip(thoughts.actions[:count].tolist(), thoughts.worths[:count], strict=True):
        assert worth == 2 * len(game.decode(action).cells)
    thrifty = blind._replace(price=1.0, cover=0.0)
    look(game.state, 0, 16, thrifty, sight, thoughts)
    for action, worth in zip(thoughts.actions[:count].tolist(), thoughts.worths[:count], strict=True):
        patch = game.decode(action).patch
        assert worth == (1 if patch is None else -PATCHES[patch].buttons)
