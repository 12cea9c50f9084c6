"""Levels for people in Patchwork: what they look at, and how they decide."""

from __future__ import annotations

import math

import numpy as np
import pytest

from patchwork_env import agents
from patchwork_env.agents.partner import Habits, decide
from patchwork_env.agents.patchwork.expansion import new_expansion
from patchwork_env.agents.patchwork.partner import HABITS, _note, judge_by_eye, new_candidates
from patchwork_env.agents.patchwork.placements import list_likely, new_ranking
from patchwork_env.core.checks import seed_streams
from patchwork_env.patchwork import Game, engine
from patchwork_env.patchwork.actions import ADVANCE, FIRST_BUY, FIRST_SPECIAL, buy_action, placement
from patchwork_env.patchwork.components import PATCHES
from patchwork_env.patchwork.state import States
from tests.agents.positions import joints_of, many_states

SURE = Habits(turning=1.0, misjudging=0.0, carelessness=0.0)


def snuggest(states: States, i: int, width: int) -> list[int]:
    """Advancing and the snuggest placements of each patch."""
    actions, anchors = np.empty(engine.MAX_LEGAL_ACTIONS, np.int16), np.empty((2, 25), np.uint64)
    engine.legal(states, i, anchors)
    return actions[: list_likely(states, i, width, anchors, new_ranking(), actions)].tolist()


@pytest.mark.parametrize("level", sorted(HABITS))
def test_patches_lie_snugly_on_every_level(level: int) -> None:
    states = many_states()[::8]
    chosen = agents.load(f"partner:level={level}", seed=1).act_batch(states)
    width = HABITS[level].placements
    assert all(action in snuggest(states, i, width) for i, action in enumerate(chosen))


def test_the_highest_level_is_the_champion() -> None:
    states = many_states()[::20]
    expected = agents.load("champion:instant").act_batch(states)
    assert agents.load("partner:level=5", seed=1).act_batch(states).tolist() == expected.tolist()


def decided(habits: Habits, judged: dict[int, float], seed: int = 1) -> int:
    candidates = new_candidates()
    for k, (action, value) in enumerate(judged.items()):
        _note(candidates, k, action, value)
    return decide(candidates, len(judged), habits, seed_streams(seed))


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


def snugness(game: Game, player: int) -> int:
    """Pairs of empty neighbors, less those that as many empty cells can have at most."""
    quilt = game.quilt(player)
    cells = int((~quilt).sum())
    return joints_of(quilt) - (2 * cells - math.ceil(2 * math.sqrt(cells)))


def test_the_eye_sees_what_a_move_costs_and_brings() -> None:
    game, expansion, candidates = Game(seed=1), new_expansion(), new_candidates()
    player = game.current_player
    count = judge_by_eye(game.state, 0, 16, expansion, candidates)
    assert count > 30
    for action, value in zip(candidates.actions[:count].tolist(), candidates.values[:count], strict=True):
        after, patch = game.clone(), game.decode(action).patch
        after.play(action)
        expected = 1.1 - 0.8  # a button earned, a space moved
        if patch is not None:
            income, price, time = PATCHES[patch].income, PATCHES[patch].buttons, PATCHES[patch].time
            cells = len(PATCHES[patch].cells)
            expected = 0.8 * 9 * income - 1.1 * price - 0.8 * time + 2 * (0.2 + 0.8 * time / 53) * cells
        assert value == pytest.approx(expected + 0.7 * (snugness(after, player) - snugness(game, player)))
