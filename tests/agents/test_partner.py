"""Levels for people: what holds for all of them, in both games."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from patchwork_env import agents, nmbr9, patchwork
from patchwork_env.agents.partner import (
    DEFAULT_LEVEL,
    NEVER_OVERLOOKED,
    Habits,
    PartnerAgent,
    decide,
    new_candidates,
)
from patchwork_env.core.checks import seed_streams
from patchwork_env.core.game import BaseGame
from patchwork_env.learning.evaluation import play_matches


def new_game(name: str) -> BaseGame[Any]:
    return patchwork.Game(seed=3) if name == "patchwork" else nmbr9.Game(seed=3)


def play(spec: str, game: BaseGame[Any], most: int, seed: int = 0) -> list[int]:
    """The actions of an agent against itself, with a seed for every move."""
    agent, actions = agents.load(spec), []
    while not game.is_over and len(actions) < most:
        agent.reseed(seed + game.num_moves)
        actions.append(agent.act(game))
        game.play(actions[-1])
    return actions


VALUES, GROUPS, ORIENTATIONS = np.array([0.0, 1.0, 0.8, 1.5]), [0, 0, 1, 1], [NEVER_OVERLOOKED, 1, 6, 3]
SURE = Habits(turning=1.0, misjudging=0.0, carelessness=0.0)


@pytest.mark.parametrize(
    "habits",
    [
        SURE._replace(turning=0.6, flipping=0.3),
        SURE._replace(misjudging=0.7),
        SURE._replace(carelessness=0.9),
        SURE._replace(misjudging=0.2, lapses=0.4, lapse=5.0),
        Habits(0.8, 0.5, 0.4, 0.2, 3.0, 0.5),
    ],
)
def test_moves_are_chosen_as_often_as_habits_say(habits: Habits) -> None:
    candidates, streams, n = new_candidates(4, 2, 8), seed_streams(1), 4000
    candidates.actions[:], candidates.values[:] = range(4), VALUES
    candidates.groups[:], candidates.orientations[:] = GROUPS, ORIENTATIONS
    found = np.bincount([decide(candidates, 4, habits, streams) for _ in range(n)], minlength=4) / n
    np.testing.assert_allclose(found, naive_shares(habits, 100_000), atol=0.03)


def naive_shares(habits: Habits, n: int) -> Any:
    """How often each of the moves seems best, drawn for many people at once."""
    rng = np.random.default_rng(2)

    def errors(count: int) -> Any:
        return 2 * (rng.random((n, count, 3)).sum(2) - 1.5)

    deviation = np.where(rng.random(n) < habits.lapses, habits.lapse, habits.misjudging)
    chances = np.array([habits.turning] * 4 + [habits.flipping] * 4 + [1.0])
    tried = rng.random((n, 9)) < chances
    seeming = VALUES + (deviation[:, None] * errors(2))[:, GROUPS] + habits.carelessness * errors(4)
    seeming[~tried[:, ORIENTATIONS]] = -np.inf
    return np.bincount(seeming.argmax(1), minlength=4) / n


@pytest.mark.parametrize("game", ["patchwork", "nmbr9"])
def test_a_seed_for_every_move_decides_on_the_whole_game(game: str) -> None:
    openings = [tuple(play("partner:level=1", new_game(game), 4, seed)) for seed in (*range(10), 0)]
    assert openings[0] == openings[-1]
    assert len(set(openings)) > 5


def test_without_a_level_it_is_the_one_in_the_middle() -> None:
    spec = f"partner:level={DEFAULT_LEVEL}"
    assert (agents.load("partner").name, agents.load(spec).name) == ("partner", spec)
    assert play("partner", new_game("patchwork"), 10) == play(spec, new_game("patchwork"), 10)


def test_there_are_five_levels() -> None:
    for level in ("0", "6", "2.5", "strong"):
        with pytest.raises(ValueError, match="it must be an integer of 1 to 5"):
            agents.load(f"partner:level={level}")
    with pytest.raises(ValueError, match="level is 6; allowed are 1 to 5"):
        PartnerAgent(level=6)


@pytest.mark.parametrize("game", ["patchwork", "nmbr9"])
def test_levels_have_their_strength(game: str) -> None:
    assert play_matches("partner:level=3", "partner:level=1", 40, seed=2, game=game).win_rate > 0.85
    assert play_matches("partner:level=1", "random", 40, seed=2, game=game).win_rate > 0.9
