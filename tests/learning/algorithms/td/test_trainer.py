"""Temporal-difference learning of both games."""

import numpy as np
import pytest
import torch

from patchwork_env.errors import DivergenceError
from patchwork_env.learning.algorithms.common.trainer import make_trainer
from patchwork_env.learning.config import load_config
from tests.learning.same_runs import state_of
from tests.learning.tiny_runs import SOLO_TD, TD, TINY_RUNS


@pytest.fixture(params=["td", "solo_td"])
def config(request, tmp_path):
    path = tmp_path / "tiny.yaml"
    path.write_text(TINY_RUNS[request.param])
    return path


def test_threads_play_the_same_games_and_share_the_learning(config):
    """Sums of gradients that threads share are rounded differently, which shows that they do."""
    trainers = [make_trainer(load_config(config, [f"threads={threads}"])) for threads in (1, 3)]
    for trainer in trainers:
        trainer.step()
    one, three = (state_of(trainer)[1] for trainer in trainers)
    assert one["learner/network/bias_2"] != three["learner/network/bias_2"]
    assert all(one[name] == three[name] for name in one if name.startswith("window"))


def test_a_window_of_other_types_or_impossible_records_is_refused(config):
    """Before compiled code reads them."""
    trainer = make_trainer(load_config(config))
    trainer.step()
    length = len(trainer.window[-1].states)
    for name, change, message in (
        ("states", lambda states: torch.zeros(5, dtype=torch.uint8), "must be like|size"),
        ("states", lambda states: torch.full_like(states, 255), "state"),
        ("targets", lambda targets: torch.zeros(3, 2, 2), "must be like|size"),
        ("targets", lambda targets: targets.to(torch.float16), "must be like|size"),
        ("targets", lambda targets: torch.zeros(()), "must be like|size"),
        ("targets", lambda targets: targets[1:], f"{length} positions and targets for {length - 1}"),
    ):
        state, other = trainer.state_dict(), make_trainer(load_config(config))
        state["window"]["0"] |= {name: change(state["window"]["0"][name])}
        with pytest.raises(ValueError, match=message):
            other.load_state_dict(state)


def test_the_value_of_patchwork_comes_to_explain_the_results(tmp_path):
    path = tmp_path / "tiny.yaml"
    path.write_text(TD)
    settings = [
        "td={games: 32, gradient_steps: 16, minibatch_size: 256, warmup: 20, table_rate: 1, td_lambda: 0.9}",
        "td.exploration={start: 1.0, end: 1.0}",
        "td.temperature=10.0",
        "td.learning_rate={start: 5e-3, end: 5e-3}",
    ]
    trainer = make_trainer(load_config(path, settings))
    explained = [trainer.step()["losses/explained_variance"] for _ in range(6)]
    assert explained[0] < 0.2
    assert np.mean(explained[-2:]) > 0.3


@pytest.mark.slow
def test_the_value_of_nmbr9_comes_to_play_better_than_greedy(tmp_path):
    """Greedy scores 53, and so does a value of nothing with the most contact."""
    path = tmp_path / "tiny.yaml"
    path.write_text(SOLO_TD)
    settings = [
        "solo_td={games: 64, candidate_placements: 6, gradient_steps: 24, minibatch_size: 512}",
        "solo_td.warmup=20",
        "solo_td.table_rate=0.3",
        "solo_td.learning_rate={start: 3e-3, end: 3e-3}",
        "solo_td.ema_decay=0.9",
    ]
    trainer = make_trainer(load_config(path, settings))
    metrics = [trainer.step() for _ in range(16)]
    assert metrics[0]["games/score"] < 57
    assert np.mean([m["games/score"] for m in metrics[-3:]]) > 60
    assert metrics[-1]["losses/explained_variance"] > 0.5


def test_a_target_that_is_no_number_is_an_error(config):
    trainer = make_trainer(load_config(config))
    trainer.step()
    positions = trainer.window[-1]
    positions.targets[:] = np.nan
    with pytest.raises(DivergenceError, match="the loss is nan"):
        trainer.learner.update(positions, 0.0, np.random.default_rng(2))
