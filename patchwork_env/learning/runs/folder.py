"""The files in the folder of a run, for code that does not train.

    RUN/config.yaml                    the whole configuration; it is written after the first checkpoint
    RUN/checkpoints/step_0000655360/   checkpoint.json, weights.safetensors: a policy, which is an agent
                                       trainer.json, trainer.safetensors: the state to resume from
    RUN/final/                         the policy at the end of the run
    RUN/best/                          the best of four policies when they were measured again at the end
    RUN/metrics.jsonl, RUN/events.*    the learning curves, as text and for TensorBoard
    RUN/evaluations/                   figures and sample games of every evaluation
    RUN/versions.jsonl                 the commit, packages and machine of every start of the run
    RUN/trackers/                      the name of the run at tracking services
    RUN/lock                           locked by the process that is training

Only the newest two checkpoints keep their trainer's files.

An evaluation, ``RUN/evaluations/step_0000655360.json``, holds a
:class:`~patchwork_env.learning.evaluation.records.RunEvaluation`. ``RUN/evaluations/best.json`` is that of
``RUN/best``, with the matches by which it was chosen and without sample games.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from patchwork_env.core.documents import parse_json, read_text

CONFIG_FILE, METRICS_FILE, VERSIONS_FILE = "config.yaml", "metrics.jsonl", "versions.jsonl"
CHECKPOINTS, EVALUATIONS = "checkpoints", "evaluations"
FINAL, BEST = "final", "best"

_STEPS = re.compile(r"step_(\d{1,12})(\.json)?", re.ASCII)


def step_name(steps: int) -> str:
    """Return the name of a checkpoint, policy or evaluation; names sort by steps."""
    return f"step_{steps:010d}"


def steps_of(path: Path) -> int | None:
    """Return the steps in the name of a checkpoint or an evaluation; None for any other name."""
    match = _STEPS.fullmatch(path.name)
    return int(match[1]) if match else None


def _by_steps(folder: Path) -> dict[int, Path]:
    steps = ((steps_of(path), path) for path in folder.glob("step_*"))
    return dict(sorted((number, path) for number, path in steps if number is not None))


def checkpoint_folders(run: Path) -> dict[int, Path]:
    """Return the folders of the checkpoints of a run by their steps, in order."""
    return _by_steps(run / CHECKPOINTS)


def evaluation_files(run: Path) -> dict[int, Path]:
    """Return the files of the evaluations of a run by their steps, in order."""
    return _by_steps(run / EVALUATIONS)


def best_file(run: Path) -> Path:
    """Return the file of the evaluation that chose the best policy of a run."""
    return run / EVALUATIONS / f"{BEST}.json"


def read_versions(run: Path) -> list[dict[str, Any]]:
    """Return the ``steps``, ``commit``, versions and ``machine`` of every start of a run.

    Other lines, such as the incomplete one of a killed process, are skipped.
    """
    path = run / VERSIONS_FILE
    lines = read_text(path).splitlines() if path.is_file() else []
    return [start for start in map(_object, lines) if type(start.get("steps")) is int]


def metrics_lines(text: str) -> Iterator[tuple[str, dict[str, float] | None]]:
    """Return the lines of ``metrics.jsonl``: ``steps``, ``minutes`` and metrics, all numbers.

    Figures are None for other lines, such as the incomplete one of a killed process.
    """
    for line in text.splitlines(keepends=True):
        figures = _object(line) if line.endswith("\n") else {}
        steps, minutes = figures.get("steps", -1), figures.get("minutes", -1)
        are_numbers = type(steps) is int and all(map(_is_number, figures.values()))
        is_valid = are_numbers and 0 <= steps < 10**12 and 0 <= minutes < 10**9
        yield line, figures if is_valid else None


def _object(line: str) -> dict[str, Any]:
    """Return the JSON object in a line; an empty one for any other line."""
    try:
        values = parse_json(line, "line", finite=False)
    except ValueError:
        return {}
    return values if isinstance(values, dict) else {}


def _is_number(value: Any) -> bool:
    return type(value) is float or (type(value) is int and abs(value) < 2**63)


def interval_metrics(opponent: str) -> tuple[str, str, str]:
    """Return the names of three metrics: the win rate against an opponent, and its 95% interval."""
    names = ("win_rate", "win_rate_low", "win_rate_high")
    rate, low, high = (f"evaluation/{name}_against_{opponent}" for name in names)
    return rate, low, high
