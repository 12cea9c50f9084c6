"""The files in the folder of a run; needs nothing that trains.

    RUN/config.yaml                    the whole configuration; it is written after the first checkpoint
    RUN/checkpoints/step_0000655360/   checkpoint.json, weights.safetensors: a policy, which is an agent
                                       trainer.json, trainer.safetensors: what resuming the run needs
    RUN/final/                         the policy at the end of the run
    RUN/candidates/step_0000655360/    a policy that was among the best three in the evaluations
    RUN/best/                          the best of these when they were measured again at the end of the run
    RUN/metrics.jsonl, RUN/events.*    the learning curves, as text and for TensorBoard
    RUN/evaluations/                   figures and sample games of every evaluation
    RUN/versions.jsonl                 what every start of the run was made with: code, packages, machine
    RUN/divergence/step_0000655360/    the batch, losses and policy of a loss that was not finite
    RUN/trackers/                      what tracking services know the run by
    RUN/lock                           locked by the process that is training

Only the newest two checkpoints keep their trainer's files.

An evaluation, ``RUN/evaluations/step_0000655360.json``, holds ``game``, ``algorithm``, ``iteration`` and what
:class:`~patchwork_env.learning.evaluation.records.Evaluation` reads. ``RUN/evaluations/best.json`` is that of
``RUN/best``, with the matches by which it was chosen and without sample games.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from patchwork_env.agents.checkpoints import CHECKPOINT_FILE, read_description
from patchwork_env.core.checks import check_between
from patchwork_env.core.documents import parse_json, read_text
from patchwork_env.learning.evaluation.tournament import Rung

CONFIG_FILE = "config.yaml"
METRICS_FILE = "metrics.jsonl"
EVALUATIONS = "evaluations"
FINAL = "final"
BEST = "best"
VERSIONS_FILE = "versions.jsonl"

_FEWEST_RUNGS = 2
_CHECKPOINTS, _CANDIDATES = "checkpoints", "candidates"
_STEPS = re.compile(r"step_(\d{1,12})(\.json)?", re.ASCII)
"""The names of checkpoints and of evaluations."""


def steps_of(path: Path) -> int | None:
    """The steps in the name of a checkpoint or of an evaluation; None if it has no such name."""
    match = _STEPS.fullmatch(path.name)
    return int(match[1]) if match else None


def checkpoint_folder(folder: Path, steps: int) -> Path:
    """The folder of the checkpoint after so many steps."""
    return folder / _CHECKPOINTS / f"step_{steps:010d}"


def checkpoint_folders(folder: Path) -> list[Path]:
    """The folders of the checkpoints of a run, by their steps; what has other names is passed over."""
    return [path for path in _by_steps(folder / _CHECKPOINTS) if path.is_dir()]


def candidate_folder(folder: Path, steps: int) -> Path:
    """The folder of the policy that was among the best after so many steps."""
    return folder / _CANDIDATES / f"step_{steps:010d}"


def candidate_folders(folder: Path) -> list[Path]:
    """The folders of the policies of a run that were best in its evaluations, by their steps."""
    return _by_steps(folder / _CANDIDATES)


def best_file(folder: Path) -> Path:
    """The file of the evaluation by which the best policy of a run was chosen."""
    return folder / EVALUATIONS / f"{BEST}.json"


def _by_steps(folder: Path) -> list[Path]:
    found = [(steps, path) for path in folder.glob("step_*") if (steps := steps_of(path)) is not None]
    return [path for _, path in sorted(found)]


def evaluation_file(folder: Path, steps: int) -> Path:
    """The file of the evaluation after so many steps; the order of the names is that of the steps."""
    return folder / EVALUATIONS / f"step_{steps:010d}.json"


def evaluation_files(folder: Path) -> list[Path]:
    """The files of the evaluations of a run, by their steps; empty if there are none yet."""
    return [path for path in _by_steps(folder / EVALUATIONS) if path.suffix == ".json"]


def read_versions(folder: Path) -> list[dict[str, Any]]:
    """What every start of a run was made with: its ``steps``, ``commit``, versions and ``machine``.

    Lines that say nothing of the kind, such as one that a killed process left half written, are left out, and
    runs of earlier versions have none.
    """
    path = folder / VERSIONS_FILE
    lines = read_text(path).splitlines() if path.is_file() else []
    return [start for line in lines if (start := _start(line)) is not None]


def _start(line: str) -> dict[str, Any] | None:
    try:
        values = parse_json(line, VERSIONS_FILE)
    except ValueError:
        return None
    return values if isinstance(values, dict) and type(values.get("steps")) is int else None


def metrics_lines(text: str) -> Iterator[tuple[str, dict[str, float] | None]]:
    """The lines of ``metrics.jsonl``, each with its figures.

    Figures are ``steps``, ``minutes`` and metrics, all of them numbers. They are None for a line that holds
    none, as one that is being written or that a killed process left half written.
    """
    for line in text.splitlines(keepends=True):
        yield line, _figures(line) if line.endswith("\n") else None


def _figures(line: str) -> dict[str, float] | None:
    try:
        values = parse_json(line, METRICS_FILE, finite=False)
    except ValueError:
        return None
    if not isinstance(values, dict) or not all(map(_is_number, values.values())):
        return None
    steps, minutes = values.get("steps", -1), values.get("minutes", -1)
    return values if type(steps) is int and 0 <= steps < 10**12 and 0 <= minutes < 10**9 else None


def _is_number(value: Any) -> bool:
    """Whether a value is a float, or an integer that one can hold; bool is none."""
    return type(value) is float or (type(value) is int and abs(value) < 2**63)


def interval_metrics(opponent: str) -> tuple[str, str, str]:
    """The names of three metrics: the win rate against an opponent, and the bounds of its 95% interval."""
    names = ("win_rate", "win_rate_low", "win_rate_high")
    rate, low, high = (f"evaluation/{name}_against_{opponent}" for name in names)
    return rate, low, high


# --- ladders ----------------------------------------------------------------------------------------------


def rungs(run: Path, count: int) -> list[Rung]:
    """Chooses ``count`` checkpoints of a run at even distances, from the first one to the last one.

    A run that has fewer gives all of them, in the order of their steps.

    Raises:
        FileNotFoundError: There is no such run, or it has fewer than two checkpoints.
        ValueError: ``count`` is less than 2, or a file of the run is damaged.
    """
    if count < _FEWEST_RUNGS:
        raise ValueError(f"count is {count}; a ladder has at least {_FEWEST_RUNGS} rungs")
    folders = _policies(run)
    if len(folders) < _FEWEST_RUNGS:
        raise FileNotFoundError(
            f"{run} holds {len(folders)} checkpoints ({_CHECKPOINTS}/step_* and {FINAL}); "
            f"a ladder needs {_FEWEST_RUNGS}"
        )
    chosen = np.unique(np.linspace(0, len(folders) - 1, min(count, len(folders))).round().astype(int))
    steps = sorted(folders)
    minutes = _minutes(run)
    return [Rung(str(folders[steps[k]]), steps[k], minutes.get(steps[k])) for k in chosen]


def _policies(run: Path) -> dict[int, Path]:
    """The folders by their steps; ``final`` takes the place of the checkpoint with the same steps."""
    folders = {steps_of(path) or 0: path for path in checkpoint_folders(run)}
    final = run / FINAL
    if (final / CHECKPOINT_FILE).is_file():
        folders[_steps_of(final)] = final
    return folders


def _steps_of(checkpoint: Path) -> int:
    steps = read_description(checkpoint)["info"].get("steps")
    try:
        return check_between(steps, 0, 10**12, "steps")
    except ValueError as error:
        raise ValueError(f"{checkpoint / CHECKPOINT_FILE} does not tell its steps: {error}") from None


def _minutes(run: Path) -> dict[int, float]:
    """The minutes of training by steps, as far as the metrics say."""
    path, minutes = run / METRICS_FILE, {0: 0.0}
    if path.is_file():
        for _, figures in metrics_lines(path.read_text(encoding="utf-8", errors="replace")):
            if figures:
                minutes[int(figures["steps"])] = figures["minutes"]
    return minutes
