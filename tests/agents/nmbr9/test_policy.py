"""The policy network of NMBR 9 against its layers, action by action."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from patchwork_env import agents
from patchwork_env.agents.networks import NetworkConfig
from patchwork_env.agents.nmbr9 import greedy
from patchwork_env.agents.nmbr9.policy_features import IS_LIKELY, features_of
from patchwork_env.agents.nmbr9.policy_network import _TRUNK_TENSORS, Nmbr9Network
from patchwork_env.agents.policy import PolicyAgent, write_policy
from patchwork_env.core.files import write_folder
from patchwork_env.nmbr9 import Game
from patchwork_env.nmbr9.actions import FIRST_CHOICE
from patchwork_env.nmbr9.observation import SLICES
from patchwork_env.testing import check_agent

pytestmark = pytest.mark.bounds

SMALL = NetworkConfig(width=16, depth=1)


@pytest.fixture(scope="module")
def network():
    torch.manual_seed(1)
    network = Nmbr9Network(SMALL)
    with torch.no_grad():
        network.placement_score.weight.mul_(100)  # so that placements differ
    return network.eval()


@pytest.fixture(scope="module")
def games():
    """Games of all orders that go on, some played well and some at random."""
    rng, found = np.random.default_rng(0), []
    for seed in range(6):
        game = Game(seed=seed, order=("unknown", "known", "free")[seed % 3], players=1 + seed % 2)
        while not game.is_over:
            found.append(game.clone())
            sensible = rng.random() < seed / 6
            legal = game.legal_actions()
            game.play(greedy.choose_action(game.state, 0) if sensible else int(rng.choice(legal)))
    return found


def states_of(games):
    return np.concatenate([game.state for game in games])


def test_lists_hold_the_legal_actions_far_from_the_edge(games):
    _, lists = Nmbr9Network.encode(states_of(games))
    begin = 0
    for row, game in enumerate(games):
        legal = game.legal_actions()
        own = slice(begin, begin + len(legal))
        np.testing.assert_array_equal(lists.actions[own], legal)
        assert (lists.rows[own] == row).all()
        begin += len(legal)
    assert begin == len(lists.actions)


def naive_policy(network, game):
    """Log-probabilities of the legal actions and the value, action by action."""
    inputs, _ = Nmbr9Network.encode(game.state)
    features, view = features_of(*inputs), game.observation()
    seen = [view[SLICES[name]] for name in _TRUNK_TENSORS]
    trunk = network.trunk(torch.tensor([[*np.concatenate(seen), *features.positions[0].tolist()]]))[0]
    scores = []
    for action, placement in zip(inputs.actions.tolist(), features.placements, strict=True):
        score = network.choice(trunk)[max(action - FIRST_CHOICE, 0)]
        if action < FIRST_CHOICE:
            score = (network.placement(trunk) * placement).sum()
            if placement[IS_LIKELY]:
                hidden = network.placement_hidden(placement) + network.placement_context(trunk)
                score = score + network.placement_score(torch.relu(hidden))[0]
        scores.append(score)
    return torch.log_softmax(torch.stack(scores), 0), network.value(trunk)[0]


def test_policies_and_values_are_those_of_the_layers_action_by_action(network, games):
    inputs, _ = Nmbr9Network.encode(states_of(games))
    with torch.no_grad():
        output = network(inputs)
        torch.testing.assert_close(output.values, network.values(inputs.observations))
        for row in range(0, len(games), 5):
            expected, value = naive_policy(network, games[row])
            found = output.log_probabilities[inputs.rows == row]
            torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
            entropy = -(expected.exp() * expected).sum()
            torch.testing.assert_close(output.entropies[row], entropy, rtol=1e-4, atol=1e-4)
            torch.testing.assert_close(output.values[row], value, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("order", ["unknown", "known", "free"])
def test_agents_play_all_orders(network, order):
    check_agent(PolicyAgent(network, sample=True, seed=5), games=1, order=order, deck_size=6)


def test_a_kind_that_the_game_has_not_is_refused(tmp_path):
    write_folder(tmp_path / "policy", lambda folder: write_policy(folder, Nmbr9Network(SMALL)))
    path = tmp_path / "policy" / "checkpoint.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"policy": "maskable_ppo"}))
    with pytest.raises(ValueError, match="'maskable_ppo'; this library plays of those for nmbr9: 'network'"):
        agents.load(tmp_path / "policy")
