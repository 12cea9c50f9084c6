"""A run in its folder: the training loop with curves, evaluations, checkpoints and a clean end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tqdm import tqdm

from training.checkpoints import save_checkpoint, save_final
from training.curves import Curves
from training.evaluations import SAMPLE_GAMES, Evaluations
from training.matches import Result, play_matches
from training.signals import Interruption, signals_interrupt, signals_wait
from training.trainer import Trainer

_BAR_METRICS = {
    "games/score": "score",
    "losses/entropy": "entropy",
    "losses/explained_variance": "explained",
    "games/win_rate_against_past_self": "past self",
}


class Run:
    """A run in its folder: the training loop with logs, evaluations, checkpoints and a clean end."""

    def __init__(self, folder: Path, trainer: Trainer) -> None:
        self.folder = folder
        self.config = trainer.config
        self.trainer = trainer
        self._curves = Curves(folder, trainer.steps)
        self._evaluations = Evaluations(folder, trainer, self._curves)

    def execute(self) -> int:
        """Trains to the end or to a signal; returns the exit code."""
        with signals_interrupt():
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
            self._evaluate_if_due(bar)  # a signal may have cut it short
            while not trainer.is_done:
                # What is saved after a signal is never half an update.
                with signals_wait():
                    metrics = trainer.iterate()
                    self._curves.add(trainer, metrics)
                bar.update(trainer.steps_per_iteration)
                shown = {
                    short: f"{metrics[name]:.2f}" for name, short in _BAR_METRICS.items() if name in metrics
                }
                bar.set_postfix(shown)
                self._evaluate_if_due(bar)
                if trainer.iteration % self.config.checkpoint_every == 0:
                    save_checkpoint(self.folder, trainer)
        save_checkpoint(self.folder, trainer)
        final = save_final(self.folder, trainer)
        self._report(final)

    def _progress_bar(self) -> Any:
        total, steps = self.config.total_steps, self.trainer.steps
        return tqdm(total=total, initial=steps, unit=" steps", unit_scale=True, mininterval=1)

    def _evaluate_if_due(self, bar: Any) -> None:
        trainer, config = self.trainer, self.config.evaluation
        is_due = trainer.iteration > 0 and trainer.iteration % config.every == 0 and not trainer.is_done
        if is_due and not self._evaluations.has(trainer.steps):
            self._evaluate(config.games, bar)

    def _evaluate(self, games: int, bar: Any = None) -> list[Result]:
        """Plays the present policy against the fixed opponents."""
        trainer, results = self.trainer, []
        player = trainer.agent()
        for spec in self.config.evaluation.opponents:
            variant = self.config.special_patches
            result = play_matches(
                player, spec, games, self.config.seed, special_patches=variant, keep=SAMPLE_GAMES
            )
            results.append(result)
            if bar is not None:
                low, high = result.interval
                bar.write(
                    f"step {trainer.steps:>10,}  {trainer.seconds / 60:5.1f} min  against {spec:<8} "
                    f"wins {result.win_rate:6.1%}  (95%: {low:.1%} to {high:.1%})"
                )
        if results:
            with signals_wait():
                self._evaluations.add(trainer, results)
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
