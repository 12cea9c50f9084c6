"""The agent that plans, and the specs that name it."""

import json
import shutil

import numpy as np
import pytest
import torch

from patchwork_env import agents
from patchwork_env.agents.network_config import NetworkConfig
from patchwork_env.agents.networks import PolicyAgent, save_policy
from patchwork_env.agents.patchwork.policy.agent import GumbelAgent, PatchworkDynamics
from patchwork_env.agents.patchwork.policy.network import PatchworkNetwork
from patchwork_env.patchwork import Game
from patchwork_env.patchwork.components import LAST_SPACE
from tests.agents.positions import many_states, play_forced
from tests.patchwork.endings import minimax, value_of


@pytest.fixture(scope="module")
def network():
    torch.manual_seed(1)
    return PatchworkNetwork(NetworkConfig(width=8, depth=1, channels=4)).eval()


@pytest.fixture(scope="module")
def checkpoint(network, tmp_path_factory):
    folder = tmp_path_factory.mktemp("run") / "final"
    save_policy(folder, network, {"reward": {"outcome": 0.5, "margin": 2.0, "margin_scale": 10}})
    return folder


def test_the_last_decisions_of_a_game_are_right(network):
    """One player is at the end of the track, so all moves of the other one can be enumerated."""
    agent = GumbelAgent(network, simulations=200, dynamics=PatchworkDynamics(1, 1, 40, 1))
    states = many_states()
    late = states[(states["position"].max(axis=1) == LAST_SPACE) & (states["position"].min(axis=1) > 47)]
    decided = 0
    for i in range(len(late)):
        game = Game.from_state(late, i)
        if not 2 <= len(game.legal_actions()) <= 12:
            continue
        assert value_of(game, agent.act(game)) == minimax(game)
        decided += 1
    assert decided >= 10


def test_a_spec_plans_for_the_payoffs_that_the_network_learned_from(checkpoint, network, tmp_path):
    agent = agents.load(f"{checkpoint}:simulations=16")
    assert isinstance(agent, GumbelAgent)
    assert (agent.simulations, agent.name) == (16, "final")
    dynamics = agent.dynamics
    assert (dynamics.outcome, dynamics.margin, dynamics.margin_scale, dynamics.margin_cut) == (0.5, 2, 10, 1)
    save_policy(tmp_path / "old", network, {})
    dynamics = agents.load(f"{tmp_path / 'old'}:simulations=2").dynamics
    assert (dynamics.outcome, dynamics.margin, dynamics.margin_scale) == (1, 1, 40)


def test_wrong_options_are_errors(checkpoint, network):
    for text in ("1", "1.5", "many"):
        with pytest.raises(ValueError, match=f"'simulations' of .* is '{text}'; .* integer of 2 to 1000000"):
            agents.load(f"{checkpoint}:simulations={text}")
    with pytest.raises(ValueError, match="simulations is 1; allowed are 2 to 1000000"):
        GumbelAgent(network, simulations=1)
    with pytest.raises(ValueError, match=r"sample=true and simulations=8 .* allowed is one of them"):
        agents.load(f"{checkpoint}:sample=true,simulations=8")
    assert isinstance(agents.load(f"{checkpoint}:sample=false,simulations=8"), GumbelAgent)


def test_damaged_payoffs_are_an_error(checkpoint, tmp_path):
    shutil.copytree(checkpoint, tmp_path / "copy")
    path = tmp_path / "copy" / "checkpoint.json"
    description = json.loads(path.read_text())
    right = {"outcome": 1, "margin": 1, "margin_scale": 40}
    for reward in (None, {"outcome": 1.0}, right | {"outcome": "1"}, right | {"margin_scale": 0}):
        description["info"]["reward"] = reward
        path.write_text(json.dumps(description))
        with pytest.raises(ValueError, match=r"copy.*info\.reward"):
            agents.load(f"{tmp_path / 'copy'}:simulations=8")
        assert isinstance(agents.load(tmp_path / "copy"), PolicyAgent)


def games_of(states):
    return [Game.from_state(states, i) for i in range(len(states))]


def test_steps_play_on_to_the_next_decision():
    dynamics, random = PatchworkDynamics(), np.random.default_rng(1)
    states = many_states()[::11]
    games = games_of(states)
    forced = 0
    while len(states):
        actions = np.array([random.choice(game.legal_actions()) for game in games])
        turns = [game.clone() for game in games]
        dynamics.step(states, actions)
        for game, before, action in zip(games, turns, actions, strict=True):
            game.play(int(action))
            play_forced(game)
            before.play(int(action))
            forced += before != game
        np.testing.assert_array_equal(states, np.concatenate([game.state for game in games]))
        finished = dynamics.finished(states)
        assert finished.tolist() == [game.is_over for game in games]
        assert dynamics.players(states).tolist() == [game.current_player for game in games]
        assert all(game.is_over or len(game.legal_actions()) > 1 for game in games)
        states, games = states[~finished], [game for game in games if not game.is_over]
    assert forced > 20


@pytest.mark.parametrize(
    ("outcome", "margin", "margin_scale", "cut"), [(1, 0, 40, 1), (0.5, 2, 10, 2), (0, 0.5, 0.5, None)]
)
def test_payoffs_are_outcome_and_clipped_margin(outcome, margin, margin_scale, cut):
    games, random = games_of(many_states()[::11]), np.random.default_rng(2)
    for game in games:
        while not game.is_over:
            game.play(random.choice(game.legal_actions()))
    dynamics, most = PatchworkDynamics(outcome, margin, margin_scale, cut), cut or 600 / margin_scale
    payoffs = dynamics.returns(np.concatenate([game.state for game in games]))
    assert payoffs.dtype == np.float32
    for game, payoff in zip(games, payoffs, strict=True):
        first, second = game.scores()
        lead = max(-most, min(most, (first - second) / margin_scale))
        won = 1 if game.winner() == 0 else -1
        assert payoff == pytest.approx(outcome * won + margin * lead)
    assert dynamics.value_range == 2 * (outcome + margin * most)


def test_wrong_payoffs_are_errors_that_name_them():
    wrong = {"margin": -0.1, "outcome": -0.1, "margin_scale": 0, "margin_cut": 0}
    for name, value in (*wrong.items(), ("margin", float("nan")), ("outcome", 0)):
        with pytest.raises(ValueError, match=name):
            PatchworkDynamics(**{name: value})
