"""Runs of AlphaZero: what learning takes and refuses, and that it gets better."""

import numpy as np
import pytest
import torch

from patchwork_env import agents
from patchwork_env.errors import DivergenceError
from patchwork_env.learning.algorithms.alphazero.learner import AlphaZeroLearner
from patchwork_env.learning.algorithms.alphazero.rollout import NO_EXAMPLES, Examples
from patchwork_env.learning.algorithms.common.trainer import make_trainer
from patchwork_env.learning.algorithms.common.workers import IterationWork
from patchwork_env.learning.config import load_config
from patchwork_env.patchwork import Game
from tests.learning.same_runs import start_run
from tests.learning.tiny_runs import ALPHAZERO


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    path = tmp_path_factory.mktemp("configs") / "tiny.yaml"
    path.write_text(ALPHAZERO)
    return path


@pytest.fixture
def trainer(config):
    return make_trainer(load_config(config))


def first_positions(number):
    """Examples whose policies are certain of the first action, with returns of 0.5."""
    states = np.concatenate([Game(seed=seed).state for seed in range(number)])
    counts = np.array([len(Game.from_state(states, i).legal_actions()) for i in range(number)])
    policies = np.concatenate([np.eye(1, count, dtype=np.float16)[0] for count in counts])
    return Examples(states, counts, policies, np.full(number, 0.5, np.float32))


@pytest.mark.parametrize("name", Examples._fields)
def test_examples_from_outside_fit_their_states(trainer, name):
    """Otherwise kernels would read past the end of short arrays, or policies of other actions."""
    examples = first_positions(2)
    trainer.check_examples(examples)
    with pytest.raises(ValueError, match="the examples have"):
        trainer.check_examples(examples._replace(**{name: getattr(examples, name)[:-1]}))
    with pytest.raises(ValueError, match="the examples have"):
        trainer.check_examples(examples._replace(counts=examples.counts + np.array([1, -1])))


def test_every_job_searches_with_a_seed_of_its_own(trainer):
    first, again, other = ([job.seed for job in trainer.jobs(np.uint64(seed), 1)] for seed in (1, 1, 2))
    assert len(first) == trainer.config.alphazero.num_envs
    assert first == again
    assert len({*first, *other}) == 2 * len(first)
    work, job = IterationWork(trainer.config, {}, trainer.weights(), 0.0), trainer.jobs(np.uint64(1), 1)[0]
    found = [trainer.play_job(work, job._replace(seed=seed)).examples.policies for seed in (1, 1, 2)]
    np.testing.assert_array_equal(found[0], found[1])
    assert not np.array_equal(found[0], found[2])


def test_nothing_is_learned_from_no_examples_and_divergence_is_noticed(trainer):
    before = [parameter.clone() for parameter in trainer.network.parameters()]
    assert trainer.learner.update(NO_EXAMPLES, 0.0, np.random.default_rng(1)) == {}
    assert all(map(torch.equal, before, trainer.network.parameters()))
    broken = first_positions(1)._replace(returns=np.array([np.inf], np.float32))
    with pytest.raises(DivergenceError, match="loss"):
        trainer.learner.update(broken, 0.0, np.random.default_rng(1))


def test_the_policy_plays_with_a_search_for_the_reward_of_the_run(config, tmp_path):
    trainer = make_trainer(load_config(config, ["reward={outcome: 0.5, margin: 2, margin_cut: 3}"]))
    trainer.write_policy(tmp_path)
    game, loaded = Game(seed=3), agents.load(f"{tmp_path}{trainer.options}")
    assert loaded.act(game) in game.legal_actions()
    assert vars(loaded.dynamics) == vars(trainer.agent().dynamics)
    assert loaded.dynamics.value_range == 2 * (0.5 + 2 * 3)


@pytest.mark.slow
def test_an_iteration_without_a_decision(config):
    """With one game and one turn an iteration may have nothing to learn from."""
    trainer = make_trainer(load_config(config, ["alphazero={num_envs: 1, rollout_steps: 1, window: 1}"]))
    for has_learned in (False, True):
        while ("losses/loss" in trainer.step()) != has_learned:
            assert trainer.steps < 100


def test_weights_that_are_no_numbers_are_an_error(config, tmp_path, monkeypatch, capsys):
    """Of the step before: its loss was a number."""

    def spoil(learner, *_):
        for parameter in learner.network.parameters():
            torch.nn.init.constant_(parameter, torch.nan)
        return {}

    monkeypatch.setattr(AlphaZeroLearner, "update", spoil)
    assert start_run(config, tmp_path / "run") == 2
    assert "training diverged: values or policies" in capsys.readouterr().err


@pytest.mark.slow
def test_self_play_gets_better(config):
    """Some seconds of training with one seed; runs this short differ much, and not every seed gets so far."""
    settings = [
        "seed=1",
        "total_steps=24576",
        "network={width: 48, depth: 1, channels: 16}",
        "alphazero={num_envs: 64, rollout_steps: 32, simulations: 8, max_considered: 8, gradient_steps: 24}",
        "alphazero.minibatch_size=512",
        "alphazero.learning_rate={start: 4e-3, end: 2e-3}",
        "reward={outcome: 0, margin: 1, margin_scale: 40, margin_cut: 1}",
    ]
    trainer = make_trainer(load_config(config, settings))
    metrics = [trainer.step() for _ in range(12)]
    assert trainer.is_done
    scores = [line["games/score"] for line in metrics if "games/score" in line]
    assert np.mean(scores[-3:]) > np.mean(scores[:3]) + 2.5
