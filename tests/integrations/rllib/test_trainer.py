"""A run of RLlib: it learns, it is saved and goes on, and it begins where it is told to."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest

from patchwork_env.errors import ConfigError, DivergenceError

pytest.importorskip("ray")

import torch
from ray.rllib.core.columns import Columns
from ray.rllib.core.learner.training_data import TrainingData
from ray.rllib.evaluation.postprocessing import Postprocessing

from patchwork_env import agents
from patchwork_env.agents.networks import NetworkConfig
from patchwork_env.agents.patchwork.policy import load_policy, save_policy
from patchwork_env.agents.patchwork.policy_network import PatchworkNetwork
from patchwork_env.integrations.rllib.league import MAIN, past_self
from patchwork_env.integrations.rllib.trainer import RllibTrainer
from patchwork_env.learning.algorithms.common.state import split
from patchwork_env.learning.config import Cluster, League, Network, Reward
from patchwork_env.learning.runs.checkpoints import begin_run, load_checkpoint, save_checkpoint
from patchwork_env.patchwork.observation import SLICES
from tests.integrations.rllib.small import small_config

pytestmark = [
    pytest.mark.older,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning"),
]


@pytest.fixture
def trainer_of(connection):
    made = []

    def make(config):
        made.append(RllibTrainer(config))
        return made[-1]

    yield make
    for trainer in made:
        trainer.close()


def equal(one, other):
    assert one.keys() == other.keys()
    return all(torch.equal(one[name], other[name]) for name in one)


def snapshots_every_iteration(game, **settings):
    return small_config(game, League(fraction=0.5, snapshot_every=1, opponents=2, size=3), **settings)


def test_the_loser_learns_that_he_has_lost_and_values_go_on_from_the_own_view(trainer_of):
    """Values are the own positions on the track: those are the targets of trajectories that were cut off."""
    config = small_config("patchwork", gae_lambda=1.0, batch_size=256)
    algorithm = trainer_of(config)._algorithm
    network = algorithm.learner_group._learner.module[MAIN].network
    own_position = SLICES["players"].start + 2
    network.values = lambda observations: 7 * observations[:, own_position]
    for _ in range(2):
        episodes = algorithm.env_runner.sample()
        last = {}
        for episode in episodes:
            for agent in episode.agent_ids:  # in RLlib's order
                part = episode.agent_episodes[agent]
                seen = part.get_observations(-1)["observation"]
                ended = sum(part.get_rewards()) if part.is_terminated else None
                last[episode.id_, agent] = (len(part), ended, 7 * float(seen[own_position]))
        learner = algorithm.learner_group._learner
        batch = learner._make_batch_if_necessary(TrainingData(episodes=episodes)).policy_batches[MAIN]
        targets, valid = batch[Postprocessing.VALUE_TARGETS], batch[Columns.LOSS_MASK]
        expected = []
        for length, ended, value in last.values():
            expected += [value if ended is None else ended] * length + [None]
        assert len(expected) == len(targets)
        for target, wanted, is_valid in zip(targets.tolist(), expected, valid.tolist(), strict=True):
            assert is_valid == (wanted is not None)
            if is_valid:
                assert target == pytest.approx(wanted, abs=1e-5)
    ends = [ended for _, ended, _ in last.values() if ended is not None]
    assert min(ends) < 0 < max(ends)


def test_the_league_grows_is_played_and_stays_as_it_is(trainer_of):
    trainer = trainer_of(snapshots_every_iteration("patchwork", batch_size=512))
    first = {name: tensor.clone() for name, tensor in trainer.network.state_dict().items()}
    runner = trainer._algorithm.env_runner
    metrics = [trainer.step() for _ in range(3)]
    assert list(trainer.pool.snapshots) == [0, 1, 2]
    assert not equal(first, trainer.network.state_dict())
    assert "league/snapshots" in metrics[-1]
    assert 0 <= metrics[-1]["games/win_rate_against_past_self"] <= 1
    assert set(trainer.pool.opponents) <= set(trainer._slots.values())
    for slot, number in trainer._slots.items():
        snapshot = trainer.pool.policy(number).state_dict()
        assert equal(snapshot, runner.module[past_self(slot)].network.state_dict())
    assert equal(trainer.network.state_dict(), runner.module[MAIN].network.state_dict())


def test_a_saved_run_goes_on(trainer_of, tmp_path):
    config = snapshots_every_iteration("nmbr9")
    config = config.model_copy(update={"reward": Reward(margin=1.0)})
    first = trainer_of(config)
    for _ in range(2):
        first.step()
    begin_run(tmp_path / "run", first, config)
    again = trainer_of(config)
    load_checkpoint(tmp_path / "run", again)
    assert (again.steps, again.iteration) == (first.steps, 2)
    assert equal(first.network.state_dict(), again.network.state_dict())
    (values, tensors), (other_values, others) = split(first.state_dict()), split(again.state_dict())
    assert values == other_values
    assert equal(tensors, others)
    before = again.network.state_dict()
    runner = again._algorithm.env_runner
    assert equal(before, runner.module[MAIN].network.state_dict())
    again.step()
    alike = trainer_of(config)
    load_checkpoint(tmp_path / "run", alike)
    alike.step()
    assert equal(again.network.state_dict(), alike.network.state_dict())  # it goes on alike every time
    assert again.iteration == 3
    assert list(again.pool.snapshots) == [0, 1, 2]
    assert runner.env.envs[0].unwrapped.salt == 2
    save_checkpoint(tmp_path / "run", again)
    agent = agents.load(tmp_path / "run" / "checkpoints" / f"step_{again.steps:010d}")
    assert agent.games == ("nmbr9",)
    other = trainer_of(config.model_copy(update={"network": Network(width=32, depth=1)}))
    with pytest.raises(ValueError, match="is 32, and 16 in"):
        load_checkpoint(tmp_path / "run", other)


def test_a_run_begins_with_the_policy_that_it_is_given(trainer_of, tmp_path):
    config = small_config("patchwork")
    torch.manual_seed(9)
    given = PatchworkNetwork(NetworkConfig(**config.network.model_dump()))
    save_policy(tmp_path / "given", given)
    trainer = trainer_of(small_config("patchwork", initial_policy=str(tmp_path / "given")))
    assert equal(given.state_dict(), trainer.network.state_dict())
    assert equal(given.state_dict(), trainer._algorithm.env_runner.module[MAIN].network.state_dict())
    trainer.write_policy(tmp_path)
    assert equal(load_policy(tmp_path)[0].state_dict(), given.state_dict())


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ("ppo-quick", "the section network asks for"),
        ("champion", "the policy of .* is 'value'; it must be 'network'"),
        ("nowhere/else", "is no checkpoint"),
        ("random", "is no checkpoint"),
    ],
)
def test_a_first_policy_that_does_not_fit_is_refused(spec, reason):
    with pytest.raises(ConfigError, match=rf"rllib_ppo\.initial_policy is '{spec}'.*{reason}"):
        RllibTrainer(small_config("patchwork", initial_policy=spec))


def test_a_worker_that_ends_is_replaced_and_knows_the_policy_and_the_past_selves(trainer_of):
    config = snapshots_every_iteration("patchwork")
    trainer = trainer_of(config.model_copy(update={"cluster": Cluster(workers=1)}))
    trainer.step()
    group = trainer._algorithm.env_runner_group
    process = group.foreach_env_runner(lambda runner: os.getpid(), local_env_runner=False)
    os.kill(process[0], signal.SIGKILL)
    trainer.step()
    assert trainer.iteration == 2
    trainer.step()
    weights = {name: tensor.numpy() for name, tensor in trainer.network.state_dict().items()}
    (known,) = group.foreach_env_runner(state_of_worker, local_env_runner=False)
    assert known["process"] != process[0]
    assert all((known["policy"][name] == array).all() for name, array in weights.items())
    assert known["opponents"] == 2


def state_of_worker(runner):
    policy = runner.module[MAIN].network.state_dict()
    return {
        "process": os.getpid(),
        "opponents": len(runner.opponents),
        "policy": {name: tensor.numpy().copy() for name, tensor in policy.items()},
    }


def test_a_divergence_is_reported(trainer_of):
    trainer = trainer_of(small_config("patchwork"))
    with torch.no_grad():
        trainer.network.value.weight.fill_(np.nan)
    with pytest.raises(DivergenceError, match=r"training diverged: .*loss nan") as caught:
        trainer.step()
    assert "losses/loss" in caught.value.losses
