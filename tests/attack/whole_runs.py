"""Commands that take seconds, and all that they leave, to compare with what others left."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from patchwork_env import cli
from tests.learning.tiny_runs import TINY_RUNS

ALGORITHMS = ("ppo", "td", "solo_td", "alphazero", "maskable_ppo")
_FILES = ("*.safetensors", "checkpoint.json", "trainer.json")


def configuration(algorithm: str) -> str:
    """A run of seconds with a checkpoint after every iteration and evaluations after every other."""
    text = TINY_RUNS[algorithm].replace("checkpoint_every: 2", "checkpoint_every: 1\ntracker: csv")
    return text.replace("evaluation: {every: 3", "evaluation: {every: 2")


@contextlib.contextmanager
def quiet() -> Iterator[io.StringIO]:
    """Within the block, what is printed goes to the text that this yields."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        yield said


def command(*arguments: str) -> None:
    """Runs the command of the package in this process, quietly; what it says about a failure is an error."""
    with quiet() as said:
        code = cli.main(arguments)
    assert code == 0, said.getvalue()


def result_of(run: Path) -> dict[str, Any]:
    """All that a finished run leaves, except what says when it was made and how long it took, by the path."""
    folders = [*(run / "checkpoints").iterdir(), run / "final", run / "best"]
    paths = [path for folder in folders for pattern in _FILES for path in folder.glob(pattern)]
    paths += (run / "evaluations").iterdir()
    found: dict[str, Any] = {str(path.relative_to(run)): contents_of(path) for path in paths}
    lines = (run / "metrics.jsonl").read_text().splitlines()
    found["metrics.jsonl"] = [without_times(json.loads(line)) for line in lines]
    found["left behind"] = [path.name for path in run.rglob("*.partial")]
    return found


def require_same(found: dict[str, Any], expected: dict[str, Any]) -> None:
    """Checks that a run left what another one left; the error names the files that differ."""
    differing = [path for path in sorted(found | expected) if found.get(path) != expected.get(path)]
    assert not differing, f"these are not those of the unharmed run: {', '.join(differing)}"


def contents_of(path: Path) -> Any:
    """What a file holds, without times: the values of JSON, or else a digest."""
    data = path.read_bytes()
    return without_times(json.loads(data)) if path.suffix == ".json" else hashlib.sha256(data).hexdigest()


def without_times(values: Any) -> Any:
    """Values without those that depend on the clock or the machine."""
    if isinstance(values, list):
        return [without_times(value) for value in values]
    if not isinstance(values, dict):
        return values
    return {name: without_times(value) for name, value in values.items() if not _is_time(name)}


def _is_time(name: str) -> bool:
    return name.startswith("time/") or any(word in name for word in ("minutes", "second", "made", "machine"))
