"""A run in its folder: the training loop with curves, evaluations, checkpoints and a clean end."""

from __future__ import annotations
from patchwork_env.errors import NoWorkersError
from patchwork_env.errors import DivergenceError, NoWorkersError, StorageError

import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from tqdm import tqdm

from patchwork_env.learning.runs.checkpoints import newest_checkpoint, save_checkpoint, save_final
from patchwork_env.learning.runs.curves import Curves
from patchwork_env.learning.runs.divergence import save_divergence
from patchwork_env.learning.runs.evaluations import SAMPLE_GAMES, Evaluations
from patchwork_env.learning.system.files import storing_in
from patchwork_env.learning.evaluation.matches import MatchResult, play_matches
from patchwork_env.learning.system.signals import Interruption, signals_interrupt, signals_wait
from patchwork_env.learning.algorithms.common.trainer import Trainer

_BAR_METRICS = {
    "games/score": "score",
    "losses/entropy": "entropy",
    "losses/explained_variance": "explained",
    "games/win_rate_against_past_self": "past self",
}


class Run:
    """A run in its folder: the training loop with logs, evaluations, checkpoints and a clean end.

    Attributes:
        evaluated: Called with the file of every evaluation when it is complete; does nothing by default.
    """

    def __init__(self, folder: Path, trainer: Trainer) -> None:
        self.folder = folder
        self.config = trainer.config
        self.trainer = trainer
        self.evaluated: Callable[[Path], object] = lambda file: None
        with storing_in(folder):
            self._curves = Curves(folder, trainer.steps)
            self._evaluations = Evaluations(folder, trainer, self._curves)
        self._saved = time.monotonic()

    def execute(self) -> int:
        """Trains to the end or to a signal; returns the exit code.

        Raises:
            DivergenceError: The message says where to look for the cause.
            StorageError, NoWorkersError: The message says how to go on.
        """
        try:
            with signals_interrupt(), closing(self._curves):
                return self._train_until_stopped()
        except (StorageError, NoWorkersError) as error:
            newest = newest_checkpoint(self.folder)
            raise type(error)(
                f"{error}; {newest} is complete: when that is mended, go on with --resume {self.folder}"
            ) from None

    def _train_until_stopped(self) -> int:
        try:
            self._train()
        except Interruption as interruption:
            if interruption.at_once:
                said = f"at once by {interruption}: what came after {newest_checkpoint(self.folder)} is lost"
            else:
                said = f"by {interruption}: saved {self._save()}"
            print(f"\nstopped {said}\ngo on with --resume {self.folder}", flush=True)
            return 128 + interruption.signal
        except DivergenceError as error:
            raise DivergenceError(f"{error} at step {self.trainer.steps:,}; {self._keep(error)}") from None
        return 0

    def _keep(self, error: DivergenceError) -> str:
        """Saves what is known of a divergence; says where."""
        try:
            kept = f"{save_divergence(self.folder, self.trainer, error)} holds the batch, losses and weights"
        except StorageError as storage_error:
            kept = f"nothing could be kept of it: {storage_error}"
        return f"{kept}; the newest checkpoint is {newest_checkpoint(self.folder)}"

    def _save(self) -> Path:
        """The curves are on the disk before the checkpoint that would not write them again."""
        self._curves.sync()
        self._saved = time.monotonic()
        return save_checkpoint(self.folder, self.trainer)

    def _train(self) -> None:
        trainer = self.trainer
        with self._progress_bar() as bar:
            self._evaluate_if_due(bar)
            while not trainer.is_done:
                # What is saved after a signal is never half an update.
                with signals_wait("stops when this iteration is done and saved; once more to stop at once"):
                    metrics = trainer.iterate()
                    self._curves.add(trainer, metrics)
                bar.update(trainer.steps_per_iteration)
                shown = {
                    short: f"{metrics[name]:.2f}" for name, short in _BAR_METRICS.items() if name in metrics
                }
                bar.set_postfix(shown)
                if self._is_checkpoint_due():
                    self._save()  # an evaluation may take long; it is made up for if it is cut short
                self._evaluate_if_due(bar)
        self._save()
        final = save_final(self.folder, trainer)
        self._report(final)

    def _progress_bar(self) -> Any:
        total, steps = self.config.total_steps, self.trainer.steps
        return tqdm(total=total, initial=steps, unit=" steps", unit_scale=True, mininterval=1)

    def _is_checkpoint_due(self) -> bool:
        minutes = self.config.checkpoint_minutes
        if minutes is not None and time.monotonic() - self._saved >= 60 * minutes:
            return True
        return self.trainer.iteration % self.config.checkpoint_every == 0

    def _evaluate_if_due(self, bar: Any) -> None:
        trainer, config = self.trainer, self.config.evaluation
        is_due = trainer.iteration > 0 and trainer.iteration % config.every == 0 and not trainer.is_done
        if is_due and not self._evaluations.has(trainer.steps):
            self._evaluate(config.games, bar)

    def _evaluate(self, games: int, bar: Any = None) -> list[MatchResult]:
        """Plays the present policy against the fixed opponents."""
        trainer, results = self.trainer, []
        player = trainer.agent()
        variant = self.config.variant
        for spec in self.config.evaluation.opponents:
            result = play_matches(
                player, spec, games, self.config.seed, game=self.config.game, keep=SAMPLE_GAMES, **variant
            )
            results.append(result)
            if bar is not None:
                low, high = result.interval
                bar.write(
                    f"step {trainer.steps:>10,}  {trainer.seconds / 60:5.1f} min  against {spec:<8} "
                    f"wins {result.win_rate:6.1%}  (95%: {low:.1%} to {high:.1%})"
                )
        if results:
            with signals_wait(), storing_in(self.folder):
                file = self._evaluations.add(trainer, results)
            self.evaluated(file)
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
