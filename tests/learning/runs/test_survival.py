"""Runs survive: signals and killed processes, damaged files, full disks, folders in use, divergences."""

from __future__ import annotations

import errno
import importlib
import io
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import Mock

import pytest
import torch
from safetensors.torch import load_file, save_file

from patchwork_env.agents.checkpoints import read_checkpoint
from patchwork_env.core import progress
from patchwork_env.core.files import GrowingFile
from patchwork_env.errors import OpponentError
from patchwork_env.learning import system as signals_module
from patchwork_env.learning.algorithms.ppo.trainer import PpoTrainer
from patchwork_env.learning.config import load_config
from patchwork_env.learning.runs import checkpoints as checkpoints_module
from patchwork_env.learning.runs import run as run_module
from patchwork_env.learning.runs.checkpoints import load_checkpoint
from patchwork_env.learning.runs.folder import read_versions
from tests.learning import same_runs

fcntl, pty, resource = map(pytest.importorskip, ("fcntl", "pty", "resource"))

STEPS_PER_ITERATION = 64
SIGINT, SIGTERM, SIGKILL = signal.SIGINT, signal.SIGTERM, signal.SIGKILL
NO_SPACE = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def checkpoint(run, iterations):
    return run / "checkpoints" / f"step_{iterations * STEPS_PER_ITERATION:010d}"


def contents(folder):
    return {str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None for p in folder.rglob("*")}


def partial_of(run):
    return [path.name for path in run.rglob("*.partial")]


def last_line(capsys):
    """The last line of a command's errors, after the progress bar."""
    return capsys.readouterr().err.splitlines(keepends=True)[-1]


class Killed(BaseException):
    """Stands for SIGKILL: nothing handles it."""


def killed(*_, **__):
    raise Killed


def refuse(*_, **__):
    raise NO_SPACE


# --- signals and killed processes ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def long_run(tmp_path_factory, config):
    """A run that takes a while, and was not disturbed."""
    run = tmp_path_factory.mktemp("runs") / "long"
    assert same_runs.start_run(config, run, "total_steps=1920") == 0
    return run


@pytest.mark.slow
@pytest.mark.parametrize(("number", "times", "code"), [(SIGINT, 2, 130), (SIGTERM, 1, 143), (SIGKILL, 1, -9)])
def test_a_stopped_run_ends_as_one_that_was_not(config, long_run, tmp_path, number, times, code):
    """The real command, with repeated signals; tests/attack/kills.py does it many times."""
    run = tmp_path / "run"
    arguments = "--config", str(config), "--run-dir", str(run), "--set", "total_steps=1920"
    command = same_runs.train_command(*arguments)
    with subprocess.Popen(
        command, env=same_runs.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            wait_for(checkpoint(run, 6), process)
            for _ in range(times):
                process.send_signal(number)
            output, errors = process.communicate(timeout=120)
        finally:
            process.kill()
    assert process.returncode == code, errors
    assert not (run / "final").exists()
    if number != SIGKILL:
        last = same_runs.checkpoints_of(run)[-1]
        assert f"stopped by {number.name}: saved {last}" in output
        assert f"resume with --resume {run}" in output
        assert "Traceback" not in errors
        assert partial_of(run) == []
        assert same_runs.metrics_of(run)[-1]["steps"] == read_checkpoint(last).info["steps"]
    assert same_runs.resume_run(run) == 0
    for folder in same_runs.checkpoints_of(run):  # there is one more where the signal came
        if not (long_run / "checkpoints" / folder.name).exists():
            shutil.rmtree(folder)
    same_runs.assert_same_run(run, long_run)


@pytest.mark.slow
def test_a_closed_terminal_saves_the_run(config, tmp_path):
    """A real terminal, to which printing then fails."""
    run = tmp_path / "run"
    command = same_runs.train_command("--config", str(config), "--run-dir", str(run))
    child, terminal = pty.fork()
    if child == 0:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # these tests may run under nohup
        os.execve(command[0], [*command, "--set", "total_steps=1920000"], same_runs.environment())
    deadline = time.monotonic() + 120
    while not checkpoint(run, 6).exists():
        assert time.monotonic() < deadline
        select.select([terminal], [], [], 0.005)[0] and os.read(terminal, 4096)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 128 + signal.SIGHUP
    newest = same_runs.checkpoints_of(run)[-1]
    assert same_runs.metrics_of(run)[-1]["steps"] == read_checkpoint(newest).info["steps"]
    assert partial_of(run) == []


def wait_for(path, process):
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and process.poll() is None:
        if path.exists():
            return
        time.sleep(0.005)
    raise AssertionError(f"{path} does not appear: {process.stdout.read()}")


@pytest.mark.parametrize(
    ("number", "newest", "said"),
    [(1, 3, "by SIGTERM: saved {}"), (2, 2, "at once by SIGTERM: everything after {} is lost")],
)
def test_a_second_signal_abandons_the_iteration(number, newest, said, config, tmp_path, monkeypatch, capfd):
    run, step = tmp_path / "run", PpoTrainer.step

    def step_and_send(trainer):
        metrics = step(trainer)
        for _ in range(number if trainer.iteration == 3 else 0):
            os.kill(os.getpid(), SIGTERM)
        return metrics

    handlers = [signal.getsignal(number) for number in (SIGINT, SIGTERM)]
    with monkeypatch.context() as context:
        context.setattr(signals_module, "_ECHO_SECONDS", -1.0)
        context.setattr(PpoTrainer, "step", step_and_send)
        assert same_runs.start_run(config, run) == 143
    assert [signal.getsignal(number) for number in (SIGINT, SIGTERM)] == handlers
    output, errors = capfd.readouterr()
    assert "SIGTERM: stops after this step; send it again to stop at once" in errors
    last = same_runs.checkpoints_of(run)[-1]
    assert last == checkpoint(run, newest)
    assert f"stopped {said.format(last)}\nresume with --resume {run}" in output


def test_an_evaluation_that_a_signal_stops_is_made_up_for(config, finished, tmp_path, monkeypatch, capsys):
    def stop(*_, **__):
        os.kill(os.getpid(), SIGINT)
        signals_module.stop_if_asked()

    run = tmp_path / "run"
    with monkeypatch.context() as context:
        context.setattr(run_module, "play_matches", stop)
        assert same_runs.start_run(config, run) == 130
    assert same_runs.checkpoints_of(run)[-1] == checkpoint(run, 4)
    assert "stopped by SIGINT" in capsys.readouterr().out
    assert not (run / "evaluations").exists()
    assert same_runs.resume_run(run) == 0
    same_runs.assert_same_run(run, finished)


def test_a_new_run_can_be_resumed_from_its_beginning(config, tmp_path, monkeypatch):
    """As soon as it has a configuration, which is written after the first checkpoint."""
    run, cut_off = tmp_path / "run", tmp_path / "cut_off"
    for place, name, folder in ((PpoTrainer, "step", run), (checkpoints_module, "write_text", cut_off)):
        monkeypatch.setattr(place, name, killed)
        with pytest.raises(Killed):
            same_runs.start_run(config, folder)
        monkeypatch.undo()
    assert (same_runs.checkpoints_of(run), cut_off.exists()) == ([checkpoint(run, 0)], False)
    assert load_config(run / "config.yaml") == load_config(config)
    assert same_runs.resume_run(run, "total_steps=64", "evaluation.opponents=[]") == 0
    assert same_runs.checkpoints_of(run) == [checkpoint(run, 0), checkpoint(run, 1)]


# --- resumed runs -------------------------------------------------------------------------------------------


def test_a_run_ends_as_an_undisturbed_one_after_files_of_killed_processes(finished, run, capsys):
    same_runs.forget_the_end(run)
    evaluations = run / "evaluations"
    half = run / "checkpoints" / ".step_0000000640-abc.partial" / "step_0000000640"
    half.mkdir(parents=True)
    (half / "weights.safetensors").write_bytes(b"half")
    (run / ".final-abc.partial").mkdir()
    (run / ".config.yaml-abc.partial").write_text("seed")
    (evaluations / ".step_0000000640.json-abc.partial").write_text("{")
    events = next(run.glob("events.*"))
    os.truncate(events, events.stat().st_size - 7)
    # It had written its curves, and its checkpoint was there because of a signal.
    (evaluations / f"{checkpoint(run, 8).name}.json").unlink()
    odd = b'123\n{"steps": "x", "minutes": 1}\n[1]\n\xff\n{"steps": 64}\n{"minutes": 1}\n'
    odd += b'{"steps": 0, "minutes": 0, "x": "y"}\n{"steps": 0, "minutes": 0, "x": 9223372036854775808}\n'
    metrics = run / "metrics.jsonl"
    metrics.write_bytes(odd + metrics.read_bytes() + b'{"steps": 640, "minu')
    strays = ".notes", "checkpoints/step_zzz", "evaluations/step_zzz.json"
    for name in strays:
        (run / name).write_text("mine")
    assert same_runs.resume_run(run) == 0
    assert f"resuming from {checkpoint(run, 8)}" in capsys.readouterr().out
    same_runs.assert_same_run(run, finished)
    assert partial_of(run) == []
    assert [(run / name).read_text() for name in strays] == ["mine"] * 3


@pytest.mark.parametrize(("change", "matches"), [("nothing", 0), ("no choice of the best", 4), ("no end", 4)])
def test_only_what_a_run_has_not_finished_is_played(run, capsys, monkeypatch, change, matches):
    played, play_matches = [], run_module.play_matches
    monkeypatch.setattr(run_module, "play_matches", lambda *a, **b: played.append(a) or play_matches(*a, **b))
    for pause in ("_SECONDS_BEFORE_NOTICE", "_PAUSE"):
        monkeypatch.setattr(progress, pause, 0.0)
    if change == "no choice of the best":
        (run / "evaluations" / "best.json").unlink()
    elif change == "no end":
        same_runs.forget_the_end(run)
    in_state(seconds=3540)(run)
    assert same_runs.resume_run(run, "ppo.epochs=9") == 0
    assert ("epochs: 9" in (run / "config.yaml").read_text()) == (change == "no end")
    (said, bars), is_over = capsys.readouterr(), change == "nothing"
    assert f"%, {512 if change == 'no end' else 640} of 600 steps" in bars.splitlines()[0]
    assert (f"{run} is finished: it has all 600 steps" in said) == is_over
    assert ("--set total_steps=1280" in said) == is_over
    assert ("640 steps in 59.0 minutes, 0 steps per second" in said) != is_over
    assert len(played) == matches
    assert {int(line["minutes"]) for line in same_runs.metrics_of(run)} <= {0, 59}
    assert (run / "evaluations" / "best.json").exists()


def test_a_finished_run_adds_nothing_but_a_longer_one_takes_its_place(finished, run):
    assert same_runs.resume_run(run) == 0
    same_runs.assert_same_run(run, finished)
    config = run / "config.yaml"
    config.write_text(config.read_text().replace("  margin_scale: 100.0\n", ""))  # as of an earlier version
    assert same_runs.resume_run(run, "total_steps=641") == 0
    assert read_checkpoint(run / "final").info["steps"] == 704
    assert same_runs.tensors_of(run / "final") != same_runs.tensors_of(finished / "final")
    changed = load_config(config)
    assert (changed.total_steps, changed.reward.margin_scale) == (641, 40.0)
    kept = [folder for folder in same_runs.checkpoints_of(run) if (folder / "trainer.json").exists()]
    assert kept == [checkpoint(run, 10), checkpoint(run, 11)]
    with (run / "versions.jsonl").open("a") as file:
        file.write('[]\n{"steps": "5"}\n{"steps": 448, "comm')
    assert [start["steps"] for start in read_versions(run)] == [0, 640, 640]


# --- what cannot be resumed ---------------------------------------------------------------------------------


def in_newest(name, change):
    """A damage to a file of the newest checkpoint."""
    return lambda run: change(same_runs.checkpoints_of(run)[-1] / name)


def in_state(**changes):
    def change(path):
        contents = json.loads(path.read_text())
        contents["state"] |= changes
        path.write_text(json.dumps(contents))

    return in_newest("trainer.json", change)


def spoil(path):
    tensors = load_file(path)
    tensors["network/value.bias"][:] = torch.nan
    save_file(tensors, path)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (in_state(steps="x"), "steps must be an integer, not 'x'"),
        (in_state(iteration=-1), "iteration is -1; allowed are 0 to"),
        (in_state(seconds=0), "seconds is 0; allowed are numbers above 0"),
        (in_state(seconds=-0.5), "seconds is -0.5; allowed are numbers above 0"),
        (in_state(opponents=[3] * 4), "; delete it to resume from "),
        (in_newest("trainer.safetensors", spoil), "trainer.safetensors was changed"),
        *((in_newest(f"{name}.safetensors", Path.unlink), "is damaged") for name in ("trainer", "weights")),
        (lambda run: shutil.rmtree(run / "checkpoints"), "holds no checkpoint to resume from"),
        (lambda run: (run / "config.yaml").unlink(), "is not a run: it holds no config.yaml"),
        ("network.width=9", "network.width is 9, and 8 in"),
        ("special_patches=2014", "special_patches is '2014', and 'revised' in"),
        ("device=toaster", "toaster"),
    ],
)
def test_a_run_that_cannot_be_resumed_is_not_changed(run, capsys, damage, message):
    """Damaged runs, and changes of keys that cannot change within a run."""
    override = [damage] if isinstance(damage, str) else []
    if not override:
        damage(run)
    before = contents(run)
    assert same_runs.resume_run(run, *override) == 2
    errors = capsys.readouterr().err
    assert errors.startswith("training.train: ")
    assert message in errors
    assert override or str(run) in errors
    assert errors.count("\n") == 1
    assert contents(run) == before


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
    assert f"{newest} is complete" in errors
    assert errors.endswith(f"resume with --resume {run}\n")
    assert errors.count("\n") == 1
    assert same_runs.checkpoints_of(run)[-1] == newest
    assert partial_of(run) == []
    load_checkpoint(run, PpoTrainer(load_config(run / "config.yaml")))


def test_no_space_for_a_checkpoint(finished, config, tmp_path, capsys):
    """Checkpoints grow by a past self every two iterations, while games against the first ones continue."""
    run, full = tmp_path / "run", checkpoint(finished, 10) / "trainer.safetensors"
    with files_of_at_most(full.stat().st_size - 1):
        assert same_runs.start_run(config, run, "evaluation.opponents=[]") == 2
    errors = last_line(capsys)
    assert_stopped_for_want_of_space(run, errors, checkpoint(run, 8))
    assert f"cannot write to {run / 'checkpoints'}: {os.strerror(errno.EFBIG)}" in errors
    assert same_runs.resume_run(run) == 0
    for folder in (checkpoint(run, 10), run / "final"):
        assert same_runs.tensors_of(folder) == same_runs.tensors_of(finished / folder.relative_to(run))


def test_no_space_for_curves(finished, config, tmp_path, capsys, monkeypatch):
    run, write, written = tmp_path / "run", GrowingFile.write, []

    def write_until_full(file, contents):
        if Path(file._file.name).name.startswith("events."):
            written.append(contents)
        if len(written) > 3 and same_runs.metrics_of(run)[-1]["steps"] >= 3 * STEPS_PER_ITERATION:
            write(file, contents[:5])
            raise NO_SPACE
        write(file, contents)

    monkeypatch.setattr(GrowingFile, "write", write_until_full)
    assert same_runs.start_run(config, run) == 2
    monkeypatch.undo()
    assert_stopped_for_want_of_space(run, last_line(capsys), checkpoint(run, 2))
    with monkeypatch.context() as context:
        context.setattr(GrowingFile, "sync", refuse)
        assert same_runs.resume_run(run) == 2
    assert_stopped_for_want_of_space(run, last_line(capsys), checkpoint(run, 2))
    assert same_runs.resume_run(run) == 0
    same_runs.assert_same_run(run, finished)


def test_folders_that_cannot_be_written_are_noticed_at_the_start(config, run, tmp_path, capsys, monkeypatch):
    def refuse_to_open(path, flags, *arguments, open_file=os.open):
        if Path(path).name == "lock":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return open_file(path, flags, *arguments)

    monkeypatch.setattr(PpoTrainer, "step", killed)
    new = tmp_path / "new"
    for what, fail in (("write_folder", lambda *_: [shutil.rmtree(new), refuse()]), ("write_text", refuse)):
        with monkeypatch.context() as context:
            context.setattr(checkpoints_module, what, fail)
            assert same_runs.start_run(config, new) == 2
        assert_refused(capsys, new, "No space left on device")
        assert not new.exists()
    (tmp_path / "file").write_text("")
    assert same_runs.start_run(config, tmp_path / "file" / "run") == 2
    assert_refused(capsys, tmp_path / "file" / "run", "Not a directory")
    monkeypatch.setattr(os, "open", refuse_to_open)
    assert same_runs.resume_run(run) == 2
    assert_refused(capsys, run, "Permission denied")


def assert_refused(capsys, run, reason):
    said = capsys.readouterr().err
    assert said.startswith(f"training.train: cannot write to {run}")
    assert said.endswith(f": {reason}\n")
    assert said.count("\n") == 1


def test_the_final_policy_stays_until_the_next_one_is_complete(finished, run, monkeypatch):
    monkeypatch.setattr(PpoTrainer, "write_final", refuse)
    assert same_runs.resume_run(run, "total_steps=704") == 2
    assert same_runs.tensors_of(run / "final") == same_runs.tensors_of(finished / "final")
    assert partial_of(run) == []
    assert not (run / "evaluations" / "best.json").exists()  # so that it is chosen again


# --- folders in use -----------------------------------------------------------------------------------------


def test_locks_need_nothing_that_only_unix_has(monkeypatch):
    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.delitem(sys.modules, "patchwork_env.learning.system")
    importlib.import_module("patchwork_env.learning.system")


def test_a_run_is_in_use_while_it_trains(config, tmp_path, monkeypatch, capsys):
    """By then, a pipe of its output has told where it is."""
    run, pipe, told = tmp_path / "run", io.TextIOWrapper(io.BytesIO()), []

    def resume_meanwhile(*_):
        told.append(pipe.buffer.getvalue().decode())
        monkeypatch.setattr(PpoTrainer, "step", killed)
        assert same_runs.resume_run(run) == 2
        raise Killed

    monkeypatch.setattr(sys, "stdout", pipe)
    for begin in (lambda: same_runs.start_run(config, run), lambda: same_runs.resume_run(run)):
        monkeypatch.setattr(PpoTrainer, "step", resume_meanwhile)
        with pytest.raises(Killed):
            begin()
    assert [f"new run in {run}; " in told[0], f"resuming from {run}" in told[1]] == [True, True]
    assert f"{run} is in use: another process works there" in capsys.readouterr().err


def test_file_systems_without_locks(run, monkeypatch, capsys):
    def refuse_to_lock(*_):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refuse_to_lock)
    assert same_runs.resume_run(run) == 0
    assert f"{run} cannot be locked (No locks available)" in capsys.readouterr().err


# --- divergences --------------------------------------------------------------------------------------------

WILD = "ppo.learning_rate={start: 1e30, end: 1e30}", "ppo.minibatch_size=100"


@pytest.mark.parametrize("settings", [[], WILD])
def test_an_error_names_its_reason_and_the_checkpoint_to_resume_from(
    settings, config, tmp_path, capsys, monkeypatch
):
    """A divergence, and an opponent that fails in the first evaluation."""
    failing = Mock(side_effect=OpponentError("'greedy' failed"))
    monkeypatch.setattr(run_module, "play_matches", failing)
    run, diverged = tmp_path / "run", "training diverged: the loss is nan (loss nan, policy_loss nan"
    assert same_runs.start_run(config, run, *settings) == 2
    errors = last_line(capsys)
    assert errors.startswith(f"training.train: {diverged if settings else failing.side_effect}")
    assert f"{same_runs.checkpoints_of(run)[-1]} is complete" in errors
    assert errors.endswith(f"resume with --resume {run}\n")
    assert not (run / "final").exists()
