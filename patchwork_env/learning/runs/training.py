"""The training loop, and how a run begins or is resumed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

import torch

from patchwork_env import agents
from patchwork_env.core.files import remove_partial, storing_in, write_text
from patchwork_env.errors import ConfigError
from patchwork_env.learning.algorithms.common.trainer import Trainer, make_trainer
from patchwork_env.learning.algorithms.common.workers import RemoteTrainer, played_on_cluster
from patchwork_env.learning.config import RunConfig, check_memory, dump_config, load_config
from patchwork_env.learning.runs.checkpoints import begin_run, load_checkpoint, new_run_folder
from patchwork_env.learning.runs.folder import CONFIG_FILE
from patchwork_env.learning.runs.loggers import logger_of
from patchwork_env.learning.runs.run import Run
from patchwork_env.learning.system.lock import sole_user
from patchwork_env.learning.system.memory import keep_freed_memory


def loop(run: Run) -> None:
    """Trains a run to its end.

    This is how every run goes, whatever its algorithm. Another loop, for :func:`train`, is made of the same
    steps, which are methods of :class:`~patchwork_env.learning.runs.run.Run`.
    """
    run.evaluate_if_due()  # a resumed run makes up for an evaluation that was cut short
    while not run.trainer.is_done:
        with run.in_one_piece():
            metrics = run.trainer.step()  # plays some games and learns from them
            run.log(metrics)
        run.save_if_due()
        run.evaluate_if_due()
    run.finish()


def train(run: Run, loop: Callable[[Run], None] = loop) -> int:
    """Trains a run to its end, by ``loop``, or until a signal stops it.

    Returns the exit code: 0, or 128 + the number of the signal.

    Raises:
        DivergenceError: A loss is not finite; the message says where the batch that led to it is kept.
        StorageError, NoWorkersError: The folder cannot be written, or there are no workers; the message says
            how to go on.
    """
    with run.stopping_cleanly() as outcome:
        loop(run)
    return outcome.exit_code


def new_run(config: RunConfig, base: Path, stack: ExitStack) -> Run:
    """Begins a run in the folder ``base``, or ``base-2``, ``base-3`` ... if it exists and is not empty.

    Nothing is written before the configuration is known to work. Closing the stack closes the trainer and
    unlocks the folder.

    Raises:
        ConfigError: An opponent or a logger does not exist, or PyTorch cannot use the device.
        MissingExtraError: The client of a tracking service is not installed.
        StorageError: The folder cannot be written.
    """
    trainer = _trainer(config, stack)
    folder = new_run_folder(base)
    stack.enter_context(sole_user(folder))
    begin_run(folder, trainer, config)
    print(f"new run in {folder}; if it is cut off, go on with --resume {folder}", flush=True)
    return Run(folder, trainer)


def resumed_run(folder: Path, stack: ExitStack, overrides: Sequence[str] = ()) -> Run:
    """Resumes a run from its newest checkpoint; before that is read, nothing but the lock is written.

    Overrides, each as ``key=value``, change the configuration and are stored with the run. Closing the stack
    closes the trainer and unlocks the folder.

    Raises:
        FileNotFoundError: The folder does not hold a run.
        ConfigError: An override is not valid, or see :func:`new_run`.
        ValueError: The checkpoint is damaged, or of another version.
        InUseError: Another process trains there.
        StorageError: The folder cannot be written.
    """
    if not (folder / CONFIG_FILE).is_file():
        raise FileNotFoundError(f"{folder} is no run: it holds no {CONFIG_FILE}")
    stack.enter_context(sole_user(folder))
    config = load_config(folder / CONFIG_FILE, overrides)
    trainer = _trainer(config, stack)
    checkpoint = load_checkpoint(folder, trainer)
    with storing_in(folder):
        remove_partial(folder)
        if overrides:
            write_text(folder / CONFIG_FILE, dump_config(config))
    print(f"resuming from {checkpoint}", flush=True)
    return Run(folder, trainer)


def check_names(config: RunConfig) -> None:
    """Checks the opponents and loggers of a configuration.

    Raises:
        ConfigError: An opponent or a logger does not exist, or an opponent does not play the game.
        MissingExtraError: The client of a tracking service is not installed.
    """
    for spec in config.evaluation.opponents:
        try:
            agents.load(spec).check_game(config.game)
        except (ValueError, OSError) as error:
            raise ConfigError(f"evaluation.opponents: {error}") from None
    for name in config.tracker:
        logger_of(name)


def _trainer(config: RunConfig, stack: ExitStack) -> Trainer:
    """Makes the trainer of a configuration; the stack closes it."""
    check_memory(config)
    check_names(config)
    stack.callback(torch.set_num_threads, torch.get_num_threads())
    torch.set_num_threads(1)  # the threads of the run share batches, not operations
    keep_freed_memory()
    trainer = make_trainer(config.model_copy(update={"device": _usable_device(config.device)}))
    stack.callback(trainer.close)
    if isinstance(trainer, RemoteTrainer) and trainer.config.cluster.workers:
        stack.enter_context(played_on_cluster(trainer))
    return trainer


def _usable_device(name: str) -> str:
    """Checks the name of a device and resolves ``auto``; raises ConfigError if PyTorch cannot use it."""
    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.zeros(1, device=name).item()
    except (RuntimeError, AssertionError) as error:  # PyTorch asserts that it was built with the device
        reason = str(error).partition("\n")[0]
        raise ConfigError(f"device is {name!r}, which PyTorch cannot use here: {reason}") from None
    return name
