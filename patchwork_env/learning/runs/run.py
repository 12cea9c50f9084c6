"""A training run: its loop, new and resumed runs, checkpoints, evaluations and the end.

    with new_run(load_config("quick"), Path("runs/mine")) as run:
        run.train()

The folder of the algorithm defines ``trainer.step()``.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from patchwork_env import agents
from patchwork_env.agents import Agent
from patchwork_env.agents.checkpoints import read_checkpoint
from patchwork_env.core.checks import offset_seed
from patchwork_env.core.files import GrowingFile, check_new, remove_partial, storing_in, write_text
from patchwork_env.core.names import quoted
from patchwork_env.core.progress import Bar
from patchwork_env.errors import (
    ConfigError,
    DivergenceError,
    IllegalActionError,
    NoWorkersError,
    OpponentError,
    StorageError,
    WorkerError,
)
from patchwork_env.learning import system
from patchwork_env.learning.algorithms.common.trainer import Trainer, make_trainer
from patchwork_env.learning.config import RunConfig, dump_config, load_config
from patchwork_env.learning.distributed import one_thread
from patchwork_env.learning.evaluation.matches import hash_of_weights, play_matches
from patchwork_env.learning.evaluation.results import MatchResult
from patchwork_env.learning.runs.checkpoints import (
    begin_run,
    complete_checkpoints,
    load_checkpoint,
    save_checkpoint,
    write_policy,
)
from patchwork_env.learning.runs.evaluations import candidates, choose_best, forget_best, forget_later, record
from patchwork_env.learning.runs.folder import (
    BEST,
    CONFIG_FILE,
    FINAL,
    VERSIONS_FILE,
    best_file,
    evaluation_files,
)
from patchwork_env.learning.runs.loggers import Log, check_tracker

_SAMPLE_GAMES = 2
"""The number of games that an evaluation keeps of every match: in Patchwork one circle from both seats."""
_BAR_METRICS = {
    "games/score": "score",
    "losses/entropy": "entropy",
    "losses/explained_variance": "explained",
    "games/win_rate_against_past_self": "past self",
}
_RESUMABLE = (DivergenceError, IllegalActionError, NoWorkersError, OpponentError, StorageError, WorkerError)
"""The errors after which a run can be resumed."""


def loop(run: Run) -> None:
    """Train a run to its end, with any algorithm."""
    run.evaluate_if_due()  # of a resumed run, whose last evaluation was interrupted
    while not run.trainer.is_done:
        run.log(run.trainer.step())  # plays some games and learns from them
        system.stop_if_asked()
        run.save_if_due()
        run.evaluate_if_due()
    run.finish()


# --- new and resumed runs ---------------------------------------------------------------------------------


@contextmanager
def new_run(config: RunConfig, folder: Path) -> Iterator[Run]:
    """Begin a run in a new or empty folder; the end of the block closes the trainer.

    Raises:
        ConfigError: An opponent or a tracker does not exist, or PyTorch cannot use the device.
        MissingExtraError: The client of a tracking service is not installed.
        FileExistsError: The folder holds something.
        StorageError: The folder cannot be written.
    """
    resume = f"--resume {quoted(folder)}"
    check_new(folder, "folder", f"resume it with {resume}")
    with _trainer(config) as trainer, system.exclusive_lock(folder):
        begin_run(folder, trainer)
        print(f"new run in {folder}; if it is interrupted, resume it with {resume}", flush=True)
        yield Run(folder, trainer)


@contextmanager
def resumed_run(folder: Path, overrides: Sequence[str] = ()) -> Iterator[Run]:
    """Resume a run from its newest checkpoint; until that is read, only the lock is written.

    Overrides, each as ``key=value``, change the configuration and are stored with the run.

    Raises:
        FileNotFoundError: The folder does not hold a run.
        ConfigError: An override is not valid, or see :func:`new_run`.
        ValueError: The checkpoint is damaged, or of another version.
        InUseError: Another process trains there.
        StorageError: The folder cannot be written.
    """
    if not (folder / CONFIG_FILE).is_file():
        raise FileNotFoundError(f"{folder} is not a run: it holds no {CONFIG_FILE}")
    with system.exclusive_lock(folder):
        config = load_config(folder / CONFIG_FILE, overrides, stored=True)
        with _trainer(config) as trainer:
            checkpoint = load_checkpoint(folder, trainer)
            with storing_in(folder):
                remove_partial(folder)
                if overrides and not trainer.is_done:
                    write_text(folder / CONFIG_FILE, dump_config(config))
            print(f"resuming from {checkpoint}", flush=True)
            yield Run(folder, trainer)


@contextmanager
def _trainer(config: RunConfig) -> Iterator[Trainer]:
    check_names(config)
    system.tune_malloc()
    with one_thread():  # the threads of the run share batches, not operations
        trainer = make_trainer(config)
        with trainer.workers():
            yield trainer


def check_names(config: RunConfig) -> None:
    """Raise ConfigError or MissingExtraError unless all opponents and trackers exist and fit the game."""
    for spec in config.evaluation.opponents:
        try:
            agents.load(spec).check_game(config.game)
        except (ValueError, OSError) as error:
            raise ConfigError(f"evaluation.opponents: {error}") from None
    for name in config.tracker:
        check_tracker(name)


class Run:
    """A run in its folder, which holds a checkpoint and the configuration.

    Attributes:
        folder: The folder of the run.
        trainer: The trainer, at first in the state of the newest checkpoint.
        config: The configuration of the run.
        evaluated: Called with the results of every evaluation after they are stored, one per opponent. To
            prune a run, raise an exception: it ends ``train``, and the run can be resumed.
    """

    def __init__(self, folder: Path, trainer: Trainer) -> None:
        self.folder, self.trainer, self.config = folder, trainer, trainer.config
        self.evaluated: Callable[[Sequence[MatchResult]], object] = lambda results: None
        with storing_in(folder):
            start = {"steps": trainer.steps, "commit": system.commit()} | system.made_with(trainer.device)
            with closing(GrowingFile(folder / VERSIONS_FILE)) as versions:
                versions.write(f"{json.dumps(start)}\n".encode())
            self._log = Log(folder, trainer.steps, self.config)
            forget_later(folder, trainer.steps)
        self._saved = time.monotonic()
        self._bar = Bar(self.config.total_steps, "steps", done=trainer.steps)

    def train(self) -> int:
        """Train to the end, or until a signal stops the run, which can then be resumed.

        Returns the exit code: 0, or 128 + the number of the signal.

        Raises:
            DivergenceError: A loss is not finite.
            IllegalActionError, OpponentError: An opponent of evaluations failed.
            NoWorkersError, WorkerError: The cluster has no workers, or a job lost its worker too often.
            StorageError: The folder cannot be written.
        """
        exit_code = 0
        try:
            with system.signals_interrupt(), closing(self._log), self._bar:
                try:
                    loop(self)
                except system.Interruption as interruption:
                    exit_code = 128 + interruption.signal
                    self._stop(interruption)
        except _RESUMABLE as error:
            newest = complete_checkpoints(self.folder)[-1]
            raise type(error)(
                f"{error}; {newest} is complete: once this is fixed, "
                f"resume with --resume {quoted(self.folder)}"
            ) from error.__cause__
        return exit_code

    def log(self, metrics: Mapping[str, float]) -> None:
        """Log the metrics of an iteration; show some of them on the progress bar."""
        self._log.add(metrics, self.trainer.steps, self.trainer.seconds / 60)
        notes = [f"{short} {metrics[name]:.2f}" for name, short in _BAR_METRICS.items() if name in metrics]
        self._bar.note = ", ".join(notes)
        self._bar.update(self.trainer.steps_per_iteration)

    def save_if_due(self) -> None:
        """Write a checkpoint if ``checkpoint_every`` or ``checkpoint_minutes`` makes one due."""
        minutes = self.config.checkpoint_minutes
        is_late = minutes is not None and time.monotonic() - self._saved >= 60 * minutes
        if is_late or self.trainer.iteration % self.config.checkpoint_every == 0:
            self._save()

    def evaluate_if_due(self) -> None:
        """Evaluate the policy if ``evaluation.every`` makes that due."""
        trainer, settings = self.trainer, self.config.evaluation
        if trainer.is_done or trainer.steps <= max(evaluation_files(self.folder), default=0):
            return
        if settings.every is not None and trainer.iteration % settings.every == 0:
            self._save()  # the policy is measured again if it is among the best
            for result in self._evaluate(settings.games):
                counts = f"step {trainer.steps:>10,}  {trainer.seconds / 60:5.1f} min"
                self._bar.print(f"{counts}  {result.summary()}")

    def finish(self) -> None:
        """Write the last checkpoint and the final policy, evaluate it, and choose the best; only once."""
        trainer, minutes = self.trainer, self.trainer.seconds / 60
        if self._is_finished():
            self._bar.print(
                f"\n{self.folder} is finished: it has all {self.config.total_steps:,} steps\n"
                f"train further with --resume {quoted(self.folder)} --set total_steps={2 * trainer.steps}\n"
                f"final policy: {self.folder / FINAL}"
            )
            return
        forget_best(self.folder)  # that of an earlier end; a run is finished when it has one
        self._save()
        final = write_policy(self.folder / FINAL, trainer.write_final)
        rate = trainer.steps / trainer.seconds
        self._bar.print(f"\n{trainer.steps:,} steps in {minutes:.1f} minutes, {rate:,.0f} steps per second")
        results = self._evaluate(self.config.evaluation.final_games, hash_of_weights(final))
        for result in results:
            print(result.table())
        if results:
            self._choose_best(results)
        spec = quoted(f"{final}{self.trainer.options}")
        print(f"final policy: {final}   (play it: patchwork-env evaluate {spec} --against greedy)")

    def _is_finished(self) -> bool:
        """True if :meth:`finish` is complete for these steps; it writes the file of the best policy last."""
        final = self.folder / FINAL
        if not final.is_dir() or read_checkpoint(final).info.get("steps") != self.trainer.steps:
            return False
        return best_file(self.folder).is_file() or not self.config.evaluation.opponents

    def _save(self) -> Path:
        """Write a checkpoint, after the log, which a resumed run does not write again."""
        self._log.sync()
        self._saved = time.monotonic()
        return save_checkpoint(self.folder, self.trainer)

    def _evaluate(self, games: int, weights: str | None = None) -> list[MatchResult]:
        """Play the policy against the fixed opponents, and write the results; see :func:`record`."""
        results = self._matches(self.trainer.agent(), games, self.config.evaluation.seed)
        if results:
            with storing_in(self.folder):
                record(self.folder, self.trainer, results, self._log, weights)
            self.evaluated(results)
        return results

    def _choose_best(self, results: list[MatchResult]) -> None:
        """Measure the candidates again, on new circles or decks, and keep the best one.

        Their ranks in the evaluations are partly luck. If the final policy is the only candidate, its
        ``results`` are kept.
        """
        games, seed = self.config.evaluation.final_games, offset_seed(self.config.evaluation.seed, 1)
        folders = candidates(self.folder, self.config.game)
        measured, among = dict.fromkeys(folders, results), ""
        if len(folders) > 1:
            print(f"measuring {len(folders)} policies again to choose the best", flush=True)
            specs = {steps: f"{folder}{self.trainer.options}" for steps, folder in folders.items()}
            measured = {steps: self._matches(agents.load(spec), games, seed) for steps, spec in specs.items()}
            among = f", the best of {len(folders)} that were measured again"
        with storing_in(self.folder):
            best = choose_best(self.folder, self.config.game, measured)
        rates = ", ".join(f"{result.win_rate:.1%} against {result.opponent}" for result in measured[best])
        print(f"best policy: {self.folder / BEST}   (that of step {best}{among}: {rates})")

    def _matches(self, player: Agent, games: int, seed: int) -> list[MatchResult]:
        settings = {"game": self.config.game, "keep": _SAMPLE_GAMES, **self.config.variant}
        opponents = self.config.evaluation.opponents
        return [play_matches(player, spec, games, seed, **settings) for spec in opponents]

    def _stop(self, interruption: system.Interruption) -> None:
        if interruption.at_once:
            newest = complete_checkpoints(self.folder)[-1]
            how = f"at once by {interruption}: everything after {newest} is lost"
        else:
            how = f"by {interruption}: saved {self._save()}"
        self._bar.print(f"\nstopped {how}\nresume with --resume {quoted(self.folder)}")
