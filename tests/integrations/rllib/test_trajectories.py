"""What RLlib makes of the games: every player's own trajectory, whole, with the end's worth for everybody."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest

pytest.importorskip("ray")

import torch
from ray.rllib.core.columns import Columns
from ray.rllib.core.learner.training_data import TrainingData
from ray.rllib.evaluation.postprocessing import Postprocessing

from patchwork_env.agents.networks import network_class
from patchwork_env.integrations.rllib.env import final_rewards
from patchwork_env.integrations.rllib.league import (
    MAIN,
    league_results,
    past_self,
    set_opponents,
    take_finished,
)
from patchwork_env.integrations.rllib.module import ChosenActions
from patchwork_env.integrations.rllib.trainer import GamePPO, ppo_config
from patchwork_env.learning.config import League
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


def sampled(algorithm: GamePPO, calls: int):
    """The chunks of games that so many calls return, by name of the game."""
    chunks = defaultdict(list)
    for _ in range(calls):
        for chunk in algorithm.env_runner.sample():
            chunks[chunk.id_].append(chunk)
    return chunks


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
    for name, parts_of_game in sampled(algorithm, 40).items():
        if name not in finals:
            continue
        complete += 1
        ended, turns = finals[name], 0
        worth = final_rewards(config.reward, ended)
        for number in range(players):
            parts = [
                c.agent_episodes[f"player_{number}"]
                for c in parts_of_game
                if f"player_{number}" in c.agent_episodes
            ]
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


def batch_of(algorithm, episodes):
    """What the learner makes of episodes."""
    batch = algorithm.learner_group._learner._make_batch_if_necessary(TrainingData(episodes=episodes))
    return batch.policy_batches[MAIN]


@pytest.mark.parametrize(("game", "players", "points"), CASES)
def test_probabilities_of_the_learner_are_those_with_which_was_played(algorithm_of, game, players, points):
    algorithm = algorithm_of(small_config(game, players=players, points=points))
    module = algorithm.learner_group._learner.module[MAIN]
    for _ in range(3):  # chunks begin with decisions of which the reward is still to come
        batch = batch_of(algorithm, algorithm.env_runner.sample())
    outputs = module.forward_train({key: batch[key] for key in (Columns.OBS, Columns.ACTIONS)})
    valid = batch[Columns.LOSS_MASK]
    distribution = ChosenActions.from_logits(outputs[Columns.ACTION_DIST_INPUTS])
    now = distribution.logp(batch[Columns.ACTIONS])
    torch.testing.assert_close(now[valid], batch[Columns.ACTION_LOGP][valid], rtol=1e-4, atol=1e-5)
    masks = batch[Columns.OBS]["action_mask"][valid]
    assert masks.gather(1, batch[Columns.ACTIONS][valid].long()[:, None]).all()


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
        batch = batch_of(algorithm, episodes)
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


def test_past_selves_play_their_share_and_nothing_is_learned_from_them(algorithm_of):
    config = small_config("patchwork", League(fraction=0.5, opponents=2), num_envs=8)
    algorithm = algorithm_of(config)
    runner = algorithm.env_runner
    torch.manual_seed(3)
    past = [
        network_class("patchwork")(algorithm.learner_group._learner.module[MAIN].network.config) for _ in "12"
    ]
    states = {slot: network.state_dict() for slot, network in enumerate(past)}
    set_opponents(states, [(0, 10), (1, 11)])(runner)
    for slot, network in enumerate(past):
        for name, tensor in network.state_dict().items():
            assert torch.equal(runner.module[past_self(slot)].network.state_dict()[name], tensor)
    chunks = sampled(algorithm, 12)
    by_slot = defaultdict(set)
    for name, parts in chunks.items():
        slot, seat, _ = name.split(":", 2)
        for part in parts:
            for agent, trajectory in part.agent_episodes.items():
                assert trajectory.module_id == MAIN
                by_slot[int(slot)].add(agent)
                assert int(slot) < 0 or agent == f"player_{seat}"
    assert by_slot == {number: {"player_0", "player_1"} for number in (-1, 0, 1)}
    finished = take_finished(runner)
    assert take_finished(runner) == []
    wins, games = league_results(finished)
    assert sum(games.values()) == sum(one.seats.slot >= 0 for one in finished) > 0
    assert set(games) <= {10, 11}
    assert all(0 <= wins[number] <= played for number, played in games.items())
