"""Properties of all agents in all games, and the objects that count as agents."""

from __future__ import annotations

import copy
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from patchwork_env import agents, nmbr9, patchwork
from patchwork_env.agents import Agent, BatchAgent, CallableAgent, GreedyAgent, ObservingAgent, RandomAgent
from patchwork_env.agents.checkpoints import SHIPPED_FOLDER, read_checkpoint
from patchwork_env.agents.patchwork.champion import agent as value
from patchwork_env.agents.uct import UctAgent
from patchwork_env.errors import IllegalActionError
from patchwork_env.games import rules_of
from patchwork_env.patchwork import Game
from patchwork_env.search.tree import ROOT
from patchwork_env.testing import check_agent
from tests.envs.cases import LastAction

SETTINGS: list[tuple[str, dict[str, Any]]] = [
    ("patchwork", {}),
    ("patchwork", {"special_patches": "2014"}),
    ("nmbr9", {"players": 2, "deck_size": 9}),
    ("nmbr9", {"order": "known", "deck_size": 7}),
    ("nmbr9", {"order": "free", "max_digit": 4, "deck_size": 5}),
    ("row", {}),
]
SMALL = {
    "champion": "champion:nodes=40",
    "mcts": "mcts:simulations=40",
    "uct": "uct:simulations=30",
    "nmbr9_champion": "nmbr9_champion:nodes=600",
}
"""Specs of searches with small budgets, by name."""
MORE = {
    "patchwork": ("champion:instant", "ppo-quick:sample=true", "partner:level=1"),
    "nmbr9": ("nmbr9_champion:instant", *(f"partner:level={level}" for level in (1, 2, 4))),
}
OWN = (
    LastAction(),
    CallableAgent(lambda game: game.legal_actions()[len(game.legal_actions()) // 2], "middle"),
)

FIRST = ObservingAgent(lambda observations, masks: masks.argmax(1), "first")


def cases():
    """Yield all agents with all settings that they play."""
    for game, options in SETTINGS:
        specs = [SMALL.get(name, name) for name in (*agents.names(game), *MORE.get(game, ()))]
        for agent in (*specs, *OWN, *(["beam:width=3"] if options.keys() & {"order"} else [])):
            if options.get("order") != "free" or "champion" not in str(agent):
                yield pytest.param(agent, game, options, id=f"{agent}-{game}-{options}")


@pytest.mark.parametrize(("agent", "game", "options"), list(cases()))
def test_agents_keep_their_promises(agent, game, options):
    check_agent(agent, game=game, games=1, seed=1, **options)


def middle_positions(game):
    """Return the positions of the first half of a random game."""
    rng, found = np.random.default_rng(3), []
    while not game.is_over:
        found.append(game.clone())
        game.play(rng.choice(game.legal_actions()))
    return found[: len(found) // 2]


@pytest.mark.parametrize(
    ("spec", "game"),
    [
        *(("random", "patchwork"), ("uct:simulations=30", "nmbr9"), ("mcts:simulations=40", "patchwork")),
        *(("partner", "patchwork"), ("partner", "nmbr9"), ("ppo-quick:sample=true", "patchwork")),
        ("nmbr9_champion:nodes=600", "nmbr9"),
    ],
)
def test_a_seed_determines_all_choices(spec, game):
    states = np.concatenate([one.state for one in middle_positions(rules_of(game).game(seed=3))[:8]])
    first, same, other, fresh, fresher = (agents.load(spec, seed) for seed in (5, 5, 6, None, None))
    chosen = [[agent.act_batch(states).tolist() for _ in range(3)] for agent in (first, same, other)]
    assert chosen[0] == chosen[1] != chosen[2]
    assert len(set(map(tuple, chosen[0]))) > 1, "calls go on with the numbers where the one before stopped"
    first.reseed(5)
    assert [first.act_batch(states).tolist() for _ in range(3)] == chosen[0]
    assert any((fresh.act_batch(states) != fresher.act_batch(states)).any() for _ in range(40))


def test_a_game_of_a_batch_that_is_over_is_named():
    game = Game(seed=1)
    while not game.is_over:
        game.play(game.legal_actions()[0])
    for agent in (agents.load("random"), OWN[1], FIRST, agents.load("program:sh")):
        with pytest.raises(ValueError, match="the game is over"):
            agent.act(game)
        with pytest.raises(ValueError, match="game 1 of the batch is over"):
            agent.act_batch(np.concatenate([Game(seed=1).state, game.state]))


@pytest.mark.parametrize("name", agents.names())
def test_agents_refuse_other_games(name):
    agent = agents.load(name)
    for game in {"patchwork", "nmbr9"} - set(agent.games):
        with pytest.raises(ValueError, match=f"agent '{name}' plays .*, not {game}"):
            agent.act(rules_of(game).game(seed=1))
        with pytest.raises(ValueError, match=f"plays .*, not {game}"):
            agents.as_agent(name, game=game)


@pytest.mark.parametrize("game", [Game(seed=4), nmbr9.Game(deck=[3, 5])])
def test_random_actions_are_uniform(game):
    game.play(game.legal_actions()[0])
    legal, draws = game.legal_actions(), 200
    counts = np.zeros(game.rules.num_actions, np.int64)
    np.add.at(counts, RandomAgent(seed=3).act_batch(np.repeat(game.state, draws * len(legal))), 1)
    assert counts.sum() == counts[legal].sum()
    chi_squared = ((counts[legal] - draws) ** 2 / draws).sum()
    freedom = len(legal) - 1
    assert abs(chi_squared - freedom) < 4 * np.sqrt(2 * freedom)


def test_a_function_gets_a_copy_of_the_game():
    def spoiler(game):
        action = game.legal_actions()[0]
        game.play(action)
        return action

    agent, game = CallableAgent(spoiler), Game(seed=1)
    before = game.to_bytes()
    assert (agent.name, agent.act(game)) == ("spoiler", 0)
    assert game.to_bytes() == before


def test_a_function_must_return_an_integer():
    with pytest.raises(IllegalActionError, match="'lazy' must be an integer"):
        CallableAgent(lambda game: None, "lazy").act(Game(seed=1))


def test_specs_agents_and_functions_are_agents():
    greedy = GreedyAgent()
    assert agents.as_agent(greedy, game="nmbr9") is greedy
    assert isinstance(agents.as_agent("random"), RandomAgent)
    assert isinstance(agents.as_agent(lambda game: 0), CallableAgent)


@pytest.mark.parametrize("wrong", [7, None, Agent, GreedyAgent, int])
def test_other_objects_and_classes_are_refused(wrong):
    with pytest.raises(ValueError, match="is not an agent; allowed are a spec"):
        agents.as_agent(wrong)


VALUE = read_checkpoint(SHIPPED_FOLDER / "champion")
THREADED = {
    "champion": (lambda: agents.load("champion:nodes=40"), lambda: patchwork.Game(seed=1)),
    "mcts": (lambda: agents.load("mcts:simulations=60", 5), lambda: patchwork.Game(seed=2)),
    "value": (lambda: value.load(VALUE), lambda: patchwork.Game(seed=3)),
    "nmbr9": (lambda: agents.load("nmbr9_champion:nodes=600", 5), lambda: nmbr9.Game(seed=4)),
    "nmbr9 value": (lambda: agents.load("nmbr9_champion:instant"), lambda: nmbr9.Game(seed=5)),
    "beam": (lambda: agents.load("beam:width=3"), lambda: nmbr9.Game(seed=6, order="known")),
}


@pytest.mark.parametrize("name", THREADED)
def test_concurrent_calls_equal_sequential_ones(name):
    make, new_game = THREADED[name]
    agent, games, threads, calls = make(), middle_positions(new_game()), 4, 8
    agent.act(games[0])  # compiles
    alone, order = copy.deepcopy(agent), []
    check = agent.check_states
    agent.check_states = lambda states: order.append((threading.get_ident(), states.copy())) or check(states)
    start = threading.Barrier(threads)

    def play(thread):
        start.wait()
        chosen = [agent.act(games[(thread + call) % len(games)]) for call in range(calls)]
        return threading.get_ident(), chosen

    with ThreadPoolExecutor(threads) as pool:
        answers = dict(pool.map(play, range(threads)))
    assert len(order) == threads * calls
    kind = type(games[0])
    expected = [(thread, alone.act(kind.from_state(states))) for thread, states in order]
    assert {t: [action for thread, action in expected if thread == t] for t in answers} == answers


def test_calls_of_user_agents_are_serialized_too():
    class Busy(BatchAgent):
        name = "busy"
        inside, most = 0, 0

        def act_batch(self, states):
            self.inside += 1
            self.most = max(self.most, self.inside)
            threading.Event().wait(0.001)
            self.inside -= 1
            return np.zeros(len(states), np.int64)

    agent, state = Busy(), patchwork.Game(seed=1).state
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: agent.act_batch(state), range(16)))
    assert agent.most == 1
    with pytest.raises(TypeError, match="takes no keyword arguments"):
        type("Misspelt", (Agent,), {}, nmae="misspelt")


@pytest.mark.parametrize("name", ["champion", "mcts", "value", "nmbr9"])
def test_copies_and_pickles_have_their_own_memory(name):
    make, new_game = THREADED[name]
    agent, game = make(), new_game()
    agent.act(game)
    for twin in (copy.copy(agent), copy.deepcopy(agent), pickle.loads(pickle.dumps(agent))):
        assert twin.workspace() is not agent.workspace()
        assert twin._lock is not agent._lock
        assert twin.act(game) in game.legal_actions()
    assert len(pickle.dumps(agent)) < 5_000_000


def test_budgets_are_kept_and_only_choices_are_searched(monkeypatch):
    """The clock advances by a second when it is read, and 20 simulations are made in between."""
    game, legal = Game(seed=1), Game(seed=1).legal_actions()
    for options, moves in (({"simulations": 60}, 12), ({"seconds": 3}, 256)):
        monkeypatch.setattr("patchwork_env.agents.uct.perf_counter", iter(range(9)).__next__)
        agent = UctAgent(1, **options)
        agent.act(game)
        tree = agent.workspace()["patchwork"].tree
        assert (tree.nodes[ROOT]["visits"], tree.nodes[ROOT]["count"], tree.sizes[0]) == (60, moves, 61)
        assert {*tree.edges["action"][:moves]} - {*legal[:moves]}, "moves are drawn from all legal ones"
    hiding = nmbr9.Game(seed=1, players=2, order="known")
    hiding.play(hiding.legal_actions()[0])
    for position, visits in ((nmbr9.Game(seed=1), 2), (nmbr9.Game(seed=1, order="known"), 16), (hiding, 2)):
        agent = UctAgent(1, simulations=16)
        agent.act(position)
        assert agent.workspace()["nmbr9"].tree.nodes[ROOT]["visits"] == visits, "only hidden ones get 8 trees"
    for blocked, is_searched in ((11, False), (10, True)):
        agent = UctAgent(1, simulations=9)
        agent.act(rules_of("row").game(seed=1, blocked=blocked))
        assert bool(agent.workspace()["row"].tree.sizes[0]) == is_searched
