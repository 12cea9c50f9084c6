"""SIGKILL at random moments: what goes on after it ends like what was never killed, to the bit.

Most processes are forked from a warm one, so that every moment of a training can be hit many times; those of
``kill_fresh_training`` and ``kill_compiling`` are new interpreters, which are killed while they import,
compile and write machine code, too.
"""

from __future__ import annotations

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

from patchwork_env import agents, cli
from tests.attack.whole_runs import ALGORITHMS, JOBS, require_same, unharmed

KILLS = 8
"""Processes of one attempt that may be killed; the next one goes on to the end."""
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


def kill_and_go_on(begin, folder, seconds, random, check):
    """Begins a process again and again until one ends, and returns how often it was killed before.

    It would take so many ``seconds`` if nobody killed it; about every other kill waits until something is
    being written in the folder. ``check`` is called after every kill.
    """

    def is_idle():
        return time.monotonic() < latest and not any(folder.rglob("*.partial"))

    for kills in range(KILLS):
        latest = time.monotonic() + 2 * seconds
        waits = is_idle if random.random() < 0.5 else bool
        if begin().ends(random.uniform(0, 2 * seconds / KILLS), waits):
            return kills
        check()
    assert begin().ends()
    return KILLS


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


ATTACKS = {
    **{f"kill_{name}": partial(kill, name, False) for name in (*ALGORITHMS, "evaluate", "tournament")},
    "kill_fresh_training": partial(kill, "ppo", True),
    "kill_compiling": kill_compiling,
}
SLOW = set(ATTACKS)
NEEDS = {"kill_maskable_ppo": "sb3_contrib"}
