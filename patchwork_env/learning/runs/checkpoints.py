"""Run folders and checkpoints: complete or absent, whatever happens while they are written.

    RUN/config.yaml                    the whole configuration; it comes behind the first checkpoint
    RUN/checkpoints/step_0000655360/   checkpoint.json, weights.safetensors: a policy that agents can play
                                       trainer.json, trainer.safetensors: what the run needs to go on
    RUN/final/                         the policy at the end of the run
    RUN/metrics.jsonl, RUN/events.*    the learning curves, as text and for TensorBoard
    RUN/evaluations/                   figures and sample games of every evaluation
    RUN/divergence/step_0000655360/    what is known of a loss that was no number
    RUN/lock                           locked by the process that is training

Only the newest two checkpoints keep their trainer's files.
"""

from __future__ import annotations
from patchwork_env.errors import StorageError

import json
import shutil
from itertools import count
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load_file

from patchwork_env import agents
from patchwork_env.agents.checkpoint_tensors import write_tensors
from patchwork_env.agents.checkpoints import write_folder
from patchwork_env.learning.config import RunConfig, dump_config
from patchwork_env.learning.system.files import storing_in, write_text
from patchwork_env.learning.runs.run_files import CONFIG_FILE, FINAL
from patchwork_env.learning.algorithms.common.state import TrainerState
from patchwork_env.learning.algorithms.common.trainer import Trainer

_CHECKPOINTS = "checkpoints"
_TRAINER_JSON, _TRAINER_TENSORS = "trainer.json", "trainer.safetensors"
_KEPT = 2


def new_run_folder(base: Path) -> Path:
    """Creates ``base``; if there is one that is not empty, ``base-2``, ``base-3`` and so on.

    Raises:
        StorageError: It cannot be created.
    """
    with storing_in(base):
        return _new_folder(base)


def _new_folder(base: Path) -> Path:
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


def begin_run(run: Path, trainer: Trainer, config: RunConfig) -> None:
    """Makes a new folder a run: one that has a checkpoint to go on from as soon as it has a configuration.

    Raises:
        StorageError: The folder cannot be written; it is deleted.
    """
    try:
        save_checkpoint(run, trainer)
        with storing_in(run):
            write_text(run / CONFIG_FILE, dump_config(config))
    except StorageError:
        shutil.rmtree(run, ignore_errors=True)
        raise


def save_checkpoint(run: Path, trainer: Trainer) -> Path:
    """Writes the state of a run as ``RUN/checkpoints/step_…``; does nothing if it is there already.

    Raises:
        StorageError: It cannot be written; there is no such checkpoint then.
    """
    folder = run / _CHECKPOINTS / f"step_{trainer.steps:010d}"
    if not folder.exists():
        with storing_in(folder.parent):
            write_folder(folder, lambda target: _write(target, trainer))
            for old in _checkpoints(run)[:-_KEPT]:
                (old / _TRAINER_JSON).unlink(missing_ok=True)
                (old / _TRAINER_TENSORS).unlink(missing_ok=True)
    return folder


def newest_checkpoint(run: Path) -> Path:
    """The checkpoint from which a run goes on.

    Raises:
        FileNotFoundError: There is none.
    """
    return _complete_checkpoints(run)[-1]


def _complete_checkpoints(run: Path) -> list[Path]:
    """The checkpoints with their trainer's files, oldest first; at least one."""
    folders = [folder for folder in _checkpoints(run) if (folder / _TRAINER_JSON).is_file()]
    if not folders:
        raise FileNotFoundError(f"{run} holds no checkpoint to resume from")
    return folders


def load_checkpoint(run: Path, trainer: Trainer) -> Path:
    """Brings a fresh trainer to the newest checkpoint of a run, and says which one it is.

    After an error the trainer is of no use any more.

    Raises:
        FileNotFoundError: There is none.
        ValueError: It is damaged or belongs to another configuration.
    """
    *others, folder = _complete_checkpoints(run)
    try:
        agents.load(folder)  # raises if the policy's own files are damaged
        counters = json.loads((folder / _TRAINER_JSON).read_text(encoding="utf-8"))
        trainer.restore(TrainerState(counters["trainer"], load_file(folder / _TRAINER_TENSORS)))
        trainer.steps, trainer.iteration = counters["steps"], counters["iteration"]
        trainer.seconds = counters["seconds"]
    except (SafetensorError, KeyError, TypeError, ValueError, RuntimeError, OSError) as error:
        reason = " ".join(str(error).split())
        way_on = f"; without it the run goes on from {others[-1]}" if others else ""
        raise ValueError(f"{folder} is damaged or of another configuration: {reason}{way_on}") from None
    return folder


def save_final(run: Path, trainer: Trainer) -> Path:
    """Writes the policy as ``RUN/final``, in place of that of an earlier end of the run.

    Raises:
        StorageError: It cannot be written; the earlier one stays.
    """
    folder = run / FINAL
    with storing_in(folder):
        write_folder(folder, trainer.write_final, replace=True)
    return folder


def _checkpoints(run: Path) -> list[Path]:
    return sorted((run / _CHECKPOINTS).glob("step_*"))


def _write(folder: Path, trainer: Trainer) -> None:
    trainer.write_policy(folder)
    values, tensors = trainer.state()
    counters = {"steps": trainer.steps, "iteration": trainer.iteration, "seconds": trainer.seconds}
    text = json.dumps(counters | {"trainer": values}, indent=1)
    (folder / _TRAINER_JSON).write_text(text + "\n", encoding="utf-8")
    write_tensors(folder / _TRAINER_TENSORS, tensors)
