"""The evaluations of a run: a file with figures and sample games for each, and metrics."""

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
from patchwork_env.learning.runs.checkpoints import write_policy
from patchwork_env.learning.runs.folder import (
    BEST,
    CANDIDATES,
    EVALUATIONS,
    best_file,
    candidate_folders,
    evaluation_files,
    interval_metrics,
    step_name,
)
from patchwork_env.learning.runs.loggers import Log
from patchwork_env.learning.system import describe_machine

_MOST_CANDIDATES = 3
"""The number of policies that are kept to be measured again, the best ones by all evaluations."""


def forget_later(folder: Path, steps: int) -> None:
    """Delete evaluations and policies of later steps, from an earlier attempt."""
    for number, path in evaluation_files(folder).items():
        if number > steps:
            path.unlink()
    for number, path in candidate_folders(folder).items():
        if number > steps:
            shutil.rmtree(path)
    chosen = best_file(folder)
    if chosen.is_file() and read_evaluation(chosen).steps > steps:
        _forget_best(folder)


def _forget_best(folder: Path) -> None:
    shutil.rmtree(folder / BEST, ignore_errors=True)
    best_file(folder).unlink(missing_ok=True)


def record(
    folder: Path, trainer: Trainer, results: Sequence[MatchResult], log: Log, weights: str | None = None
) -> None:
    """Write and log the evaluation of the present policy, from its results against every opponent.

    The policy is kept as a candidate if it is among the best, or the final one. ``weights`` is the SHA-256 of
    the final policy's file, and None for other policies.
    """
    evaluation = RunEvaluation(
        trainer.steps,
        round(trainer.seconds / 60, 4),
        tuple(result.figures for result in results),
        describe_machine(trainer.device),
        weights,
        tuple(sample for result in results for sample in sample_games(result)),
    )
    earlier = evaluation_files(folder)
    for figures in (*map(metrics, results), rating_metrics(results)):
        log.add(figures, trainer.steps, trainer.seconds / 60)
    # The file comes last, because an evaluation that has its file is not repeated.
    log.sync()
    metric = match_part(trainer.config.game).metric
    strengths = {steps: _strength(read_evaluation(path).matches, metric) for steps, path in earlier.items()}
    strengths[trainer.steps] = _strength(evaluation.matches, metric)
    best = sorted(strengths, key=lambda steps: (-strengths[steps], steps))[:_MOST_CANDIDATES]
    if trainer.steps in best or weights is not None:
        best.append(trainer.steps)
        write_policy(folder / CANDIDATES / step_name(trainer.steps), trainer.write_policy)
    if weights is not None:
        _forget_best(folder)  # that of an earlier end, which was chosen without this policy
    path = folder / EVALUATIONS / f"{step_name(trainer.steps)}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_evaluation(path, evaluation)
    for steps, candidate in candidate_folders(folder).items():
        if steps not in best:
            shutil.rmtree(candidate)


def choose_best(folder: Path, measured: Mapping[int, Sequence[MatchResult]]) -> int:
    """Copy the strongest candidate, by matches on fresh set-ups, to ``RUN/best``; return its steps."""
    matches = {steps: tuple(result.figures for result in results) for steps, results in measured.items()}
    metric = next(iter(measured.values()))[0].part.metric
    best = max(matches, key=lambda steps: _strength(matches[steps], metric))
    evaluation = read_evaluation(evaluation_files(folder)[best])
    candidate = candidate_folders(folder)[best]
    write_policy(folder / BEST, lambda target: shutil.copytree(candidate, target, dirs_exist_ok=True))
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
