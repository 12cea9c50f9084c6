"""Run folders and checkpoints: complete or absent, whatever happens while they are written.

    RUN/config.yaml                    the whole configuration
    RUN/checkpoints/step_000655360/    checkpoint.json, weights.safetensors: a policy that agents can play
                                       trainer.json, trainer.safetensors: what the run needs to go on
    RUN/final                          the policy at the end of the run
    RUN/metrics.jsonl, RUN/events.*    the learning curves, as text and for TensorBoard

Only the newest two checkpoints keep their trainer's files.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from patchwork_env.agents.checkpoint import load_policy, write_folder, write_policy
from patchwork_env.agents.network import PatchworkNetwork
from training.trainer import Trainer

CONFIG_FILE = "config.yaml"
FINAL = "final"
_TRAINER_JSON, _TRAINER_TENSORS = "trainer.json", "trainer.safetensors"
_KEPT = 2


def new_run_folder(base: Path) -> Path:
    """Creates ``base``, or ``base-2``, ``base-3`` and so on if there are such runs already."""
    number, folder = 1, base
    while True:
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            number += 1
            folder = base.with_name(f"{base.name}-{number}")
        else:
            return folder


def write_text(path: Path, text: str) -> None:
    """Replaces a file by a complete new one, or leaves it as it was."""
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with os.fdopen(handle, "w") as file:
            file.write(text)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


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
    """Brings ``trainer`` to the newest checkpoint of a run.

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
        state = json.loads((folder / _TRAINER_JSON).read_text())
        tensors = load_file(folder / _TRAINER_TENSORS)
        _restore(trainer, network, state, tensors)
    except (json.JSONDecodeError, SafetensorError, KeyError, RuntimeError, OSError) as error:
        raise ValueError(f"{folder} is damaged or of another configuration: {error}") from None
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
    (folder / _TRAINER_JSON).write_text(json.dumps(state, indent=1) + "\n")
    tensors = _prefixed("optimizer", _optimizer_tensors(trainer))
    for number, snapshot in enumerate(trainer.pool.snapshots):
        tensors |= _prefixed(f"snapshot.{number}", snapshot.state_dict())
    tensors |= _prefixed("env", {name: torch.from_numpy(a) for name, a in _env_arrays(trainer).items()})
    save_file({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}, folder / _TRAINER_TENSORS)


def _restore(trainer: Trainer, network: PatchworkNetwork, state: dict[str, Any], tensors: dict[str, Tensor]) -> None:
    trainer.network.load_state_dict(network.state_dict())
    _restore_optimizer(trainer, _with_prefix("optimizer", tensors))
    trainer.pool.snapshots.clear()
    for number in range(state["snapshots"]):
        network.load_state_dict(_with_prefix(f"snapshot.{number}", tensors))
        trainer.pool.add(network)
    arrays = {name: tensor.numpy() for name, tensor in _with_prefix("env", tensors).items()}
    trainer.env.restore(arrays | {name: arrays[name].view(np.uint64) for name in arrays if name != "states"})
    trainer.random.bit_generator.state = state["random"]
    trainer.steps, trainer.iteration, trainer.seconds = state["steps"], state["iteration"], state["seconds"]


def _env_arrays(trainer: Trainer) -> dict[str, Any]:
    return {name: array.view(np.uint8) for name, array in trainer.env.save().items()}


def _optimizer_tensors(trainer: Trainer) -> dict[str, Tensor]:
    names = [name for name, _ in trainer.network.named_parameters()]
    states = trainer.learner.optimizer.state_dict()["state"]
    return {f"{names[i]}.{key}": torch.as_tensor(value) for i, entry in states.items() for key, value in entry.items()}


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
    names: Iterable[str] = (name for name in tensors if name.startswith(f"{prefix}."))
    return {name.removeprefix(f"{prefix}."): tensors[name] for name in names}
