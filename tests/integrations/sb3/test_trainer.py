"""Runs of MaskablePPO: their files, resumed runs, and errors."""

import gymnasium
import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from sb3_contrib import MaskablePPO

from patchwork_env import agents
from patchwork_env.errors import ConfigError, DivergenceError
from patchwork_env.integrations.sb3.policy import BoolMaskBuffer, PatchworkPolicy
from patchwork_env.integrations.sb3.vec_env import SelfPlayVecEnv
from patchwork_env.learning.algorithms.common.trainer import make_trainer
from patchwork_env.learning.commands import train
from patchwork_env.learning.config import load_config
from patchwork_env.nmbr9 import Game as Nmbr9
from tests.learning.same_runs import check_restored_trainer, checkpoints_of, metrics_of, start_run, state_of
from tests.learning.tiny_runs import MASKABLE_PPO, MASKABLE_PPO_OF_NMBR9

DECISIONS = 8 * 16
"""Of an iteration."""


@pytest.fixture(scope="module")
def configs(tmp_path_factory):
    """The files of configurations of both games."""
    folder = tmp_path_factory.mktemp("configs")
    texts = {"patchwork": MASKABLE_PPO, "nmbr9": MASKABLE_PPO_OF_NMBR9}
    for name, text in texts.items():
        (folder / f"{name}.yaml").write_text(text)
    return {name: folder / f"{name}.yaml" for name in texts}


@pytest.fixture(scope="module")
def config(configs):
    return configs["patchwork"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory, config):
    """The folder of a run."""
    folder = tmp_path_factory.mktemp("runs") / "tiny"
    assert start_run(config, folder, "maskable_ppo.learning_rate={start: 3e-3, end: 1e-3}") == 0
    return folder


def small_trainer(config, *overrides):
    return make_trainer(load_config(config, list(overrides)))


# --- the files of a run -------------------------------------------------------------------------------------


def test_a_run_tells_how_it_fared_and_leaves_no_code_but_the_model(finished):
    code = {".pt", ".pth", ".pkl", ".zip"}
    assert [path for path in finished.rglob("*") if path.suffix in code] == [finished / "final" / "model.zip"]
    lines = [line for line in metrics_of(finished) if "losses/loss" in line]
    turns = np.diff([0, *(line["steps"] for line in lines)])
    assert (turns > 1.9 * DECISIONS).all(), "also those of opponents, and those without a choice"
    assert any("games/win_rate_against_past_self" in line for line in lines)


def test_stock_maskable_ppo_plays_and_learns_on(finished):
    """As users of Stable-Baselines3 do, with the environment of ``gymnasium.make``."""
    env = gymnasium.make("patchwork_env:Patchwork-v0", opponent="greedy")
    model = MaskablePPO.load(finished / "final" / "model.zip", env=env, n_steps=64)
    assert type(model.policy) is PatchworkPolicy
    iterations = sum("losses/loss" in line for line in metrics_of(finished))
    assert model.num_timesteps == DECISIONS * iterations
    agent, terminated = agents.load(finished / "final"), False
    observation, info = env.reset(seed=1)
    while not terminated:
        action, _ = model.predict(observation, action_masks=info["action_mask"], deterministic=True)
        assert action == agent.act(env.unwrapped.game)
        observation, _, terminated, _, info = env.step(action)
    before = {name: weights.clone() for name, weights in model.policy.network.state_dict().items()}
    model.learn(64, reset_num_timesteps=False)
    assert model.num_timesteps == DECISIONS * iterations + 64
    assert any((weights != before[name]).any() for name, weights in model.policy.network.state_dict().items())


def test_the_model_has_the_optimizer_and_the_parameters_of_the_run(finished):
    model = MaskablePPO.load(finished / "final" / "model.zip", device="cpu")
    saved = load_file(checkpoints_of(finished)[-1] / "trainer.safetensors")
    for number, entry in model.policy.optimizer.state_dict()["state"].items():
        for key, value in entry.items():
            assert (value == saved[f"optimizer/{number}/{key}"]).all()
    assert (model.batch_size, model.gamma, model.gae_lambda) == (64, 1.0, 0.95)
    assert model.lr_schedule(1.0) == pytest.approx(1e-3)


def test_a_run_of_nmbr9_learns_from_points_and_its_policy_plays(configs, tmp_path):
    trainer = small_trainer(configs["nmbr9"])
    metrics = trainer.step()
    buffer = trainer.model.rollout_buffer
    returns = np.sum(buffer.rewards, axis=0)
    seen = map(torch.from_numpy, (buffer.observations, buffer.actions[:, 0], buffer.action_masks))
    entropy = trainer.model.policy.evaluate_actions(*seen)[2].mean().item()
    assert metrics["losses/entropy"] == pytest.approx(entropy, rel=1e-3)
    assert metrics["games/score"] == pytest.approx(returns.mean() / 0.5)
    assert metrics["games/decisions_per_game"] == 20
    assert trainer.self_play is None
    trainer.write_final(tmp_path)
    game = Nmbr9(seed=3)
    for source in (tmp_path, tmp_path / "model.zip"):
        assert agents.load(source).act(game) == trainer.agent().act(game)
    model = MaskablePPO.load(tmp_path / "model.zip", env=gymnasium.make("patchwork_env:Nmbr9-v0"))
    assert type(model.policy) is PatchworkPolicy
    action, _ = model.predict(game.observation(), action_masks=game.action_mask(), deterministic=True)
    assert action == trainer.agent().act(game)


# --- the trainer --------------------------------------------------------------------------------------------


def global_random_numbers():
    state = np.random.get_state(legacy=False)["state"]  # noqa: NPY002
    return state["pos"], state["key"].tolist(), torch.get_rng_state().tolist()


def test_nothing_depends_on_who_else_draws_random_numbers(config):
    first, second = small_trainer(config), small_trainer(config)
    for number in range(2):
        torch.manual_seed(number)
        np.random.seed(number)  # noqa: NPY002 - what Stable-Baselines3 uses
        first.step()
        torch.rand(7)
        before = global_random_numbers()
        second.step()
        second.portable_model()
        assert global_random_numbers() == before
    assert state_of(first) == state_of(second)


def test_schedules_and_figures_of_the_games_of_each_rollout(config):
    entropy, rate = "{start: 0.5, end: 0.1}", "{start: 3e-3, end: 1e-3}"
    trainer = small_trainer(
        config, f"maskable_ppo.entropy_coefficient={entropy}", f"maskable_ppo.learning_rate={rate}"
    )
    for _ in range(4):
        share = trainer.steps / trainer.config.total_steps
        trainer.model.ep_info_buffer.clear()
        metrics, names = trainer.step(), [opponent.name for opponent in trainer.env.opponents]
        lengths = [episode["l"] for episode in trainer.model.ep_info_buffer]
        won = [info["is_success"] for info in trainer._watch.ended if names[info["opponent"]] == "past self"]
        assert metrics.get("games/decisions_per_game", 0) == pytest.approx(np.mean(lengths or 0))
        assert 0 < metrics["time/share_of_time_collecting"] < 1
        assert metrics.get("games/win_rate_against_past_self", 0) == pytest.approx(np.mean(won or 0))
        assert trainer.model.ent_coef == pytest.approx(0.5 - 0.4 * share)
        assert trainer.model.policy.optimizer.param_groups[0]["lr"] == pytest.approx(3e-3 - 2e-3 * share)


def test_random_numbers_do_not_go_on_behind_their_state(config):
    """NumPy accepts any position, and reads memory there."""
    trainer = small_trainer(config)
    state = trainer.state_dict()
    trainer.load_state_dict(state)
    for place in (-1, 625, 2**31, "1", 1.5):
        state["global_random"]["numpy"]["state"]["pos"] = place
        with pytest.raises(ValueError, match="pos"):
            trainer.load_state_dict(state)


def test_a_league_goes_on(config):
    check_restored_trainer(config)


# --- mistakes -----------------------------------------------------------------------------------------------


def test_divergence_is_told(config):
    trainer = small_trainer(config, "maskable_ppo.learning_rate={start: 1e30, end: 1e30}")
    with pytest.raises(DivergenceError, match="training diverged"):
        list(iter(trainer.step, None))


@pytest.mark.parametrize(
    ("game", "override", "message"),
    [
        ("patchwork", "maskable_ppo.minibatch_size=63", "a multiple of minibatch_size, 63"),
        ("patchwork", "maskable_ppo.minibatch_size=1", "greater than or equal to 2"),
        ("patchwork", "network.width=0", "greater than or equal to 1"),
        ("nmbr9", "maskable_ppo.points=0.0", "nmbr9 is learned alone, from points"),
        ("nmbr9", "league.fraction=0.5", "league are for games of several players; nmbr9 is learned alone"),
    ],
)
def test_wrong_configurations(configs, game, override, message):
    with pytest.raises(ConfigError) as caught:
        load_config(configs[game], [override])
    assert message in str(caught.value)
    assert override.partition("=")[0] in str(caught.value) or game == "nmbr9"


def test_resuming_with_another_configuration_is_refused(finished, capsys):
    before = {path: path.read_bytes() for path in finished.rglob("*") if path.is_file()}
    for override in ("network.width=25", "maskable_ppo.num_envs=32"):
        assert train.main(["--resume", str(finished), "--set", override]) == 2
        assert f"{override.partition('=')[0]} is" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in finished.rglob("*") if path.is_file()} == before


# --- the policy and its buffer ------------------------------------------------------------------------------


def learned(threads, **options):
    """A model that has learned from a rollout."""
    env = SelfPlayVecEnv(6, ["random", "greedy"], seed=1)
    sizes = {"network": {"width": 16, "depth": 1, "channels": 4}, "threads": threads}
    model = MaskablePPO(
        PatchworkPolicy, env, n_steps=40, batch_size=60, n_epochs=2, ent_coef=0.01, learning_rate=3e-3,
        seed=2, device="cpu", policy_kwargs=sizes, **options,
    )  # fmt: skip
    return model.learn(240)


def test_threads_and_the_buffer_of_bools_learn_the_same():
    one, other = learned(1), learned(2, rollout_buffer_class=BoolMaskBuffer)
    assert other.rollout_buffer.action_masks.dtype == np.bool_
    for name in ("observations", "actions", "action_masks", "rewards", "values", "log_probs"):
        np.testing.assert_array_equal(
            getattr(one.rollout_buffer, name), getattr(other.rollout_buffer, name), name
        )
    for name, weights in one.policy.network.state_dict().items():
        torch.testing.assert_close(other.policy.network.state_dict()[name], weights, atol=2e-5, rtol=1e-4)


def test_a_policy_that_is_not_finite_is_told():
    policy = learned(1).policy
    with torch.no_grad():
        next(policy.network.parameters()).fill_(torch.nan)
    masks = torch.ones(6, policy.action_space.n, dtype=torch.bool)
    observations = torch.ones(6, *policy.observation_space.shape)
    with pytest.raises(DivergenceError, match="entropies nan"):
        policy.evaluate_actions(observations, torch.zeros(6, dtype=torch.long), masks)
