"""Runs that turn look-ahead on late: until then they equal runs without look-ahead."""

import copy

import pytest
import torch

from patchwork_env.agents.checkpoints import read_checkpoint
from patchwork_env.agents.networks import read_network
from patchwork_env.agents.patchwork.policy import network as policy_network
from patchwork_env.errors import ConfigError
from patchwork_env.learning.algorithms.common.trainer import make_trainer, split
from patchwork_env.learning.config import load_config
from tests.agents.positions import many_states

SMALL = [
    *("network.width=16", "network.depth=1", "ppo.num_envs=8", "ppo.rollout_steps=8", "seed=3"),
    *("league.fraction=0.5", "league.snapshot_every=1", "total_steps=256", "ppo.precision=float32"),
]
NEVER = ["network.lookahead=false", "ppo.lookahead_from=0"]
LATE = ["network.lookahead=true", "ppo.lookahead_from=0.5"]
"""The last two of the four iterations look ahead."""


def trainer_after(iterations, overrides=LATE):
    trainer = make_trainer(load_config("ppo", [*SMALL, *overrides]))
    for _ in range(iterations):
        trainer.step()
    return trainer


@pytest.fixture(scope="module")
def states():
    """The states of one run after each of its iterations."""
    trainer, found = trainer_after(0), []
    for _ in range(4):
        trainer.step()
        found.append(copy.deepcopy(trainer.state_dict()))
    return found


def resumed(states, iteration):
    """A trainer that continues from the state of another one after some iterations."""
    trainer = trainer_after(0)
    trainer.load_state_dict(states[iteration - 1])
    return trainer


def differences(tensors, others):
    """The names of the tensors without an identical one among the others."""
    return [name for name in tensors if name not in others or not torch.equal(tensors[name], others[name])]


@pytest.fixture
def looks(monkeypatch):
    """A list that gets the size of every batch with look-ahead."""
    sizes, find = [], policy_network.successors_of

    def successors_of(observations, *lists):
        sizes.append(len(observations))
        return find(observations, *lists)

    monkeypatch.setattr(policy_network, "successors_of", successors_of)
    return sizes


def test_a_run_looks_ahead_from_its_share_on(looks, tmp_path):
    late, never = trainer_after(2), trainer_after(2, NEVER)
    assert not late.network.looks_ahead
    assert differences(late.network.state_dict(), never.network.state_dict()) == ["ahead.weight"]
    late.write_policy(tmp_path)
    policy = read_network(read_checkpoint(tmp_path), policy_network.PatchworkNetwork)
    inputs = policy.encode(many_states()[::7])[0]
    with torch.inference_mode():
        assert all(map(torch.equal, policy(inputs), never.trained(inputs)))
    assert looks == []
    late.step()
    assert len(looks) > 8  # every turn of the rollout
    factors = 10 * late.network.ahead.weight.detach()
    torch.testing.assert_close(factors, torch.full((1, 3), 12.0), rtol=0, atol=0.5)
    assert (factors != 12).any()  # it is learned


def test_given_successor_values_replace_those_of_successors(looks):
    network, states = trainer_after(3).network, many_states()[::7]
    inputs = network.encode(states)[0]
    with torch.no_grad():
        found = network(inputs)
        looks.clear()
        given = network(inputs, found.successor_values)
        other = network(inputs, -found.successor_values)
    assert looks == []
    assert torch.equal(given.log_probabilities, found.log_probabilities)
    assert not torch.allclose(other.log_probabilities, found.log_probabilities)
    assert torch.equal(other.values, found.values)


@pytest.mark.parametrize("iteration", [1, 2, 3])
def test_resumed_runs_go_on_to_the_same_bits(states, iteration):
    """Their past selves look ahead as before."""
    trainer = resumed(states, iteration)
    while not trainer.is_done:
        trainer.step()
    assert trainer.network.looks_ahead
    snapshots = resumed(states, 4).pool.snapshots.values()
    assert [policy.looks_ahead for policy in snapshots] == [False, False, True, True]
    (values, tensors), (expected, others) = split(trainer.state_dict()), split(states[-1])
    assert differences(others, tensors) == []
    assert values | {"seconds": 0} == expected | {"seconds": 0}


def test_a_run_without_look_ahead_can_be_resumed_with_it():
    never, late = trainer_after(3, NEVER), trainer_after(0)
    late.load_state_dict(never.state_dict())
    assert not late.network.looks_ahead
    assert differences(never.network.state_dict(), late.network.state_dict()) == []
    late.step()
    assert [policy.looks_ahead for policy in late.pool.snapshots.values()] == [False, False, False, True]


def test_settings_that_do_not_fit_together_are_refused():
    for overrides, message in (
        ([LATE[1]], r"ppo\.lookahead_from is 0\.5 and network\.lookahead is false"),
        ([LATE[0], "ppo.lookahead_from=1"], "less than 1"),
        ([LATE[0], "ppo.lookahead_from=-0.1"], "greater than or equal to 0"),
    ):
        with pytest.raises(ConfigError, match=message):
            load_config("ppo", [NEVER[0], *overrides])
