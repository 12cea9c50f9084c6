"""SIGKILL at random moments: a resumed command has exactly the result of one that was not killed.

Processes are forked from a process that has imported everything, so that many attempts are quick.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import io
import json
import os
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

from patchwork_env import agents, cli
from tests.learning.tiny_runs import TINY_RUNS

ALGORITHMS = ("ppo", "td", "solo_td", "alphazero", "maskable_ppo")
KILLS = 8
"""Processes of one attempt that may be killed; the next one runs to the end."""
_POLICY = ("checkpoint.json", "weights.safetensors")
_FILES = ("*.safetensors", "checkpoint.json", "trainer.json")


# --- commands -----------------------------------------------------------------------------------------------


def configuration(algorithm):
    """A run of seconds with a checkpoint after every iteration and evaluations after every other."""
    text = TINY_RUNS[algorithm].replace("checkpoint_every: 2", "checkpoint_every: 1\ntracker: none")
    return text.replace("evaluation: {every: 3", "evaluation: {every: 2")


@contextlib.contextmanager
def quiet():
    """Within the block, collect the output in the stream that this yields."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        yield said


def command(*arguments):
    """Run the command of the package in this process; a failure is an AssertionError with its output."""
    with quiet() as said:
        code = cli.main(arguments)
    assert code == 0, said.getvalue()


class Job(NamedTuple):
    """A command that can be resumed.

    ``arguments(folder)`` are the arguments that begin or resume it in a folder; other files that it needs are
    beside the folder. ``result(folder)`` is everything that it has written, without times.
    """

    arguments: Callable[[Path], list[str]]
    result: Callable[[Path], Any]


def _train(algorithm, folder):
    config, run = folder.with_name("config.yaml"), folder / "run"
    config.write_text(configuration(algorithm))
    if (run / "config.yaml").exists():
        return ["train", "--resume", str(run)]
    shutil.rmtree(run, ignore_errors=True)  # its first process was killed too early
    return ["train", "--config", str(config), "--run-dir", str(run)]


def _evaluate(folder):
    stored = ["--json", str(folder / "results.json"), "--overwrite"]
    return ["evaluate", "random", "--against", "greedy", *stored, "--games", "40", "--workers", "1"]


def _tournament(folder):
    return ["tournament", "random", "greedy", "--out", str(folder), "--games", "40", "--workers", "1"]


def _result_of_run(folder):
    """The contents of the files of a finished run by path, without times."""
    run = folder / "run"
    folders = [*(run / "checkpoints").iterdir(), run / "final", run / "best"]
    paths = [path for folder in folders for pattern in _FILES for path in folder.glob(pattern)]
    paths += (run / "evaluations").iterdir()
    found: dict[str, Any] = {str(path.relative_to(run)): _contents_of(path) for path in paths}
    lines = (run / "metrics.jsonl").read_text().splitlines()
    found["metrics.jsonl"] = [_without_times(json.loads(line)) for line in lines]
    found["left behind"] = [path.name for path in run.rglob("*.partial")]
    return found


def _result_of_games(folder):
    path = folder / "results.json"
    return _contents_of(path) if path.exists() else None


def _contents_of(path):
    """The values of a JSON file without times, or the digest of another file."""
    data = path.read_bytes()
    return _without_times(json.loads(data)) if path.suffix == ".json" else hashlib.sha256(data).hexdigest()


def _without_times(values):
    """Values without those that depend on the clock or the machine."""
    if isinstance(values, list):
        return [_without_times(value) for value in values]
    if not isinstance(values, dict):
        return values
    return {name: _without_times(value) for name, value in values.items() if not _is_time(name)}


def _is_time(name):
    return name.startswith("time/") or any(word in name for word in ("minutes", "second", "made", "machine"))


JOBS = {name: Job(partial(_train, name), _result_of_run) for name in ALGORITHMS} | {
    "evaluate": Job(_evaluate, _result_of_games),
    "tournament": Job(_tournament, _result_of_games),
}


@functools.cache
def unharmed(name: str) -> tuple[Any, float]:
    """The result of a command that is not killed, and its seconds after all imports."""
    for _ in range(2):
        with tempfile.TemporaryDirectory() as parent:
            folder, began = Path(parent, "work"), time.monotonic()
            folder.mkdir()
            command(*JOBS[name].arguments(folder))
            expected, seconds = JOBS[name].result(folder), time.monotonic() - began
    return expected, seconds


# --- kills --------------------------------------------------------------------------------------------------


def ends(job, folder, seconds=float("inf"), waits=bool):
    """Whether a forked process of the job ends well; it is killed after ``seconds``, once not ``waits``."""
    output = folder.with_name("output.txt")
    process = get_context("fork").Process(target=_run, args=(job.arguments(folder), output))
    process.start()
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline or waits():
        if process.exitcode is not None:
            assert process.exitcode == 0, f"exit code {process.exitcode}:\n{output.read_text()[-3000:]}"
            return True
        time.sleep(0.0005)
    process.kill()
    process.join()
    return False


def _run(arguments, output):
    """Run the command in a forked process, and exit without the code that pytest runs at its end."""
    code = 1
    try:
        handle = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(handle, 1)
        os.dup2(handle, 2)
        sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)  # noqa: SIM115
        code = cli.main(arguments)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


class Witness:
    """Records the checkpoints of a run, and requires that none is lost, changed or damaged."""

    def __init__(self, run):
        self._run = run
        self._seen: dict[str, list[str]] = {}

    def look(self):
        """Compare the present checkpoints with those of the last call."""
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


def kill(name, random):
    """Kill and resume a command until it ends; half of the kills wait until a file is being written."""
    (expected, seconds), job = unharmed(name), JOBS[name]
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent, "work")
        folder.mkdir()
        look = Witness(folder / "run").look if name in ALGORITHMS else partial(job.result, folder)

        def is_idle():
            return time.monotonic() < latest and not any(folder.rglob("*.partial"))

        for _ in range(KILLS):
            latest = time.monotonic() + 2 * seconds
            waits = is_idle if random.random() < 0.5 else bool
            if ends(job, folder, random.uniform(0, 2 * seconds / KILLS), waits):
                break
            look()
        else:
            assert ends(job, folder)
        look()
        found = job.result(folder)
        differing = [path for path in sorted(found | expected) if found.get(path) != expected.get(path)]
        assert not differing, f"these differ from those of an undisturbed command: {', '.join(differing)}"


ATTACKS = {f"kill_{name}": partial(kill, name) for name in JOBS}
SLOW = set(ATTACKS)
