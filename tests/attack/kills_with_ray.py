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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from numpy.random import Generator

from tests.attack.kills import Fresh, Witness, begin_or_resume, ends, kill_and_go_on, start_training
from tests.attack.whole_runs import EVERY_RUN, contents_of, require_same, result_of, without_times

KILLS = 2
"""Processes of one attempt that may be killed: half of the time of each, Ray starts."""
_MARK = "PATCHWORK_ATTACK"
_PATIENCE = 60.0
"""Seconds within which the processes of Ray have to end after that which started them."""
_TRIALS = """
total_steps: 640
network: {width: 8, depth: 1, channels: 4}
ppo: {num_envs: 4, rollout_steps: 8, minibatch_size: 16, epochs: 1}
league: {fraction: 0.5, snapshot_every: 2, size: 2, opponents: 1}
"""
_RLLIB_PPO = """
algorithm: rllib_ppo
total_steps: 2048
network: {width: 8, depth: 1, channels: 4}
rllib_ppo: {num_envs: 2, batch_size: 64, minibatch_size: 32, epochs: 1}
league: {fraction: 0.5, snapshot_every: 2, size: 2, opponents: 1}
"""


@contextmanager
def leaving_no_process() -> Iterator[Path]:
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


def unharmed(start: Callable[[Path], Fresh], result: Callable[[Path], Any]) -> tuple[Any, float]:
    """What a command leaves that nobody kills, and the seconds that it takes."""
    with leaving_no_process() as parent:
        began = time.monotonic()
        assert ends(start(parent / "run"))
        return result(parent / "run"), time.monotonic() - began


# --- sweeps -------------------------------------------------------------------------------------------------


def kill_sweep(random: Generator) -> int:
    """Kills and resumes a sweep until it has ended like the unharmed one, and all of its runs, too."""
    expected, seconds = unharmed_sweep()
    with leaving_no_process() as parent:
        sweep = parent / "run"
        kills = kill_and_go_on(
            partial(start_sweep, sweep), sweep, seconds, random, partial(_look_at, sweep), KILLS
        )
        require_same(result_of_sweep(sweep), expected)
    return kills


@functools.cache
def unharmed_sweep() -> tuple[dict[str, Any], float]:
    """What a sweep leaves that nobody kills, and the seconds that it takes."""
    return unharmed(start_sweep, result_of_sweep)


def start_sweep(folder: Path) -> Fresh:
    """Starts a sweep of three trials, two at a time, or goes on with it."""
    config = folder.with_name("config.yaml")
    config.write_text(_TRIALS + EVERY_RUN)
    begin = ("--config", str(config), "--out", str(folder), "--param", "seed=grid(1, 2, 3)")
    arguments = begin_or_resume(folder, "study.jsonl", *begin)
    command = ["-m", "patchwork_env.cli", "sweep", *arguments, "--workers", "2"]
    return Fresh(command, folder.with_name("output.txt"))


def _look_at(folder: Path) -> None:
    """Checks that no trial of a sweep that was killed has failed."""
    if (folder / "study.jsonl").exists():
        from patchwork_env.learning.sweeps.sweep import Sweep

        errors = [row.error for row in Sweep(folder).rows() if row.error]
        assert not errors, f"trials have failed: {errors}"


def result_of_sweep(folder: Path) -> dict[str, Any]:
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
    expected, seconds = unharmed_rllib_ppo()
    with leaving_no_process() as parent:
        run, twin = parent / "run", parent / "twin"
        witness = Witness(run)

        def look() -> None:
            witness.look()
            if not twin.exists():
                _require_beginning(run, expected)
            shutil.rmtree(twin, ignore_errors=True)
            if run.exists():
                shutil.copytree(run, twin)

        kills = kill_and_go_on(partial(start_rllib_ppo, run), run, seconds, random, look, KILLS)
        witness.look()
        if twin.exists():
            assert ends(start_rllib_ppo(twin))
            expected = result_of(twin)
        require_same(result_of(run), expected)
    return kills


@functools.cache
def unharmed_rllib_ppo() -> tuple[dict[str, Any], float]:
    """What a run leaves that nobody kills, and the seconds that it takes."""
    return unharmed(start_rllib_ppo, result_of)


def start_rllib_ppo(run: Path) -> Fresh:
    """Starts a run, or goes on with it; the order of sets in RLlib follows Python's hashes."""
    config = run.with_name("config.yaml")
    config.write_text(_RLLIB_PPO + EVERY_RUN)
    started = start_training(config, run, is_fresh=True, PYTHONHASHSEED="0")
    assert isinstance(started, Fresh)
    return started


def _require_beginning(run: Path, expected: dict[str, Any]) -> None:
    """Checks that a run that was never resumed has the policies of the unharmed one, as far as it came."""
    weights = (run / "checkpoints").glob("step_*/weights.safetensors")
    found = {str(path.relative_to(run)): contents_of(path) for path in weights}
    differing = [path for path, contents in found.items() if expected.get(path) != contents]
    assert not differing, f"these are not those of the unharmed run: {', '.join(differing)}"


ATTACKS: dict[str, Callable[[Generator], int]] = {
    "kill_sweep": kill_sweep,
    "kill_rllib_ppo": kill_rllib_ppo,
}
SLOW = set(ATTACKS)
NEEDS = {"kill_sweep": "optuna", "kill_rllib_ppo": "ray"}
