"""What runs log, keep of their evaluations, and note of what they were made with; one seed of evaluations."""

from __future__ import annotations

import csv
import hashlib
import json
import platform
import shutil
from pathlib import Path

import pytest

from patchwork_env.agents.patchwork.policy import load_policy
from patchwork_env.learning.commands import train
from patchwork_env.learning.config import ConfigError, algorithms, explain, load_config
from patchwork_env.learning.config.explain import keys_of
from patchwork_env.learning.evaluation.matches import play_matches
from patchwork_env.learning.evaluation.players import hash_of_weights
from patchwork_env.learning.evaluation.records import Evaluation, read_evaluation
from patchwork_env.learning.runs.folder import (
    best_file,
    candidate_folders,
    evaluation_files,
    read_versions,
)
from patchwork_env.learning.runs.loggers import LOGGERS, Log

TINY = """
total_steps: 384
threads: 1
seed: 5
network: {width: 8, depth: 1, channels: 4}
ppo: {num_envs: 8, rollout_steps: 8, minibatch_size: 32, epochs: 1}
league: {fraction: 0.0}
tracker: csv
evaluation: {every: null, every_steps: 100, games: 2, final_games: 2, opponents: [random]}
"""


@pytest.fixture(scope="module")
def config(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("configs") / "tiny.yaml"
    path.write_text(TINY)
    return path


@pytest.fixture(scope="module")
def run(tmp_path_factory, config) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "tiny"
    assert train.main([str(config), "--run-dir", str(folder)]) == 0
    return folder


def evaluations_of(run: Path) -> list[Evaluation]:
    return [read_evaluation(path) for path in evaluation_files(run).values()]


# --- loggers ------------------------------------------------------------------------------------------------


def test_loggers_are_chosen_by_the_configuration(run) -> None:
    assert not list(run.glob("events.*"))
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    expected = [
        (line["steps"], name, value)
        for line in lines
        for name, value in line.items()
        if name not in ("steps", "minutes")
    ]
    with (run / "metrics.csv").open(newline="") as file:
        rows = [(int(row["steps"]), row["metric"], float(row["value"])) for row in csv.DictReader(file)]
    assert [row[:2] for row in rows] == [row[:2] for row in expected]
    assert [row[2] for row in rows] == pytest.approx([row[2] for row in expected], rel=1e-5, abs=1e-6)


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


def test_an_unknown_logger_leaves_no_folder(config, tmp_path, capsys) -> None:
    run = tmp_path / "run"
    assert train.main([str(config), "--run-dir", str(run), "--set", "tracker=tensorbord"]) == 2
    assert "tracker: there is no 'tensorbord'; did you mean 'tensorboard'?" in capsys.readouterr().err
    assert not run.exists()


# --- evaluations --------------------------------------------------------------------------------------------


def test_evaluations_every_so_many_steps(run) -> None:
    """Every 100 steps, at the first end of an iteration of 64 steps from there on, and at the end."""
    assert [evaluation.steps for evaluation in evaluations_of(run)] == [128, 256, 320, 384]


def test_the_best_policies_are_measured_again_on_other_circles(run) -> None:
    rates = {one.steps: one.matches[0].win_rate for one in evaluations_of(run)}
    best = sorted(rates, key=lambda steps: (-rates[steps], steps))[:3]
    assert list(candidate_folders(run)) == sorted({*best, 384})
    chosen = read_evaluation(best_file(run))
    assert load_policy(run / "best")[1]["steps"] == chosen.steps
    (match,) = chosen.matches
    final = evaluations_of(run)[-1].matches[0]
    assert (match.games, match.seed) == (final.games, final.seed + 1)
    again = [play_matches(str(folder), "random", 2, match.seed) for folder in candidate_folders(run).values()]
    assert match.win_rate == max(result.win_rate for result in again)


def test_the_seed_of_training_does_not_choose_what_evaluations_play(run, config, tmp_path) -> None:
    circles = []
    for seed, more in ((6, []), (6, ["evaluation.seed=1"])):
        folder = tmp_path / f"run-{len(circles)}"
        changes = [f"seed={seed}", "total_steps=64", *more]
        assert train.main([str(config), "--run-dir", str(folder), "--set", *changes]) == 0
        circles.append(circle_of(folder))
    assert circles[0] == circle_of(run) != circles[1]


def circle_of(run: Path) -> str:
    """The line of the first sample game that gives its circle."""
    notation = evaluations_of(run)[0].sample_games[0].notation
    return next(line for line in notation.splitlines() if "circle" in line)


def test_every_start_notes_its_versions(run) -> None:
    (line,) = (run / "versions.jsonl").read_text().splitlines()
    noted = json.loads(line)
    assert noted["steps"] == 0
    assert noted["python"] == platform.python_version()
    assert {"commit", "patchwork_env", "numpy", "numba", "torch", "machine"} <= set(noted)


def test_a_run_that_goes_on_notes_its_versions_again(run, tmp_path) -> None:
    later = Path(shutil.copytree(run, tmp_path / "run"))
    assert train.main(["--resume", str(later), "--set", "total_steps=448"]) == 0
    assert [start["steps"] for start in read_versions(later)] == [0, 384]
    with (later / "versions.jsonl").open("a") as file:
        file.write('[]\n{"steps": "5"}\n{"steps": 448, "comm')
    assert len(read_versions(later)) == 2


def test_the_last_evaluation_notes_the_weights(run) -> None:
    *others, last = evaluations_of(run)
    digest = hashlib.sha256((run / "final" / "weights.safetensors").read_bytes()).hexdigest()
    assert last.weights == hash_of_weights(run / "final") == digest
    assert all(one.weights is None for one in others)


# --- commands -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", algorithms())
def test_every_key_has_a_description(algorithm) -> None:
    keys = list(keys_of(algorithms()[algorithm]()))
    assert [key.name for key in keys if not key.description.endswith(".")] == []
    assert len(keys) > 20


def test_explain(capsys) -> None:
    assert train.main(["--explain", "ppo.clip_range", "total_steps"]) == 0
    said = capsys.readouterr().out
    assert "ppo.clip_range = 0.2   (number, above 0, at most 1000000)\n    By how much " in said
    assert "total_steps = 1000000   (integer, at least 1, at most 9000000000)\n" in said
    assert "solo_td.ema_decay = 0.998" in explain(["solo_td"])
    assert "ppo." not in explain(["solo_td"])
    assert {line.partition(" ")[0] for line in explain(["gamma"]).splitlines() if line[0] != " "} == {
        "maskable_ppo.gamma",
        "ppo.gamma",
        "rllib_ppo.gamma",
    }
    assert "ppo." not in explain()
    assert "algorithm = ppo   (alphazero | maskable_ppo | ppo | " in explain(["algorithm"])
    assert "device = cpu   (string)" in explain()  # as the default algorithm has it, not td
    with pytest.raises(ConfigError, match="there is no such key; did you mean 'gamma'"):
        explain(["gama"])
