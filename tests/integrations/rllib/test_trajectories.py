"""What RLlib makes of the games: every player's own trajectory, whole, with the end's worth for everybody."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("ray")

from ray.rllib.core.columns import Columns
from ray.rllib.core.learner.training_data import TrainingData
from ray.rllib.evaluation.postprocessing import Postprocessing

from patchwork_env.integrations.rllib.env import final_rewards
from patchwork_env.integrations.rllib.league import (
    MAIN,
)
from patchwork_env.integrations.rllib.trainer import ppo_config
from patchwork_env.patchwork.observation import SLICES
from tests.integrations.rllib.small import small_config

pytestmark = [
    pytest.mark.older,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning"),
]

CASES = [("patchwork", 2, 0.0), ("nmbr9", 3, 0.5)]


@pytest.fixture
def algorithm_of(connection):
    made = []

    def make(config):
        made.append(ppo_config(config).build_algo())
        return made[-1]

    yield make
    for algorithm in made:
        algorithm.stop()


@pytest.mark.parametrize(("game", "players", "points"), CASES)
def test_the_chunks_of_a_game_hold_all_decisions_and_rewards_of_every_player(
    algorithm_of, game, players, points
):
    chunks = {"batch_size": 28, "minibatch_size": 28}  # of 7 turns
    config = small_config(game, players=players, points=points, **chunks)
    algorithm = algorithm_of(config)
    runner = algorithm.env_runner
    finals, complete = {}, 0
    original = runner._callbacks[0].on_episode_end

    def on_episode_end(*, episode, env, env_index, **others):
        finals[episode.id_] = env.envs[env_index].unwrapped.finished
        original(episode=episode, env=env, env_index=env_index, **others)

    runner._callbacks[0].on_episode_end = on_episode_end
    chunks = [chunk for _ in range(40) for chunk in runner.sample()]
    for name, ended in finals.items():
        complete += 1
        turns, worth = 0, final_rewards(config.reward, ended)
        for number, agent in enumerate(f"player_{number}" for number in range(players)):
            episodes = [chunk.agent_episodes for chunk in chunks if chunk.id_ == name]
            parts = [trajectories[agent] for trajectories in episodes if agent in trajectories]
            assert all(part.module_id == MAIN for part in parts)
            assert parts[-1].is_terminated
            gained = points * ended.scores()[number] if game == "nmbr9" else 0.0
            assert sum(sum(part.get_rewards()) for part in parts) == pytest.approx(worth[number] + gained)
            turns += sum(len(part) for part in parts)
            for part in parts:
                masks = part.get_observations(slice(0, len(part)))["action_mask"]
                assert masks[np.arange(len(part)), part.get_actions()].all()
                if game == "patchwork":  # the first number of a player says who is to move
                    seen = part.get_observations(slice(0, len(part)))["observation"]
                    assert (seen[:, SLICES["players"].start] == 1).all()
        assert turns == len(ended.history)
    assert complete >= 8


def test_the_loser_learns_that_he_has_lost_and_values_go_on_from_the_own_view(algorithm_of):
    """Values are the own positions on the track: those are the targets of trajectories that were cut off."""
    config = small_config("patchwork", gae_lambda=1.0, batch_size=256)
    algorithm = algorithm_of(config)
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
