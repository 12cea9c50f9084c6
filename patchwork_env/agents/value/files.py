"""Values on disk: checkpoints as of every other policy, which need no PyTorch to be read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from patchwork_env.agents.checkpoint import write_kind_of_policy
from patchwork_env.agents.value.network import Weights

VALUE = "value"
"""The kind of policy in a checkpoint's description."""


def write_value(folder: Path, weights: Weights, info: dict[str, Any] | None = None) -> None:
    """Writes the two files of a value into an existing folder."""
    tensors = {name: torch.from_numpy(array) for name, array in weights._asdict().items()}
    write_kind_of_policy(folder, VALUE, {}, tensors, info)
