"""An agent that several threads use at once plays as it does alone."""

from __future__ import annotations

import copy
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from patchwork_env import agents, nmbr9, patchwork
from patchwork_env.agents import Agent, BatchAgent
from patchwork_env.agents.checkpoints import SHIPPED_FOLDER
from patchwork_env.agents.patchwork import champion as value
from patchwork_env.core.game import BaseGame

CALLS = 8
"""Moves of each thread."""


def positions(game: BaseGame) -> list[BaseGame]:
    """Positions of a random game, without the last ones, which agents play at once."""
    rng, found = np.random.default_rng(3), []
    while not game.is_over:
        found.append(game.clone())
        game.play(rng.choice(game.legal_actions()))
    return found[: len(found) // 2]


def value_agent() -> Agent:
    return value.load(SHIPPED_FOLDER / "champion")


CASES = {
    "champion": (lambda: agents.load("champion:nodes=40"), lambda: patchwork.Game(seed=1)),
    "mcts": (lambda: agents.load("mcts:simulations=60", 5), lambda: patchwork.Game(seed=2)),
    "value": (value_agent, lambda: patchwork.Game(seed=3)),
    "nmbr9": (lambda: agents.load("nmbr9_champion:nodes=600", 5), lambda: nmbr9.Game(seed=4)),
    "nmbr9 value": (lambda: agents.load("nmbr9_champion:instant"), lambda: nmbr9.Game(seed=5)),
    "beam": (lambda: agents.load("beam:width=3"), lambda: nmbr9.Game(seed=6, order="known")),
}


@pytest.mark.parametrize("name", CASES)
def test_calls_from_several_threads_do_what_they_would_do_alone(name: str) -> None:
    make, new_game = CASES[name]
    agent, games, threads = make(), positions(new_game()), 4
    agent.act(games[0])  # compiles
    alone, order = copy.deepcopy(agent), []
    check = agent.check_states
    agent.check_states = lambda states: order.append((threading.get_ident(), states.copy())) or check(states)
    start = threading.Barrier(threads)

    def play(thread: int) -> tuple[int, list[int]]:
        start.wait()
        chosen = [agent.act(games[(thread + call) % len(games)]) for call in range(CALLS)]
        return threading.get_ident(), chosen

    with ThreadPoolExecutor(threads) as pool:
        answers = dict(pool.map(play, range(threads)))
    assert len(order) == threads * CALLS
    kind = type(games[0])
    expected = [(thread, alone.act(kind.from_state(states))) for thread, states in order]
    assert {t: [action for thread, action in expected if thread == t] for t in answers} == answers


def test_calls_of_agents_of_others_take_turns_too() -> None:
    class Busy(BatchAgent):
        name = "busy"
        inside, most = 0, 0

        def act_batch(self, states: np.ndarray) -> np.ndarray:
            self.inside += 1
            self.most = max(self.most, self.inside)
            threading.Event().wait(0.001)
            self.inside -= 1
            return np.zeros(len(states), np.int64)

    agent, state = Busy(), patchwork.Game(seed=1).state
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: agent.act_batch(state), range(16)))
    assert agent.most == 1


@pytest.mark.parametrize("name", ["champion", "mcts", "value", "nmbr9"])
def test_copies_and_pickles_have_memory_of_their_own(name: str) -> None:
    make, new_game = CASES[name]
    agent, game = make(), new_game()
    agent.act(game)
    for twin in (copy.copy(agent), copy.deepcopy(agent), pickle.loads(pickle.dumps(agent))):
        assert twin.workspace() is not agent.workspace()
        assert twin._lock is not agent._lock
        assert twin.act(game) in game.legal_actions()
    assert len(pickle.dumps(agent)) < 5_000_000
