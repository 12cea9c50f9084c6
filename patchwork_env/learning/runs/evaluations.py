"""The evaluations of a run: files of figures and sample games, metrics, and the best policy."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from patchwork_env.learning.algorithms.common.trainer import Trainer
from patchwork_env.learning.evaluation.gauntlet import rating_metrics
from patchwork_env.learning.evaluation.records import RunEvaluation, read_evaluation, write_evaluation
from patchwork_env.learning.evaluation.results import MatchFigures, MatchResult, sample_games
from patchwork_env.learning.evaluation.runners import AGENT, match_part
from patchwork_env.learning.runs.checkpoints import TRAINER_FILES, write_policy
from patchwork_env.learning.runs.folder import (
    BEST,
    EVALUATIONS,
    best_file,
    checkpoint_folders,
    evaluation_files,
    interval_metrics,
    step_name,
)
from patchwork_env.learning.runs.loggers import Log
from patchwork_env.learning.system import describe_machine

_MOST_CANDIDATES = 3
"""The number of policies besides the final one that are measured again at the end of a run."""


def forget_later(folder: Path, steps: int) -> None:
    """Delete evaluations of later steps, from an earlier attempt, and the best policy that they gave."""
    for number, path in evaluation_files(folder).items():
        if number > steps:
            path.unlink()
    chosen = best_file(folder)
    if chosen.is_file() and read_evaluation(chosen).steps > steps:
        forget_best(folder)


def forget_best(folder: Path) -> None:
    """Delete the best policy of an earlier end, and its evaluation."""
    shutil.rmtree(folder / BEST, ignore_errors=True)
    best_file(folder).unlink(missing_ok=True)


def record(
    folder: Path, trainer: Trainer, results: Sequence[MatchResult], log: Log, weights: str | None = None
) -> None:
    """Write and log the evaluation of the present policy, from its results against every opponent.

    ``weights`` is the SHA-256 of the final policy's file, and None for other policies.
    """
    evaluation = RunEvaluation(
        trainer.steps,
        round(trainer.seconds / 60, 4),
        tuple(result.figures for result in results),
        describe_machine(trainer.device),
        weights,
        tuple(sample for result in results for sample in sample_games(result)),
    )
    for figures in (*map(metrics, results), rating_metrics(results)):
        log.add(figures, trainer.steps, trainer.seconds / 60)
    # The file comes last, because an evaluation that has its file is not repeated.
    log.sync()
    path = folder / EVALUATIONS / f"{step_name(trainer.steps)}.json"
    path.parent.mkdir(exist_ok=True)
    write_evaluation(path, evaluation)


def candidates(folder: Path, game: str) -> dict[int, Path]:
    """Return the checkpoints of the last policy and of the best ones, by their steps.

    The best ones are those of evaluations against the same opponents as the last one.
    """
    metric, checkpoints = match_part(game).metric, checkpoint_folders(folder)
    files = evaluation_files(folder)
    matches = {steps: read_evaluation(files[steps]).matches for steps in files.keys() & checkpoints.keys()}
    opponents = [match.opponent for match in matches[max(matches)]]
    strengths = {
        steps: _strength(found, metric)
        for steps, found in matches.items()
        if [match.opponent for match in found] == opponents
    }
    best = sorted(strengths, key=lambda steps: (-strengths[steps], steps))[:_MOST_CANDIDATES]
    return {steps: checkpoints[steps] for steps in sorted({*best, max(strengths)})}


def choose_best(folder: Path, game: str, measured: Mapping[int, Sequence[MatchResult]]) -> int:
    """Copy the strongest candidate, by matches on new circles or decks, to ``RUN/best``; return its steps."""
    matches = {steps: tuple(result.figures for result in results) for steps, results in measured.items()}
    metric = match_part(game).metric
    best = max(matches, key=lambda steps: _strength(matches[steps], metric))
    evaluation = read_evaluation(evaluation_files(folder)[best])
    checkpoint, ignore = checkpoint_folders(folder)[best], shutil.ignore_patterns(*TRAINER_FILES)
    write_policy(
        folder / BEST, lambda target: shutil.copytree(checkpoint, target, ignore=ignore, dirs_exist_ok=True)
    )
    write_evaluation(best_file(folder), replace(evaluation, matches=matches[best], sample_games=()))
    return best


def metrics(result: MatchResult) -> dict[str, float]:
    """Return the figures of a match as metrics by name."""
    opponent, (low, high) = result.opponent, result.interval
    rate_name, low_name, high_name = interval_metrics(opponent)
    figures = result.means(AGENT) | {
        "score_difference": result.score_difference,
        "turns_per_game": result.figures.turns_per_game,
    }
    named = {f"evaluation_games/{name}_against_{opponent}": value for name, value in figures.items()}
    return {rate_name: result.win_rate, low_name: low, high_name: high} | named


def _strength(matches: Sequence[MatchFigures], metric: str) -> float:
    """Return the mean over opponents of the figure by which policies of a game are compared."""
    return float(np.mean([getattr(match, metric) for match in matches]))
