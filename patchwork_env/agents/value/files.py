"""Values of Patchwork on disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from patchwork_env._games import PATCHWORK
from patchwork_env.agents.value.arrays import read_arrays, write_arrays
from patchwork_env.agents.value.network import SHAPES, Weights, arrays_of, empty_weights


def write_value(folder: Path, weights: Weights, info: dict[str, Any] | None = None) -> None:
    """Writes the two files of a value into an existing folder; ``info`` is what to remember of its making."""
    write_arrays(folder, PATCHWORK, arrays_of(weights), info)


def read_value(folder: Path) -> tuple[Weights, dict[str, Any]]:
    """Reads a value and what was remembered of its making.

    Raises:
        FileNotFoundError: There is no checkpoint.
        ValueError: It is damaged, of another game, version or kind of policy, or of other shapes.
    """
    arrays, info = read_arrays(folder, PATCHWORK, SHAPES)
    weights = empty_weights()
    for name, array in arrays.items():
        weights[name] = array
    return weights, info
