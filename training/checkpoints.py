"""Run folders and checkpoints: complete or absent, whatever happens while they are written.

    RUN/config.yaml                    the whole configuration
    RUN/checkpoints/step_0000655360/   checkpoint.json, weights.safetensors: a policy that agents can play
                                       trainer.json, trainer.safetensors: what the run needs to go on
    RUN/final/                         the policy at the end of the run
    RUN/metrics.jsonl, RUN/events.*    the learning curves, as text and for TensorBoard

Only the newest two checkpoints keep their trainer's files.
"""

from __future__ import annotations

import json
import shutil
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from patchwork_env.agents.checkpoint import (
    load_policy,
    save_policy,
    write_folder,
    write_policy,
    write_tensors,
)
from patchwork_env.agents.network import PatchworkNetwork
from training.trainer import Trainer

CONFIG_FILE = "config.yaml"
METRICS_FILE = "metrics.jsonl"
_FINAL = "final"
_TRAINER_JSON, _TRAINER_TENSORS = "trainer.json", "trainer.safetensors"
_KEPT = 2


def new_run_folder(base: Path) -> Path:
    """Creates ``base``; if there is one that is not empty, ``base-2``, ``base-3`` and so on."""
    for number in count(1):
        folder = base if number == 1 else base.with_name(f"{base.name}-{number}")
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            if folder.is_dir() and not any(folder.iterdir()):
                break
        else:
            break
    return folder


def save_checkpoint(run: Path, trainer: Trainer) -> Path:
    """Writes the state of a run as ``RUN/checkpoints/step_…``; does nothing if it is there already."""
    folder = run / "checkpoints" / f"step_{trainer.steps:010d}"
    if not folder.exists():
        write_folder(folder, lambda target: _write(target, trainer))
        for old in _checkpoints(run)[:-_KEPT]:
            (old / _TRAINER_JSON).unlink(missing_ok=True)
            (old / _TRAINER_TENSORS).unlink(missing_ok=True)
    return folder


def load_checkpoint(run: Path, trainer: Trainer) -> Path:
    """Brings a fresh trainer to the newest checkpoint of a run, and says which one it is.

    After an error the trainer is of no use any more.

    Raises:
        FileNotFoundError: There is none.
        ValueError: It is damaged or belongs to another configuration.
    """
    folders = [folder for folder in _checkpoints(run) if (folder / _TRAINER_JSON).is_file()]
    if not folders:
        raise FileNotFoundError(f"{run} holds no checkpoint to resume from")
    folder = folders[-1]
    network, _ = load_policy(folder)
    try:
        state = json.loads((folder / _TRAINER_JSON).read_text(encoding="utf-8"))
        tensors = load_file(folder / _TRAINER_TENSORS)
        _restore(trainer, network, state, tensors)
    except (SafetensorError, KeyError, TypeError, ValueError, RuntimeError, OSError) as error:
        reason = " ".join(str(error).split())
        raise ValueError(f"{folder} is damaged or of another configuration: {reason}") from None
    return folder


def save_final(run: Path, trainer: Trainer) -> Path:
    """Writes the policy as ``RUN/final``, in place of that of an earlier end of the run."""
    folder = run / _FINAL
    if folder.exists():
        shutil.rmtree(folder)  # the same policy is a checkpoint
    save_policy(folder, trainer.network, {"steps": trainer.steps, "seconds": trainer.seconds})
    return folder


def _checkpoints(run: Path) -> list[Path]:
    return sorted((run / "checkpoints").glob("step_*"))


def _write(folder: Path, trainer: Trainer) -> None:
    write_policy(folder, trainer.network, {"steps": trainer.steps, "iteration": trainer.iteration})
    state = {
        "steps": trainer.steps,
        "iteration": trainer.iteration,
        "seconds": trainer.seconds,
        "random": trainer.random.bit_generator.state,
        "snapshots": len(trainer.pool.snapshots),
    }
    (folder / _TRAINER_JSON).write_text(json.dumps(state, indent=1) + "\n", encoding="utf-8")
    tensors = _prefixed("optimizer", _optimizer_tensors(trainer)) | _prefixed("env", _env_tensors(trainer))
    for number, snapshot in enumerate(trainer.pool.snapshots):
        tensors |= _prefixed(f"snapshot.{number}", snapshot.state_dict())
    write_tensors(folder / _TRAINER_TENSORS, tensors)


def _restore(
    trainer: Trainer, network: PatchworkNetwork, state: dict[str, Any], tensors: dict[str, Tensor]
) -> None:
    trainer.network.load_state_dict(network.state_dict())
    _restore_optimizer(trainer, _with_prefix("optimizer", tensors))
    _restore_env(trainer, _with_prefix("env", tensors))
    network.to(trainer.network.device)
    for number in range(state["snapshots"]):
        network.load_state_dict(_with_prefix(f"snapshot.{number}", tensors))
        trainer.pool.add(network)
    trainer.random.bit_generator.state = state["random"]
    trainer.steps, trainer.iteration, trainer.seconds = state["steps"], state["iteration"], state["seconds"]


def _env_tensors(trainer: Trainer) -> dict[str, Tensor]:
    """The saved games as bytes: there are no tensors of their types."""
    return {name: torch.from_numpy(array.view(np.uint8)) for name, array in trainer.env.save().items()}


def _restore_env(trainer: Trainer, tensors: dict[str, Tensor]) -> None:
    types = {name: array.dtype for name, array in trainer.env.save().items()}
    trainer.env.restore({name: tensor.numpy().view(types[name]) for name, tensor in tensors.items()})


def _optimizer_tensors(trainer: Trainer) -> dict[str, Tensor]:
    """The state of the optimizer by name of the parameter."""
    names = [name for name, _ in trainer.network.named_parameters()]
    states = trainer.learner.optimizer.state_dict()["state"]
    return {
        f"{names[number]}.{key}": value for number, entry in states.items() for key, value in entry.items()
    }


def _restore_optimizer(trainer: Trainer, tensors: dict[str, Tensor]) -> None:
    optimizer = trainer.learner.optimizer
    names = [name for name, _ in trainer.network.named_parameters()]
    entries: dict[int, dict[str, Tensor]] = {}
    for full_name, tensor in tensors.items():
        name, _, key = full_name.rpartition(".")
        entries.setdefault(names.index(name), {})[key] = tensor
    optimizer.load_state_dict({"state": entries, "param_groups": optimizer.state_dict()["param_groups"]})


def _prefixed(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {f"{prefix}.{name}": tensor for name, tensor in tensors.items()}


def _with_prefix(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    beginning = f"{prefix}."
    return {
        name.removeprefix(beginning): tensor for name, tensor in tensors.items() if name.startswith(beginning)
    }
