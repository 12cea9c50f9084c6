"""SIGKILL at random moments of sweeps, which start processes of their own.

All processes are new interpreters. What they start, and what that starts, is found by a variable of its
environment.
"""

from __future__ import annotations

import csv
import functools
import json
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from numpy.random import Generator

from tests.attack.kills import Job, begin_or_resume, ends, kill_and_go_on
from tests.attack.whole_runs import configuration, require_same, result_of, without_times

KILLS = 2
"""Processes of one attempt that may be killed: each takes seconds to start."""
_MARK = "PATCHWORK_ATTACK"
_PATIENCE = 60.0
"""Seconds within which processes have to end after that which started them."""


@contextmanager
def _leaving_no_process() -> Iterator[Path]:
    """Gives a new folder; checks that all processes end that were started within the block."""
    with tempfile.TemporaryDirectory() as name:
        os.environ[_MARK] = name
        try:
            yield Path(name)
        finally:
            del os.environ[_MARK]
        deadline = time.monotonic() + _PATIENCE
        while left := _started_by(f"{_MARK}={name}"):
            assert time.monotonic() < deadline, f"these go on without what started them: {', '.join(left)}"
            time.sleep(0.1)


def _started_by(mark: str) -> list[str]:
    """The command lines of the processes with a variable in their environment."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (process / "environ").read_bytes().split(b"\0"):
                found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode()[:200])
        except OSError:  # it has ended
            continue
    return found


@functools.cache
def _unharmed() -> tuple[dict[str, Any], float]:
    """What a sweep leaves that nobody kills, and the seconds that it takes."""
    with _leaving_no_process() as parent:
        began = time.monotonic()
        assert ends(_SWEEP.start(parent / "work"))
        return _SWEEP.result(parent / "work"), time.monotonic() - began


def kill_sweep(random: Generator) -> int:
    """Kills and resumes a sweep until it has ended like the unharmed one, and all of its runs, too."""
    expected, seconds = _unharmed()
    with _leaving_no_process() as parent:
        folder = parent / "work"
        kills = kill_and_go_on(_SWEEP, folder, seconds, random, partial(_require_no_failure, folder), KILLS)
        require_same(_SWEEP.result(folder), expected)
    return kills


def _arguments(folder: Path) -> list[str]:
    """The arguments of a sweep of three trials, two at a time."""
    config = folder.with_name("config.yaml")
    config.write_text(configuration("ppo"))
    begin = ("--config", str(config), "--out", str(folder), "--param", "seed=grid(1, 2, 3)")
    return [*begin_or_resume("sweep", folder, "study.jsonl", *begin), "--workers", "2"]


def _require_no_failure(folder: Path) -> None:
    """Checks that no trial of a sweep that was killed has failed."""
    if (folder / "study.jsonl").exists():
        from patchwork_env.learning.sweeps.sweep import Sweep

        errors = [row.error for row in Sweep(folder).rows() if row.error]
        assert not errors, f"trials have failed: {errors}"


def _result(folder: Path) -> dict[str, Any]:
    """All that a finished sweep leaves, except times, by the path."""
    found: dict[str, Any] = {}
    text = (folder / "winner.json").read_text().replace(str(folder), "SWEEP")
    found["winner.json"] = without_times(json.loads(text))
    with (folder / "results.csv").open(newline="") as file:
        found["results.csv"] = [without_times(row) for row in csv.DictReader(file)]
    found["files"] = sorted(path.name for path in folder.iterdir() if path.suffix != ".lock")
    for run in sorted(path for path in (folder / "trials").iterdir() if path.is_dir()):
        found |= {f"{run.name}/{path}": contents for path, contents in result_of(run).items()}
    return found


_SWEEP = Job(_arguments, _result, {})
ATTACKS = {"kill_sweep": kill_sweep}
SLOW = set(ATTACKS)
NEEDS = {"kill_sweep": "optuna"}
