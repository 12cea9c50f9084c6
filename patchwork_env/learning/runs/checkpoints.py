"""Run folders and checkpoints, which are complete or absent, even after an interrupted write."""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Callable
from pathlib import Path

from safetensors.torch import load_file

from patchwork_env import agents
from patchwork_env.agents.checkpoints import write_tensors
from patchwork_env.core.documents import one_line, read_object
from patchwork_env.core.files import storing_in, write_folder, write_text
from patchwork_env.core.names import short_repr
from patchwork_env.errors import ConfigError
from patchwork_env.learning.algorithms.common.trainer import Trainer, join, split
from patchwork_env.learning.config import dump_config
from patchwork_env.learning.evaluation.matches import hash_of_weights
from patchwork_env.learning.runs.folder import CHECKPOINTS, CONFIG_FILE, checkpoint_folders, step_name

TRAINER_FILES = ("trainer.json", "trainer.safetensors")
"""The files of a checkpoint that only a resumed run reads."""
_TRAINER_JSON, _TRAINER_TENSORS = TRAINER_FILES
_KEPT = 2  # the number of the newest checkpoints that keep these files


def free_folder(base: Path) -> Path:
    """Return the folder ``base``, or ``base-2``, ``base-3`` ... if it is not empty, and print the choice."""
    names = itertools.chain([base], (base.with_name(f"{base.name}-{k}") for k in itertools.count(2)))
    folder = next(path for path in names if not path.is_file() and not any(path.glob("*")))
    if folder != base:
        print(f"{base} exists already, so this goes to {folder}")
    return folder


def begin_run(run: Path, trainer: Trainer) -> None:
    """Write the first checkpoint of a run into its new folder, and then its configuration.

    So a folder with a configuration always has a checkpoint to resume from. After an error or an
    interrupt the folder is deleted.
    """
    try:
        save_checkpoint(run, trainer)
        with storing_in(run):
            write_text(run / CONFIG_FILE, dump_config(trainer.config))
    except BaseException:
        shutil.rmtree(run, ignore_errors=True)
        raise


def save_checkpoint(run: Path, trainer: Trainer) -> Path:
    """Write the checkpoint ``RUN/checkpoints/step_…``, if it does not exist yet, and return its folder."""

    def write(target: Path) -> None:
        trainer.write_policy(target)
        values, tensors = split(trainer.state_dict())
        write_tensors(target / _TRAINER_TENSORS, tensors)
        digest = hash_of_weights(target / _TRAINER_TENSORS)
        contents = {"fixed": trainer.config.fixed_values(), "tensors": digest, "state": values}
        (target / _TRAINER_JSON).write_text(json.dumps(contents, indent=1) + "\n", encoding="utf-8")

    folder = run / CHECKPOINTS / step_name(trainer.steps)
    with storing_in(folder.parent):
        if not folder.exists():
            write_folder(folder, write)
        _forget_old_states(run)
    return folder


def _forget_old_states(run: Path) -> None:
    """Delete the training states of all but the newest checkpoints; their policies stay."""
    for old in list(checkpoint_folders(run).values())[:-_KEPT]:
        (old / _TRAINER_JSON).unlink(missing_ok=True)
        (old / _TRAINER_TENSORS).unlink(missing_ok=True)


def complete_checkpoints(run: Path) -> list[Path]:
    """Return the checkpoints to resume from, oldest first; FileNotFoundError without any."""
    folders = [folder for folder in checkpoint_folders(run).values() if (folder / _TRAINER_JSON).is_file()]
    if not folders:
        raise FileNotFoundError(f"{run} holds no checkpoint to resume from")
    return folders


def load_checkpoint(run: Path, trainer: Trainer) -> Path:
    """Load the newest checkpoint of a run into a new trainer; return the folder of the checkpoint."""
    *others, folder = complete_checkpoints(run)
    try:
        agents.load(folder)  # raises if the policy's own files are damaged
        contents = read_object(folder / _TRAINER_JSON, "fixed", "tensors", "state")
        for key, value in trainer.config.fixed_values().items():
            if (old := contents["fixed"].get(key, value)) != value:
                raise ConfigError(
                    f"{key} is {short_repr(value)}, and {short_repr(old)} in {folder}: "
                    "it cannot change within a run"
                )
        file = folder / _TRAINER_TENSORS
        if hash_of_weights(file) != contents["tensors"]:
            raise ValueError(f"{file.name} was changed: its SHA-256 differs")
        trainer.load_state_dict(join(contents["state"], load_file(file)))
    except ConfigError:
        raise
    except Exception as error:  # a file may contain anything and cause any error
        reason = one_line(str(error), 500)
        way_on = f"; delete it to resume from {others[-1]}" if others else ""
        raise ValueError(f"{folder} is damaged, or of another version: {reason}{way_on}") from None
    return folder


def write_policy(folder: Path, write: Callable[[Path], object]) -> Path:
    """Write a folder by ``write`` atomically, replacing an earlier one; return the folder."""
    with storing_in(folder):
        write_folder(folder, write, replace=True)
    return folder
