"""Agents of NMBR 9: what holds for all of them, and that agents of the other game refuse it."""

from __future__ import annotations

import numpy as np
import pytest

from patchwork_env import agents
from patchwork_env.agents import Agent, CallableAgent
from patchwork_env.agents.nmbr9 import greedy
from patchwork_env.nmbr9 import Game
from patchwork_env.patchwork import Game as PatchworkGame
from patchwork_env.testing import check_agent

TURNED = [{"players": 2}, {"order": "known"}]
FREE = {"order": "free", "max_digit": 5, "deck_size": 7}


def all_agents(seed: int = 1) -> list[Agent]:
    """One agent of every kind, those with a learned value without search."""
    learned = [f"{name}:instant" for name in agents.names("nmbr9") if agents.path_of(name)]
    function = CallableAgent(lambda game: game.legal_actions()[-1], "last")
    return [*(agents.load(spec, seed) for spec in ("random", "greedy", *learned)), function]


@pytest.mark.parametrize("agent", all_agents(), ids=lambda agent: agent.name)
@pytest.mark.parametrize("settings", [*TURNED, FREE], ids=str)
def test_agents_keep_their_promises(agent: Agent, settings) -> None:
    if settings == FREE and ":instant" in agent.name:
        with pytest.raises(ValueError, match="does not choose digits"):
            agent.act(Game(seed=3, **settings))
    else:
        check_agent(agent, game="nmbr9", **settings)


def test_random_and_greedy_play_both_games_by_their_records() -> None:
    for name in ("random", "greedy"):
        agent = agents.load(name, seed=5)
        for game in (Game(seed=1), PatchworkGame(seed=1)):
            assert agent.act(game) in game.legal_actions()
            assert agents.as_agent(agent, game="nmbr9") is agent
    assert agents.load("greedy").act(Game(seed=1)) == greedy.choose_action(Game(seed=1).state, 0)


def test_random_play_takes_every_legal_action_alike() -> None:
    game = Game(deck=[3, 5], players=1)
    game.play(game.legal_actions()[0])
    actions, states = game.legal_actions(), np.repeat(game.state, 4000)
    counts = np.unique(agents.load("random", seed=1).act_batch(states), return_counts=True)
    assert counts[0].tolist() == actions.tolist()
    expected = 4000 / len(actions)
    assert np.abs(counts[1] - expected).max() < 5 * np.sqrt(expected)


@pytest.mark.parametrize(
    "name", [name for name in agents.names("patchwork") if name not in agents.names("nmbr9")]
)
def test_agents_of_patchwork_alone_refuse_nmbr9(name: str) -> None:
    agent = agents.load(name)
    message = f"agent '{name}' plays patchwork, not nmbr9"
    with pytest.raises(ValueError, match=message):
        agent.act(Game(seed=1))
    with pytest.raises(ValueError, match=message):
        agents.as_agent(name, game="nmbr9")


def test_names_are_those_of_the_game() -> None:
    assert {"random", "greedy"} <= set(agents.names("nmbr9")) <= set(agents.names())
    assert set(agents.names()) == set(agents.names("nmbr9")) | set(agents.names("patchwork"))
    assert "mcts" not in agents.names("nmbr9")
    with pytest.raises(ValueError, match="game is 'chess'; allowed are 'patchwork', 'nmbr9'"):
        agents.names("chess")


def test_records_of_no_game_are_an_error() -> None:
    with pytest.raises(ValueError, match="are those of no game"):
        agents.load("random").act_batch(np.zeros(1, np.dtype([("board", "u1", 9)])))
