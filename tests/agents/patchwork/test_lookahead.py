"""Look-ahead: the successors by the best action of each kind of move."""

import numpy as np
import pytest
import torch

from patchwork_env.agents.network_config import NetworkConfig
from patchwork_env.agents.nmbr9.policy_network import Nmbr9Network
from patchwork_env.agents.patchwork.policy.dense import DensePolicy
from patchwork_env.agents.patchwork.policy.features import NUM_KINDS
from patchwork_env.agents.patchwork.policy.network import PatchworkNetwork, successors_of
from patchwork_env.patchwork import Game
from patchwork_env.patchwork.components import LAST_SPACE
from patchwork_env.patchwork.observation import SLICES
from tests.agents.positions import many_states, play_forced


@pytest.fixture(scope="module")
def states():
    states = many_states()[::7]
    late = np.repeat(states[states["position"].max(axis=1) == LAST_SPACE], 2)
    late["buttons"] = np.resize([[20, 120], [120, 20]], late["buttons"].shape)
    return np.concatenate([states, late])


def test_successors_are_those_of_the_game(states):
    inputs = PatchworkNetwork.encode(states)[0]
    ties = np.random.default_rng(0).integers(4, size=len(inputs.actions)).astype(np.float32)
    found = successors_of(*inputs, torch.from_numpy(ties))
    where = {place: k for k, place in enumerate(found.places.tolist())}
    kinds, leads, went_on = PatchworkNetwork.kinds_of(inputs.actions), set(), 0
    for row in range(len(states)):
        game, mine = Game.unchecked(states, row), inputs.rows == row
        for kind in range(NUM_KINDS):
            place, of_kind = row * NUM_KINDS + kind, mine & (kinds == kind)
            if not of_kind.any() or bool((kinds[mine] == kind).all()):
                assert place not in where
                assert not found.successor_values[row, kind].any()
                continue
            after, player = game.clone(), game.current_player
            after.play(int(inputs.actions[of_kind][ties[of_kind.numpy()].argmax()]))
            play_forced(after)
            if after.is_over:
                margin = (after.scores()[player] - after.scores()[1 - player]) / 40
                expected = [1 if after.winner() == player else -1, min(max(margin, -1), 1), 0]
                np.testing.assert_allclose(found.successor_values[row, kind], expected, atol=1e-6)
                leads.add(expected[1])
            else:
                seen = after.observation(after.current_player)
                k = where[place]
                np.testing.assert_array_equal(found.observations[k], seen)
                assert found.signs[k] == (1 if after.current_player == player else -1)
                went_on += 1
    assert {-1, 1} < leads
    assert went_on == len(where) > 50


def test_an_empty_batch_and_arrays_that_are_no_observations():
    empty = successors_of(torch.zeros(0, 307), *(torch.zeros(0, dtype=torch.int64),) * 2, torch.zeros(0))
    assert len(empty.places) == 0
    random = np.random.default_rng(0)
    observations = torch.from_numpy(random.uniform(-1, 2, (64, 307)).astype(np.float32))
    actions = torch.from_numpy(np.sort(random.integers(2026, size=(64, 30)), axis=1)).flatten()
    found = successors_of(observations, torch.arange(64).repeat_interleave(30), actions, torch.zeros(1920))
    assert found.successor_values.isfinite().all()
    has_special_patch = observations[:, SLICES["players"]][:, 1] > 0.5
    assert len(found.places) > 20
    assert not has_special_patch[found.places // NUM_KINDS].any()


@pytest.mark.parametrize("factor", [0, 5])
def test_a_factor_is_what_a_value_of_1_adds(states, monkeypatch, factor):
    network = PatchworkNetwork(NetworkConfig(width=8, depth=1, lookahead=True))
    network.look_ahead(factor)
    assert network.looks_ahead == (factor > 0)
    inputs = PatchworkNetwork.encode(states)[0]
    scores = torch.zeros(len(inputs.actions))
    monkeypatch.setattr(network, "values", lambda observations: torch.full((len(observations),), 0.5))
    found = successors_of(*inputs, scores)
    successor_values = network.successor_values_of(inputs, scores)
    assert successor_values.shape[1:] == network.successor_values_shape
    judged = successor_values.view(len(states) * NUM_KINDS, -1)[found.places]
    torch.testing.assert_close(judged.sum(1), 0.5 * (factor > 0) * found.signs)


def test_what_cannot_look_ahead():
    network = PatchworkNetwork(NetworkConfig(width=8, depth=1, lookahead=True))
    with pytest.raises(ValueError, match=r"network\.lookahead is True"):
        DensePolicy(network)
    network.look_ahead(0)
    assert DensePolicy(network).network is network
    with pytest.raises(NotImplementedError, match="networks for nmbr9 do not look ahead"):
        Nmbr9Network(NetworkConfig(width=8, depth=1)).look_ahead(1)
