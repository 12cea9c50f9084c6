"""Loggers: tables, and tracking services: that runs go on without them, and what their clients keep.

A fake of wandb fails; `make test-libraries` runs the tests of the real clients, without a network.
"""

from __future__ import annotations

import csv
import json
import sys
import threading
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from patchwork_env.errors import MissingExtraError
from patchwork_env.learning.commands import train
from patchwork_env.learning.config import load_config
from patchwork_env.learning.runs import loggers
from patchwork_env.learning.runs.loggers import LOGGERS, Log, logger_of
from patchwork_env.learning.runs.trackers import SERVICES

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
def config(tmp_path) -> Path:
    path = tmp_path / "tiny.yaml"
    path.write_text(CONFIG)
    return path


def train_with(config: Path, run: Path, trackers: str, *more: str) -> int:
    return train.main([str(config), "--run-dir", str(run), "--set", f"tracker={trackers}", *more])


# --- files --------------------------------------------------------------------------------------------------


def test_a_table_is_cut_back_where_the_run_goes_on(tmp_path) -> None:
    log = Log(tmp_path, 0, load_config("quick", ["tracker=csv"]))
    for steps in (10, 20, 30):
        log.add({"a": 0.5, "against x:y=1,z=2": 1.0}, steps, 1.0)
    log.close()
    with (tmp_path / "metrics.csv").open("a") as file:
        file.write("40,1.0,half a ro")
    log = Log(tmp_path, 20, load_config("quick", ["tracker=csv"]))
    log.add({"a": 0.5, "b": 2.0}, 20, 1.0)
    log.close()
    with (tmp_path / "metrics.csv").open(newline="") as file:
        rows = [(int(row["steps"]), row["metric"]) for row in csv.DictReader(file)]
    named = "against x:y=1,z=2"
    assert rows == [(10, "a"), (10, named), (20, "a"), (20, named), (20, "b")]


def test_a_logger_is_one_class(tmp_path, monkeypatch) -> None:
    seen = []

    class Kept:
        def __init__(self, folder: Path, steps: int, config) -> None:
            seen.append(steps)

        def add(self, metrics, steps, minutes) -> None:
            seen.append((metrics, steps, minutes))

        def close(self) -> None:
            seen.append("closed")

    monkeypatch.setitem(LOGGERS, "kept", Kept)
    log = Log(tmp_path, 3, load_config("quick", ["tracker=kept"]))
    log.add({"a": 1.0}, 4, 0.5)
    log.close()
    assert seen == [3, ({"a": 1.0}, 4, 0.5), "closed"]


# --- a service that fails -----------------------------------------------------------------------------------


class Calls(list):
    """The calls of a client in their order: name, arguments, named arguments."""

    def note(self, name: str, returned: Any = None) -> Callable[..., Any]:
        def call(*args, **kwargs):
            self.append((name, args, kwargs))
            return returned

        return call

    def named(self, name: str) -> list[tuple[tuple, dict]]:
        return [(args, kwargs) for called, args, kwargs in self if called == name]


@pytest.fixture
def wandb(monkeypatch) -> Calls:
    calls = Calls()
    run = SimpleNamespace(
        define_metric=calls.note("define_metric"),
        log=calls.note("log"),
        summary=SimpleNamespace(update=calls.note("summary")),
        finish=calls.note("finish"),
    )
    made = ModuleType("wandb")
    made.__spec__ = ModuleSpec("wandb", None)
    made.__dict__.update(init=calls.note("init", run), Settings=dict, Image=lambda frame: frame.shape)
    monkeypatch.setitem(sys.modules, "wandb", made)
    return calls


@pytest.mark.parametrize("where", ["init", "log", "finish"])
def test_a_service_that_fails_is_told_once_and_stops_nothing(
    config, tmp_path, wandb, monkeypatch, capsys, where
) -> None:
    def fail(*args, **kwargs):
        raise ConnectionError("no route\nto host")

    made = sys.modules["wandb"]
    run = made.init()  # type: ignore[attr-defined]
    monkeypatch.setattr(*((made, "init") if where == "init" else (run, where)), fail)
    assert train_with(config, tmp_path / "run", "wandb") == 0
    said = capsys.readouterr().err
    assert said.count("wandb does not get everything (ConnectionError: no route to host)") == 1
    assert "the run goes on, and metrics.jsonl is complete" in said
    assert len((tmp_path / "run" / "metrics.jsonl").read_text().splitlines()) >= 3
    assert bool(wandb.named("summary")) == (where != "init")  # later calls are made all the same


def test_a_service_that_does_not_answer_is_left_behind(tmp_path, wandb, monkeypatch, capsys) -> None:
    answer = threading.Event()
    monkeypatch.setattr(sys.modules["wandb"], "init", lambda **named: answer.wait() and None)
    monkeypatch.setattr(loggers, "_SECONDS_AT_END", 0.01)
    monkeypatch.setattr(loggers, "_MOST_WAITING", 4)
    log = Log(tmp_path, 0, load_config("quick", ["tracker=wandb"]))
    for steps in range(20):
        log.add({"a": 1.0}, steps, 0.0)
    log.close()
    answer.set()
    assert capsys.readouterr().err.count("wandb does not get everything (4 calls are waiting for it)") == 1


@pytest.mark.parametrize("name", SERVICES)
def test_a_client_that_is_missing_is_named(config, tmp_path, monkeypatch, capsys, name) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtraError):
        logger_of(name)
    assert train_with(config, tmp_path / "run", name) == 2
    assert f"the tracker {name} needs {name}: pip install {name}" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


# --- the key of the configuration ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "trackers"),
    [
        ("tracker: wandb", ("wandb",)),
        ("tracker: [tensorboard, csv]", ("tensorboard", "csv")),
        ("tracker: none", ()),
        ("tracker:", ()),
        ("tracker: []", ()),
        ("", ("tensorboard",)),
    ],
)
def test_trackers_are_a_name_or_several_or_none(tmp_path, given, trackers) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(given)
    assert load_config(path).tracker == trackers
    assert load_config(path, ["tracker=none"]).tracker == ()


# --- the real clients, without a network --------------------------------------------------------------------


@pytest.mark.libraries
@pytest.mark.filterwarnings("ignore")  # of the client about other packages
def test_the_client_of_wandb(config, tmp_path, monkeypatch) -> None:
    pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    run = tmp_path / "run"
    assert train_with(config, run, "wandb") == 0
    assert train.main(["--resume", str(run), "--set", "total_steps=192"]) == 0
    known = json.loads((run / "trackers" / "wandb.json").read_text())["run"]
    parts = list((run / "wandb").glob(f"offline-run-*-{known}/*.wandb"))
    assert parts
    kept = b"".join(part.read_bytes() for part in parts)
    assert all(word in kept for word in (b"final/win_rate_against_random", b"sample_game", b"made_with"))


@pytest.mark.libraries
@pytest.mark.filterwarnings("ignore")  # of the client about other packages
def test_the_client_of_mlflow(config, tmp_path, monkeypatch) -> None:
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri((tmp_path / "mlruns").as_uri())
    run = tmp_path / "run"
    assert train_with(config, run, "mlflow") == 0
    assert train.main(["--resume", str(run), "--set", "total_steps=192"]) == 0
    client = mlflow.MlflowClient()
    (found,) = client.search_runs([client.get_experiment_by_name("patchwork-env").experiment_id])
    assert found.info.status == "FINISHED"
    assert found.data.params["ppo.epochs"] == "1"
    assert found.data.tags["resumed.total_steps"] == "192"
    assert [m.step for m in client.get_metric_history(found.info.run_id, "losses/entropy")] == [64, 128, 192]
    assert 0 <= found.data.metrics["final/win_rate_against_random"] <= 1
    assert (found.data.params["made_with.steps"], "final/weights" in found.data.tags) == ("0", True)
    log = Log(tmp_path, 0, load_config(config, ["tracker=mlflow"]))
    log.add({"win_rate_against_mcts:simulations=4,c=1": 0.5}, 3, 0.1)
    log.show("a game", np.zeros((4, 6, 3), np.uint8), 3)
    log.close()
    (other,) = {r.info.run_id: r for r in client.search_runs([found.info.experiment_id])}.keys() - {
        found.info.run_id
    }
    assert client.get_run(other).data.metrics["win_rate_against_mcts_simulations_4_c_1"] == 0.5
    assert any("sample_game" in file.path for file in client.list_artifacts(other, "images"))


@pytest.mark.libraries
@pytest.mark.filterwarnings("ignore")  # of the client about other packages
def test_the_client_of_trackio(config, tmp_path, monkeypatch) -> None:
    trackio = pytest.importorskip("trackio")
    from trackio import sqlite_storage, utils

    for owner in (utils, sqlite_storage):
        monkeypatch.setattr(owner, "TRACKIO_DIR", tmp_path / "trackio")
    run = tmp_path / "run"
    assert train_with(config, run, "trackio") == 0
    assert train.main(["--resume", str(run), "--set", "total_steps=192"]) == 0
    known = json.loads((run / "trackers" / "trackio.json").read_text())["run"]
    assert [found.name for found in trackio.Api().runs("patchwork-env")] == [known]
    logged = sqlite_storage.SQLiteStorage.get_logs("patchwork-env", known)
    assert [line["step"] for line in logged if "losses/entropy" in line] == [64, 128, 192]
    assert any("final/win_rate_against_random" in line for line in logged)
    assert any("sample_game" in line for line in logged)
