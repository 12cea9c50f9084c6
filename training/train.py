"""Trains a policy by self-play from a configuration.

python -m training.train --config configs/quick.yaml
python -m training.train --config configs/ppo.yaml --set ppo.epochs=3 --set seed=1
python -m training.train --resume runs/ppo
python -m training.train --list
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from tqdm import tqdm

from patchwork_env import agents
from patchwork_env.agents.learned import LearnedAgent
from training.checkpoints import (
    CONFIG_FILE,
    METRICS_FILE,
    load_checkpoint,
    new_run_folder,
    save_checkpoint,
    save_final,
)
from training.config import ConfigError, RunConfig, differences, dump_config, list_configs, load_config
from training.files import write_text
from training.matches import Result, play_matches
from training.memory import keep_freed_memory
from training.ppo import DivergenceError
from training.trainer import Trainer

_BAR_METRICS = {
    "games/score": "score",
    "losses/entropy": "entropy",
    "losses/explained_variance": "explained",
    "games/win_rate_against_past_self": "past self",
}
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def main(arguments: list[str] | None = None) -> int:
    """The command; returns the exit code: 0, 2 for an error, 128 + the number of a signal that stopped it."""
    options = _parse(arguments)
    try:
        if options.list:
            return _list()
        run = _resumed_run(options) if options.resume else _new_run(options)
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
    for path, description in list_configs():
        print(f"{os.path.relpath(path):<28} {description}")
    return 0


def _new_run(options: argparse.Namespace) -> _Run:
    """Nothing is written before the configuration is known to work."""
    config = load_config(options.config, options.set)
    trainer = _trainer(config)
    folder = new_run_folder(options.run_dir or Path("runs") / options.config.stem)
    write_text(folder / CONFIG_FILE, dump_config(config))
    print(f"new run in {folder}", flush=True)
    return _Run(folder, trainer)


def _resumed_run(options: argparse.Namespace) -> _Run:
    """Nothing is written before the checkpoint is read."""
    folder = options.resume
    if not (folder / CONFIG_FILE).is_file():
        raise FileNotFoundError(f"{folder} is no run: it holds no {CONFIG_FILE}")
    config = load_config(folder / CONFIG_FILE, options.set)
    others = differences(config, load_config(options.config, options.set)) if options.config else []
    trainer = _trainer(config)
    checkpoint = load_checkpoint(folder, trainer)
    if options.set:
        write_text(folder / CONFIG_FILE, dump_config(config))
    print(f"resuming from {checkpoint}", flush=True)
    if others:
        print(
            f"the run keeps its own configuration; {options.config} differs in {', '.join(others)}",
            flush=True,
        )
    return _Run(folder, trainer)


def _trainer(config: RunConfig) -> Trainer:
    _check_surroundings(config)
    torch.set_num_threads(1)  # the threads of the run share batches, not operations
    keep_freed_memory()
    return Trainer(config)


def _check_surroundings(config: RunConfig) -> None:
    """Raises ConfigError if an opponent or the device is not there."""
    for spec in config.evaluation.opponents:
        try:
            agents.load(spec)
        except (ValueError, OSError) as error:
            raise ConfigError(f"evaluation.opponents: {error}") from None
    try:
        torch.empty(1, device=config.device)
    except (RuntimeError, AssertionError) as error:  # PyTorch asserts that it was built with the device
        reason = str(error).partition("\n")[0]
        raise ConfigError(f"device is {config.device!r}, which PyTorch cannot use here: {reason}") from None


class _Run:
    """A run in its folder: the training loop with logs, evaluations, checkpoints and a clean end."""

    def __init__(self, folder: Path, trainer: Trainer) -> None:
        self.folder = folder
        self.config = trainer.config
        self.trainer = trainer
        self._curves = _Curves(folder, trainer.steps)

    def execute(self) -> int:
        """Trains to the end or to a signal; returns the exit code."""
        with _signals_go_to(_interrupt):
            try:
                self._train()
            except Interruption as interruption:
                saved = save_checkpoint(self.folder, self.trainer)
                print(
                    f"\nstopped by {interruption}: saved {saved}\ngo on with --resume {self.folder}",
                    flush=True,
                )
                return 128 + interruption.signal
            finally:
                self._curves.close()
        return 0

    def _train(self) -> None:
        trainer = self.trainer
        with self._progress_bar() as bar:
            while not trainer.is_done:
                # What is saved after a signal is never half an update.
                with _signals_wait():
                    metrics = trainer.iterate()
                    self._curves.add(trainer, metrics)
                bar.update(self.config.steps_per_iteration)
                shown = {
                    short: f"{metrics[name]:.2f}" for name, short in _BAR_METRICS.items() if name in metrics
                }
                bar.set_postfix(shown)
                if trainer.iteration % self.config.evaluation.every == 0 and not trainer.is_done:
                    self._evaluate(self.config.evaluation.games, bar)
                if trainer.iteration % self.config.checkpoint_every == 0:
                    save_checkpoint(self.folder, trainer)
        save_checkpoint(self.folder, trainer)
        final = save_final(self.folder, trainer)
        self._report(final)

    def _progress_bar(self) -> Any:
        total, steps = self.config.total_steps, self.trainer.steps
        return tqdm(total=total, initial=steps, unit=" steps", unit_scale=True, mininterval=1)

    def _evaluate(self, games: int, bar: Any = None) -> list[Result]:
        """Plays the present policy against the fixed opponents."""
        trainer, results = self.trainer, []
        player = LearnedAgent(trainer.network, f"step {trainer.steps}")
        for spec in self.config.evaluation.opponents:
            result = play_matches(
                player, spec, games, self.config.seed, special_patches=self.config.special_patches
            )
            results.append(result)
            self._curves.add(trainer, {f"evaluation/win_rate_against_{spec}": result.win_rate})
            if bar is not None:
                low, high = result.interval
                bar.write(
                    f"step {trainer.steps:>10,}  {trainer.seconds / 60:5.1f} min  against {spec:<8} "
                    f"wins {result.win_rate:6.1%}  (95%: {low:.1%} to {high:.1%})"
                )
        return results

    def _report(self, final: Path) -> None:
        trainer = self.trainer
        rate = trainer.steps / trainer.seconds
        print(
            f"\n{trainer.steps:,} steps in {trainer.seconds / 60:.1f} minutes, {rate:,.0f} steps per second"
        )
        for result in self._evaluate(self.config.evaluation.final_games):
            print(result.table())
        print(f"final policy: {final}   (play it: python -m training.evaluate {final} --against greedy)")


class _Curves:
    """Learning curves, as lines of JSON and for TensorBoard.

    Args:
        folder: Of the run.
        steps: Where the run goes on; what an earlier attempt wrote of later steps is dropped.
    """

    def __init__(self, folder: Path, steps: int) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from torch.utils.tensorboard import SummaryWriter

            self._writer: Any = SummaryWriter(str(folder), purge_step=steps + 1 if steps else None)
        path = folder / METRICS_FILE
        if path.exists():
            write_text(path, "".join(_lines_up_to(steps, path)))
        self._lines = path.open("a", buffering=1, encoding="utf-8")

    def add(self, trainer: Trainer, metrics: dict[str, float]) -> None:
        """Writes metrics by name, at the trainer's present step."""
        line = {"steps": trainer.steps, "minutes": round(trainer.seconds / 60, 4)}
        line |= {name: round(value, 6) for name, value in metrics.items()}
        self._lines.write(json.dumps(line) + "\n")
        for name, value in metrics.items():
            self._writer.add_scalar(name, value, trainer.steps)

    def close(self) -> None:
        """Completes the files."""
        self._writer.close()
        self._lines.close()


def _lines_up_to(steps: int, path: Path) -> Iterator[str]:
    """The lines of a metrics file that are complete and belong to no later step."""
    for line in path.read_text(encoding="utf-8").splitlines(keepends=True):
        try:
            is_valid = line.endswith("\n") and json.loads(line)["steps"] <= steps
        except json.JSONDecodeError:
            is_valid = False
        if is_valid:
            yield line


class Interruption(BaseException):
    """The process was asked to stop.

    Attributes:
        signal: Number of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.signal = number


def _interrupt(number: int, _frame: FrameType | None = None) -> None:
    for name in _SIGNALS:
        signal.signal(name, signal.SIG_IGN)  # another one must not disturb saving
    raise Interruption(number)


@contextmanager
def _signals_go_to(handler: Callable[[int, FrameType | None], Any]) -> Iterator[None]:
    before = {name: signal.signal(name, handler) for name in _SIGNALS}
    try:
        yield
    finally:
        for name, old in before.items():
            signal.signal(name, old)


@contextmanager
def _signals_wait() -> Iterator[None]:
    """Signals that come within the block take effect behind it."""
    pending: list[int] = []
    with _signals_go_to(lambda number, _frame: pending.append(number)):
        yield
    if pending:
        _interrupt(pending[0])


if __name__ == "__main__":
    sys.exit(main())
