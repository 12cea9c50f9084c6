"""Whether runs and trainers that were interrupted are equal to the bit to those that were not."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from safetensors.torch import load_file

from patchwork_env.learning.algorithms.common.state import split
from patchwork_env.learning.algorithms.common.trainer import Trainer, make_trainer
from patchwork_env.learning.commands import train
from patchwork_env.learning.config import load_config


def tensors_of(folder: Path) -> dict[tuple[str, str], bytes]:
    """The bytes of all tensors of a checkpoint, by file and name."""
    return {
        (path.name, name): tensor.numpy().tobytes()
        for path in folder.glob("*.safetensors")
        for name, tensor in load_file(path).items()
    }


def check_resumed_run(finished: Path, run: Path) -> None:
    """Copies a run, takes away its end, resumes it, and compares it with the original."""
    shutil.copytree(finished, run)
    last = sorted((run / "checkpoints").iterdir())[-1]
    shutil.rmtree(last)
    shutil.rmtree(run / "final")
    assert train.main(["--resume", str(run)]) == 0
    assert tensors_of(last) == tensors_of(finished / "checkpoints" / last.name)
    assert tensors_of(run / "final") == tensors_of(finished / "final")


def check_restored_trainer(config: Path) -> None:
    """Saves a trainer, restores another one from it, and lets both go on."""
    first, second = (make_trainer(load_config(config)) for _ in range(2))
    first.step()
    second.load_state_dict(first.state_dict())
    first.step()
    second.step()
    assert state_of(first) == state_of(second)


def state_of(trainer: Trainer) -> tuple[dict[str, Any], dict[str, bytes]]:
    """What a trainer goes on from, comparable: values, and the bytes of tensors by their paths."""
    values, tensors = split(trainer.state_dict())
    del values["seconds"]
    return values, {name: tensor.detach().numpy().tobytes() for name, tensor in tensors.items()}
