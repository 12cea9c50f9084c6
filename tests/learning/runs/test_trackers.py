"""Trackers: runs continue when a service fails, and clients store the metrics.

Fakes of the clients fail; `make test-libraries` runs the tests of the real clients, without a network.
"""

import json
import sys
import threading
from importlib.machinery import ModuleSpec
from itertools import product
from operator import attrgetter
from unittest.mock import Mock, call

import pytest

from patchwork_env.learning.commands import train
from patchwork_env.learning.config import flattened, load_config
from patchwork_env.learning.runs import loggers
from patchwork_env.learning.runs.loggers import SERVICES, Log
from tests.learning.same_runs import metrics_of

CONFIG = """
total_steps: 128
threads: 1
seed: 5
network: {width: 8, depth: 1, channels: 4}
ppo: {num_envs: 8, rollout_steps: 8, minibatch_size: 32, epochs: 1}
league: {fraction: 0.0}
evaluation: {every: null, games: 2, final_games: 2, opponents: ["random"]}
"""


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "tiny.yaml"
    path.write_text(CONFIG)
    return path


def train_with(config, run, trackers, *more):
    return train.main([str(config), "--run-dir", str(run), "--set", f"tracker={trackers}", *more])


CALLS = {
    "wandb": ("init", "init.return_value.log", "init.return_value.finish"),
    "mlflow": ("start_run", "log_metrics", "end_run"),
}
"""The calls that begin a run at a service, add metrics to it and end it."""


@pytest.fixture
def clients(monkeypatch):
    """Clients that accept every call."""
    made = {name: Mock(__spec__=ModuleSpec(name, None), Settings=dict) for name in SERVICES}
    for name, client in made.items():
        monkeypatch.setitem(sys.modules, name, client)
    return made


@pytest.mark.parametrize(("name", "number"), [*product(CALLS, range(3))])
def test_a_service_that_fails_is_told_once_and_stops_nothing(config, tmp_path, clients, capsys, name, number):
    before = threading.active_count()
    calls = [attrgetter(call)(clients[name]) for call in CALLS[name]]
    calls[number].side_effect = ConnectionError("no route\nto host")
    assert train_with(config, tmp_path / "run", name) == 0
    printed, said = capsys.readouterr()
    assert "/best   (that of step 128: " in printed  # which was the only candidate
    assert said.count(f"{name} misses metrics (ConnectionError: no route to host)") == 1
    assert "the run continues, and metrics.jsonl is complete" in said
    lines = (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()
    assert [call.call_count for call in calls] == ([1, len(lines), 1] if number else [1, 0, 0])
    assert threading.active_count() <= before


def test_services_get_the_name_and_the_settings_of_a_run_and_know_it_again(config, tmp_path, clients):
    run = tmp_path / "run"
    assert train_with(config, run, "[wandb, mlflow]") == 0
    assert train.main(["--resume", str(run)]) == 0
    (first, again), mlflow = (one.kwargs for one in clients["wandb"].init.call_args_list), clients["mlflow"]
    settings = first["config"]
    expected = {"name": "run", "dir": run, "resume": "allow", "project": "patchwork-env", "config": settings}
    assert first == expected | {"id": first["id"], "allow_val_change": True, "settings": {"console": "off"}}
    assert (again["id"], len(first["id"])) == (known_run(run, "wandb"), 8)
    clients["wandb"].init.return_value.define_metric.assert_called_with("*", step_metric="steps")
    assert json.loads(json.dumps(settings)) == settings
    assert flattened(settings).items() >= {"seed": 5, "ppo.epochs": 1, "made_with.steps": 0}.items()
    assert again["config"]["made_with"]["steps"] == 128
    starts = [call(run_id=known, run_name="run") for known in (None, known_run(run, "mlflow"))]
    assert mlflow.start_run.call_args_list == starts
    mlflow.set_experiment.assert_called_with("patchwork-env")
    mlflow.log_params.assert_called_once_with(flattened(settings))
    sent = [(one.kwargs["step"], {"steps", *one.args[0]}) for one in mlflow.log_metrics.call_args_list]
    assert sent == [(line["steps"], {*line}) for line in metrics_of(run)]


def test_a_service_that_does_not_answer_is_left_behind(tmp_path, clients, monkeypatch, capsys):
    answer, before = threading.Event(), set(threading.enumerate())
    clients["wandb"].init.side_effect = lambda **named: answer.wait() and None
    monkeypatch.setattr(loggers, "_SECONDS_AT_END", 0.01)
    monkeypatch.setattr(loggers, "_MOST_WAITING", 4)
    for number, reason in ((20, "4 calls are waiting for it"), (1, "calls are left after 0 seconds")):
        log = Log(tmp_path, 0, load_config("quick", ["tracker=wandb"]))
        for steps in range(number):
            log.add({"a": 1.0}, steps, 0.0)
        log.close()
        assert capsys.readouterr().err.count(f"wandb misses metrics ({reason})") == 1
    assert {thread.daemon for thread in {*threading.enumerate()} - before} == {True}  # none outlives the run
    answer.set()


def test_a_client_that_is_missing_is_named(config, tmp_path, monkeypatch, capsys):
    for name in SERVICES:
        monkeypatch.setitem(sys.modules, name, None)
        assert train_with(config, tmp_path / "run", name) == 2
        assert f"the tracker {name} needs {name}: pip install {name}" in capsys.readouterr().err
        assert not (tmp_path / "run").exists()


def run_and_resume(config, tracker):
    """A run of two iterations that is resumed for a third; returns its folder."""
    run = config.parent / "run"
    assert train_with(config, run, tracker) == 0
    assert train.main(["--resume", str(run), "--set", "total_steps=192"]) == 0
    return run


def known_run(run, tracker):
    return json.loads((run / "trackers" / f"{tracker}.json").read_text())["run"]


@pytest.mark.libraries
@pytest.mark.filterwarnings("ignore")  # of the client about other packages
def test_the_client_of_wandb(config, monkeypatch):
    pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    run = run_and_resume(config, "wandb")
    parts = list((run / "wandb").glob(f"offline-run-*-{known_run(run, 'wandb')}/*.wandb"))
    kept = b"".join(part.read_bytes() for part in parts)
    assert all(word in kept for word in (b"evaluation/win_rate_against_random", b"made_with"))


@pytest.mark.libraries
@pytest.mark.filterwarnings("ignore")
def test_the_client_of_mlflow(config, tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri((tmp_path / "mlruns").as_uri())
    run_and_resume(config, "mlflow")
    client = mlflow.MlflowClient()
    experiments = [client.get_experiment_by_name("patchwork-env").experiment_id]
    (found,) = client.search_runs(experiments)
    assert found.info.status == "FINISHED"
    assert (found.data.params["ppo.epochs"], found.data.params["made_with.steps"]) == ("1", "0")
    assert [m.step for m in client.get_metric_history(found.info.run_id, "losses/entropy")] == [64, 128, 192]
    assert 0 <= found.data.metrics["evaluation/win_rate_against_random"] <= 1
    log = Log(tmp_path, 0, load_config(config, ["tracker=mlflow"]))
    log.add({"win_rate_against_mcts:simulations=4,c=1": 0.5}, 3, 0.1)
    log.close()
    (other,) = {each.info.run_id for each in client.search_runs(experiments)} - {found.info.run_id}
    assert client.get_run(other).data.metrics["win_rate_against_mcts_simulations_4_c_1"] == 0.5
