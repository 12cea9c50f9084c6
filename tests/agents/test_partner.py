"""Levels for people: what holds for all of them, in both games."""

from __future__ import annotations

from typing import Any

import pytest

from patchwork_env import agents, nmbr9, patchwork
from patchwork_env.agents.partner import BEGINNER, CHAMPION, DEFAULT_LEVEL
from patchwork_env.core.game import BaseGame
from patchwork_env.learning.evaluation import play_matches

LEVELS = range(BEGINNER, CHAMPION + 1)


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


@pytest.mark.parametrize("game", ["patchwork", "nmbr9"])
@pytest.mark.parametrize("level", LEVELS)
def test_a_seed_for_every_move_decides_on_the_whole_game(level: int, game: str) -> None:
    most = 5 if level == CHAMPION else 100
    first = play(f"partner:level={level}", new_game(game), most)
    assert first == play(f"partner:level={level}", new_game(game), most)


@pytest.mark.parametrize("game", ["patchwork", "nmbr9"])
def test_games_begin_in_different_ways(game: str) -> None:
    openings = {tuple(play("partner:level=1", new_game(game), 4, seed)) for seed in range(10)}
    assert len(openings) > 5


def test_without_a_level_it_is_the_one_in_the_middle() -> None:
    spec = f"partner:level={DEFAULT_LEVEL}"
    assert (agents.load("partner").name, agents.load(spec).name) == ("partner", spec)
    assert play("partner", new_game("patchwork"), 10) == play(spec, new_game("patchwork"), 10)


@pytest.mark.parametrize("level", ["0", "6", "2.5", "strong"])
def test_there_are_five_levels(level: str) -> None:
    with pytest.raises(ValueError, match="it must be an integer of 1 to 5"):
        agents.load(f"partner:level={level}")


def test_a_level_that_there_is_not_is_an_error_in_python_too() -> None:
    from patchwork_env.agents.partner import PartnerAgent

    with pytest.raises(ValueError, match="level is 6; allowed are 1 to 5"):
        PartnerAgent(level=6)


@pytest.mark.parametrize("game", ["patchwork", "nmbr9"])
def test_two_levels_higher_wins_nearly_always(game: str) -> None:
    result = play_matches("partner:level=3", "partner:level=1", 40, seed=2, game=game)
    assert result.win_rate > 0.85


@pytest.mark.parametrize("game", ["patchwork", "nmbr9"])
def test_the_beginner_is_no_random_player(game: str) -> None:
    assert play_matches("partner:level=1", "random", 40, seed=2, game=game).win_rate > 0.9
