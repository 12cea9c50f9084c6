"""SIGKILL at random moments of what starts processes of its own: sweeps, and trainings of ``rllib_ppo``.

All processes are new interpreters: one that uses Ray cannot be forked. What they start, and what that starts,
is found by a variable of its environment.
"""

from __future__ import annotations

import csv
import functools
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from numpy.random import Generator

from tests.attack.kills import Job, Witness, begin_or_resume, ends, kill_and_go_on, training
from tests.attack.whole_runs import configuration, contents_of, require_same, result_of, without_times

KILLS = 2
"""Processes of one attempt that may be killed: half of the time of each, Ray starts."""
_MARK = "PATCHWORK_ATTACK"
_PATIENCE = 60.0
"""Seconds within which the processes of Ray have to end after that which started them."""
_RLLIB_PPO = """
algorithm: rllib_ppo
total_steps: 2048
checkpoint_every: 1
threads: 1
seed: 5
tracker: csv
evaluation: {every: 2, games: 2, final_games: 2, opponents: [random]}
network: {width: 8, depth: 1, channels: 4}
rllib_ppo: {num_envs: 2, batch_size: 64, minibatch_size: 32, epochs: 1}
league: {fraction: 0.5, snapshot_every: 2, size: 2, opponents: 1}
"""


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
def _unharmed(name: str) -> tuple[dict[str, Any], float]:
    """What a job leaves that nobody kills, and the seconds that it takes."""
    with _leaving_no_process() as parent:
        job, began = _JOBS[name], time.monotonic()
        assert ends(job.start(parent / "work"))
        return job.result(parent / "work"), time.monotonic() - began


# --- sweeps -------------------------------------------------------------------------------------------------


def kill_sweep(random: Generator) -> int:
    """Kills and resumes a sweep until it has ended like the unharmed one, and all of its runs, too."""
    (expected, seconds), job = _unharmed("sweep"), _JOBS["sweep"]
    with _leaving_no_process() as parent:
        sweep = parent / "work"
        kills = kill_and_go_on(job, sweep, seconds, random, partial(_require_no_failure, sweep), KILLS)
        require_same(job.result(sweep), expected)
    return kills


def _sweep(folder: Path) -> list[str]:
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


def _result_of_sweep(folder: Path) -> dict[str, Any]:
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


# --- rllib_ppo ----------------------------------------------------------------------------------------------


def kill_rllib_ppo(random: Generator) -> int:
    """Kills and resumes a run until it has ended.

    A resumed run begins new games, so that it does not end like the unharmed one. But until the first kill it
    is like it, and resumed twice from the same checkpoint it ends in the same way.
    """
    (expected, seconds), job = _unharmed("rllib_ppo"), _JOBS["rllib_ppo"]
    with _leaving_no_process() as parent:
        folder, twin = parent / "work", parent / "twin"
        witness = Witness(folder / "run")

        def look() -> None:
            witness.look()
            if not twin.exists():
                _require_beginning(folder / "run", expected)
            shutil.rmtree(twin, ignore_errors=True)
            if folder.exists():
                shutil.copytree(folder, twin)

        kills = kill_and_go_on(job, folder, seconds, random, look, KILLS)
        witness.look()
        if twin.exists():
            assert ends(job.start(twin))
            expected = job.result(twin)
        require_same(job.result(folder), expected)
    return kills


def _require_beginning(run: Path, expected: dict[str, Any]) -> None:
    """Checks that a run that was never resumed has the policies of the unharmed one, as far as it came."""
    weights = (run / "checkpoints").glob("step_*/weights.safetensors")
    found = {str(path.relative_to(run)): contents_of(path) for path in weights}
    differing = [path for path, contents in found.items() if expected.get(path) != contents]
    assert not differing, f"these are not those of the unharmed run: {', '.join(differing)}"


_JOBS = {
    "sweep": Job(_sweep, _result_of_sweep, {}),
    # The order of sets in RLlib follows Python's hashes.
    "rllib_ppo": training(_RLLIB_PPO, {"PYTHONHASHSEED": "0"}),
}
ATTACKS = {"kill_sweep": kill_sweep, "kill_rllib_ppo": kill_rllib_ppo}
SLOW = set(ATTACKS)
NEEDS = {"kill_sweep": "optuna", "kill_rllib_ppo": "ray"}
