"""What holds for all agents, and the agent that plays at random."""

from __future__ import annotations

import numpy as np
import pytest

from patchwork_env import agents
from patchwork_env.agents import Agent, CallableAgent, RandomAgent
from patchwork_env.agents.base import check_running
from patchwork_env.patchwork import Game, engine
from patchwork_env.testing import check_agent
from tests.agents.positions import many_states


class HighestAction(Agent):
    """Has no batch of its own."""

    name = "highest"

    def act(self, game: Game) -> int:
        check_running(game.state)
        return int(game.legal_actions()[-1])


def all_agents(seed: int = 1) -> list[Agent]:
    """One agent of every kind."""
    function = CallableAgent(lambda game: game.legal_actions()[len(game.legal_actions()) // 2], "middle")
    return [*(agents.load(name, seed) for name in agents.names("patchwork")), HighestAction(), function]


@pytest.mark.parametrize("agent", all_agents(), ids=lambda agent: agent.name)
@pytest.mark.parametrize("variant", ["revised", "2014"])
def test_agents_keep_their_promises(agent: Agent, variant: str) -> None:
    check_agent(agent, game="patchwork", special_patches=variant)


@pytest.mark.parametrize("agent", all_agents(), ids=lambda agent: agent.name)
def test_a_game_that_is_over_is_an_error(agent: Agent) -> None:
    game = Game(seed=1)
    while not game.is_over:
        game.play(game.legal_actions()[0])
    with pytest.raises(ValueError, match="the game is over"):
        agent.act(game)
    with pytest.raises(ValueError, match="game 1 of the batch is over"):
        agent.act_batch(np.concatenate([Game(seed=1).state, game.state]))


def test_a_function_gets_a_copy_of_the_game() -> None:
    def spoiler(game: Game) -> int:
        action = game.legal_actions()[0]
        game.play(action)
        return action

    agent, game = CallableAgent(spoiler), Game(seed=1)
    before = game.to_bytes()
    assert agent.name == "spoiler"
    assert agent.act(game) == 0
    assert game.to_bytes() == before


def test_a_function_must_return_an_integer() -> None:
    with pytest.raises(ValueError, match="the action of agent 'lazy' must be an integer, not None"):
        CallableAgent(lambda game: None, "lazy").act(Game(seed=1))


def test_random_actions_are_uniform() -> None:
    agent, game = RandomAgent(seed=3), Game(seed=4)
    legal, draws = game.legal_actions(), 200
    counts = np.zeros(2026, np.int64)
    np.add.at(counts, agent.act_batch(np.repeat(game.state, draws * len(legal))), 1)
    assert counts.sum() == counts[legal].sum()
    chi_squared = ((counts[legal] - draws) ** 2 / draws).sum()
    freedom = len(legal) - 1
    assert abs(chi_squared - freedom) < 4 * np.sqrt(2 * freedom)


def test_random_agents_repeat_themselves_after_the_same_seed() -> None:
    states = many_states()
    agent = RandomAgent(seed=3)
    first, second = agent.act_batch(states), agent.act_batch(states)
    agent.reseed(3)
    assert (agent.act_batch(states) == first).all()
    assert (first != second).any()
    assert (RandomAgent().act_batch(states) != RandomAgent().act_batch(states)).any()


def test_random_agents_play_as_the_published_statistics_say() -> None:
    agent, turns, scores = RandomAgent(seed=5), 0, []
    states = np.concatenate([Game(seed=seed).state for seed in range(1000)])
    running = np.arange(len(states))
    while len(running):
        for i, action in zip(running, agent.act_batch(states[running]), strict=True):
            engine.apply(states, i, action)
        turns += len(running)
        running = running[[not engine.is_over(states, i) for i in running]]
    scores = [engine.score(states, i, player) for i in range(len(states)) for player in (0, 1)]
    assert turns / len(states) == pytest.approx(42.81, abs=0.5)
    assert np.mean(scores) == pytest.approx(-11.2, abs=1.5)
