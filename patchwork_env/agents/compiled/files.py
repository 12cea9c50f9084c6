"""Compiled networks of any game on disk: checkpoints like those of every other policy, without PyTorch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from patchwork_env.agents.checkpoints import VALUE, WEIGHTS_FILE, read_description, write_description
from patchwork_env.agents.compiled.records import aligned_record, arrays_of


def write_weights(
    folder: Path, game: str, weights: npt.NDArray[np.void], info: dict[str, Any] | None = None
) -> None:
    """Writes the two files of a value into an existing folder; ``info`` says how it was made."""
    arrays = arrays_of(weights)
    shapes = {name: list(array.shape) for name, array in arrays.items()}
    write_description(folder, VALUE, shapes, info, game=game)
    (folder / WEIGHTS_FILE).write_bytes(save(arrays))


def read_weights(
    folder: Path, game: str, kind: np.dtype[np.void]
) -> tuple[npt.NDArray[np.void], dict[str, Any]]:
    """Reads the weights of a value, one record of ``kind``, and what was remembered of its making.

    Raises:
        FileNotFoundError: There is no checkpoint.
        ValueError: It is damaged, of another game, version or kind of policy, or of other shapes.
    """
    description = read_description(folder, game, VALUE)
    path = folder / WEIGHTS_FILE
    if not path.is_file():
        raise FileNotFoundError(f"{folder} is no checkpoint: {WEIGHTS_FILE} is missing")
    try:
        arrays = load_file(path)
    except SafetensorError as error:
        raise ValueError(f"{path} is damaged: {error}") from None
    weights = aligned_record(kind)
    shapes = {name: array.shape for name, array in arrays_of(weights).items()}
    found = {name: array.shape for name, array in arrays.items()}
    if found != shapes or any(array.dtype != np.float32 for array in arrays.values()):
        raise ValueError(f"{path} holds arrays of the shapes {found}; they must be float32 of {shapes}")
    for name, array in arrays.items():
        weights[name] = array
    return weights, description["info"]
