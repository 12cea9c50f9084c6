"""The agent that plans, and the specs that name it."""

from __future__ import annotations

import json
import shutil

import pytest
import torch

from patchwork_env import agents
from patchwork_env.agents.networks import NetworkConfig
from patchwork_env.agents.patchwork.dynamics import PatchworkDynamics
from patchwork_env.agents.patchwork.policy import GumbelAgent, PolicyAgent, save_policy
from patchwork_env.agents.patchwork.policy_network import PatchworkNetwork
from patchwork_env.patchwork import Game
from patchwork_env.patchwork.components import LAST_SPACE
from tests.agents.positions import many_states


@pytest.fixture(scope="module")
def network():
    torch.manual_seed(1)
    return PatchworkNetwork(NetworkConfig(width=8, depth=1, channels=4)).eval()


@pytest.fixture(scope="module")
def checkpoint(network, tmp_path_factory):
    folder = tmp_path_factory.mktemp("run") / "final"
    save_policy(folder, network, {"reward": {"outcome": 0.5, "margin": 2.0, "margin_scale": 10}})
    return folder


def exact_value(game: Game, dynamics: PatchworkDynamics) -> float:
    """Of player 0, from the whole rest of the game."""
    if game.is_over:
        return float(dynamics.returns(game.state)[0])
    values = []
    for action in game.legal_actions():
        after = game.clone()
        after.play(int(action))
        values.append(exact_value(after, dynamics))
    return max(values) if game.current_player == 0 else min(values)


def test_the_last_decisions_of_a_game_are_right(network) -> None:
    """One player is at the end of the track, the other one buys or not: all can be counted through."""
    dynamics = PatchworkDynamics(1, 1, 40)
    agent = GumbelAgent(network, simulations=400, dynamics=dynamics)
    states = many_states()
    late = states[(states["position"].max(axis=1) == LAST_SPACE) & (states["position"].min(axis=1) > 47)]
    decided = 0
    for i in range(len(late)):
        game = Game.from_state(late, i)
        if not 2 <= len(game.legal_actions()) <= 12:
            continue
        value = exact_value(game, dynamics)
        game.play(agent.act(game))
        assert exact_value(game, dynamics) == pytest.approx(value)
        decided += 1
    assert decided >= 10


# --- specs -------------------------------------------------------------------------------------------------


def test_a_spec_plans_for_the_payoffs_that_the_network_learned_from(checkpoint, network, tmp_path) -> None:
    agent = agents.load(f"{checkpoint}:simulations=16")
    assert isinstance(agent, GumbelAgent)
    assert (agent.simulations, agent.name) == (16, "final")
    dynamics = agent.dynamics
    assert (dynamics.outcome, dynamics.margin, dynamics.margin_scale) == (0.5, 2, 10)
    save_policy(tmp_path / "old", network, {})
    dynamics = agents.load(f"{tmp_path / 'old'}:simulations=2").dynamics
    assert (dynamics.outcome, dynamics.margin, dynamics.margin_scale) == (1, 1, 40)


def test_wrong_options_are_errors(checkpoint, network) -> None:
    for text in ("1", "0", "-3", "1.5", "many", "", "1_000", "٣"):
        with pytest.raises(ValueError, match=f"'simulations' of .* is '{text}'; .* integer of 2 to 1000000"):
            agents.load(f"{checkpoint}:simulations={text}")
    with pytest.raises(ValueError, match="simulations is 1; allowed are 2 to 1000000"):
        GumbelAgent(network, simulations=1)
    with pytest.raises(ValueError, match=r"sample=true and simulations=8 .* allowed is one of them"):
        agents.load(f"{checkpoint}:sample=true,simulations=8")
    assert isinstance(agents.load(f"{checkpoint}:sample=false,simulations=8"), GumbelAgent)


def test_damaged_payoffs_are_an_error(checkpoint, tmp_path) -> None:
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
