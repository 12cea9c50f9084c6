"""What a run leaves of a divergence, to find its cause."""

from __future__ import annotations
from patchwork_env.errors import DivergenceError

import json
import math
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np

from patchwork_env.agents.checkpoints import write_folder
from patchwork_env.learning.system.files import storing_in
from patchwork_env.learning.algorithms.common.trainer import Trainer

_BATCH, _LOSSES = "batch.npz", "losses.json"


def save_divergence(run: Path, trainer: Trainer, error: DivergenceError) -> Path:
    """Writes ``RUN/divergence/step_…``, in place of that of an earlier attempt.

        batch.npz          what the losses were computed from, as arrays by name
        losses.json        the message, the counters, and the losses by name; nan, inf and -inf are texts
        checkpoint.json, weights.safetensors    the policy at that moment

    Returns:
        The folder.

    Raises:
        StorageError: It cannot be written.
    """
    folder = run / "divergence" / f"step_{trainer.steps:010d}"
    with storing_in(folder):
        write_folder(folder, partial(_write, trainer, error), replace=True)
    return folder


def _write(trainer: Trainer, error: DivergenceError, folder: Path) -> None:
    trainer.write_policy(folder)
    losses = {name: value if math.isfinite(value) else str(value) for name, value in error.losses.items()}
    contents = {
        "message": str(error),
        "steps": trainer.steps,
        "iteration": trainer.iteration,
        "losses": losses,
    }
    (folder / _LOSSES).write_text(json.dumps(contents, indent=1) + "\n", encoding="utf-8")
    for name, array in error.batch.items():
        if array.dtype.hasobject:
            raise TypeError(f"the array {name!r} holds Python objects; it could not be loaded safely")
    cast(Any, np.savez)(folder / _BATCH, **error.batch)
