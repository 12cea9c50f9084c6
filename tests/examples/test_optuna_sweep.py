"""The sweep by Optuna: processes share one study, weak trials end early, and every trial is a run."""

import sys

import optuna
import pytest

from examples import optuna_sweep as example
from patchwork_env.learning import toolbox
from tests.learning.same_runs import evaluations_of
from tests.learning.tiny_runs import TINY_RUNS


@pytest.fixture
def sweep(tmp_path, monkeypatch):
    """Runs the example on tiny runs in the folder ``sweep``; returns its study."""
    config = tmp_path / "tiny.yaml"
    config.write_text(TINY_RUNS["ppo"])
    monkeypatch.chdir(tmp_path)

    def run(trials):
        words = ["optuna_sweep.py", "sweep", "--trials", str(trials), "--config", str(config)]
        monkeypatch.setattr(sys, "argv", [*words, "--set", "total_steps=256", "evaluation.every=1"])
        example.main()
        return example.open_study(tmp_path / "sweep")

    return run


def test_a_second_start_goes_on_with_the_study(sweep, tmp_path, capsys):
    sweep(1)
    study = sweep(2)
    assert [trial.number for trial in study.trials] == [0, 1]
    printed = capsys.readouterr().out
    assert f"best of 2: trial {study.best_trial.number}, " in printed
    assert printed.endswith(" --against greedy --games 1000\n")  # on the default seed: other circles
    for trial in study.trials:
        run = tmp_path / "sweep" / "trials" / f"{trial.number:03}"
        *early, last = evaluations_of(run)
        assert {one.steps: one.matches[0].win_rate for one in early} == trial.intermediate_values
        assert trial.value == last.match("greedy").win_rate
        config = toolbox.load_config(run / "config.yaml")
        assert config.ppo.epochs == trial.params["ppo.epochs"]
        assert config.threads == 1


def test_a_weak_trial_ends_early_and_its_run_can_be_resumed(sweep, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(optuna.Trial, "should_prune", lambda trial: trial.number == 0)
    study = sweep(2)
    assert [trial.state.name for trial in study.trials] == ["PRUNED", "COMPLETE"]
    with toolbox.resumed_run(tmp_path / "sweep" / "trials" / "000") as run:
        assert run.train() == 0


def test_a_signal_ends_the_sweep_and_its_trial_has_failed(sweep, tmp_path, monkeypatch):
    monkeypatch.setattr(toolbox.Run, "train", lambda run: 130)
    with pytest.raises(KeyboardInterrupt):
        sweep(2)
    states = [trial.state.name for trial in example.open_study(tmp_path / "sweep").trials]
    assert states == ["FAIL"]
    with pytest.raises(SystemExit, match="no trial is complete; go on with more --trials than 1"):
        sweep(1)
