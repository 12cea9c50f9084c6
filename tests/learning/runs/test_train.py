"""The training command from end to end: what a run leaves, what decides it, and what is refused."""

from __future__ import annotations

import csv
import hashlib
import json
import platform

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from patchwork_env import agents
from patchwork_env.agents.patchwork.policy import load_policy
from patchwork_env.learning.commands import train
from patchwork_env.learning.config import ConfigError, algorithms, explain, load_config
from patchwork_env.learning.config.explain import keys_of
from patchwork_env.learning.evaluation.matches import play_matches
from patchwork_env.learning.evaluation.players import hash_of_weights
from patchwork_env.learning.evaluation.records import read_evaluation
from patchwork_env.learning.runs.checkpoints import free_folder
from patchwork_env.learning.runs.folder import best_file, candidate_folders
from patchwork_env.learning.runs.run import new_run
from tests.learning.same_runs import (
    ROOT,
    checkpoints_of,
    evaluations_of,
    metrics_of,
    scalars_of,
    start_run,
    tensors_of,
)

STEPS_PER_ITERATION = 64
STEPS = 10 * STEPS_PER_ITERATION  # the first multiple of an iteration from total_steps on


# --- a whole run --------------------------------------------------------------------------------------------


def test_files_of_a_run(finished, config):
    files = {str(path.relative_to(finished)) for path in finished.rglob("*")}
    events = {name for name in files if name.startswith("events.out.tfevents.")}
    assert len(events) == 1
    policy, trainer = {"checkpoint.json", "weights.safetensors"}, {"trainer.json", "trainer.safetensors"}
    expected = {"config.yaml", "metrics.jsonl", "metrics.csv", "versions.jsonl", "lock"}
    expected |= {"checkpoints", "candidates", "evaluations", "evaluations/best.json"}
    folders = dict.fromkeys(("final", "best"), policy)
    folders |= {f"checkpoints/step_{steps:010d}": policy for steps in range(0, STEPS, 128)}
    folders |= {f"checkpoints/step_{steps:010d}": policy | trainer for steps in (512, 640)}
    folders |= {f"candidates/step_{steps:010d}": policy for steps in (256, 512, 640)}
    expected |= {f"evaluations/step_{steps:010d}.json" for steps in (256, 512, 640)}
    expected |= {*folders, *(f"{folder}/{name}" for folder, names in folders.items() for name in names)}
    assert files == events | expected
    assert load_config(finished / "config.yaml") == load_config(config)


def test_the_command_says_where_everything_is(trained):
    said, errors, _ = trained
    assert "new run in runs/tiny; if it is cut off, go on with --resume runs/tiny" in said
    assert "640 steps in " in said
    assert "against random: 4 games" in said
    assert "against greedy: 4 games" in said
    assert "final policy: runs/tiny/final" in said
    assert "\r" not in errors  # a file has no place where a bar could be drawn anew


def test_the_final_policy_is_the_last_checkpoint_and_plays(finished):
    assert load_policy(finished / "final")[1]["steps"] == STEPS
    final = tensors_of(finished / "final")
    assert len(final) > 5
    assert final.items() <= tensors_of(checkpoints_of(finished)[-1]).items()
    assert 0 <= play_matches(str(finished / "final"), "random", 2).win_rate <= 1


def test_every_iteration_and_evaluation_has_its_metrics(finished):
    lines = metrics_of(finished)
    iterations = [line for line in lines if "losses/policy_loss" in line]
    assert [line["steps"] for line in iterations] == list(range(64, STEPS + 1, STEPS_PER_ITERATION))
    for line in iterations:
        assert {"losses/value_loss", "losses/entropy", "losses/kl", "time/steps_per_second"} <= set(line)
    assert any("games/score" in line for line in iterations)
    assert any("league/snapshots" in line for line in iterations)
    for opponent in ("random", "greedy"):
        evaluated = [line["steps"] for line in lines if f"evaluation/win_rate_against_{opponent}" in line]
        assert evaluated == [256, 512, 640]


def test_all_loggers_have_the_same_curves(finished):
    expected: dict[str, list[tuple[int, float]]] = {}
    for line in metrics_of(finished):
        for name, value in line.items():
            if name not in ("steps", "minutes"):
                expected.setdefault(name, []).append((line["steps"], value))
    table: dict[str, list[tuple[int, float]]] = {}
    with (finished / "metrics.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            table.setdefault(row["metric"], []).append((int(row["steps"]), float(row["value"])))
    for found in (scalars_of(finished), table):
        assert set(found) == set(expected)
        for name, points in expected.items():
            np.testing.assert_allclose(found[name], points, rtol=1e-5, atol=1e-5)


def test_the_start_notes_its_versions(finished):
    noted = json.loads((finished / "versions.jsonl").read_text())
    assert (noted["steps"], noted["python"]) == (0, platform.python_version())
    assert {"commit", "patchwork_env", "numpy", "numba", "torch", "machine"} <= set(noted)


def test_the_last_evaluation_notes_the_weights(finished):
    *others, last = evaluations_of(finished)
    digest = hashlib.sha256((finished / "final" / "weights.safetensors").read_bytes()).hexdigest()
    assert last.weights == hash_of_weights(finished / "final") == digest
    assert all(one.weights is None for one in others)


def test_the_best_policies_are_measured_again_on_other_circles(finished):
    chosen, final = read_evaluation(best_file(finished)), evaluations_of(finished)[-1]
    assert load_policy(finished / "best")[1]["steps"] == chosen.steps
    rates = []
    for folder in candidate_folders(finished).values():
        again = [play_matches(str(folder), one.opponent, 4, one.seed + 1).win_rate for one in final.matches]
        rates.append(sum(again) / 2)
    assert sum(match.win_rate for match in chosen.matches) / 2 == max(rates)
    assert [(one.games, one.seed) for one in chosen.matches] == [(4, one.seed + 1) for one in final.matches]


# --- what decides a run -------------------------------------------------------------------------------------


def test_the_seed_decides_the_run_and_evaluations_change_nothing(finished, config, tmp_path):
    run = tmp_path / "unwatched"
    assert start_run(config, run, "evaluation.opponents=[]") == 0
    assert tensors_of(checkpoints_of(run)[-1]) == tensors_of(checkpoints_of(finished)[-1])
    assert evaluations_of(run) == []


def test_another_seed_is_another_training_with_the_same_evaluations(finished, config, tmp_path):
    circles = [circle_of(finished)]
    for number, more in enumerate(([], ["evaluation.seed=1"])):
        run = tmp_path / str(number)
        assert start_run(config, run, "seed=6", "total_steps=64", "evaluation.opponents=[random]", *more) == 0
        circles.append(circle_of(run))
    assert circles[0] == circles[1] != circles[2]
    assert load_config(run / "config.yaml").seed == 6
    first, other = (checkpoints_of(folder)[0] / "weights.safetensors" for folder in (finished, run))
    assert not load_file(first)["value.weight"].equal(load_file(other)["value.weight"])


def circle_of(run) -> str:
    """The line of the first sample game that gives its circle."""
    notation = evaluations_of(run)[0].sample_games[0].notation
    return next(line for line in notation.splitlines() if "circle" in line)


def test_evaluations_every_so_many_steps_and_checkpoints_by_the_clock(config, tmp_path):
    """Evaluations at the first end of an iteration from every multiple of 100 steps on, and at the end."""
    always = ["checkpoint_every=1000", "evaluation.every=null", "evaluation.every_steps=100"]
    always += ["evaluation.opponents=[random]", "total_steps=384"]
    for minutes, saved in ((1e-9, range(0, 385, 64)), (1000, (0, 384))):
        run = tmp_path / str(minutes)
        assert start_run(config, run, *always, f"checkpoint_minutes={minutes}") == 0
        assert [int(folder.name.removeprefix("step_")) for folder in checkpoints_of(run)] == list(saved)
        assert [evaluation.steps for evaluation in evaluations_of(run)] == [128, 256, 320, 384]


def test_opponents_are_played_by_their_specs(config, finished, tmp_path):
    """A checkpoint as a fixed opponent; the device is any that there is."""
    spec, run = str(finished / "final"), tmp_path / "run"
    assert start_run(config, run, "total_steps=128", f"evaluation.opponents=[{spec}]", "device=auto") == 0
    assert f"evaluation/win_rate_against_{spec}" in metrics_of(run)[-1]
    assert agents.load(str(run / "final")).name == "final"
    assert load_config(run / "config.yaml").device == "auto"


def test_a_folder_that_was_named_is_never_another(config, tmp_path, capsys):
    (tmp_path / "run").mkdir()  # empty: not taken
    assert start_run(config, tmp_path / "run", "total_steps=1", "evaluation.opponents=[]") == 0
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    capsys.readouterr()
    assert start_run(config, tmp_path / "run", "total_steps=1") == 2
    said = (
        f"{tmp_path / 'run'} exists already: give another folder, or go on with --resume {tmp_path / 'run'}"
    )
    assert said in capsys.readouterr().err
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_a_folder_that_was_not_named_gets_a_number_and_says_so(tmp_path, capsys):
    base, second = tmp_path / "tiny", tmp_path / "tiny-2"
    base.mkdir()
    assert free_folder(base) == base
    (base / "config.yaml").touch()
    assert capsys.readouterr().out == ""
    assert free_folder(base) == second
    assert capsys.readouterr().out == f"{base} exists already, so this goes to {second}\n"


def test_a_run_gives_the_threads_of_pytorch_back(config, tmp_path):
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        with new_run(load_config(config), tmp_path / "run"):
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)


@pytest.mark.slow
def test_learns_to_beat_random(config, tmp_path):
    """A few seconds of training, before and after; the margins are several standard errors."""
    settings = [
        "seed=0",
        "network={width: 48, depth: 1, channels: 16}",
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


# --- mistakes, and what is only printed ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("ppo.epoch=3", "--set ppo.epoch=3: unknown key 'ppo.epoch'; did you mean 'ppo.epochs'?\n"),
        ("seed=!!bool foo", "is not valid YAML"),
        ("ppo.num_envs=1000000000000", "ppo.num_envs is 1000000000000: Input should be less than"),
        ("ppo={num_envs: 1000000, rollout_steps: 1000000}", "takes at least 100,000.00 GB of memory"),
        ("device=toaster", "device is 'toaster', which PyTorch cannot use here"),
        ("device=meta", "device is 'meta', which PyTorch cannot use here"),
        ("evaluation.opponents=[random, gredy]", "evaluation.opponents: there is no agent 'gredy'"),
        ("evaluation.opponents=[no/where]", "evaluation.opponents: there is no checkpoint at 'no/where'"),
        ("tracker=[tensorbord]", "there is no 'tensorbord'; did you mean 'tensorboard'?"),
        ("reward.outcome=0", "there would be nothing to learn"),
    ],
)
def test_what_is_refused_leaves_no_folder(config, tmp_path, capsys, override, message):
    assert start_run(config, tmp_path / "run", override) == 2
    errors = capsys.readouterr().err
    assert errors.startswith("training.train: ")
    assert message in errors
    assert errors.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "arguments", ["", "--config", "--resume run --run-dir other", "--config a.yaml --set", "--nonsense"]
)
def test_wrong_arguments(arguments, capsys):
    with pytest.raises(SystemExit) as caught:
        train.main(arguments.split())
    assert caught.value.code == 2
    assert "usage: python -m training.train" in capsys.readouterr().err


def test_list(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert train.main(["--list"]) == 0
    output = capsys.readouterr().out
    for path in (ROOT / "configs").glob("*.yaml"):
        assert f"{path.stem} " in output
        assert load_config(path).description in output


@pytest.mark.parametrize("algorithm", algorithms())
def test_every_key_has_a_description(algorithm):
    keys = list(keys_of(algorithms()[algorithm]()))
    assert [key.name for key in keys if not key.description.endswith(".")] == []
    assert len(keys) > 20


def test_explain(capsys):
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
    for name, here in (("lr", "learning_rate"), ("ppo.lr", "ppo.learning_rate"), ("discount", "gamma")):
        with pytest.raises(ConfigError, match=f"{name}: there is no such key; it is called {here} here$"):
            explain([name])
    with pytest.raises(ConfigError, match="there is no such key; did you mean 'gamma'"):
        explain(["gama"])
