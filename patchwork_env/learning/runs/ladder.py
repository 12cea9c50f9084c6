"""The rungs of a ladder: checkpoints of a run that are measured against each other."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from patchwork_env.agents.checkpoints import CHECKPOINT_FILE
from patchwork_env.learning.evaluation.tournament import Rung
from patchwork_env.learning.runs.folder import FINAL, METRICS_FILE

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
    folders = {int(path.name.removeprefix("step_")): path for path in sorted(run.glob(_CHECKPOINTS))}
    final = run / FINAL
    if (final / CHECKPOINT_FILE).is_file():
        folders[_steps_of(final)] = final
    return folders


def _steps_of(checkpoint: Path) -> int:
    path = checkpoint / CHECKPOINT_FILE
    try:
        return int(json.loads(path.read_text(encoding="utf-8"))["info"]["steps"])
    except (ValueError, TypeError, KeyError) as error:
        raise ValueError(f"{path} does not tell its steps: {error!r}") from None


def _minutes(run: Path) -> dict[int, float]:
    """The minutes of training by steps, as far as the metrics say."""
    path, minutes = run / METRICS_FILE, {0: 0.0}
    if path.is_file():
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                metrics = json.loads(line)
            except ValueError:
                continue  # a run that is training may be writing its last line
            minutes[metrics["steps"]] = metrics["minutes"]
    return minutes
