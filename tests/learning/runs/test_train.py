"""The training command from end to end, with a tiny configuration."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from patchwork_env import agents
from patchwork_env.agents.patchwork.policy import load_policy
from patchwork_env.learning.commands import train
from patchwork_env.learning.config import load_config
from patchwork_env.learning.evaluation.matches import play_matches
from patchwork_env.learning.runs import run as run_module
from patchwork_env.learning.runs.folder import evaluation_files
from patchwork_env.learning.runs.run import new_run
from tests.learning.same_runs import tensors_of

ROOT = Path(__file__).parents[3]
TINY = """
description: tiny
total_steps: 1000
checkpoint_every: 3
threads: 1
seed: 5
network: {width: 16, depth: 1, channels: 4}
ppo: {num_envs: 16, rollout_steps: 8, minibatch_size: 64, epochs: 1}
league: {fraction: 0.5, snapshot_every: 2, size: 2}
evaluation: {every: 4, games: 2, final_games: 4, opponents: [random, greedy]}
"""
STEPS_PER_ITERATION = 16 * 8
STEPS = 8 * STEPS_PER_ITERATION  # the first multiple of an iteration from total_steps on
SIGINT, SIGTERM = signal.SIGINT, signal.SIGTERM


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    path = tmp_path_factory.mktemp("configs") / "tiny.yaml"
    path.write_text(TINY)
    return path


@pytest.fixture(scope="module")
def finished(tmp_path_factory, config):
    """A whole run of the real command, in a folder far from the project: the process and the run's folder."""
    folder = tmp_path_factory.mktemp("elsewhere")
    process = subprocess.run(
        command("--config", str(config)),
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert process.returncode == 0, process.stderr
    return process, folder / "runs" / "tiny"


@pytest.fixture
def run(finished, tmp_path):
    """A copy of the finished run."""
    return Path(shutil.copytree(finished[1], tmp_path / "run"))


def command(*arguments):
    return [sys.executable, "-W", "error", "-m", "training.train", *arguments]


def environment():
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def contents(folder):
    return {str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None for p in folder.rglob("*")}


def metrics_of(run):
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


def evaluations_of(run):
    return [json.loads(path.read_text()) for path in evaluation_files(run).values()]


def checkpoints_of(run):
    return sorted((run / "checkpoints").iterdir())


def timeless(values):
    """Metrics or figures without those that depend on the speed of the machine."""
    return {k: v for k, v in values.items() if k != "minutes" and not k.startswith("time/")}


def forget_last_checkpoint(run):
    """Makes a finished run one that was killed some time after its last but one checkpoint."""
    shutil.rmtree(checkpoints_of(run)[-1])
    shutil.rmtree(run / "final")


# --- a whole run --------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_files_of_a_run(finished):
    _, run = finished
    files = set(contents(run))
    events = {name for name in files if name.startswith("events.out.tfevents.")}
    assert len(events) == 1
    policy, trainer = {"checkpoint.json", "weights.safetensors"}, {"trainer.json", "trainer.safetensors"}
    expected = {"config.yaml", "metrics.jsonl", "versions.jsonl", "lock", "checkpoints", "final", "best"}
    expected |= {f"{folder}/{name}" for name in policy for folder in ("final", "best")}
    for steps, names in ((0, policy), (384, policy), (768, policy | trainer), (1024, policy | trainer)):
        folder = f"checkpoints/step_{steps:010d}"
        expected |= {folder, *(f"{folder}/{name}" for name in names)}
    expected |= {"evaluations", "evaluations/best.json", "candidates"}
    for steps in (512, 1024):
        folder = f"candidates/step_{steps:010d}"
        expected |= {f"evaluations/step_{steps:010d}.json", folder, *(f"{folder}/{name}" for name in policy)}
    assert files == events | expected


def test_configuration_is_kept(finished, config):
    assert load_config(finished[1] / "config.yaml") == load_config(config)


def test_run_ends_with_the_iteration_that_reaches_its_steps(finished):
    _, info = load_policy(finished[1] / "final")
    assert info["steps"] == STEPS == 1024


def test_final_policy_is_the_last_checkpoint_and_plays(finished):
    _, run = finished
    final, last = load_file(run / "final/weights.safetensors"), checkpoints_of(run)[-1]
    assert tensors_of(run / "final").items() <= tensors_of(last).items()
    assert len(final) > 5
    result = play_matches(str(run / "final"), "random", 2)
    assert 0 <= result.win_rate <= 1


def test_metrics(finished):
    lines = metrics_of(finished[1])
    iterations = [line for line in lines if "losses/policy_loss" in line]
    assert [line["steps"] for line in iterations] == list(
        range(STEPS_PER_ITERATION, STEPS + 1, STEPS_PER_ITERATION)
    )
    for line in iterations:
        assert {"losses/value_loss", "losses/entropy", "losses/kl", "time/steps_per_second"} <= set(line)
    assert any("games/score" in line for line in iterations)
    assert any("league/snapshots" in line for line in iterations)
    for opponent in ("random", "greedy"):
        evaluated = [line["steps"] for line in lines if f"evaluation/win_rate_against_{opponent}" in line]
        assert evaluated == [4 * STEPS_PER_ITERATION, STEPS]


def test_tensorboard_has_the_same_curves(finished):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    accumulator = EventAccumulator(str(finished[1]))
    accumulator.Reload()
    lines = metrics_of(finished[1])
    names = {name for line in lines for name in line} - {"steps", "minutes"}
    assert set(accumulator.Tags()["scalars"]) == names
    for name in names:
        points = [(event.step, event.value) for event in accumulator.Scalars(name)]
        expected = [(line["steps"], line[name]) for line in lines if name in line]
        assert [step for step, _ in points] == [step for step, _ in expected]
        assert [value for _, value in points] == pytest.approx(
            [value for _, value in expected], abs=1e-5, rel=1e-5
        )


def test_output(finished):
    process, _ = finished
    assert "new run in runs/tiny; if it is cut off, go on with --resume runs/tiny" in process.stdout
    assert "1,024 steps in " in process.stdout
    assert "against random: 4 games" in process.stdout
    assert "against greedy: 4 games" in process.stdout
    assert "final policy: runs/tiny/final" in process.stdout
    assert "\r" not in process.stderr  # a file has no place where a bar could be drawn anew


def test_same_seed_same_run(finished, config, tmp_path):
    run = tmp_path / "twin"
    assert train.main(["--config", str(config), "--run-dir", str(run)]) == 0
    assert tensors_of(checkpoints_of(run)[-1]) == tensors_of(checkpoints_of(finished[1])[-1])


def test_evaluations_change_nothing(finished, config, tmp_path):
    run = tmp_path / "unwatched"
    arguments = ["--set", "evaluation.opponents=[]"]
    assert train.main(["--config", str(config), "--run-dir", str(run), *arguments]) == 0
    assert tensors_of(checkpoints_of(run)[-1]) == tensors_of(checkpoints_of(finished[1])[-1])
    assert evaluations_of(run) == []


def test_other_seed_other_run(finished, config, tmp_path):
    run = tmp_path / "other"
    arguments = ["--set", "seed=6", "total_steps=128", "--set", "evaluation.opponents=[]"]
    assert train.main(["--config", str(config), "--run-dir", str(run), *arguments]) == 0
    assert load_config(run / "config.yaml").seed == 6
    weights = load_file(run / "final/weights.safetensors")["value.weight"]
    assert not weights.equal(load_file(finished[1] / "final/weights.safetensors")["value.weight"])


def test_taken_folder_gets_a_number(config, tmp_path):
    shorter = ["--config", str(config), "--set", "total_steps=1", "evaluation.opponents=[]"]
    (tmp_path / "run").mkdir()  # empty: not taken
    for folder in ("run", "run-2", "run-3"):
        assert train.main([*shorter, "--run-dir", str(tmp_path / "run")]) == 0
        assert (tmp_path / folder / "final").is_dir()
    assert len(list(tmp_path.iterdir())) == 3


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
        "reward={outcome: 0, margin: 1}",
        "evaluation.opponents=[]",
    ]
    untrained = ["total_steps=1", "ppo.learning_rate={start: 0, end: 0}"]
    trained = ["total_steps=32768", "ppo.learning_rate={start: 4e-3, end: 1e-3}"]
    results = []
    for name, overrides in (("untrained", untrained), ("trained", trained)):
        run = tmp_path / name
        assert (
            train.main(["--config", str(config), "--run-dir", str(run), "--set", *settings, *overrides]) == 0
        )
        results.append(play_matches(f"{run}/final:sample=true", "random", 400))
    before, after = results
    assert after.win_rate > 0.55
    assert after.win_rate > before.win_rate + 0.15
    assert after.score_difference > before.score_difference + 6


# --- going on -----------------------------------------------------------------------------------------------


def test_resumed_run_equals_the_uninterrupted_one_to_the_bit(finished, run, capsys):
    forget_last_checkpoint(run)
    assert train.main(["--resume", str(run)]) == 0
    assert f"resuming from {checkpoints_of(run)[-2]}" in capsys.readouterr().out
    names = [folder.name for folder in checkpoints_of(run)]
    assert names == [folder.name for folder in checkpoints_of(finished[1])]
    assert tensors_of(checkpoints_of(run)[-1]) == tensors_of(checkpoints_of(finished[1])[-1])
    assert tensors_of(run / "final") == tensors_of(finished[1] / "final")
    lines = [[timeless(line) for line in metrics_of(folder)] for folder in (run, finished[1])]
    assert lines[0] == lines[1]  # and no line twice
    evaluations = [
        [timeless(evaluation) for evaluation in evaluations_of(folder)] for folder in (run, finished[1])
    ]
    assert evaluations[0] == evaluations[1]
    states = [
        json.loads((checkpoints_of(folder)[-1] / "trainer.json").read_text())["state"]
        for folder in (run, finished[1])
    ]
    assert states[0].pop("seconds") > 0
    states[1].pop("seconds")
    assert states[0] == states[1]


def test_resumed_run_keeps_its_configuration(finished, run, config, tmp_path, capsys):
    """The file that it was started with may be given again, and may be another one by now."""
    forget_last_checkpoint(run)
    assert train.main(["--config", str(config), "--resume", str(run)]) == 0
    assert "differs" not in capsys.readouterr().out
    assert tensors_of(run / "final") == tensors_of(finished[1] / "final")
    changed = tmp_path / "changed.yaml"
    changed.write_text(TINY.replace("seed: 5", "seed: 6").replace("width: 16", "width: 99"))
    before = (run / "config.yaml").read_bytes()
    assert train.main(["--config", str(changed), "--resume", str(run)]) == 0
    assert f"{changed} differs in seed, network.width" in capsys.readouterr().out
    assert (run / "config.yaml").read_bytes() == before
    changed.write_text("sed: 5")
    assert train.main(["--config", str(changed), "--resume", str(run)]) == 2
    assert "unknown key 'sed'" in capsys.readouterr().err


def test_longer_run_takes_the_place_of_the_finished_one(run):
    first = tensors_of(run / "final")
    assert train.main(["--resume", str(run), "--set", "total_steps=1025"]) == 0
    assert load_policy(run / "final")[1]["steps"] == 1152
    assert tensors_of(run / "final") != first
    assert load_config(run / "config.yaml").total_steps == 1025
    kept = [folder.name for folder in checkpoints_of(run) if (folder / "trainer.json").exists()]
    assert kept == ["step_0000001024", "step_0000001152"]


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code", "times"), [(SIGINT, 130, 2), (SIGTERM, 143, 1)])
def test_signals_save_and_end_the_run(config, tmp_path, number, code, times):
    run = tmp_path / "run"
    arguments = command("--config", str(config), "--run-dir", str(run), "--set", "total_steps=100000000")
    with subprocess.Popen(
        arguments, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            wait_for_iterations(run, process, 2)
            for _ in range(times):  # an impatient user
                process.send_signal(number)
            output, errors = process.communicate(timeout=120)
        finally:
            process.kill()
    assert process.returncode == code, errors
    assert "Traceback" not in errors
    last = checkpoints_of(run)[-1]
    assert f"stopped by {number.name}: saved {last}" in output
    assert f"go on with --resume {run}" in output
    assert not (run / "final").exists()
    assert not [name for name in contents(run) if Path(name).name.startswith(".")]
    steps = load_policy(last)[1]["steps"]
    assert metrics_of(run)[-1]["steps"] == steps
    assert train.main(["--resume", str(run), "--set", f"total_steps={steps + 1}"]) == 0
    assert load_policy(run / "final")[1]["steps"] == steps + STEPS_PER_ITERATION


@pytest.mark.slow
def test_a_signal_waits_for_a_checkpoint_that_is_being_tidied_up(config, tmp_path, monkeypatch, capsys):
    tidied = []

    class Folder(tempfile.TemporaryDirectory):
        def cleanup(self):
            signal.raise_signal(SIGINT)
            super().cleanup()
            tidied.append(self.name)

    with new_run(load_config(config), tmp_path / "run") as run:
        monkeypatch.setattr(tempfile, "TemporaryDirectory", Folder)
        assert run.train() == 130
    assert len(tidied) == 1
    assert "stopped by SIGINT" in capsys.readouterr().out


def wait_for_iterations(run, process, number):
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and process.poll() is None:
        if (run / "metrics.jsonl").exists() and len(metrics_of(run)) >= number:
            return
        time.sleep(0.05)
    raise AssertionError(f"the run does not get on; return code {process.poll()}")


def test_signal_during_an_evaluation(config, finished, tmp_path, monkeypatch, capsys):
    def stop(*_, **__):
        os.kill(os.getpid(), SIGINT)
        raise AssertionError("the signal comes at once")

    run = tmp_path / "run"
    with monkeypatch.context() as context:
        context.setattr(run_module, "play_matches", stop)
        handlers = [signal.getsignal(number) for number in (SIGINT, SIGTERM)]
        assert train.main(["--config", str(config), "--run-dir", str(run)]) == 130
        assert [signal.getsignal(number) for number in (SIGINT, SIGTERM)] == handlers
    assert load_policy(checkpoints_of(run)[-1])[1]["steps"] == 4 * STEPS_PER_ITERATION
    assert "stopped by SIGINT" in capsys.readouterr().out
    assert not (run / "evaluations").exists()
    assert train.main(["--resume", str(run)]) == 0  # and the evaluation is made up for
    lines = [[timeless(line) for line in metrics_of(folder)] for folder in (run, finished[1])]
    assert lines[0] == lines[1]


# --- mistakes -----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_unknown_key_ends_the_command(config, tmp_path):
    process = subprocess.run(
        command("--config", str(config), "--set", "ppo.epoch=3"),
        cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert process.returncode == 2
    expected = "training.train: --set ppo.epoch=3: unknown key 'ppo.epoch'; did you mean 'ppo.epochs'?\n"
    assert process.stderr == expected
    assert process.stdout == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("sed=3", "unknown key 'sed'"),
        ("seed=!!bool foo", "is not valid YAML"),
        ("ppo.num_envs=1000000000000", "ppo.num_envs is 1000000000000: Input should be less than"),
        ("ppo={num_envs: 1000000, rollout_steps: 1000000}", "that takes at least 100,000.00 GB of memory"),
        ("device=toaster", "device is 'toaster', which PyTorch cannot use here"),
        ("evaluation.opponents=[random, gredy]", "evaluation.opponents: there is no agent 'gredy'"),
        ("evaluation.opponents=[no/where]", "evaluation.opponents: there is no checkpoint at 'no/where'"),
        ("tracker=[paper]", "tracker: there is no 'paper'"),
        ("reward.outcome=0", "there would be nothing to learn"),
    ],
)
def test_what_is_refused_leaves_no_folder(config, tmp_path, capsys, override, message):
    arguments = ["--config", str(config), "--run-dir", str(tmp_path / "run"), "--set", override]
    assert train.main(arguments) == 2
    errors = capsys.readouterr().err
    assert errors.startswith("training.train: ")
    assert message in errors
    assert errors.count("\n") == 1
    assert contents(tmp_path) == {}


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--config"],
        ["--resume", "run", "--run-dir", "other"],
        ["--config", "a.yaml", "--set"],
        ["--nonsense"],
    ],
)
def test_wrong_arguments(arguments, capsys):
    with pytest.raises(SystemExit) as caught:
        train.main(arguments)
    assert caught.value.code == 2
    assert "usage: python -m training.train" in capsys.readouterr().err


def test_list(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert train.main(["--list"]) == 0
    output = capsys.readouterr().out
    for path in (ROOT / "configs").glob("*.yaml"):
        assert f"{path.stem} " in output
        assert load_config(path).description in output


def test_resuming_what_is_no_run(tmp_path, capsys):
    assert train.main(["--resume", str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"training.train: {tmp_path} is no run: it holds no config.yaml\n"
    assert train.main(["--resume", str(tmp_path / "missing")]) == 2
    assert contents(tmp_path) == {}


def test_resuming_without_a_checkpoint(run, capsys):
    shutil.rmtree(run / "checkpoints")
    assert train.main(["--resume", str(run)]) == 2
    assert f"{run} holds no checkpoint to resume from" in capsys.readouterr().err


def truncate(name):
    def damage(run):
        path = checkpoints_of(run)[-1] / name
        os.truncate(path, path.stat().st_size // 2)

    return damage


def in_trainer_json(**changes):
    def damage(run):
        path = checkpoints_of(run)[-1] / "trainer.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))

    return damage


def in_state(**changes):
    def damage(run):
        path = checkpoints_of(run)[-1] / "trainer.json"
        contents = json.loads(path.read_text())
        path.write_text(json.dumps(contents | {"state": contents["state"] | changes}))

    return damage


def with_nan(run):
    path = checkpoints_of(run)[-1] / "trainer.safetensors"
    tensors = load_file(path)
    tensors["network/value.bias"][:] = torch.nan
    save_file(tensors, path)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (in_state(steps="x"), "steps is 'x'; the folder is that of step"),
        (in_state(steps=-5), "steps is -5; the folder is that of step"),
        (in_state(steps=10**9), "steps is 1000000000; the folder is that of step"),
        (in_state(iteration=-1), "iteration is -1; allowed are 0 to"),
        (in_state(seconds=0), "seconds is 0; allowed are numbers above 0"),
        (in_state(seconds=float("nan")), "'NaN' is no finite number"),
        (in_trainer_json(state=[]), "is damaged"),
        (in_state(network=[]), "is damaged"),
        (in_state(optimizer={"0": {}}), "is damaged"),
        (in_state(league=3), "is damaged"),
        (in_state(opponents=[3] * 8), "is damaged"),
        (lambda run: (checkpoints_of(run)[-1] / "trainer.json").write_text("[" * 10**5), "nested too deeply"),
        (with_nan, "'network/value.bias' in trainer.safetensors is not finite"),
        (truncate("trainer.safetensors"), "is damaged, or of another version"),
        (truncate("trainer.json"), "is damaged, or of another version"),
        (in_trainer_json(fixed=3), "is damaged"),
        (lambda run: (checkpoints_of(run)[-1] / "trainer.safetensors").unlink(), "is damaged"),
        (lambda run: (checkpoints_of(run)[-1] / "trainer.json").write_text("[]"), "is damaged"),
        (lambda run: (checkpoints_of(run)[-1] / "trainer.json").write_text("{}"), "is damaged"),
        (truncate("weights.safetensors"), "does not hold the weights"),
        (truncate("checkpoint.json"), "is damaged"),
        (lambda run: (run / "config.yaml").write_text("sed: 1"), "unknown key 'sed'"),
    ],
)
def test_damaged_runs_are_left_alone(run, capsys, damage, message):
    damage(run)
    before = contents(run)
    assert train.main(["--resume", str(run)]) == 2
    errors = capsys.readouterr().err
    assert message in errors
    assert str(run) in errors
    assert errors.count("\n") == 1
    assert contents(run) == before


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("network.width=17", "network.width is 17, and 16 in"),
        ("network.depth=2", "network.depth is 2, and 1 in"),
        ("ppo.num_envs=17", "ppo.num_envs is 17, and 16 in"),
        ("special_patches=2014", "special_patches is '2014', and 'revised' in"),
        ("ppo.epoch=3", "ppo.epoch"),
        ("device=toaster", "toaster"),
    ],
)
def test_resuming_with_another_configuration_is_refused(run, capsys, override, message):
    before = contents(run)
    assert train.main(["--resume", str(run), "--set", override]) == 2
    errors = capsys.readouterr().err
    assert message in errors
    assert errors.count("\n") == 1
    assert contents(run) == before


def test_odd_lines_and_stray_folders_are_passed_over(run, capsys):
    (run / "checkpoints" / "step_zzz").mkdir()
    (run / "evaluations").mkdir(exist_ok=True)
    (run / "evaluations" / "step_zzz.json").write_text("mine")
    good = (run / "metrics.jsonl").read_bytes()
    odd = (
        b'123\n{"steps": "x", "minutes": 1}\n[1]\n\xff\n{"steps": 64}\n{"steps": 0, "minutes": 0, "x": "y"}\n'
    )
    (run / "metrics.jsonl").write_bytes(odd + good)
    newest = checkpoints_of(run)[-2]
    assert train.main(["--resume", str(run)]) == 0
    assert f"resuming from {newest}" in capsys.readouterr().out
    assert odd not in (run / "metrics.jsonl").read_bytes()
    assert (run / "evaluations" / "step_zzz.json").read_text() == "mine"


def test_opponents_are_played_by_their_specs(config, finished, tmp_path):
    """A checkpoint as a fixed opponent."""
    spec = str(finished[1] / "final")
    arguments = ["--set", "total_steps=128", f"evaluation.opponents=[{spec}]"]
    assert train.main(["--config", str(config), "--run-dir", str(tmp_path / "run"), *arguments]) == 0
    assert f"evaluation/win_rate_against_{spec}" in metrics_of(tmp_path / "run")[-1]
    assert agents.load(str(tmp_path / "run" / "final")).name == "final"
