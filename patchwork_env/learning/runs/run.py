"""A run in its folder, with the steps that the training loop in ``training.py`` is made of."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

from patchwork_env.agents import Agent
from patchwork_env.core.checks import later_seed
from patchwork_env.core.files import GrowingFile, storing_in
from patchwork_env.core.progress import Bar
from patchwork_env.errors import DivergenceError, NoWorkersError, StorageError
from patchwork_env.learning.algorithms.common.trainer import Trainer
from patchwork_env.learning.evaluation.matches import play_matches
from patchwork_env.learning.evaluation.players import hash_of_weights
from patchwork_env.learning.evaluation.results import MatchResult
from patchwork_env.learning.runs.checkpoints import (
    newest_checkpoint,
    save_checkpoint,
    save_divergence,
    save_final,
)
from patchwork_env.learning.runs.evaluations import SAMPLE_GAMES, Evaluations, conclusion
from patchwork_env.learning.runs.folder import BEST, VERSIONS_FILE, candidate_folders, steps_of
from patchwork_env.learning.runs.loggers import Log
from patchwork_env.learning.system.machine import commit, made_with
from patchwork_env.learning.system.signals import Interruption, signals_interrupt, signals_wait

_BAR_METRICS = {
    "games/score": "score",
    "losses/entropy": "entropy",
    "losses/explained_variance": "explained",
    "games/win_rate_against_past_self": "past self",
}


class Run:
    """A run in its folder, which holds a checkpoint and the configuration.

    Attributes:
        folder: The folder of the run.
        trainer: What plays and learns, at first in the state of the newest checkpoint.
        config: The configuration of the run.
        evaluated: Called with the file of every evaluation when it is complete; does nothing by default.
    """

    def __init__(self, folder: Path, trainer: Trainer) -> None:
        self.folder, self.trainer, self.config = folder, trainer, trainer.config
        self.evaluated: Callable[[Path], object] = lambda file: None
        with storing_in(folder):
            _note_versions(folder, trainer.steps, self.config.device)
            self._log = Log(folder, trainer.steps, self.config)
            self._evaluations = Evaluations(folder, trainer, self._log)
        self._saved = time.monotonic()
        self._bar = Bar(self.config.total_steps, "steps", done=trainer.steps)

    # --- the steps of the loop ----------------------------------------------------------------------------

    @contextmanager
    def stopping_cleanly(self) -> Iterator[Outcome]:
        """Within the block, a signal or an error ends the run in a way that ``--resume`` can go on from.

        Raises:
            DivergenceError: A loss is not finite; the message says where the batch that led to it is kept.
            StorageError, NoWorkersError: The folder cannot be written, or there are no workers; the message
                says how to go on.
        """
        outcome = Outcome()
        try:
            with signals_interrupt(), closing(self._log), self._bar:
                try:
                    yield outcome
                except Interruption as interruption:
                    outcome.exit_code = 128 + interruption.signal
                    self._say_stopped(interruption)
                except DivergenceError as error:
                    kept = self._keep(error)
                    raise DivergenceError(f"{error} at step {self.trainer.steps:,}; {kept}") from None
        except (StorageError, NoWorkersError) as error:
            newest = newest_checkpoint(self.folder)
            raise type(error)(
                f"{error}; {newest} is complete: when that is mended, go on with --resume {self.folder}"
            ) from None

    @contextmanager
    def in_one_piece(self) -> Iterator[None]:
        """Signals wait for the end of the block, so that what is saved is never half an update."""
        with signals_wait("stops when this iteration is done and saved; once more to stop at once"):
            yield

    def log(self, metrics: Mapping[str, float]) -> None:
        """Logs the metrics of an iteration, and shows some of them on the progress bar."""
        self._log.add(metrics, self.trainer.steps, self.trainer.seconds / 60)
        shown = [f"{short} {metrics[name]:.2f}" for name, short in _BAR_METRICS.items() if name in metrics]
        self._bar.note = ", ".join(shown)
        self._bar.update(self.trainer.steps_per_iteration)

    def save_if_due(self) -> None:
        """Writes a checkpoint if ``checkpoint_every`` or ``checkpoint_minutes`` makes one due."""
        minutes = self.config.checkpoint_minutes
        is_late = minutes is not None and time.monotonic() - self._saved >= 60 * minutes
        if is_late or self.trainer.iteration % self.config.checkpoint_every == 0:
            self._save()

    def evaluate_if_due(self) -> None:
        """Evaluates the policy if ``evaluation.every`` or ``evaluation.every_steps`` makes that due."""
        if not self.trainer.is_done and self._evaluations.is_due(self.trainer):
            for result in self._evaluate(self.config.evaluation.games):
                low, high = result.interval
                self._bar.print(
                    f"step {self.trainer.steps:>10,}  {self.trainer.seconds / 60:5.1f} min  "
                    f"against {result.opponent:<8} wins {result.win_rate:6.1%}  "
                    f"(95%: {low:.1%} to {high:.1%})"
                )

    def finish(self) -> None:
        """Writes the last checkpoint and the final policy, and evaluates it."""
        self._save()
        trainer, final = self.trainer, save_final(self.folder, self.trainer)
        self._bar.close()
        rate = trainer.steps / trainer.seconds
        minutes = trainer.seconds / 60
        print(f"\n{trainer.steps:,} steps in {minutes:.1f} minutes, {rate:,.0f} steps per second")
        weights = hash_of_weights(final)
        results = self._evaluate(self.config.evaluation.final_games, weights)
        figures = conclusion(results) | {"minutes": minutes, "weights": weights}
        self._log.conclude(figures, trainer.steps)
        for result in results:
            print(result.table())
        if results:
            self._choose_best(results)
        print(f"final policy: {final}   (play it: patchwork-env evaluate {final} --against greedy)")

    # --- the parts of these steps -------------------------------------------------------------------------

    def _save(self) -> Path:
        """Writes a checkpoint; before it, the log is on the disk, for a resumed run does not log it again."""
        self._log.sync()
        self._saved = time.monotonic()
        return save_checkpoint(self.folder, self.trainer)

    def _evaluate(self, games: int, weights: str | None = None) -> list[MatchResult]:
        """Plays the present policy against the fixed opponents, and writes what comes out.

        ``weights`` is the SHA-256 of the policy's file of weights, if it lies in the folder.
        """
        results = self._matches(self.trainer.agent(), games, self.config.evaluation.seed)
        if results:
            with signals_wait(), storing_in(self.folder):
                file = self._evaluations.add(self.trainer, results, weights)
            self.evaluated(file)
        return results

    def _choose_best(self, results: list[MatchResult]) -> None:
        """Measures the candidates again, on fresh circles or decks, and keeps the best one.

        Their places in the evaluations are luck in part, so these choose no more than who is measured. The
        ``results`` of the final policy stand if there is no other.
        """
        games, seed = self.config.evaluation.final_games, later_seed(self.config.evaluation.seed, 1)
        folders = candidate_folders(self.folder)
        measured = dict.fromkeys(folders, results)
        if len(folders) > 1:
            agents = {folder: self.trainer.stored_agent(folder) for folder in folders}
            measured = {folder: self._matches(agent, games, seed) for folder, agent in agents.items()}
        with signals_wait(), storing_in(self.folder):
            best = self._evaluations.choose_best(measured)
        rates = ", ".join(f"{result.win_rate:.1%} against {result.opponent}" for result in measured[best])
        among = f", the best of {len(folders)} that were measured again" if len(folders) > 1 else ""
        print(f"best policy: {self.folder / BEST}   (that of step {steps_of(best)}{among}: {rates})")

    def _matches(self, player: Agent, games: int, seed: int) -> list[MatchResult]:
        settings = {"game": self.config.game, "keep": SAMPLE_GAMES, **self.config.variant}
        opponents = self.config.evaluation.opponents
        return [play_matches(player, spec, games, seed, **settings) for spec in opponents]

    def _say_stopped(self, interruption: Interruption) -> None:
        self._bar.close()
        if interruption.at_once:
            said = f"at once by {interruption}: what came after {newest_checkpoint(self.folder)} is lost"
        else:
            said = f"by {interruption}: saved {self._save()}"
        print(f"\nstopped {said}\ngo on with --resume {self.folder}", flush=True)

    def _keep(self, error: DivergenceError) -> str:
        """Saves the batch, losses and weights of a divergence; returns a phrase that says where."""
        try:
            kept = f"{save_divergence(self.folder, self.trainer, error)} holds the batch, losses and weights"
        except StorageError as storage_error:
            kept = f"nothing could be kept of it: {storage_error}"
        return f"{kept}; the newest checkpoint is {newest_checkpoint(self.folder)}"


class Outcome:
    """How a run ended.

    Attributes:
        exit_code: 0, or 128 + the number of the signal that stopped the run.
    """

    exit_code: int = 0


def _note_versions(folder: Path, steps: int, device: str) -> None:
    """Notes the code, packages and machine with which the run begins or is resumed."""
    start = {"steps": steps, "commit": commit()} | made_with(device)
    file = GrowingFile(folder / VERSIONS_FILE)
    file.write(f"{json.dumps(start)}\n".encode())
    file.close()
