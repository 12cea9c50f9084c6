"""Levels for people: what each sees, misses and gets wrong."""

from __future__ import annotations

import pytest

from patchwork_env import agents
from patchwork_env.agents.partner import BEGINNER, CHAMPION
from patchwork_env.patchwork import Game

LEVELS = range(BEGINNER, CHAMPION + 1)


def play(agent: agents.Agent, seed: int) -> list[int]:
    """The actions of a game of an agent against itself, with a seed for every move."""
    game, actions = Game(seed=seed), []
    while not game.is_over:
        agent.reseed(seed + game.num_moves)
        actions.append(agent.act(game))
        game.play(actions[-1])
    return actions


@pytest.mark.parametrize("level", LEVELS)
def test_a_seed_for_every_move_decides_on_the_whole_game(level: int) -> None:
    agent = agents.load(f"partner:level={level}")
    first = play(agent, seed=1)
    assert first == play(agents.load(f"partner:level={level}", seed=5), seed=1)


@pytest.mark.parametrize("level", ["0", "6", "2.5", "strong"])
def test_there_are_five_levels(level: str) -> None:
    with pytest.raises(ValueError, match="it must be an integer of 1 to 5"):
        agents.load(f"partner:level={level}")


def test_the_highest_level_is_the_champion() -> None:
    game, champion = Game(seed=2), agents.load("champion:instant")
    for _ in range(6):
        action = agents.load("partner:level=5").act(game)
        assert action == champion.act(game)
        game.play(action)
