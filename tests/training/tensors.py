"""What two checkpoints are compared by."""

from __future__ import annotations

from pathlib import Path

from safetensors.torch import load_file


def tensors_of(folder: Path) -> dict[tuple[str, str], bytes]:
    """The bytes of all tensors of a checkpoint, by file and name."""
    return {
        (path.name, name): tensor.numpy().tobytes()
        for path in folder.glob("*.safetensors")
        for name, tensor in load_file(path).items()
    }
