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
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from numpy.random import Generator

from tests.attack.whole_runs import configurations, quiet, require_same, result_of, train, without_times

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

    def __init__(self, command: str, arguments: Sequence[str], output: Path) -> None:
        self.output = output
        self.process = os.fork()
        if self.process == 0:
            code = 1
            try:
                handle = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
                os.dup2(handle, 1)
                os.dup2(handle, 2)
                code = _main(command)(list(arguments))
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
        """Ends it with SIGKILL."""
        os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)


class Fresh:
    """A Python program in a new interpreter."""

    def __init__(self, arguments: Sequence[str], output: Path, **environment: str) -> None:
        self.output = output
        with output.open("ab") as file:
            self.process = subprocess.Popen(
                [sys.executable, *arguments], stdout=file, stderr=file, env={**os.environ, **environment}
            )
        self.poll = self.process.poll

    def kill(self) -> None:
        """Ends it with SIGKILL."""
        self.process.kill()
        self.process.wait()


def _main(command: str) -> Callable[[list[str]], int]:
    from importlib import import_module

    main: Callable[[list[str]], int] = import_module(f"patchwork_env.learning.commands.{command}").main
    return main


def ends(process: Forked | Fresh, seconds: float = float("inf"), waits: Callable[[], bool] = bool) -> bool:
    """Lets a process end, or kills it after some seconds; returns whether it ended.

    Args:
        process: The process.
        seconds: The time before it may be killed.
        waits: Says, after that time, whether to wait on.

    Raises:
        AssertionError: It ended with an error.
    """
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


def _is_idle(folder: Path, until: float) -> bool:
    """Whether no file or folder is being written; after a moment of the clock, False."""
    return time.monotonic() < until and not any(folder.rglob("*.partial"))


def kill_and_go_on(
    start: Callable[[], Forked | Fresh],
    folder: Path,
    seconds: float,
    random: Generator,
    check: Callable[[], object],
    most: int = KILLS,
) -> int:
    """Starts a command again and again until it ends, and returns how often it was killed before.

    Args:
        start: Starts the command, which goes on where it was.
        folder: The folder that it writes; about every other kill waits until something is being written.
        seconds: The time that the command takes if nobody kills it.
        random: The moments.
        check: Called after every kill.
        most: Processes that may be killed.
    """
    for kills in range(most):
        is_idle = partial(_is_idle, folder, time.monotonic() + 2 * seconds)
        if ends(start(), random.uniform(0, 2 * seconds / most), is_idle if random.random() < 0.5 else bool):
            return kills
        check()
    assert ends(start())
    return most


# --- trainings ----------------------------------------------------------------------------------------------


def kill_training(algorithm: str, is_fresh: bool, random: Generator) -> int:
    """Kills and resumes a run until it has ended like the unharmed one."""
    expected, seconds = unharmed(algorithm)
    with tempfile.TemporaryDirectory() as name:
        run, witness = Path(name, "run"), Witness(Path(name, "run"))
        config = Path(name, "config.yaml")
        config.write_text(configurations()[algorithm])
        kills = kill_and_go_on(
            partial(start_training, config, run, is_fresh),
            run,
            seconds + 20 * is_fresh,
            random,
            witness.look,
        )
        witness.look()
        require_same(result_of(run), expected)
    return kills


def start_training(config: Path, run: Path, is_fresh: bool, **environment: str) -> Forked | Fresh:
    """Starts a run, or goes on with it; what it says goes to a file beside the configuration.

    A fresh process has an environment with some variables more.
    """
    arguments = begin_or_resume(run, "config.yaml", "--config", str(config), "--run-dir", str(run))
    output = config.with_name("output.txt")
    if is_fresh:
        return Fresh(["-m", "patchwork_env.cli", "train", *arguments], output, **environment)
    return Forked("train", arguments, output)


def begin_or_resume(folder: Path, file: str, *begin: str) -> list[str]:
    """The arguments that resume what is in a folder, if there is the file that says so, or else begin it."""
    if (folder / file).exists():
        return ["--resume", str(folder)]
    shutil.rmtree(folder, ignore_errors=True)  # its first process was killed too early
    return list(begin)


@functools.cache
def unharmed(algorithm: str) -> tuple[dict[str, Any], float]:
    """What a run leaves that nobody kills, and the seconds that it takes with everything imported."""
    with tempfile.TemporaryDirectory() as name:
        config = Path(name, "config.yaml")
        config.write_text(configurations()[algorithm])
        for run in (Path(name, "warm"), Path(name, "run")):
            began = time.monotonic()
            train("--config", str(config), "--run-dir", str(run))
        return result_of(run), time.monotonic() - began


class Witness:
    """Remembers the checkpoints of a run, and notices what happens to them."""

    def __init__(self, run: Path) -> None:
        self._run = run
        self._seen: dict[str, list[str]] = {}

    def look(self) -> None:
        """Checks that no checkpoint is lost, changed or damaged; raises AssertionError if one is."""
        from patchwork_env import agents

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


# --- evaluations and tournaments ----------------------------------------------------------------------------


def kill_games(command: str, random: Generator) -> int:
    """Kills an evaluation or a tournament until it has ended with the results of the unharmed one."""
    expected, seconds = unharmed_games(command)
    with tempfile.TemporaryDirectory() as name:
        start = partial(start_games, command, Path(name), Path(name, "output.txt"))
        kills = kill_and_go_on(start, Path(name), seconds, random, partial(results_of, Path(name)))
        assert results_of(Path(name)) == expected
    return kills


def start_games(command: str, folder: Path, output: Path) -> Forked:
    """Starts an evaluation or a tournament, whose results go to a folder."""
    return Forked(command, _arguments(command, folder), output)


def _arguments(command: str, folder: Path) -> list[str]:
    own = {
        "evaluate": ["random", "--against", "greedy", "--json", str(folder / "results.json")],
        "tournament": ["random", "greedy", "--out", str(folder)],
    }
    return [*own[command], "--games", "40", "--workers", "1"]


@functools.cache
def unharmed_games(command: str) -> tuple[Any, float]:
    """The results that nobody's kills disturb, and the seconds that they take with everything imported."""
    for _ in range(2):
        with tempfile.TemporaryDirectory() as name:
            began = time.monotonic()
            with quiet():
                assert _main(command)(_arguments(command, Path(name))) == 0
            expected = results_of(Path(name))
    return expected, time.monotonic() - began


def results_of(folder: Path) -> Any:
    """The results, without times; None if there are none yet."""
    path = folder / "results.json"
    return without_times(json.loads(path.read_text())) if path.exists() else None


# --- compiling ----------------------------------------------------------------------------------------------


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


ATTACKS: dict[str, Callable[[Generator], int]] = {
    **{f"kill_{name}": partial(kill_training, name, False) for name in configurations()},
    "kill_fresh_training": partial(kill_training, "ppo", True),
    "kill_evaluate": partial(kill_games, "evaluate"),
    "kill_tournament": partial(kill_games, "tournament"),
    "kill_compiling": kill_compiling,
}
SLOW = set(ATTACKS)
