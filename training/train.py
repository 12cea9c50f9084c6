"""Trains a policy by self-play from a configuration.

    python -m training.train --config configs/quick.yaml
    python -m training.train --config configs/ppo.yaml --set ppo.epochs=3 --set seed=1
    python -m training.train --resume runs/ppo
    python -m training.train --list
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import warnings
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from tqdm import tqdm

from patchwork_env import agents
from patchwork_env.agents.checkpoint import save_policy
from patchwork_env.agents.learned import LearnedAgent
from training.checkpoints import CONFIG_FILE, FINAL, load_checkpoint, new_run_folder, save_checkpoint, write_text
from training.config import ConfigError, RunConfig, dump_config, list_configs, load_config
from training.matches import Result, play_matches
from training.ppo import DivergenceError
from training.trainer import Trainer

_BAR_METRICS = {
    "games/score": "score",
    "losses/entropy": "entropy",
    "losses/explained_variance": "explained",
    "games/win_rate_against_past_self": "past self",
}


class Interrupted(Exception):
    """The process was asked to stop."""


def main(arguments: list[str] | None = None) -> int:
    """The command; returns the exit code."""
    options = _parse(arguments)
    try:
        if options.list:
            for path, description in list_configs(Path("configs")):
                print(f"{path!s:<28} {description}")
            return 0
        run, config = _open_run(options)
        return _Run(run, config, resume=options.resume is not None).execute()
    except (ConfigError, DivergenceError, FileNotFoundError, ValueError, OSError) as error:
        print(f"training.train: {error}", file=sys.stderr)
        return 2


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m training.train", description="Trains a policy by self-play.")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--config", type=Path, metavar="FILE", help="configuration of a new run")
    what.add_argument("--resume", type=Path, metavar="RUN_DIR", help="run to go on with, from its newest checkpoint")
    what.add_argument("--list", action="store_true", help="list the configurations in configs/")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", nargs="+", help="override a key of the configuration"
    )
    parser.add_argument("--run-dir", type=Path, metavar="DIR", help="folder of the new run; default runs/NAME")
    options = parser.parse_args(arguments)
    options.set = [override for group in options.set for override in group]
    if options.resume and options.run_dir:
        parser.error("--run-dir is for new runs; --resume goes on in the folder of the old one")
    return options


def _open_run(options: argparse.Namespace) -> tuple[Path, RunConfig]:
    """The folder and the configuration of the run; nothing is written before the configuration is valid."""
    if options.resume:
        if not (options.resume / CONFIG_FILE).is_file():
            raise FileNotFoundError(f"{options.resume} is no run: it holds no {CONFIG_FILE}")
        return options.resume, load_config(options.resume / CONFIG_FILE, options.set)
    config = load_config(options.config, options.set)
    _check_opponents(config)
    run = new_run_folder(options.run_dir or Path("runs") / options.config.stem)
    write_text(run / CONFIG_FILE, dump_config(config))
    return run, config


def _check_opponents(config: RunConfig) -> None:
    for spec in config.evaluation.opponents:
        try:
            agents.load(spec)
        except (ValueError, FileNotFoundError) as error:
            raise ConfigError(f"evaluation.opponents: {error}") from None


class _Run:
    """A run in its folder: the training loop with logs, evaluations, checkpoints and a clean end."""

    def __init__(self, folder: Path, config: RunConfig, *, resume: bool) -> None:
        torch.set_num_threads(config.threads)
        self.folder = folder
        self.config = config
        self.trainer = Trainer(config)
        if resume:
            print(f"resuming from {load_checkpoint(folder, self.trainer)}", flush=True)
        self._curves = _Curves(folder)

    def execute(self) -> int:
        for name in (signal.SIGINT, signal.SIGTERM):
            signal.signal(name, _interrupt)
        try:
            self._train()
        except Interrupted as interruption:
            saved = save_checkpoint(self.folder, self.trainer)
            print(f"\n{interruption}: saved {saved}\ngo on with --resume {self.folder}", flush=True)
            return 128 + interruption.args[1]
        finally:
            self._curves.close()
        return 0

    def _train(self) -> None:
        config, trainer = self.config, self.trainer
        with tqdm(total=config.total_steps, initial=trainer.steps, unit=" steps", unit_scale=True, mininterval=1) as bar:
            while not trainer.is_done:
                metrics = _uninterrupted(trainer.iterate)
                self._curves.add(trainer, metrics)
                bar.update(config.steps_per_iteration)
                bar.set_postfix({short: f"{metrics[name]:.2f}" for name, short in _BAR_METRICS.items() if name in metrics})
                if trainer.iteration % config.evaluation.every == 0:
                    self._evaluate(config.evaluation.games, bar)
                if trainer.iteration % config.checkpoint_every == 0:
                    save_checkpoint(self.folder, trainer)
        save_checkpoint(self.folder, trainer)
        if not (self.folder / FINAL).exists():
            save_policy(self.folder / FINAL, trainer.network, {"steps": trainer.steps, "seconds": trainer.seconds})
        self._report()

    def _evaluate(self, games: int, bar: Any = None) -> list[Result]:
        """Plays the present policy against the fixed opponents."""
        trainer, results = self.trainer, []
        trainer.network.eval()
        for spec in self.config.evaluation.opponents:
            player = LearnedAgent(trainer.network, f"step {trainer.steps}")
            result = play_matches(player, agents.load(spec, seed=0), games, seed=self.config.seed)
            results.append(result)
            self._curves.add(trainer, {f"evaluation/win_rate_against_{spec}": result.win_rate})
            if bar is not None:
                low, high = result.interval
                bar.write(
                    f"step {trainer.steps:>10,}  {trainer.seconds / 60:5.1f} min  against {spec:<8} "
                    f"wins {result.win_rate:6.1%}  (95%: {low:.1%} to {high:.1%})"
                )
        trainer.network.train()
        return results

    def _report(self) -> None:
        trainer = self.trainer
        rate = trainer.steps / trainer.seconds
        print(f"\n{trainer.steps:,} steps in {trainer.seconds / 60:.1f} minutes, {rate:,.0f} steps per second")
        for result in self._evaluate(self.config.evaluation.final_games):
            print(result.table())
        print(f"final policy: {self.folder / FINAL}   (play it: python -m training.evaluate {self.folder / FINAL} --against greedy)")


class _Curves:
    """Learning curves, as lines of JSON and for TensorBoard."""

    def __init__(self, folder: Path) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from torch.utils.tensorboard import SummaryWriter

            self._writer: Any = SummaryWriter(str(folder))
        self._lines = (folder / "metrics.jsonl").open("a", buffering=1)

    def add(self, trainer: Trainer, metrics: dict[str, float]) -> None:
        line = {"steps": trainer.steps, "minutes": round(trainer.seconds / 60, 4)}
        self._lines.write(json.dumps(line | {name: round(value, 6) for name, value in metrics.items()}) + "\n")
        for name, value in metrics.items():
            self._writer.add_scalar(name, value, trainer.steps)

    def close(self) -> None:
        self._writer.close()
        self._lines.close()


def _interrupt(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
    raise Interrupted(f"stopped by {signal.Signals(number).name}", number)


def _uninterrupted(iterate: Any) -> dict[str, float]:
    """Finishes an iteration before a signal takes effect, so that what is saved is never half an update."""
    pending: list[int] = []
    before = {s: signal.signal(s, lambda number, _: pending.append(number)) for s in (signal.SIGINT, signal.SIGTERM)}
    try:
        metrics: dict[str, float] = iterate()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if pending:
        _interrupt(pending[0], None)
    return metrics


if __name__ == "__main__":
    sys.exit(main())
