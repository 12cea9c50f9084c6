"""Loggers: tables, and tracking services: what they are sent, that runs go on without them, real clients.

Clients that are not installed are played by fakes with the few calls that are used;
`make test-libraries` runs the tests of the real ones, without a network.
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
from patchwork_env.learning.runs.folder import interval_metrics
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
RATE = interval_metrics("random")[0]


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


# --- fakes of the clients -----------------------------------------------------------------------------------


class Calls(list):
    """The calls of a client in their order: name, arguments, named arguments."""

    def note(self, name: str, returned: Any = None) -> Callable[..., Any]:
        def call(*args, **kwargs):
            self.append((name, args, kwargs))
            return returned

        return call

    def named(self, name: str) -> list[tuple[tuple, dict]]:
        return [(args, kwargs) for called, args, kwargs in self if called == name]


def module(monkeypatch, name: str, **members) -> None:
    made = ModuleType(name)
    made.__spec__ = ModuleSpec(name, None)
    made.__dict__.update(members)
    monkeypatch.setitem(sys.modules, name, made)


@pytest.fixture
def wandb(monkeypatch) -> Calls:
    calls = Calls()
    run = SimpleNamespace(
        define_metric=calls.note("define_metric"),
        log=calls.note("log"),
        summary=SimpleNamespace(update=calls.note("summary")),
        finish=calls.note("finish"),
    )
    module(monkeypatch, "wandb", init=calls.note("init", run), Settings=dict, Image=lambda frame: frame.shape)
    return calls


@pytest.fixture
def trackio(monkeypatch) -> Calls:
    calls = Calls()
    run = SimpleNamespace(log=calls.note("log"), finish=calls.note("finish"))
    module(monkeypatch, "trackio", init=calls.note("init", run), Image=lambda frame: frame.shape)
    return calls


@pytest.fixture
def mlflow(monkeypatch) -> Calls:
    calls, params = Calls(), {}

    def log_batch(run_id, metrics=(), params_=(), **named):
        calls.append(("log_batch", (run_id, list(metrics)), {}))
        params.update({param.key: param.value for param in named.get("params", ())})

    run = SimpleNamespace(info=SimpleNamespace(run_id="r1"), data=SimpleNamespace(params=params))
    client = SimpleNamespace(
        get_experiment_by_name=calls.note("experiment"),
        create_experiment=calls.note("create_experiment", "7"),
        create_run=calls.note("create_run", run),
        get_run=lambda run_id: run,
        update_run=calls.note("update_run"),
        log_batch=log_batch,
        **{name: calls.note(name) for name in ("log_metric", "log_image", "set_tag", "set_terminated")},
    )
    module(monkeypatch, "mlflow", MlflowClient=lambda: client)
    entities = {
        "Metric": lambda key, value, timestamp, step: SimpleNamespace(key=key, value=value, step=step),
        "Param": lambda key, value: SimpleNamespace(key=key, value=value),
    }
    module(monkeypatch, "mlflow.entities", **entities)
    calls.append(("params", (params,), {}))
    return calls


# --- what services are sent ---------------------------------------------------------------------------------


def test_a_run_is_sent_and_goes_on_with_the_same_one(config, tmp_path, wandb, mlflow, trackio) -> None:
    run = tmp_path / "run"
    assert train_with(config, run, "[wandb, mlflow, trackio]") == 0
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    known = {path.stem: json.loads(path.read_text())["run"] for path in (run / "trackers").iterdir()}

    ((_, begun),) = wandb.named("init")
    assert (begun["id"], begun["resume"], begun["project"], begun["name"]) == (
        known["wandb"],
        "allow",
        "patchwork-env",
        "run",
    )
    assert begun["config"]["ppo"]["epochs"] == 1
    assert begun["config"]["made_with"]["steps"] == 0
    logged = [metrics for (metrics,), _ in wandb.named("log")]
    assert [(one["steps"], one[RATE]) for one in logged if RATE in one] == [
        (128, lines[-1].get(RATE, lines[-2].get(RATE)))
    ]
    assert {name for one in logged for name in one} >= {name for line in lines for name in line}
    ((summary,), _) = wandb.named("summary")[0]
    assert set(summary) >= {
        "final/win_rate_against_random",
        "final/win_rate_low_against_random",
        "final/weights",
    }
    assert wandb[-1][0] == "finish"

    assert mlflow.named("create_run")[0][0] == ("7",)
    ((params,), _) = mlflow.named("params")[0]
    assert (params["ppo.epochs"], params["made_with.steps"]) == ("1", "0")
    sent = [metric for (_, metrics), _ in mlflow.named("log_batch") for metric in metrics]
    assert {(metric.step, metric.key) for metric in sent} >= {(128, RATE), (64, "losses/entropy")}
    assert mlflow.named("set_tag")[0][0][:2] == ("r1", "final/weights")
    assert mlflow[-1][0] == "set_terminated"

    ((_, name), begun) = trackio.named("init")[0]
    assert name == known["trackio"]
    assert name.startswith("run-")
    assert [step["step"] for (metrics,), step in trackio.named("log") if "losses/entropy" in metrics] == [
        64,
        128,
    ]

    assert train.main(["--resume", str(run), "--set", "total_steps=192"]) == 0
    assert [begun["id"] for _, begun in wandb.named("init")] == [known["wandb"]] * 2
    assert len(mlflow.named("create_run")) == 1
    assert mlflow.named("update_run") == [(("r1",), {"status": "RUNNING"})]
    assert ("r1", "resumed.total_steps", "192") in [args for args, _ in mlflow.named("set_tag")]
    assert [args[1] for args, _ in trackio.named("init")] == [known["trackio"]] * 2
    assert [kwargs["step"] for (metrics,), kwargs in trackio.named("log") if "losses/entropy" in metrics] == [
        64,
        128,
        192,
    ]


def test_pictures_and_names_of_agents_with_options(tmp_path, wandb, mlflow, trackio) -> None:
    log = Log(tmp_path, 0, load_config("quick", ["tracker=[wandb, mlflow, trackio]"]))
    log.add({"win_rate_against_mcts:simulations=4,c=1": 0.5}, 3, 0.1)
    log.show("a game", np.zeros((4, 6, 3), np.uint8), 3)
    log.close()
    assert wandb.named("log")[-1][0][0] == {"steps": 3, "sample_game": (4, 6, 3)}
    assert trackio.named("log")[-1] == (({"sample_game": (4, 6, 3)},), {"step": 3})
    assert mlflow.named("log_image")[0][1] == {"key": "sample_game", "step": 3}
    (metric, _) = mlflow.named("log_batch")[-1][0][1]
    assert metric.key == "win_rate_against_mcts_simulations_4_c_1"


# --- services that fail -------------------------------------------------------------------------------------


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
    assert b"final/win_rate_against_random" in b"".join(part.read_bytes() for part in parts)


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
