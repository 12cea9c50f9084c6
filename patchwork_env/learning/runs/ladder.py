"""The rungs of a ladder: checkpoints of a run that are measured against each other."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from patchwork_env.agents.checkpoints import CHECKPOINT_FILE, read_description
from patchwork_env.core.checks import check_between
from patchwork_env.learning.evaluation.tournament import Rung
from patchwork_env.learning.runs.folder import (
    FINAL,
    METRICS_FILE,
    checkpoint_folders,
    metrics_lines,
    steps_of,
)

_CHECKPOINTS = "checkpoints/step_*"
FEWEST = 2


def rungs(run: Path, count: int) -> list[Rung]:
    """Chooses ``count`` checkpoints of a run at even distances, from the first one to the last one.

    A run that has fewer gives all of them, in the order of their steps.

    Raises:
        FileNotFoundError: There is no such run, or it has fewer than two checkpoints.
        ValueError: ``count`` is less than 2, or a file of the run is damaged.
    """
    if count < FEWEST:
        raise ValueError(f"count is {count}; a ladder has at least {FEWEST} rungs")
    folders = _checkpoints(run)
    if len(folders) < FEWEST:
        raise FileNotFoundError(
            f"{run} holds {len(folders)} checkpoints ({_CHECKPOINTS} and {FINAL}); a ladder needs {FEWEST}"
        )
    chosen = np.unique(np.linspace(0, len(folders) - 1, min(count, len(folders))).round().astype(int))
    steps = sorted(folders)
    minutes = _minutes(run)
    return [Rung(str(folders[steps[k]]), steps[k], minutes.get(steps[k])) for k in chosen]


def _checkpoints(run: Path) -> dict[int, Path]:
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
