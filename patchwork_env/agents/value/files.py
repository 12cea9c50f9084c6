"""Values on disk: checkpoints like those of every other policy, read and written without PyTorch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from patchwork_env._games import PATCHWORK
from patchwork_env.agents import VALUE
from patchwork_env.agents.folders import WEIGHTS_FILE, read_description, write_description
from patchwork_env.agents.value.network import SHAPES, Weights, arrays_of, empty_weights


def write_value(folder: Path, weights: Weights, info: dict[str, Any] | None = None) -> None:
    """Writes the two files of a value into an existing folder; ``info`` is what to remember of its making."""
    write_description(folder, VALUE, {name: list(shape) for name, shape in SHAPES.items()}, info)
    (folder / WEIGHTS_FILE).write_bytes(save(arrays_of(weights)))


def read_value(folder: Path) -> tuple[Weights, dict[str, Any]]:
    """Reads a value and what was remembered of its making.

    Raises:
        FileNotFoundError: There is no checkpoint.
        ValueError: It is damaged, of another game, version or kind of policy, or of other shapes.
    """
    description = read_description(folder, PATCHWORK)
    if description["policy"] != VALUE:
        raise ValueError(f"the policy of {folder} is {description['policy']!r}; it must be {VALUE!r}")
    path = folder / WEIGHTS_FILE
    if not path.is_file():
        raise FileNotFoundError(f"{folder} is no checkpoint: {WEIGHTS_FILE} is missing")
    try:
        arrays = load_file(path)
    except SafetensorError as error:
        raise ValueError(f"{path} is damaged: {error}") from None
    shapes = {name: array.shape for name, array in arrays.items()}
    if shapes != SHAPES or any(array.dtype != np.float32 for array in arrays.values()):
        raise ValueError(f"{path} holds arrays of the shapes {shapes}; they must be float32 of {SHAPES}")
    weights = empty_weights()
    for name, array in arrays.items():
        weights[name] = array
    return weights, description["info"]
