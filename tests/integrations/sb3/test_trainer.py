"""Training by MaskablePPO with the real command: files, resuming to the bit, and what can be taken away."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter

import gymnasium
import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy

from patchwork_env import agents
from patchwork_env.agents.patchwork.mlp import MlpAgent
from patchwork_env.core.batches import begin_games
from patchwork_env.core.checks import seed_streams
from patchwork_env.errors import ConfigError, DivergenceError
from patchwork_env.integrations.sb3.policy import PatchworkPolicy
from patchwork_env.learning.algorithms.common.trainer import make_trainer
from patchwork_env.learning.commands import train
from patchwork_env.learning.config import load_config
from patchwork_env.patchwork import Game
from patchwork_env.patchwork.rules import RULES
from tests.learning.same_runs import checkpoints_of, environment, metrics_of, state_of

TINY = """
description: tiny
algorithm: maskable_ppo
total_steps: 5000
checkpoint_every: 2
threads: 2
seed: 5
maskable_ppo:
  {num_envs: 16, rollout_steps: 16, minibatch_size: 64, epochs: 2, net_arch: [24],
   learning_rate: {start: 3e-3, end: 1e-3}, fixed_fraction: 0.25, fixed_opponents: [greedy]}
league: {fraction: 0.5, snapshot_every: 2, size: 2, opponents: 2}
evaluation: {every: 4, games: 2, final_games: 4, opponents: [random]}
"""
DECISIONS_PER_ITERATION = 16 * 16
DECISIONS = 8 * DECISIONS_PER_ITERATION


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    path = tmp_path_factory.mktemp("configs") / "tiny.yaml"
    path.write_text(TINY)
    return path


@pytest.fixture(scope="module")
def finished(tmp_path_factory, config):
    """The folder of a run of the real command, far from the project."""
    folder = tmp_path_factory.mktemp("elsewhere")
    process = subprocess.run(
        [sys.executable, "-W", "error", "-m", "training.train", "--config", str(config)],
        cwd=folder, env=environment(), capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
    return folder / "runs" / "tiny"


def global_random_numbers():
    state = np.random.get_state(legacy=False)["state"]  # noqa: NPY002
    return state["pos"], state["key"].tolist(), torch.get_rng_state().tolist()


def small_trainer(config, *overrides):
    return make_trainer(load_config(config, list(overrides)))


# --- a whole run --------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_files_of_a_run(finished):
    policy, trainer = {"checkpoint.json", "weights.safetensors"}, {"trainer.json", "trainer.safetensors"}
    assert {path.name for path in (finished / "final").iterdir()} == policy | {"model.zip"}
    code = {".pt", ".pth", ".pkl", ".zip"}
    assert [path for path in finished.rglob("*") if path.suffix in code] == [finished / "final" / "model.zip"]
    for folder in checkpoints_of(finished)[-2:]:
        assert {path.name for path in folder.iterdir()} == policy | trainer
    description = json.loads((finished / "final" / "checkpoint.json").read_text())
    assert description["policy"] == "maskable_ppo"
    assert description["network"] == {"net_arch": [24], "activation": "relu"}
    assert description["info"]["algorithm"] == "maskable_ppo"
    assert description["info"]["iteration"] == 8
    assert description["info"]["steps"] == metrics_of(finished)[-1]["steps"]


def test_metrics(finished):
    lines = [line for line in metrics_of(finished) if "losses/loss" in line]
    turns = np.diff([0, *(line["steps"] for line in lines)])
    assert len(turns) == 8
    assert (
        turns > 1.9 * DECISIONS_PER_ITERATION
    ).all()  # also those of opponents, and those without a choice
    for line in lines:
        for name in ("policy_loss", "value_loss", "entropy", "kl", "clip_fraction", "explained_variance"):
            assert f"losses/{name}" in line
        assert line["losses/entropy"] > 0
        assert 0 < line["time/share_of_time_collecting"] < 1
    for name in ("score", "decisions_per_game", "win_rate_against_greedy", "win_rate_against_past_self"):
        assert any(f"games/{name}" in line for line in lines)
    assert lines[-1]["league/snapshots"] == 2
    assert any("evaluation/win_rate_against_random" in line for line in metrics_of(finished))


# --- what can be taken away ---------------------------------------------------------------------------------


def test_stock_maskable_ppo_plays_and_learns_on(finished):
    """As a user of Stable-Baselines3 does it, with the environment that ``gymnasium.make`` gives."""
    model = MaskablePPO.load(finished / "final" / "model.zip")
    assert type(model.policy) is MaskableActorCriticPolicy
    assert model.num_timesteps == DECISIONS
    env = gymnasium.make("patchwork_env:Patchwork-v0", opponent="greedy")
    assert (model.observation_space, model.action_space) == (env.observation_space, env.action_space)
    agent, decisions = agents.load(finished / "final"), 0
    for seed in range(2):
        observation, info = env.reset(seed=seed)
        terminated = False
        while not terminated:
            action, _ = model.predict(observation, action_masks=info["action_mask"], deterministic=True)
            assert action == agent.act(env.unwrapped.game)
            observation, _, terminated, _, info = env.step(action)
            decisions += 1
    assert decisions > 20
    before = {name: weights.clone() for name, weights in model.policy.state_dict().items()}
    model = MaskablePPO.load(finished / "final" / "model.zip", env=env, n_steps=64)
    for name, weights in model.policy.state_dict().items():
        assert (weights == before[name]).all()
    model.learn(64, reset_num_timesteps=False)
    assert model.num_timesteps == DECISIONS + 64
    assert any((weights != before[name]).any() for name, weights in model.policy.state_dict().items())


def test_model_has_the_optimizer_and_the_parameters_of_the_run(finished):
    model = MaskablePPO.load(finished / "final" / "model.zip", device="cpu")
    saved = load_file(checkpoints_of(finished)[-1] / "trainer.safetensors")
    for number, entry in model.policy.optimizer.state_dict()["state"].items():
        for key, value in entry.items():
            assert (value == saved[f"optimizer/{number}/{key}"]).all()
    assert (model.batch_size, model.n_epochs, model.gamma, model.gae_lambda) == (64, 2, 1.0, 0.95)
    assert model.lr_schedule(1.0) == pytest.approx(1e-3)


def test_the_policy_of_a_run_can_draw_its_actions(finished):
    agent, game = agents.load(f"{finished / 'final'}:sample=true", seed=3), Game(seed=1)
    while not game.is_over:
        game.play(agent.act(game))


# --- the trainer --------------------------------------------------------------------------------------------


def test_nothing_depends_on_who_else_draws_random_numbers(config):
    first, second = small_trainer(config), small_trainer(config)
    for number in range(4):
        torch.manual_seed(number)
        np.random.seed(number)  # noqa: NPY002 - what Stable-Baselines3 uses
        first.step()
        torch.rand(7)
        before = global_random_numbers()
        second.step()
        second.portable_model()
        assert global_random_numbers() == before
    assert state_of(first) == state_of(second)


def test_a_seed_makes_another_run(config):
    first, second = small_trainer(config), small_trainer(config, "seed=6")
    assert (first.env.states != second.env.states).all()
    first.step(), second.step()
    assert (first.network.action_net.weight != second.network.action_net.weight).any()


def test_state_of_a_fresh_trainer(config):
    """What a signal before the first iteration saves."""
    first, second = small_trainer(config), small_trainer(config)
    second.step()
    second.load_state_dict(first.state_dict())
    first.step(), second.step()
    assert (first.network.action_net.weight == second.network.action_net.weight).all()


def test_league_games_are_played_to_their_ends_against_one_past_self(config):
    """The results that the league hears of are those of the snapshot that a game began against."""
    trainer = small_trainer(config, "league.snapshot_every=1", "league.opponents=1", "league.size=1")
    began, heard, expected = {}, Counter(), Counter()
    record, begin, finish = trainer.self_play.pool.record, trainer.env._begin, trainer.env._finish

    def note_begin(games):
        begin(games)
        began.update((game, trainer.self_play.opponent_keys()[game]) for game in games.tolist())

    def note_end(games, step):
        expected.update(began[game] for game in games.tolist() if began[game] >= 0)
        assert [trainer.self_play.opponent_keys()[game] for game in games] == [began[game] for game in games]
        finish(games, step)

    def note_results(wins, games):
        heard.update(games)
        record(wins, games)

    trainer.env._begin, trainer.env._finish, trainer.self_play.pool.record = (
        note_begin,
        note_end,
        note_results,
    )
    began.update(enumerate(trainer.self_play.opponent_keys()))
    for _ in range(9):
        trainer.step()
    assert len(expected) > 2
    assert +heard == expected


def test_schedules(config):
    trainer = small_trainer(
        config, "maskable_ppo.entropy_coefficient={start: 0.5, end: 0.1}", "total_steps=1000"
    )
    trainer.step()
    assert trainer.model.ent_coef == 0.5
    assert trainer.model.policy.optimizer.param_groups[0]["lr"] == 3e-3
    share = trainer.steps / 1000
    trainer.step()
    assert trainer.model.ent_coef == pytest.approx(0.5 - 0.4 * share)
    assert trainer.model.policy.optimizer.param_groups[0]["lr"] == pytest.approx(3e-3 - 2e-3 * share)


@pytest.mark.slow
def test_values_learn_how_games_end(config):
    overrides = [
        "reward.margin=1",
        "maskable_ppo.rollout_steps=64",
        "maskable_ppo.epochs=4",
        "total_steps=20000",
    ]
    trainer = small_trainer(
        config, *overrides, "maskable_ppo.net_arch=[64]", "maskable_ppo.minibatch_size=128"
    )
    explained = [trainer.step()["losses/explained_variance"] for _ in range(8)]
    assert explained[-1] > max(0.2, explained[0])


@pytest.mark.parametrize("place", [-1, 625, 2**31, "1", 1.5])
def test_random_numbers_do_not_go_on_behind_their_state(config, place):
    """NumPy takes any place, and reads there."""
    trainer = small_trainer(config)
    state = trainer.state_dict()
    trainer.load_state_dict(state)
    state["global_random"]["numpy"]["state"]["pos"] = place
    with pytest.raises(ValueError, match="pos"):
        trainer.load_state_dict(state)


# --- the network of the game --------------------------------------------------------------------------------

NETWORK = ("maskable_ppo.policy=network", "network.width=16", "network.depth=1", "network.channels=4")


def test_the_network_of_the_game_learns_and_resumes(config, tmp_path):
    few = ("maskable_ppo.num_envs=8", "maskable_ppo.epochs=1", "league.snapshot_every=1", "threads=1")
    trainer, again = (small_trainer(config, *NETWORK, *few) for _ in range(2))
    for _ in range(2):
        trainer.step()
    again.load_state_dict(trainer.state_dict())
    assert trainer.step()["losses/loss"] == again.step()["losses/loss"]
    assert state_of(trainer) == state_of(again)
    assert trainer.state_dict()["league"]["policies"]
    trainer.write_final(tmp_path)
    states = begin_games(RULES, seed_streams(3, 8))
    expected = trainer.agent().act_batch(states)
    for source in (tmp_path, tmp_path / "model.zip"):
        assert (agents.load(source).act_batch(states) == expected).all()
    env = gymnasium.make("patchwork_env:Patchwork-v0", opponent="greedy")
    model = MaskablePPO.load(tmp_path / "model.zip", env=env, n_steps=64)
    assert type(model.policy) is PatchworkPolicy
    model.learn(64, reset_num_timesteps=False)
    assert model.num_timesteps == trainer.model.num_timesteps + 64


def test_stored_configurations_without_a_policy_mean_perceptrons(config):
    """Early runs stored all sections, also those that their algorithm did not read."""
    assert type(small_trainer(config, "network.width=16").agent()) is MlpAgent


# --- mistakes -----------------------------------------------------------------------------------------------


def test_divergence_is_told(config):
    trainer = small_trainer(config, "maskable_ppo.learning_rate={start: 1e30, end: 1e30}")
    with pytest.raises(DivergenceError, match="training diverged") as caught:
        list(iter(trainer.step, None))
    assert not np.isfinite(sum(caught.value.losses.values()))
    batch = caught.value.batch
    assert {len(array) for array in batch.values()} == {DECISIONS_PER_ITERATION}
    chosen = batch["actions"].astype(int).reshape(-1, 1)
    assert np.take_along_axis(batch["action_masks"].reshape(DECISIONS_PER_ITERATION, -1), chosen, 1).all()


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("maskable_ppo.minibatch_size=63", "a multiple of minibatch_size, 63"),
        ("maskable_ppo.minibatch_size=1", "greater than or equal to 2"),
        ("maskable_ppo.fixed_opponents=[]", "one of them asks for the other"),
        ("maskable_ppo.fixed_fraction=0", "one of them asks for the other"),
        ("maskable_ppo.fixed_fraction=0.75", "more than all games"),
        ("maskable_ppo.net_arch=[0]", "greater than or equal to 1"),
        ("maskable_ppo.epoch=3", "did you mean 'maskable_ppo.epochs'"),
        ("ppo.epochs=3", "of no use to the algorithm 'maskable_ppo'"),
    ],
)
def test_wrong_configurations(config, override, message):
    with pytest.raises(ConfigError) as caught:
        load_config(config, [override])
    assert message in str(caught.value)
    assert override.partition("=")[0] in str(caught.value)


def test_unknown_fixed_opponents(config, tmp_path, capsys):
    arguments = ["--config", str(config), "--run-dir", str(tmp_path / "run")]
    assert train.main([*arguments, "--set", "maskable_ppo.fixed_opponents=[gredy]"]) == 2
    assert "maskable_ppo.fixed_opponents: there is no agent 'gredy'" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_resuming_with_another_configuration_is_refused(finished, capsys):
    before = {path: path.read_bytes() for path in finished.rglob("*") if path.is_file()}
    for override in ("maskable_ppo.net_arch=[25]", "maskable_ppo.num_envs=32"):
        assert train.main(["--resume", str(finished), "--set", override]) == 2
        assert f"{override.partition('=')[0]} is" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in finished.rglob("*") if path.is_file()} == before
