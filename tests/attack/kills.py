"""SIGKILL at random moments: what goes on after it ends like what was never killed, to the bit.

Most processes are forked from a warm one, so that every moment of a training can be hit many times; those of
``kill_fresh_training`` and ``kill_compiling`` are new interpreters, which are killed while they import,
compile and write machine code, too. Sweeps start processes of their own: what they start, and what that
starts, is found by a variable of its environment.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import subprocess
import sys
import tempfile
import time
import traceback
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from patchwork_env import agents, cli
from tests.attack.whole_runs import ALGORITHMS, JOBS, require_same, unharmed

KILLS = 8
"""Processes of one attempt that may be killed; the next one goes on to the end."""
_FEW = 2
"""And of sweeps, each of which takes seconds to start."""
_MARK = "PATCHWORK_ATTACK"
_PATIENCE = 60.0
"""Seconds within which processes have to end after that which started them."""
_POLICY = ("checkpoint.json", "weights.safetensors")
_KERNELS = """
from patchwork_env.core.compile import kernel
import numpy as np

@kernel(inline=True)
def square(number):
    return number * number

@kernel
def sum_of_squares(numbers):
    total = 0
    for i in range(len(numbers)):
        total += square(numbers[i])
    return total

@kernel(allocates=True)
def table(size):
    return np.arange(size) * size

print(square(3), square(1.5), sum_of_squares(np.arange(4)), table(3))
"""
_PRINTED = "9 2.25 14 [0 3 6]\n"


# --- processes ----------------------------------------------------------------------------------------------


class Process:
    """A command in a process forked from this one, with its imports and compiled code, or in a new one."""

    def __init__(self, arguments, output, *, fresh=False, **environment):
        self.output = output
        if fresh:
            with output.open("ab") as file:
                popen = subprocess.Popen(
                    [sys.executable, *arguments], stdout=file, stderr=file, env={**os.environ, **environment}
                )
            self.poll, self._kill, self.wait = popen.poll, popen.kill, popen.wait
        else:
            fork = get_context("fork").Process(target=_run, args=(arguments, output))
            fork.start()
            self.poll, self._kill, self.wait = lambda: fork.exitcode, fork.kill, fork.join

    def kill(self):
        self._kill()
        self.wait()

    def ends(self, seconds=float("inf"), waits=bool):
        """Whether it ends well, or is killed: after so many seconds, once ``waits`` says no."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline or waits():
            code = self.poll()
            if code is not None:
                assert code == 0, f"ended with exit code {code}:\n{self.output.read_text()[-3000:]}"
                return True
            time.sleep(0.0005)
        self.kill()
        return False


def _run(arguments, output):
    """Runs the command in a forked process, which ends without what this one has to do in the end."""
    code = 1
    try:
        handle = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(handle, 1)
        os.dup2(handle, 2)
        code = cli.main(arguments)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def start(job, folder, *, fresh=False):
    """Starts or resumes a job."""
    arguments, output = job.arguments(folder), folder.with_name("output.txt")
    if fresh:
        return Process(["-m", "patchwork_env.cli", *arguments], output, fresh=True)
    return Process(arguments, output)


def kill_and_go_on(begin, folder, seconds, random, check, most=KILLS):
    """Begins a process again and again until one ends, and returns how often it was killed before.

    It would take so many ``seconds`` if nobody killed it; about every other kill waits until something is
    being written in the folder. ``check`` is called after every kill.
    """

    def is_idle():
        return time.monotonic() < latest and not any(folder.rglob("*.partial"))

    for kills in range(most):
        latest = time.monotonic() + 2 * seconds
        waits = is_idle if random.random() < 0.5 else bool
        if begin().ends(random.uniform(0, 2 * seconds / most), waits):
            return kills
        check()
    assert begin().ends()
    return most


class Witness:
    """Remembers the checkpoints of a run, and notices what happens to them."""

    def __init__(self, run):
        self._run = run
        self._seen: dict[str, list[str]] = {}

    def look(self):
        """Checks that no checkpoint is lost, changed or damaged."""
        if not (self._run / "config.yaml").exists():
            return  # no run yet: it begins anew
        present = {}
        for folder in (self._run / "checkpoints").glob("step_*"):
            present[folder.name] = [hashlib.sha256((folder / n).read_bytes()).hexdigest() for n in _POLICY]
            if folder.name not in self._seen:
                agents.load(folder)
        for name, digests in self._seen.items():
            assert present.get(name) == digests, f"{name} is lost or has changed"
        self._seen = present


# --- trainings and games ------------------------------------------------------------------------------------


def kill(name, fresh, random):
    """Kills and resumes a training or games until they have ended like those that nobody disturbed."""
    expected, seconds = unharmed(name)
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent, "work")
        folder.mkdir()
        look = Witness(folder / "run").look if name in ALGORITHMS else partial(JOBS[name].result, folder)
        begin = partial(start, JOBS[name], folder, fresh=fresh)
        kills = kill_and_go_on(begin, folder, seconds + 20 * fresh, random, look)
        look()
        require_same(JOBS[name].result(folder), expected)
    return kills


def kill_compiling(random):
    """Kills two processes at once that import, compile and write machine code, until both have ended."""
    kills = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "kernels.py").write_text(_KERNELS)
        outputs = [folder / "one.txt", folder / "other.txt"]
        places = {"NUMBA_CACHE_DIR": str(folder / "cache")}
        places["PYTHONPATH"] = os.pathsep.join([name, *sys.path])
        begin = partial(Process, ["-c", "import kernels"], fresh=True, **places)
        for _ in range(3):
            processes = [begin(output) for output in outputs]
            kills += sum(not process.ends(random.uniform(0, 6)) for process in processes)
        for output in outputs:
            output.unlink()
            assert begin(output).ends()
            assert output.read_text() == _PRINTED, output.read_text()
    return kills


# --- what starts processes of its own -----------------------------------------------------------------------


@contextlib.contextmanager
def _leaving_no_process():
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


def _started_by(mark):
    """The command lines of the processes with a variable in their environment."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended
            if mark.encode() in (process / "environ").read_bytes().split(b"\0"):
                found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode()[:200])
    return found


@functools.cache
def _unharmed_sweep() -> tuple[dict[str, Any], float]:
    """What a sweep leaves that nobody kills, and the seconds that it takes in a new process."""
    with _leaving_no_process() as parent:
        began = time.monotonic()
        assert start(JOBS["sweep"], parent / "work", fresh=True).ends()
        return JOBS["sweep"].result(parent / "work"), time.monotonic() - began


def kill_sweep(random):
    """Kills and resumes a sweep until it has ended like the unharmed one, and all of its runs, too."""
    (expected, seconds), job = _unharmed_sweep(), JOBS["sweep"]
    with _leaving_no_process() as parent:
        sweep = parent / "work"
        begin = partial(start, job, sweep, fresh=True)
        kills = kill_and_go_on(begin, sweep, seconds, random, partial(_require_no_failure, sweep), _FEW)
        require_same(job.result(sweep), expected)
    return kills


def _require_no_failure(folder):
    """Checks that no trial of a sweep that was killed has failed."""
    if (folder / "study.jsonl").exists():
        from patchwork_env.learning.sweeps.sweep import Sweep

        errors = [row.error for row in Sweep(folder).rows() if row.error]
        assert not errors, f"trials have failed: {errors}"


ATTACKS = {
    **{f"kill_{name}": partial(kill, name, False) for name in (*ALGORITHMS, "evaluate", "tournament")},
    "kill_fresh_training": partial(kill, "ppo", True),
    "kill_compiling": kill_compiling,
    "kill_sweep": kill_sweep,
}
SLOW = set(ATTACKS)
NEEDS = {"kill_maskable_ppo": "sb3_contrib", "kill_sweep": "optuna"}
