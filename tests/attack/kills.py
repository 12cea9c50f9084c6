"""SIGKILL at random moments: what goes on after it ends like what was never killed, to the bit.

Most processes are forked from a warm one, so that every moment of a training can be hit many times; those of
``kill_fresh_training`` and ``kill_compiling`` are new interpreters, which are killed while they import,
compile and write machine code, too.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from numpy.random import Generator

from patchwork_env import agents, cli
from tests.attack.whole_runs import ALGORITHMS, command, configuration, require_same, result_of, without_times

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


class Forked:
    """A command in a process that is forked from this one, with its imports and compiled code."""

    def __init__(self, arguments: list[str], output: Path) -> None:
        self.output = output
        self.process = os.fork()
        if self.process == 0:
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

    def poll(self) -> int | None:
        """The exit code; None while it runs."""
        ended, status = os.waitpid(self.process, os.WNOHANG)
        return os.waitstatus_to_exitcode(status) if ended else None

    def kill(self) -> None:
        os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)


class Fresh:
    """A Python program in a new interpreter, with some variables more in its environment."""

    def __init__(self, arguments: list[str], output: Path, **environment: str) -> None:
        self.output = output
        with output.open("ab") as file:
            self.process = subprocess.Popen(
                [sys.executable, *arguments], stdout=file, stderr=file, env={**os.environ, **environment}
            )
        self.poll = self.process.poll

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


def ends(process: Forked | Fresh, seconds: float = float("inf"), waits: Callable[[], bool] = bool) -> bool:
    """Whether a process ends well, or is killed: after so many seconds, once ``waits`` says no."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline or waits():
        code = process.poll()
        if code is not None:
            assert code == 0, f"ended with exit code {code}:\n{process.output.read_text()[-3000:]}"
            return True
        pause()
    process.kill()
    return False


def pause() -> None:
    """Waits until it is worth while to look again."""
    time.sleep(0.0005)


# --- jobs ---------------------------------------------------------------------------------------------------


class Job(NamedTuple):
    """A command that goes on where it was stopped.

    Attributes:
        arguments: ``(folder)`` says how it begins to write into a folder, or goes on; other files that it
            needs are beside the folder.
        result: ``(folder)`` is what it has left, without times.
        environment: Variables; None for a process that is forked.
    """

    arguments: Callable[[Path], list[str]]
    result: Callable[[Path], Any]
    environment: dict[str, str] | None = None

    def start(self, folder: Path) -> Forked | Fresh:
        arguments, output = self.arguments(folder), folder.with_name("output.txt")
        if self.environment is None:
            return Forked(arguments, output)
        return Fresh(["-m", "patchwork_env.cli", *arguments], output, **self.environment)


def begin_or_resume(name: str, folder: Path, file: str, *begin: str) -> list[str]:
    """The arguments that resume what is in a folder, if there is the file that says so, or else begin it."""
    if (folder / file).exists():
        return [name, "--resume", str(folder)]
    shutil.rmtree(folder, ignore_errors=True)  # its first process was killed too early
    return [name, *begin]


def _train(text: str, folder: Path) -> list[str]:
    config, run = folder.with_name("config.yaml"), folder / "run"
    config.write_text(text)
    return begin_or_resume("train", run, "config.yaml", "--config", str(config), "--run-dir", str(run))


def training(text: str) -> Job:
    """A run of a configuration."""
    return Job(partial(_train, text), lambda folder: result_of(folder / "run"))


def _results_of(folder: Path) -> Any:
    """The results of games; None if there are none yet."""
    path = folder / "results.json"
    return without_times(json.loads(path.read_text())) if path.exists() else None


_FEW = ["--games", "40", "--workers", "1"]
TRAININGS = {name: training(configuration(name)) for name in ALGORITHMS}
GAMES = {
    "evaluate": Job(
        lambda folder: [
            *(
                "evaluate",
                "random",
                "--against",
                "greedy",
                "--json",
                str(folder / "results.json"),
                "--overwrite",
            ),
            *_FEW,
        ],
        _results_of,
    ),
    "tournament": Job(
        lambda folder: ["tournament", "random", "greedy", "--out", str(folder), *_FEW], _results_of
    ),
}


@functools.cache
def unharmed(name: str) -> tuple[Any, float]:
    """What a training or games leave that nobody disturbs, and their seconds with everything imported."""
    job = (TRAININGS | GAMES)[name]
    for _ in range(2):
        with tempfile.TemporaryDirectory() as parent:
            folder, began = Path(parent, "work"), time.monotonic()
            folder.mkdir()
            command(*job.arguments(folder))
            expected, seconds = job.result(folder), time.monotonic() - began
    return expected, seconds


def kill_and_go_on(
    job: Job, folder: Path, seconds: float, random: Generator, check: Callable[[], object], most: int = KILLS
) -> int:
    """Starts a job again and again until it ends, and returns how often it was killed before.

    Args:
        job: The job.
        folder: Its folder; about every other kill waits until something is being written there.
        seconds: The time that the job takes if nobody kills it.
        random: The moments.
        check: Called after every kill.
        most: Processes that may be killed.
    """

    def is_idle() -> bool:
        return time.monotonic() < latest and not any(folder.rglob("*.partial"))

    for kills in range(most):
        latest = time.monotonic() + 2 * seconds
        waits = is_idle if random.random() < 0.5 else bool
        if ends(job.start(folder), random.uniform(0, 2 * seconds / most), waits):
            return kills
        check()
    assert ends(job.start(folder))
    return most


class Witness:
    """Remembers the checkpoints of a run, and notices what happens to them."""

    def __init__(self, run: Path) -> None:
        self._run = run
        self._seen: dict[str, list[str]] = {}

    def look(self) -> None:
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


# --- attacks ------------------------------------------------------------------------------------------------


def kill(name: str, is_fresh: bool, random: Generator) -> int:
    """Kills and resumes a training or games until they have ended like those that nobody disturbed."""
    expected, seconds = unharmed(name)
    job = (TRAININGS | GAMES)[name]._replace(environment={} if is_fresh else None)
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent, "work")
        folder.mkdir()
        look = Witness(folder / "run").look if name in TRAININGS else partial(job.result, folder)
        kills = kill_and_go_on(job, folder, seconds + 20 * is_fresh, random, look)
        look()
        require_same(job.result(folder), expected)
    return kills


def kill_compiling(random: Generator) -> int:
    """Kills two processes at once that import, compile and write machine code, until both have ended."""
    kills = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "kernels.py").write_text(_KERNELS)
        outputs = [folder / "one.txt", folder / "other.txt"]
        places = {"NUMBA_CACHE_DIR": str(folder / "cache")}
        places["PYTHONPATH"] = os.pathsep.join([name, *sys.path])
        start = partial(Fresh, ["-c", "import kernels"], **places)
        for _ in range(3):
            processes = [start(output) for output in outputs]
            kills += sum(not ends(process, random.uniform(0, 6)) for process in processes)
        for output in outputs:
            output.unlink()
            assert ends(start(output))
            assert output.read_text() == _PRINTED, output.read_text()
    return kills


ATTACKS = {
    **{f"kill_{name}": partial(kill, name, False) for name in TRAININGS | GAMES},
    "kill_fresh_training": partial(kill, "ppo", True),
    "kill_compiling": kill_compiling,
}
SLOW = set(ATTACKS)
NEEDS = {"kill_maskable_ppo": "sb3_contrib"}
