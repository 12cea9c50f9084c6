"""Trains a policy by self-play from a configuration.

python -m training.train --config configs/quick.yaml
python -m training.train --config configs/ppo.yaml --set ppo.epochs=3 --set seed=1
python -m training.train --resume runs/ppo
python -m training.train --list
"""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import ExitStack
from pathlib import Path

import torch

from patchwork_env import agents
from patchwork_env.errors import ConfigError, DivergenceError
from patchwork_env.learning.algorithms.common.remote_trainer import RemoteTrainer, played_on_cluster
from patchwork_env.learning.algorithms.common.trainer import Trainer, make_trainer
from patchwork_env.learning.config import (
    RunConfig,
    differences,
    dump_config,
    list_configs,
    load_config,
    load_stored_config,
)
from patchwork_env.learning.runs.checkpoints import begin_run, load_checkpoint, new_run_folder
from patchwork_env.learning.runs.run import Run
from patchwork_env.learning.runs.run_files import CONFIG_FILE
from patchwork_env.learning.system.files import remove_partial, storing_in, write_text
from patchwork_env.learning.system.lock import sole_user
from patchwork_env.learning.system.memory import keep_freed_memory


def main(arguments: list[str] | None = None) -> int:
    """The command; returns the exit code: 0, 2 for an error, 128 + the number of a signal that stopped it."""
    options = _parse(arguments)
    with ExitStack() as stack:
        try:
            if options.list:
                return _list()
            run = _resumed_run(options, stack) if options.resume else _new_run(options, stack)
        except (ValueError, OSError, ImportError) as error:
            return _fail(error)
        try:
            return run.execute()
        except (DivergenceError, OSError) as error:
            return _fail(error)


def _fail(error: Exception) -> int:
    print(f"training.train: {error}", file=sys.stderr)
    return 2


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m training.train", description="Trains a policy by self-play."
    )
    parser.add_argument("--config", type=Path, metavar="FILE", help="configuration of a new run")
    parser.add_argument(
        "--resume",
        type=Path,
        metavar="RUN_DIR",
        help="go on with a run from its newest checkpoint, with its own configuration and what --set changes",
    )
    parser.add_argument("--list", action="store_true", help="list the configurations in configs/")
    parser.add_argument(
        "--set",
        action="extend",
        default=[],
        metavar="KEY=VALUE",
        nargs="+",
        help="override keys of the configuration, as in ppo.epochs=3",
    )
    parser.add_argument(
        "--run-dir",
        type=Path,
        metavar="DIR",
        help="folder of the new run, with a number if it is taken; default runs/NAME",
    )
    options = parser.parse_args(arguments)
    if not (options.config or options.resume or options.list):
        parser.error("one of --config, --resume and --list is required")
    if options.resume and options.run_dir:
        parser.error("--run-dir is for new runs; --resume goes on in the folder of the old one")
    return options


def _list() -> int:
    configs = [(os.path.relpath(path), description) for path, description in list_configs()]
    width = max((len(path) for path, _ in configs), default=0)
    for path, description in configs:
        print(f"{path:<{width}}  {description}")
    return 0


def _new_run(options: argparse.Namespace, stack: ExitStack) -> Run:
    config = load_config(options.config, options.set)
    return new_run(config, options.run_dir or Path("runs") / options.config.stem, stack)


def new_run(config: RunConfig, base: Path, stack: ExitStack) -> Run:
    """Begins a run; nothing is written before the configuration is known to work.

    Args:
        config: Of the run.
        base: Its folder; if there is one that is not empty, ``base-2`` and so on.
        stack: With it the run lets go of its folder and of all else that it holds.

    Raises:
        ConfigError: An opponent or the device is not there.
        StorageError: The folder cannot be written.
    """
    trainer = _trainer(config, stack)
    folder = new_run_folder(base)
    stack.enter_context(sole_user(folder))
    begin_run(folder, trainer, config)
    print(f"new run in {folder}", flush=True)
    return Run(folder, trainer)


def _resumed_run(options: argparse.Namespace, stack: ExitStack) -> Run:
    given = load_config(options.config, options.set) if options.config else None
    run = resumed_run(options.resume, stack, options.set)
    others = differences(load_stored_config(options.resume / CONFIG_FILE), given) if given else []
    if others:
        print(
            f"the run keeps its own configuration; {options.config} differs in {', '.join(others)}",
            flush=True,
        )
    return run


def resumed_run(folder: Path, stack: ExitStack, overrides: list[str] | None = None) -> Run:
    """Goes on with a run; nothing is written before the checkpoint is read, besides the lock.

    Args:
        folder: Of the run.
        stack: With it the run lets go of its folder and of all else that it holds.
        overrides: Of its configuration, which keeps them.

    Raises:
        FileNotFoundError: The folder is no run.
        ConfigError: An override, an opponent or the device cannot be.
        ValueError: The checkpoint is damaged or of another configuration.
        InUseError: Another process trains there.
        StorageError: The folder cannot be written.
    """
    if not (folder / CONFIG_FILE).is_file():
        raise FileNotFoundError(f"{folder} is no run: it holds no {CONFIG_FILE}")
    stack.enter_context(sole_user(folder))
    config = load_stored_config(folder / CONFIG_FILE, overrides or ())
    trainer = _trainer(config, stack)
    checkpoint = load_checkpoint(folder, trainer)
    with storing_in(folder):
        remove_partial(folder)
        if overrides:
            write_text(folder / CONFIG_FILE, dump_config(config))
    print(f"resuming from {checkpoint}", flush=True)
    return Run(folder, trainer)


def _trainer(config: RunConfig, stack: ExitStack) -> Trainer:
    """The trainer, which lets go of all that it holds with the stack."""
    check_opponents(config)
    torch.set_num_threads(1)  # the threads of the run share batches, not operations
    keep_freed_memory()
    trainer = make_trainer(config.model_copy(update={"device": _usable_device(config.device)}))
    stack.callback(trainer.close)
    if isinstance(trainer, RemoteTrainer) and trainer.config.cluster.workers:
        stack.enter_context(played_on_cluster(trainer))
    return trainer


def check_opponents(config: RunConfig) -> None:
    """Raises ConfigError if an opponent is not there or does not play the game."""
    for spec in config.evaluation.opponents:
        try:
            agents.load(spec).check_game(config.game)
        except (ValueError, OSError) as error:
            raise ConfigError(f"evaluation.opponents: {error}") from None


def _usable_device(name: str) -> str:
    """The device of that name, with ``auto`` resolved; raises ConfigError if PyTorch cannot use it."""
    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.zeros(1, device=name).item()
    except (RuntimeError, AssertionError) as error:  # PyTorch asserts that it was built with the device
        reason = str(error).partition("\n")[0]
        raise ConfigError(f"device is {name!r}, which PyTorch cannot use here: {reason}") from None
    return name


if __name__ == "__main__":
    sys.exit(main())
