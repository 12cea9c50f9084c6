"""Compiled networks of any game on disk: checkpoints like those of every other policy, without PyTorch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from patchwork_env.agents.checkpoints import VALUE, read_arrays, read_description, write_checkpoint
from patchwork_env.agents.compiled.records import aligned_record, arrays_of


def write_weights(
    folder: Path, game: str, weights: npt.NDArray[np.void], info: dict[str, Any] | None = None
) -> None:
    """Writes the two files of a value into an existing folder; ``info`` says how it was made."""
    arrays = arrays_of(weights)
    shapes = {name: list(array.shape) for name, array in arrays.items()}
    write_checkpoint(folder, game, VALUE, shapes, arrays, info)


def read_weights(
    folder: Path, game: str, kind: np.dtype[np.void]
) -> tuple[npt.NDArray[np.void], dict[str, Any]]:
    """Reads the weights of a value, one record of ``kind``, and what was remembered of its making.

    Raises:
        FileNotFoundError: There is no checkpoint.
        ValueError: It is damaged, of another game, version or kind of policy, of other shapes, or not finite.
    """
    description = read_description(folder, game, VALUE)
    weights = aligned_record(kind)
    shapes = {name: array.shape for name, array in arrays_of(weights).items()}
    arrays = read_arrays(folder, shapes, f"a value of {game}")
    for name, array in arrays.items():
        weights[name] = array
    return weights, description["info"]
