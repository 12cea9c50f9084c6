"""Runs survive: killed processes, full disks, folders in use, divergences, impatient users."""

from __future__ import annotations

import errno
import importlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from patchwork_env import agents
from patchwork_env.agents.patchwork.policy import load_policy
from patchwork_env.agents.patchwork.policy_network import PatchworkNetwork
from patchwork_env.core.files import GrowingFile
from patchwork_env.learning.algorithms.ppo.trainer import PpoTrainer
from patchwork_env.learning.commands import train
from patchwork_env.learning.config import load_config
from patchwork_env.learning.runs import checkpoints as checkpoints_module
from patchwork_env.learning.runs.checkpoints import load_checkpoint
from patchwork_env.learning.system import signals as signals_module
from patchwork_env.learning.system.lock import exclusive_lock

fcntl, resource = pytest.importorskip("fcntl"), pytest.importorskip("resource")

ROOT = Path(__file__).parents[3]
TINY = """
total_steps: 640
checkpoint_every: 2
threads: 1
network: {width: 8, depth: 1, channels: 4}
ppo: {num_envs: 8, rollout_steps: 8, minibatch_size: 32, epochs: 1}
league: {fraction: 0.5, snapshot_every: 2, size: 3, opponents: 2}
evaluation: {every: 4, games: 2, final_games: 2, opponents: [random]}
"""
STEPS_PER_ITERATION = 64
NO_SPACE = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    path = tmp_path_factory.mktemp("configs") / "tiny.yaml"
    path.write_text(TINY)
    return path


@pytest.fixture(scope="module")
def finished(tmp_path_factory, config):
    """A run that nothing has disturbed."""
    run = tmp_path_factory.mktemp("runs") / "finished"
    assert train.main(["--config", str(config), "--run-dir", str(run)]) == 0
    return run


def checkpoints_of(run):
    return sorted(folder.name for folder in (run / "checkpoints").iterdir())


def steps_name(iterations):
    return f"step_{iterations * STEPS_PER_ITERATION:010d}"


def tensors_of(run):
    """All tensors of the newest checkpoint and of the final policy, as bytes."""
    folders = run / "checkpoints" / checkpoints_of(run)[-1], run / "final"
    return {
        (path.name, name): tensor.numpy().tobytes()
        for folder in folders
        for path in folder.glob("*.safetensors")
        for name, tensor in load_file(path).items()
    }


def curves_of(run):
    """The learning curves, without what depends on the machine."""
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [{k: v for k, v in line.items() if k != "minutes" and not k.startswith("time/")} for line in lines]


def scalars_of(run):
    """What TensorBoard shows of the learning curves."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    accumulator = EventAccumulator(str(run))
    accumulator.Reload()
    return {
        name: [(event.step, event.value) for event in accumulator.Scalars(name)]
        for name in accumulator.Tags()["scalars"]
        if not name.startswith("time/")
    }


def assert_same_end(run, other):
    assert checkpoints_of(run) == checkpoints_of(other)
    assert tensors_of(run) == tensors_of(other)
    assert curves_of(run) == curves_of(other)
    assert scalars_of(run) == scalars_of(other)


def partial_of(run):
    return [path.name for path in run.rglob("*.partial")]


# --- killed processes ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_killed_and_resumed_run_equals_the_uninterrupted_one(config, tmp_path):
    """SIGKILL to the real command, wherever it is; tests/attack/kills.py does it many times."""
    run, other, length = tmp_path / "run", tmp_path / "other", ["--set", "total_steps=1920"]
    command = [
        sys.executable,
        "-m",
        "training.train",
        "--config",
        str(config),
        "--run-dir",
        str(run),
        *length,
    ]
    with subprocess.Popen(
        command, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as process:
        try:
            wait_for(run / "checkpoints" / steps_name(6), process)
        finally:
            process.kill()
    assert process.returncode == -signal.SIGKILL
    assert not (run / "final").exists()
    assert train.main(["--resume", str(run)]) == 0
    assert train.main(["--config", str(config), "--run-dir", str(other), *length]) == 0
    assert_same_end(run, other)


def wait_for(path, process):
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and process.poll() is None:
        if path.exists():
            return
        time.sleep(0.005)
    raise AssertionError(f"{path} does not appear: {process.stdout.read().decode()}")


@pytest.fixture
def interrupted(finished, tmp_path):
    """A copy of the run, as if it had been killed some time after the last checkpoint but one."""
    run = Path(shutil.copytree(finished, tmp_path / "run"))
    shutil.rmtree(run / "checkpoints" / checkpoints_of(run)[-1])
    shutil.rmtree(run / "final")
    return run


def test_what_killed_processes_left_is_removed(finished, interrupted):
    half = interrupted / "checkpoints" / ".step_0000000640-abc.partial" / "step_0000000640"
    half.mkdir(parents=True)
    (half / "weights.safetensors").write_bytes(b"half")
    (interrupted / ".final-abc.partial").mkdir()
    (interrupted / ".config.yaml-abc.partial").write_text("seed")
    (interrupted / "evaluations" / ".step_0000000640.json-abc.partial").write_text("{")
    (interrupted / ".notes").write_text("not ours")
    assert train.main(["--resume", str(interrupted)]) == 0
    assert partial_of(interrupted) == []
    assert (interrupted / ".notes").read_text() == "not ours"
    assert_same_end(interrupted, finished)


def test_half_a_line_and_half_an_event_are_no_obstacle(finished, interrupted):
    with (interrupted / "metrics.jsonl").open("a") as file:
        file.write('{"steps": 640, "minu')
    events = next(interrupted.glob("events.*"))
    os.truncate(events, events.stat().st_size - 7)
    assert train.main(["--resume", str(interrupted)]) == 0
    assert_same_end(interrupted, finished)


def test_an_evaluation_that_was_killed_is_neither_doubled_nor_missing(finished, interrupted):
    """It had written its curves, and its checkpoint was there because of a signal."""
    (interrupted / "evaluations" / f"{steps_name(8)}.json").unlink()
    assert train.main(["--resume", str(interrupted)]) == 0
    assert_same_end(interrupted, finished)
    assert (interrupted / "evaluations" / f"{steps_name(8)}.json").exists()


def test_a_finished_run_adds_nothing_to_its_curves(finished, tmp_path):
    run = Path(shutil.copytree(finished, tmp_path / "run"))
    assert train.main(["--resume", str(run)]) == 0
    assert_same_end(run, finished)


def test_a_new_run_can_be_resumed_from_its_beginning(config, tmp_path, monkeypatch):
    """From the moment that it has a configuration."""
    run = tmp_path / "run"
    monkeypatch.setattr(PpoTrainer, "step", killed)
    with pytest.raises(Killed):
        train.main(["--config", str(config), "--run-dir", str(run)])
    monkeypatch.undo()
    assert checkpoints_of(run) == [steps_name(0)]
    assert load_config(run / "config.yaml") == load_config(config)
    assert train.main(["--resume", str(run), "--set", "total_steps=64"]) == 0
    assert checkpoints_of(run) == [steps_name(0), steps_name(1)]


class Killed(BaseException):
    """Stands for SIGKILL: nothing handles it."""


def killed(*_):
    raise Killed


def test_the_first_checkpoint_comes_before_the_configuration(config, tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoints_module, "write_text", killed)
    with pytest.raises(Killed):
        train.main(["--config", str(config), "--run-dir", str(tmp_path / "run")])
    assert checkpoints_of(tmp_path / "run") == [steps_name(0)]
    assert not (tmp_path / "run" / "config.yaml").exists()


def test_checkpoints_by_the_clock(config, tmp_path):
    run = tmp_path / "run"
    arguments = ["--set", "checkpoint_every=1000", "checkpoint_minutes=1e-9", "total_steps=256"]
    assert train.main(["--config", str(config), "--run-dir", str(run), *arguments]) == 0
    assert checkpoints_of(run) == [steps_name(iterations) for iterations in range(5)]
    other = tmp_path / "other"
    arguments[2] = "checkpoint_minutes=1000"
    assert train.main(["--config", str(config), "--run-dir", str(other), *arguments]) == 0
    assert checkpoints_of(other) == [steps_name(0), steps_name(4)]


# --- disks --------------------------------------------------------------------------------------------------


@contextmanager
def files_of_at_most(size):
    """Within the block the system refuses to write more into a file, as a full disk does."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def assert_stopped_for_want_of_space(run, errors, newest):
    assert errors.startswith("training.train: cannot write to ")
    assert f"{run / 'checkpoints' / newest} is complete" in errors
    assert errors.endswith(f"go on with --resume {run}\n")
    assert errors.count("\n") == 1
    assert checkpoints_of(run)[-1] == newest
    assert partial_of(run) == []
    load_checkpoint(run, PpoTrainer(load_config(run / "config.yaml")))


def last_line(text):
    """Without the progress bar."""
    return text.splitlines(keepends=True)[-1]


def test_no_space_for_a_checkpoint(config, tmp_path, capsys):
    """Checkpoints grow by a past self every two iterations, as long as games against the first ones go on."""
    run, finished, settings = tmp_path / "run", tmp_path / "finished", ["--set", "evaluation.opponents=[]"]
    assert train.main(["--config", str(config), "--run-dir", str(finished), *settings]) == 0
    full = finished / "checkpoints" / checkpoints_of(finished)[-1] / "trainer.safetensors"
    with files_of_at_most(full.stat().st_size - 1):
        assert train.main(["--config", str(config), "--run-dir", str(run), *settings]) == 2
    errors = last_line(capsys.readouterr().err)
    assert_stopped_for_want_of_space(run, errors, steps_name(8))
    assert f"cannot write to {run / 'checkpoints'}: {os.strerror(errno.EFBIG)}" in errors
    assert train.main(["--resume", str(run)]) == 0
    assert_same_end(run, finished)


@pytest.mark.parametrize("beginning", ["metrics.jsonl", "events."])
def test_no_space_for_curves(finished, config, tmp_path, capsys, monkeypatch, beginning):
    run, write, written = tmp_path / "run", GrowingFile.write, []

    def write_until_full(file, contents):
        path = Path(file._file.name)
        if path.name.startswith(beginning):
            written.append(contents)
        if len(written) > 3 and curves_of(run)[-1]["steps"] >= 3 * STEPS_PER_ITERATION:
            write(file, contents[:5])
            raise NO_SPACE
        write(file, contents)

    monkeypatch.setattr(GrowingFile, "write", write_until_full)
    assert train.main(["--config", str(config), "--run-dir", str(run)]) == 2
    monkeypatch.undo()
    assert_stopped_for_want_of_space(run, last_line(capsys.readouterr().err), steps_name(2))
    assert train.main(["--resume", str(run)]) == 0
    assert_same_end(run, finished)


def test_no_space_when_a_signal_asks_for_a_checkpoint(config, tmp_path, capsys, monkeypatch):
    run = tmp_path / "run"

    def stop(trainer, step=PpoTrainer.step):
        metrics = step(trainer)
        os.kill(os.getpid(), signal.SIGTERM)
        monkeypatch.setattr(checkpoints_module, "write_folder", refuse)
        return metrics

    monkeypatch.setattr(PpoTrainer, "step", stop)
    assert train.main(["--config", str(config), "--run-dir", str(run)]) == 2
    monkeypatch.undo()
    assert_stopped_for_want_of_space(run, last_line(capsys.readouterr().err), steps_name(0))


def refuse(*_, **__):
    raise NO_SPACE


@pytest.mark.parametrize("what", ["write_folder", "write_text"])
def test_folders_that_cannot_be_written_are_noticed_at_the_start(config, tmp_path, capsys, monkeypatch, what):
    monkeypatch.setattr(checkpoints_module, what, refuse)
    monkeypatch.setattr(PpoTrainer, "step", killed)
    assert train.main(["--config", str(config), "--run-dir", str(tmp_path / "run")]) == 2
    errors = capsys.readouterr().err
    assert errors.startswith(f"training.train: cannot write to {tmp_path / 'run'}")
    assert errors.endswith(": No space left on device\n")
    assert errors.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_folders_that_cannot_be_created(config, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    run = tmp_path / "file" / "run"
    assert train.main(["--config", str(config), "--run-dir", str(run)]) == 2
    assert capsys.readouterr().err == f"training.train: cannot write to {run}: Not a directory\n"


def test_resuming_in_a_folder_that_cannot_be_written(interrupted, capsys, monkeypatch):
    def refuse_to_open(path, flags, *arguments):
        if Path(path).name == "lock":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return open_file(path, flags, *arguments)

    open_file = os.open
    monkeypatch.setattr(os, "open", refuse_to_open)
    monkeypatch.setattr(PpoTrainer, "step", killed)
    assert train.main(["--resume", str(interrupted)]) == 2
    assert capsys.readouterr().err == f"training.train: cannot write to {interrupted}: Permission denied\n"


def test_the_final_policy_stays_until_the_next_one_is_complete(finished, tmp_path, monkeypatch):
    run = Path(shutil.copytree(finished, tmp_path / "run"))
    before = (run / "final" / "weights.safetensors").read_bytes()
    monkeypatch.setattr(PpoTrainer, "write_final", refuse)
    assert train.main(["--resume", str(run), "--set", "total_steps=704"]) == 2
    assert (run / "final" / "weights.safetensors").read_bytes() == before
    monkeypatch.undo()
    assert train.main(["--resume", str(run)]) == 0
    assert load_policy(run / "final")[1]["steps"] == 704
    assert partial_of(run) == []


# --- folders in use -----------------------------------------------------------------------------------------


def test_one_process_at_a_time(finished, interrupted, capsys):
    with exclusive_lock(interrupted):
        assert train.main(["--resume", str(interrupted)]) == 2
        assert capsys.readouterr().err == (
            f"training.train: {interrupted} is in use: another process works there\n"
        )
    assert train.main(["--resume", str(interrupted)]) == 0
    assert_same_end(interrupted, finished)


def test_locks_need_nothing_that_only_unix_has(monkeypatch):
    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.delitem(sys.modules, "patchwork_env.learning.system.lock")
    importlib.import_module("patchwork_env.learning.system.lock")


def test_a_run_is_in_use_while_it_trains(config, tmp_path, monkeypatch, capsys):
    run, errors = tmp_path / "run", []

    def resume_meanwhile(*_):
        if not errors:
            errors.append(train.main(["--resume", str(run)]))
        raise Killed

    monkeypatch.setattr(PpoTrainer, "step", resume_meanwhile)
    with pytest.raises(Killed):
        train.main(["--config", str(config), "--run-dir", str(run)])
    assert errors == [2]
    assert f"{run} is in use" in capsys.readouterr().err


def test_file_systems_without_locks(interrupted, monkeypatch, capsys):
    def refuse_to_lock(*_):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refuse_to_lock)
    assert train.main(["--resume", str(interrupted)]) == 0
    assert f"{interrupted} cannot be locked (No locks available)" in capsys.readouterr().err


# --- divergences --------------------------------------------------------------------------------------------


def test_a_divergence_is_kept(config, tmp_path, capsys):
    run = tmp_path / "run"
    wild = ["--set", "ppo.learning_rate={start: 1e30, end: 1e30}", "ppo.minibatch_size=100"]
    assert train.main(["--config", str(config), "--run-dir", str(run), *wild]) == 2
    folder = next((run / "divergence").iterdir())
    errors = last_line(capsys.readouterr().err)
    assert errors.startswith("training.train: training diverged: the loss is nan (loss nan, policy_loss nan")
    steps = int(folder.name.removeprefix("step_"))
    assert f"at step {steps}; {folder} holds the batch, losses and weights" in errors
    assert f"the newest checkpoint is {run / 'checkpoints' / checkpoints_of(run)[-1]}" in errors

    found = loaded_as_documented(folder)
    assert found["losses"]["steps"] == steps
    assert found["losses"]["losses"]["loss"] == "nan"
    assert found["losses"]["message"] in errors
    batch = dict(found["batch"])
    names = {"states", "actions", "log_probabilities", "outcomes", "advantages", "returns"}
    assert set(batch) == names
    assert all(len(array) == len(batch["states"]) > 1 for array in batch.values())
    inputs, legal = PatchworkNetwork.encode(batch["states"])
    assert (legal.actions[legal.position_of(batch["actions"])] == batch["actions"]).all()
    with torch.inference_mode():
        assert not torch.isfinite(found["network"](inputs).values).all()
    assert agents.load(str(folder)).name == folder.name
    assert not (run / "final").exists()


def loaded_as_documented(folder):
    """What the example in docs/training.md reads."""
    text = (ROOT / "docs" / "training.md").read_text(encoding="utf-8")
    code = next(code for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "batch.npz" in code)
    code, replaced = re.subn(r'Path\(".*?"\)', f"Path({str(folder)!r})", code)
    assert replaced == 1
    names: dict[str, object] = {}
    exec(code, names)
    return names


def test_a_divergence_that_cannot_be_kept(config, tmp_path, capsys, monkeypatch):
    run = tmp_path / "run"
    monkeypatch.setattr("numpy.savez", refuse)
    wild = ["--set", "ppo.learning_rate={start: 1e30, end: 1e30}", "ppo.minibatch_size=100"]
    assert train.main(["--config", str(config), "--run-dir", str(run), *wild]) == 2
    errors = last_line(capsys.readouterr().err)
    assert "training diverged: the loss is nan" in errors
    assert "nothing could be kept of it: cannot write to" in errors


# --- signals ------------------------------------------------------------------------------------------------


def send(*_):
    os.kill(os.getpid(), signal.SIGTERM)


def test_a_second_signal_abandons_the_iteration(config, tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(signals_module, "_ECHO_SECONDS", -1.0)
    monkeypatch.setattr(PpoTrainer, "step", lambda _: [send(), send(), pytest.fail("still there")])
    run = tmp_path / "run"
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    assert train.main(["--config", str(config), "--run-dir", str(run)]) == 143
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == handlers
    output, errors = capfd.readouterr()
    assert "SIGTERM: stops when this iteration is done and saved; once more to stop at once" in errors
    first = run / "checkpoints" / steps_name(0)
    assert f"stopped at once by SIGTERM: what came after {first} is lost\ngo on with --resume {run}" in output
    assert checkpoints_of(run) == [first.name]
    monkeypatch.undo()
    assert train.main(["--resume", str(run), "--set", "total_steps=64"]) == 0


# --- devices ------------------------------------------------------------------------------------------------


def test_a_device_is_found(config, tmp_path):
    run = tmp_path / "run"
    arguments = ["--set", "device=auto", "total_steps=64"]
    assert train.main(["--config", str(config), "--run-dir", str(run), *arguments]) == 0
    assert load_config(run / "config.yaml").device == "auto"


def test_a_device_without_data_is_refused(config, tmp_path, capsys):
    arguments = ["--config", str(config), "--run-dir", str(tmp_path / "run"), "--set", "device=meta"]
    assert train.main(arguments) == 2
    assert "device is 'meta', which PyTorch cannot use here" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
