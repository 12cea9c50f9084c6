"""The training command from end to end: files and metrics of a run, its seed, and errors."""

from __future__ import annotations

import hashlib
import itertools
import json
import platform
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from patchwork_env.agents.checkpoints import read_checkpoint
from patchwork_env.errors import ConfigError
from patchwork_env.learning.commands import train
from patchwork_env.learning.config import CONFIGS, algorithms, explain, load_config
from patchwork_env.learning.config.loading import keys_of
from patchwork_env.learning.evaluation.matches import hash_of_weights, play_matches
from patchwork_env.learning.evaluation.records import read_evaluation
from patchwork_env.learning.runs import run as run_module
from patchwork_env.learning.runs.checkpoints import free_folder
from patchwork_env.learning.runs.evaluations import candidates
from patchwork_env.learning.runs.folder import best_file, checkpoint_folders, metrics_lines
from tests.learning.same_runs import (
    checkpoints_of,
    evaluations_of,
    metrics_of,
    scalars_of,
    start_run,
    tensors_of,
)

STEPS_PER_ITERATION = 64
STEPS = 10 * STEPS_PER_ITERATION  # the first multiple of an iteration from total_steps on


def test_output_and_files_of_a_run(trained, config):
    said, errors, finished = trained
    assert "new run in runs/tiny; if it is interrupted, resume it with --resume runs/tiny" in said
    parts = "640 steps in ", "against random: 4 games", "final policy: runs/tiny/final"
    assert [part for part in parts if part not in said] == []
    assert "\r" not in errors  # a file has no place where a bar could be drawn anew
    bars = [line for line in errors.splitlines() if " of 600 steps" in line]
    assert [int(bar.split()[1]) for bar in bars] == list(range(0, STEPS + 1, STEPS_PER_ITERATION))
    assert [line.split()[1] for line in said.splitlines() if " min  " in line] == ["256", "512"]
    assert f", entropy {metrics_of(finished)[0]['losses/entropy']:.2f}, explained " in bars[1]

    files = {str(path.relative_to(finished)) for path in finished.rglob("*")}
    events = {name for name in files if name.startswith("events.out.tfevents.")}
    assert len(events) == 1
    policy, trainer = {"checkpoint.json", "weights.safetensors"}, {"trainer.json", "trainer.safetensors"}
    expected = {"config.yaml", "metrics.jsonl", "versions.jsonl", "lock", "checkpoints", "evaluations"}
    folders = dict.fromkeys(("final", "best"), policy)
    folders |= {f"checkpoints/step_{steps:010d}": policy for steps in range(0, STEPS, 128)}
    folders |= {f"checkpoints/step_{steps:010d}": policy | trainer for steps in (512, 640)}
    expected |= {f"evaluations/step_{steps:010d}.json" for steps in (256, 512, 640)}
    expected |= {*folders, *(f"{folder}/{name}" for folder, names in folders.items() for name in names)}
    assert files == events | expected | {"evaluations/best.json"}
    assert load_config(finished / "config.yaml") == load_config(config)

    noted = json.loads((finished / "versions.jsonl").read_text())
    assert (noted["steps"], noted["python"]) == (0, platform.python_version())
    assert {"commit", "patchwork_env", "numpy", "numba", "torch", "machine"} <= set(noted)
    assert read_checkpoint(finished / "final").info["steps"] == STEPS
    assert tensors_of(finished / "final").items() <= tensors_of(checkpoints_of(finished)[-1]).items()
    digest = hashlib.sha256((finished / "final" / "weights.safetensors").read_bytes()).hexdigest()
    weights = [evaluation.weights for evaluation in evaluations_of(finished)]
    assert weights == [None, None, hash_of_weights(finished / "final")] == [None, None, digest]


def test_every_iteration_and_evaluation_has_its_metrics(finished):
    lines = metrics_of(finished)
    iterations = [line for line in lines if "losses/policy_loss" in line]
    assert [line["steps"] for line in iterations] == list(range(64, STEPS + 1, STEPS_PER_ITERATION))
    assert {"games/score", "league/snapshots"} <= set().union(*iterations)
    evaluated = [line["steps"] for line in lines if "evaluation/win_rate_against_random" in line]
    assert evaluated == [256, 512, 640]
    most = f'{{"steps": {10**12 - 1}, "minutes": {10**9 - 1}, "x": {2**63 - 1}}}\n'
    assert [*metrics_lines(most)] == [(most, json.loads(most))]


def test_tensorboard_has_the_same_curves(finished):
    expected: dict[str, list[tuple[int, float]]] = {}
    for line in metrics_of(finished):
        for name, value in line.items():
            if name not in ("steps", "minutes"):
                expected.setdefault(name, []).append((line["steps"], value))
    found = scalars_of(finished)
    assert set(found) == set(expected)
    for name, points in expected.items():
        np.testing.assert_allclose(found[name], points, rtol=1e-5, atol=1e-5)


def test_the_best_policies_are_measured_again_on_other_circles(trained, finished):
    chosen, (last,) = read_evaluation(best_file(finished)), evaluations_of(finished)[-1].matches
    (match,) = chosen.matches
    assert (match.games, match.seed) == (4, last.seed + 1)
    assert [len(each.sample_games) for each in (*evaluations_of(finished), chosen)] == [2, 2, 2, 0]
    assert read_checkpoint(finished / "best").info["steps"] == chosen.steps
    folders = candidates(finished, "patchwork")
    assert list(folders) == [256, 512, 640]
    rates = [play_matches(str(each), last.opponent, 4, last.seed + 1).win_rate for each in folders.values()]
    assert match.win_rate == max(rates)
    assert "measuring 3 policies again to choose the best\n" in trained[0]
    rate = f"the best of 3 that were measured again: {match.win_rate:.1%} against random"
    assert f"best policy: runs/tiny/best   (that of step {chosen.steps}, {rate})\n" in trained[0]


def test_the_seed_decides_the_run_and_evaluations_change_nothing(finished, config, tmp_path):
    run = tmp_path / "unwatched"
    assert start_run(config, run, "evaluation.opponents=[]") == 0
    assert tensors_of(checkpoints_of(run)[-1]) == tensors_of(checkpoints_of(finished)[-1])
    assert evaluations_of(run) == []


def test_checkpoints_by_the_clock(config, tmp_path, monkeypatch):
    """A minute passes between two looks at the clock, and 119 seconds in the evaluation."""
    run, clock = tmp_path / "run", itertools.chain(range(0, 421, 60), itertools.count(539, 60))
    monkeypatch.setattr(run_module, "time", SimpleNamespace(monotonic=clock.__next__))
    monkeypatch.setattr(run_module.Run, "_evaluate", lambda *_: [next(clock)][1:])  # no results
    settings = ["checkpoint_every=1000", "checkpoint_minutes=3", "total_steps=448"]
    assert start_run(config, run, *settings) == 0
    assert list(checkpoint_folders(run)) == [0, 192, 256, 384, 448]


def test_a_checkpoint_as_an_opponent_and_the_automatic_device(config, finished, tmp_path, capsys, request):
    spec, run = str(finished / "final"), tmp_path / "run"
    request.addfinalizer(partial(torch.set_num_threads, torch.get_num_threads()))
    torch.set_num_threads(3)
    evaluation = f"evaluation={{every: 1, final_games: 2, opponents: [{spec}]}}"
    assert start_run(config, run, "total_steps=65", evaluation, "device=auto") == 0
    assert torch.get_num_threads() == 3  # the run had one
    assert f"evaluation/win_rate_against_{spec}" in metrics_of(run)[-1]
    assert ", the best of 2 that were measured again: " in capsys.readouterr().out
    assert load_config(run / "config.yaml").device == "auto"


def test_a_folder_that_was_named_is_never_another(config, tmp_path, capsys):
    run = tmp_path / "run"
    run.mkdir()  # empty: not taken
    assert start_run(config, run, "total_steps=1", "evaluation.opponents=[]") == 0
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    assert start_run(config, run, "total_steps=1") == 2
    said = f"{run} exists already: give another folder, or resume it with --resume {run}"
    assert said in capsys.readouterr().err
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before
    assert free_folder(run) == tmp_path / "run-2"  # of one that was not named
    assert f"{run} exists already, so this goes to {run}-2" in capsys.readouterr().out


@pytest.mark.slow
def test_learns_to_beat_random(config, tmp_path):
    """A few seconds of training, before and after; the margins are several standard errors."""
    settings = [
        "seed=0",
        "network={width: 48, depth: 1, channels: 16, features: true}",
        "ppo={num_envs: 64, rollout_steps: 32, minibatch_size: 256, epochs: 2}",
        "ppo.entropy_coefficient={start: 3e-3, end: 3e-3}",
        "league={snapshot_every: 2, size: 2}",
        "reward={outcome: 0, margin: 1}",
        "evaluation.opponents=[]",
    ]
    results = []
    for steps, rates in ((1, "{start: 0, end: 0}"), (32768, "{start: 4e-3, end: 1e-3}")):
        run = tmp_path / str(steps)
        assert start_run(config, run, *settings, f"total_steps={steps}", f"ppo.learning_rate={rates}") == 0
        results.append(play_matches(f"{run}/final:sample=true", "random", 400))
    before, after = results
    assert after.win_rate > 0.55
    assert after.win_rate > before.win_rate + 0.15
    assert after.score_difference > before.score_difference + 6


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("device=toaster", "device is 'toaster', which PyTorch cannot use here"),
        ("device=meta", "device is 'meta', which PyTorch cannot use here"),
        ("evaluation.opponents=[random, gredy]", "evaluation.opponents: there is no agent 'gredy'"),
        ("evaluation.opponents=[no/where]", "evaluation.opponents: there is no checkpoint at 'no/where'"),
        ("tracker=[tensorbord]", "there is no 'tensorbord'; did you mean 'tensorboard'?"),
    ],
)
def test_an_error_leaves_no_folder(config, tmp_path, capsys, override, message):
    assert start_run(config, tmp_path / "run", override) == 2
    errors = capsys.readouterr().err
    assert errors.startswith("training.train: ")
    assert message in errors
    assert errors.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_list(capsys):
    assert train.main(["--list"]) == 0
    listed = capsys.readouterr().out.splitlines()
    configs = {path.stem: load_config(path).description for path in sorted(CONFIGS.glob("*.yaml"))}
    assert listed == [f"{name:<{max(map(len, configs))}}  {text}" for name, text in configs.items()]


def test_every_key_has_a_description():
    for name, kind in algorithms().items():
        keys = list(keys_of(kind()))
        assert [key.name for key in keys if not key.description.endswith(".")] == [], name
        assert len(keys) > 20


def test_explain(capsys):
    assert train.main(["--explain", "ppo.clip_range", "total_steps"]) == 0
    said = capsys.readouterr().out
    assert "ppo.clip_range = 0.2   (number, above 0, below 1)\n    Largest distance " in said
    assert "total_steps = 1000000   (integer, at least 1, at most 9000000000)\n" in said
    assert "solo_td.ema_decay = 0.998" in explain(["solo_td"])
    assert "league.choice = hard   (uniform | hard | even)\n" in explain(["league"])
    assert "network.features = true   (boolean)\n" in explain(["network"])
    assert "device = cpu   (cpu)\n" in explain(["td"])
    assert "ppo." not in explain(["solo_td"]) + explain()
    named = {line.partition(" ")[0] for line in explain(["gamma"]).splitlines() if line[0] != " "}
    assert named == {"maskable_ppo.gamma", "ppo.gamma"}
    assert "algorithm = ppo   (alphazero | maskable_ppo | ppo | " in explain(["algorithm"])
    assert "device = cpu   (string)" in explain()  # as the default algorithm has it, not td
    assert max(len(line) for line in explain(["ppo"]).splitlines() if line[0] == " ") == 100
    for name, near in {"ppo.lr": "learning_rate", "discount": "gamma", "gama": "gamma"}.items():
        with pytest.raises(ConfigError, match=rf"{name}: there is no such key; did you mean '{near}'\?"):
            explain([name])
