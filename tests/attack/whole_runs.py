"""Commands that take seconds and go on where they were stopped, and all that they leave."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import io
import json
import shutil
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from patchwork_env import cli
from tests.learning.tiny_runs import TINY_RUNS

ALGORITHMS = ("ppo", "td", "solo_td", "alphazero", "maskable_ppo")
_FILES = ("*.safetensors", "checkpoint.json", "trainer.json")


def configuration(algorithm):
    """A run of seconds with a checkpoint after every iteration and evaluations after every other."""
    text = TINY_RUNS[algorithm].replace("checkpoint_every: 2", "checkpoint_every: 1\ntracker: none")
    return text.replace("evaluation: {every: 3", "evaluation: {every: 2")


@contextlib.contextmanager
def quiet():
    """Within the block, what is printed goes to the text that this yields."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        yield said


def command(*arguments):
    """Runs the command of the package in this process, quietly; what it says about a failure is an error."""
    with quiet() as said:
        code = cli.main(arguments)
    assert code == 0, said.getvalue()


# --- what they leave ----------------------------------------------------------------------------------------


def result_of(run):
    """All that a finished run leaves, except what says when it was made and how long it took, by the path."""
    folders = [*(run / "checkpoints").iterdir(), run / "final", run / "best"]
    paths = [path for folder in folders for pattern in _FILES for path in folder.glob(pattern)]
    paths += (run / "evaluations").iterdir()
    found: dict[str, Any] = {str(path.relative_to(run)): contents_of(path) for path in paths}
    lines = (run / "metrics.jsonl").read_text().splitlines()
    found["metrics.jsonl"] = [without_times(json.loads(line)) for line in lines]
    found["left behind"] = [path.name for path in run.rglob("*.partial")]
    return found


def _result_of_games(folder):
    """The results of games; None if there are none yet."""
    path = folder / "results.json"
    return contents_of(path) if path.exists() else None


def require_same(found, expected):
    """Checks that a command left what another one left; the error names the files that differ."""
    differing = [path for path in sorted(found | expected) if found.get(path) != expected.get(path)]
    assert not differing, f"these are not those of the unharmed run: {', '.join(differing)}"


def contents_of(path):
    """What a file holds, without times: the values of JSON, or else a digest."""
    data = path.read_bytes()
    return without_times(json.loads(data)) if path.suffix == ".json" else hashlib.sha256(data).hexdigest()


def without_times(values):
    """Values without those that depend on the clock or the machine."""
    if isinstance(values, list):
        return [without_times(value) for value in values]
    if not isinstance(values, dict):
        return values
    return {name: without_times(value) for name, value in values.items() if not _is_time(name)}


def _is_time(name):
    return name.startswith("time/") or any(word in name for word in ("minutes", "second", "made", "machine"))


# --- how they begin and go on -------------------------------------------------------------------------------


class Job(NamedTuple):
    """A command that goes on where it was stopped.

    ``arguments(folder)`` says how it begins to write into a folder, or goes on; other files that it needs are
    beside the folder. ``result(folder)`` is what it has left, without times.
    """

    arguments: Callable[[Path], list[str]]
    result: Callable[[Path], Any]


def _begin_or_resume(name, folder, file, *begin):
    """The arguments that resume what is in a folder, if there is the file that says so, or else begin it."""
    if (folder / file).exists():
        return [name, "--resume", str(folder)]
    shutil.rmtree(folder, ignore_errors=True)  # its first process was killed too early
    return [name, *begin]


def _train(text, folder):
    config, run = folder.with_name("config.yaml"), folder / "run"
    config.write_text(text)
    return _begin_or_resume("train", run, "config.yaml", "--config", str(config), "--run-dir", str(run))


def _evaluate(folder):
    stored = ["--json", str(folder / "results.json"), "--overwrite"]
    return ["evaluate", "random", "--against", "greedy", *stored, "--games", "40", "--workers", "1"]


def _tournament(folder):
    return ["tournament", "random", "greedy", "--out", str(folder), "--games", "40", "--workers", "1"]


_TRAININGS = {
    name: Job(partial(_train, configuration(name)), lambda folder: result_of(folder / "run"))
    for name in ALGORITHMS
}
JOBS = _TRAININGS | {
    "evaluate": Job(_evaluate, _result_of_games),
    "tournament": Job(_tournament, _result_of_games),
}


@functools.cache
def unharmed(name: str) -> tuple[Any, float]:
    """What a command leaves that nobody disturbs, and its seconds with everything imported."""
    for _ in range(2):
        with tempfile.TemporaryDirectory() as parent:
            folder, began = Path(parent, "work"), time.monotonic()
            folder.mkdir()
            command(*JOBS[name].arguments(folder))
            expected, seconds = JOBS[name].result(folder), time.monotonic() - began
    return expected, seconds
