"""Values of NMBR 9 on disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from patchwork_env.agents.compiled.files import read_weights, write_weights
from patchwork_env.agents.nmbr9.value.network import WEIGHTS, Weights
from patchwork_env.games import NMBR9


def write_value(folder: Path, weights: Weights, info: dict[str, Any] | None = None) -> None:
    """Writes the two files of a value into an existing folder; ``info`` says how it was made."""
    write_weights(folder, NMBR9, weights, info)


def read_value(folder: Path) -> tuple[Weights, dict[str, Any]]:
    """Reads a value and what was remembered of its making.

    Raises:
        FileNotFoundError: There is no checkpoint.
        ValueError: It is damaged, of another game, version or kind of policy, or of other shapes.
    """
    return read_weights(folder, NMBR9, WEIGHTS)
