"""Full and read-only disks, and the power gone at any moment.

A command says in one line what failed, leaves nothing half written, and goes on later: the disks are small
file systems in memory, which only root may mount; without them the attacks do nothing. For power losses, what
the real code writes is recorded once; every attempt loses the power at a random moment of it, by the model of
:mod:`tests.attack.disk_model`, and has the real code go on with what is left.
"""

from __future__ import annotations

import contextlib
import functools
import os
import subprocess
import tempfile
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

from tests.attack import kills
from tests.attack.disk_model import Recording, lose_power, recorded
from tests.attack.whole_runs import JOBS, command, configuration, quiet, require_same, result_of, unharmed

_SIZE = 1 << 28
_PAGE = 4096
_RUN, _GAMES = Path("runs", "small"), Path("games", "small")
_LOSSES = 4
"""Losses of power for each attempt."""


# --- full and read-only disks -------------------------------------------------------------------------------


def fill(name, random):
    """Trains or plays on a disk that gets full or read-only, and goes on when that is mended."""
    (expected, _), job = unharmed(name), JOBS[name]
    with _disk() as disk:
        if disk is None:
            return 0
        with _spoiled(disk, random):
            _require_told(kills.start(job, disk), disk)
            run = disk / "run"
            assert (run / "config.yaml").exists() or not run.exists(), "half a run is left"
        assert kills.start(job, disk).ends()
        require_same(job.result(disk), expected)
    return 1


def _require_told(process, disk):
    """Waits for a command, which finds room enough or says in its last line what failed where."""
    process.wait()
    code, said = process.poll(), process.output.read_text()
    process.output.unlink()
    assert code in (0, 2), f"exit code {code}:\n{said[-2000:]}"
    assert "Traceback" not in said, said[-2000:]
    if code == 2:
        last = said.strip().splitlines()[-1]
        assert f"cannot write to {disk}" in last, f"the last line names no path: {last}"
    left = [path.name for path in disk.rglob("*.partial")] if os.access(disk, os.W_OK) else []
    assert not left, f"left half written: {left}"


@contextlib.contextmanager
def _disk():
    """A small file system of its own; None where it cannot be mounted."""
    with tempfile.TemporaryDirectory() as name:
        disk = Path(name, "disk")
        disk.mkdir()
        if not _mount("-t", "tmpfs", "-o", f"size={_SIZE}", "none", str(disk)):
            yield None
            return
        try:
            yield disk
        finally:
            subprocess.run(["umount", "-l", str(disk)], check=True)


@contextlib.contextmanager
def _spoiled(disk, random):
    """Within the block the disk has little room, or is read-only."""
    if random.random() < 0.25:
        assert _mount("-o", "remount,ro", str(disk))
        yield
        assert _mount("-o", "remount,rw", str(disk))
        return
    filler, free = disk / "filler", int(60_000 ** random.random()) * _PAGE - _PAGE
    filler.write_bytes(bytes(_SIZE - free))
    yield
    filler.unlink()


def _mount(*arguments):
    return subprocess.run(["mount", *arguments], capture_output=True, check=False).returncode == 0


# --- power losses -------------------------------------------------------------------------------------------


def lose(record, go_on, random):
    """Loses what was recorded; what is left ends like the unharmed one, and nothing complete is lost."""
    recording, expected = record()
    for _ in range(_LOSSES):
        moment = int(random.integers(len(recording.operations) + 1))
        with tempfile.TemporaryDirectory() as name:
            lose_power(recording, moment, Path(name), random)
            result = go_on(Path(name), recording, moment)
        if result is not None:
            require_same(result, expected)
    return _LOSSES


@functools.cache
def _trained() -> tuple[Recording, dict[str, Any]]:
    """What a run writes that is stopped, is resumed to its end and resumed once more, and what it leaves."""
    from patchwork_env.learning.config import load_config
    from patchwork_env.learning.runs.run import new_run

    with tempfile.TemporaryDirectory() as name:
        config, run = Path(name, "small.yaml"), Path(name, "disk", _RUN)
        config.write_text(configuration("ppo").replace("checkpoint_every: 1", "checkpoint_every: 2"))
        Path(name, "disk").mkdir()
        with recorded(Path(name, "disk")) as recording, _promises(Path(name, "disk"), recording):
            begin = mock.patch("patchwork_env.learning.runs.run.loop", _begin)
            with quiet(), begin, new_run(load_config(config), run) as begun:
                begun.train()
            for _ in range(2):
                command("train", "--resume", str(run), "--set", "evaluation.games=2")
        return recording, result_of(run)


def _begin(run):
    """Trains for three iterations, after the second of which there is a checkpoint."""
    for _ in range(3):
        run.log(run.trainer.step())
        run.save_if_due()
        run.evaluate_if_due()


def _resume(folder, recording, moment):
    """Resumes a run; None if it had not begun."""
    if not (folder / _RUN / "config.yaml").exists():
        assert not recording.allowed(_RUN / "config.yaml", moment), "the run is lost"
        return None
    from patchwork_env.learning.runs.run import resumed_run

    with quiet(), resumed_run(folder / _RUN) as run:
        recording.check(folder, moment)
        assert run.train() == 0
    return result_of(folder / _RUN)


@functools.cache
def _played() -> tuple[Recording, dict[str, Any]]:
    """What a tournament writes, and its results."""
    with tempfile.TemporaryDirectory() as name:
        with recorded(Path(name)) as recording, _promises(Path(name), recording):
            results = _play(Path(name, _GAMES))
        return recording, results


def _play(folder):
    from patchwork_env.learning.evaluation.tournament import Tournament

    return Tournament.enter(["random", "greedy"], 4, 1).play(folder).as_dict()


def _play_again(folder, recording, moment):
    recording.check(folder, moment)
    return _play(folder / _GAMES)


@contextlib.contextmanager
def _promises(root, recording):
    """Within the block, whatever was written in one piece is promised to stay when the function returns."""
    from patchwork_env.core import files
    from patchwork_env.learning.runs import checkpoints

    write_folder, write_bytes = files.write_folder, files.write_bytes

    def writing_folder(folder, *given, **named):
        write_folder(folder, *given, **named)
        for name in ("checkpoint.json", "weights.safetensors"):
            recording.promise((folder / name).relative_to(root), (folder / name).read_bytes())

    def writing_bytes(path, contents):
        write_bytes(path, contents)
        if not path.name.startswith("metrics."):  # which grow later on
            recording.promise(path.relative_to(root), contents)

    with (
        mock.patch.object(checkpoints, "write_folder", writing_folder),
        mock.patch.object(files, "write_bytes", writing_bytes),
    ):
        yield


_FILLED = [f"full_disk_{name}" for name in ("ppo", "td", "alphazero", "evaluate", "tournament")]
ATTACKS = {
    **{name: partial(fill, name.removeprefix("full_disk_")) for name in _FILLED},
    "power_loss_training": partial(lose, _trained, _resume),
    "power_loss_tournament": partial(lose, _played, _play_again),
}
SLOW = {*_FILLED, "power_loss_training"}
