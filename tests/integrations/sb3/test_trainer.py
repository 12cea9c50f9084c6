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
from patchwork_env.learning.config import load_config
from patchwork_env.nmbr9 import Game as Nmbr9
from tests.learning import same_runs
from tests.learning.same_runs import checkpoints_of, metrics_of, resume_run, start_run, state_of
from tests.learning.tiny_runs import MASKABLE_PPO, MASKABLE_PPO_OF_NMBR9

DECISIONS = 8 * 16  # of an iteration


@pytest.fixture(scope="module")
def configs(tmp_path_factory):
    """The files of configurations of both games."""
    folder = tmp_path_factory.mktemp("configs")
    texts = {"patchwork": MASKABLE_PPO, "nmbr9": MASKABLE_PPO_OF_NMBR9}
    for name, text in texts.items():
        (folder / f"{name}.yaml").write_text(text)
    return {name: folder / f"{name}.yaml" for name in texts}


@pytest.fixture(scope="module")
def finished(tmp_path_factory, configs):
    """The folder of a run."""
    folder = tmp_path_factory.mktemp("runs") / "tiny"
    assert start_run(configs["patchwork"], folder, "maskable_ppo.learning_rate={start: 3e-3, end: 1e-3}") == 0
    return folder


def small_trainer(configs, *overrides, game="patchwork"):
    return make_trainer(load_config(configs[game], list(overrides)))


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
    kept = [entry.items() for entry in model.policy.optimizer.state_dict()["state"].values()]
    assert len(kept) == len(list(model.policy.parameters()))
    assert all((v == saved[f"optimizer/{i}/{key}"]).all() for i, entry in enumerate(kept) for key, v in entry)
    assert (model.batch_size, model.gamma, model.gae_lambda, model.n_envs) == (64, 1.0, 0.95, 1)
    assert model.lr_schedule(1.0) == pytest.approx(1e-3)


def test_a_run_of_nmbr9_learns_from_points_and_its_policy_plays(configs, tmp_path):
    trainer = small_trainer(configs, game="nmbr9")
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


def test_nothing_depends_on_who_else_draws_random_numbers(configs):
    trainers = []
    for number in range(2):
        torch.manual_seed(number)
        np.random.seed(number)  # noqa: NPY002 - what Stable-Baselines3 uses
        trainers.append(small_trainer(configs))
    first, second = trainers
    for _ in range(2):
        first.step()
        torch.rand(7)
        before = global_random_numbers()
        second.step()
        second.portable_model()
        assert global_random_numbers() == before
    assert state_of(first) == state_of(second)


def test_schedules_and_figures_of_the_games_of_each_rollout(configs):
    entropy, rate = "entropy_coefficient={start: 0.5, end: 0.1}", "learning_rate={start: 3e-3, end: 1e-3}"
    more = ["special_patches='2014'", "league.half_life=1000000000", "league.size=9"]
    trainer = small_trainer(configs, f"maskable_ppo.{entropy}", f"maskable_ppo.{rate}", *more)
    begun, results = (trainer.env.opponents[0].name, trainer.env.games()[0].special_patches), []
    assert begun == ("present self", "2014")
    for _ in range(4):
        share = trainer.steps / trainer.config.total_steps
        trainer.model.ep_info_buffer.clear()
        metrics, names = trainer.step(), [opponent.name for opponent in trainer.env.opponents]
        lengths = [episode["l"] for episode in trainer.model.ep_info_buffer]
        won = [info["is_success"] for info in trainer._watch.ended if names[info["opponent"]] == "past self"]
        results += won
        assert (trainer.model.logger.dir, *trainer.model.logger.name_to_value) == (None,)  # no logs on disk
        assert metrics.get("games/decisions_per_game", 0) == pytest.approx(np.mean(lengths or 0))
        assert 0 < metrics["time/share_of_time_collecting"] < 1
        assert metrics.get("games/win_rate_against_past_self", 0) == pytest.approx(np.mean(won or 0))
        assert trainer.model.ent_coef == pytest.approx(0.5 - 0.4 * share)
        assert trainer.model.policy.optimizer.param_groups[0]["lr"] == pytest.approx(3e-3 - 2e-3 * share)
    recorded = np.sum(list(trainer.self_play.pool.state_dict()["records"].values()), axis=0)
    assert recorded.tolist() == pytest.approx([sum(results), len(results)])
    assert 0 <= trainer.env.turns - trainer.steps < 16  # others began some games


def test_random_numbers_do_not_go_on_behind_their_state(configs):
    """NumPy accepts any position, and reads memory there."""
    trainer = small_trainer(configs)
    state = trainer.state_dict()
    trainer.load_state_dict(state)
    wrong = [(state, "timesteps", -1), (state, "updates", -1), (state["league"], "rollouts", -1)]
    of_numpy = state["global_random"]["numpy"]["state"]
    for where, name, value in wrong + [(of_numpy, "pos", place) for place in (-1, 625, 2**31, "1", 1.5)]:
        where[name], before = value, where[name]
        with pytest.raises(ValueError, match=name):
            trainer.load_state_dict(state)
        where[name] = before


def test_a_league_goes_on(configs):
    same_runs.check_restored_trainer(configs["patchwork"], steps=3)


def test_divergence_is_told(configs):
    trainer = small_trainer(configs, "maskable_ppo.minibatch_size=128", "maskable_ppo.epochs=1")
    weight = trainer.network.value.weight  # changes after the loss of the only gradient step was computed
    trainer.model.policy.optimizer.register_step_post_hook(lambda *_: weight.data.fill_(torch.nan))
    with pytest.raises(DivergenceError, match=r"the sum of the weights is nan \(losses/loss -?[0-9]"):
        trainer.step()


@pytest.mark.parametrize(("size", "message"), [(63, "a multiple of"), (1, "greater than or equal to 2")])
def test_wrong_sizes_of_minibatches(configs, size, message):
    with pytest.raises(ConfigError, match=f"(?s)maskable_ppo.*{message}"):
        load_config(configs["patchwork"], [f"maskable_ppo.minibatch_size={size}"])


def test_resuming_with_another_number_of_games_is_refused(finished, capsys):
    before = {path: path.read_bytes() for path in finished.rglob("*") if path.is_file()}
    assert resume_run(finished, "maskable_ppo.num_envs=32") == 2
    assert "maskable_ppo.num_envs is" in capsys.readouterr().err
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
    sizes = set()  # of the parts that are evaluated: a step of the games, and a thread's part of a minibatch
    model.policy.network.register_forward_hook(lambda _, inputs, output: sizes.add(len(output.values)))
    model.learn(240)
    assert sizes == {6, 60 // threads}
    return model


def test_threads_and_the_buffer_of_bools_learn_the_same():
    one, other = learned(1), learned(2, rollout_buffer_class=BoolMaskBuffer)
    assert other.rollout_buffer.action_masks.dtype == np.bool_
    for name in ("observations", "actions", "action_masks", "rewards", "values", "log_probs"):
        played = (getattr(model.rollout_buffer, name) for model in (one, other))
        np.testing.assert_array_equal(*played, name)
    for name, weights in one.policy.network.state_dict().items():
        torch.testing.assert_close(other.policy.network.state_dict()[name], weights, atol=2e-5, rtol=1e-4)


def test_a_policy_that_is_not_finite_is_told():
    policy = learned(1).policy
    with torch.no_grad():
        policy.network.value.weight.fill_(torch.nan)
    masks = torch.ones(6, policy.action_space.n, dtype=torch.bool)
    observations = torch.ones(6, *policy.observation_space.shape)
    with pytest.raises(DivergenceError, match="are values nan, log-probabilities -"):
        policy.evaluate_actions(observations, torch.zeros(6, dtype=torch.long), masks)
