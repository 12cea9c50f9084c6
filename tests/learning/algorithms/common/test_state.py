"""The state of a trainer: its counts and times, and what a file may hold of it."""

import time

import pytest
import torch

from patchwork_env.learning.algorithms.common.trainer import (
    join,
    load_optimizer_state,
    make_trainer,
    optimizer_state,
)
from patchwork_env.learning.config import load_config
from tests.learning.tiny_runs import TINY_RUNS


@pytest.fixture
def learner():
    module = torch.nn.Linear(3, 2)
    optimizer = torch.optim.Adam(module.parameters())
    module(torch.ones(3)).sum().backward()
    optimizer.step()
    return optimizer


def test_what_an_optimizer_keeps_shares_no_memory(learner):
    state = optimizer_state(learner)
    load_optimizer_state(learner, state)
    state["0"]["exp_avg"][:] = 7
    assert (optimizer_state(learner)["0"]["exp_avg"] != 7).all()


def test_turns_and_seconds_of_all_iterations_add_up(tmp_path, monkeypatch):
    path = tmp_path / "tiny.yaml"
    path.write_text(TINY_RUNS["td"])
    trainer = make_trainer(load_config(path))
    monkeypatch.setattr(time, "perf_counter", iter((105.0, 112.0)).__next__)
    first, second = trainer._count_iteration(10, 100.0, 101.0), trainer._count_iteration(20, 110.0, 111.0)
    assert first == {"time/steps_per_second": 2.0, "time/share_of_time_collecting": 0.2}
    assert second == {"time/steps_per_second": 10.0, "time/share_of_time_collecting": 0.5}
    assert (trainer.steps, trainer.iteration, trainer.seconds) == (30, 2, 7.0)


@pytest.mark.parametrize("name", ["ppo", "alphazero", "td"])
def test_updates_know_the_progress_and_their_time_is_not_that_of_collecting(name, tmp_path, monkeypatch):
    """The clock advances by 100 seconds in an update, and by one at each reading."""
    path, now, seen, expected = tmp_path / "tiny.yaml", [0.0], [], []
    path.write_text(TINY_RUNS[name])
    trainer = make_trainer(load_config(path))
    update = trainer.learner.update

    def advance(seconds=1.0):
        now[0] += seconds
        return now[0]

    def update_slowly(*arguments):
        advance(100.0)
        seen.append(arguments[1])
        return update(*arguments)

    monkeypatch.setattr(time, "perf_counter", advance)
    monkeypatch.setattr(trainer.learner, "update", update_slowly)
    for _ in range(2):
        expected.append(trainer.steps / trainer.config.total_steps)
        assert 0 < trainer.step()["time/share_of_time_collecting"] < 0.1
    assert seen == expected


def test_a_tensor_without_a_place_is_refused():
    for path in ("b/c", "a/d", "f/g", "h/i"):
        with pytest.raises((KeyError, TypeError)):
            join({"a": [], "f": 2.5, "h": None}, {path: torch.ones(1)})
