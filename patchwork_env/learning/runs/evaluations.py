"""The evaluations of a run: a file with figures and sample games for each, metrics, and a picture."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from patchwork_env.core.documents import read_object
from patchwork_env.core.files import make_folder
from patchwork_env.core.game import BaseGame
from patchwork_env.errors import MissingExtraError
from patchwork_env.learning.algorithms.common.trainer import Trainer
from patchwork_env.learning.evaluation.gauntlet import rating_metrics
from patchwork_env.learning.evaluation.records import read_evaluation, write_evaluation
from patchwork_env.learning.evaluation.results import MatchResult, picture, players_of, sample_games
from patchwork_env.learning.evaluation.runners import AGENT, runner_of
from patchwork_env.learning.runs.checkpoints import write_policy
from patchwork_env.learning.runs.folder import (
    BEST,
    best_file,
    candidate_folder,
    candidate_folders,
    evaluation_file,
    evaluation_files,
    interval_metrics,
    steps_of,
)
from patchwork_env.learning.runs.loggers import Log
from patchwork_env.learning.system.machine import describe_machine

SAMPLE_GAMES = 2
"""Number of games that an evaluation keeps of every match: in Patchwork one circle from both seats."""

_MOST_CANDIDATES = 3
"""Number of policies, the best ones by all evaluations, that are kept to be measured again."""
_SHOWN_GAME = "sample_game"


def forget_later(folder: Path, steps: int) -> None:
    """Deletes evaluations and policies of a run that are of later steps, from an earlier attempt."""
    for path in evaluation_files(folder):
        if (steps_of(path) or 0) > steps:
            path.unlink()
    for path in candidate_folders(folder):
        if (steps_of(path) or 0) > steps:
            shutil.rmtree(path)
    chosen = best_file(folder)
    if chosen.is_file() and read_evaluation(chosen).steps > steps:
        shutil.rmtree(folder / BEST, ignore_errors=True)
        chosen.unlink()


def record(
    folder: Path, trainer: Trainer, results: Sequence[MatchResult], log: Log, weights: str | None = None
) -> Path:
    """Writes and logs the evaluation of the present policy; returns the file.

    The policy is kept as a candidate if it is among the best, or the final one.

    ``results`` are those against every opponent; the games that each has ``kept`` are stored as samples.
    ``weights`` is the SHA-256 of the final policy's file of weights, None for another policy.
    """
    contents = {
        "game": trainer.config.game,
        "algorithm": trainer.config.algorithm,
        "steps": trainer.steps,
        "iteration": trainer.iteration,
        "minutes": round(trainer.seconds / 60, 4),
        "machine": describe_machine(trainer.config.device),
        **({} if weights is None else {"weights": weights}),
        "matches": [result.as_dict() for result in results],
        "sample_games": [sample for result in results for sample in sample_games(result)],
    }
    earlier = evaluation_files(folder)
    for found in (*map(metrics, results), rating_metrics(results)):
        log.add(found, trainer.steps, trainer.seconds / 60)
    if any(result.kept for result in results):
        _show_game(log, trainer.steps, min(results, key=lambda result: result.win_rate), not earlier)
    # The file comes last, for an evaluation that has its file is not repeated.
    log.sync()
    metric = runner_of(trainer.config.game).metric
    strengths = {
        one.steps: float(np.mean([match.metric(metric) for match in one.matches]))
        for one in map(read_evaluation, earlier)
    }
    strengths[trainer.steps] = _strength(results)
    best = sorted(strengths, key=lambda steps: (-strengths[steps], steps))[:_MOST_CANDIDATES]
    if trainer.steps in best or weights is not None:
        best.append(trainer.steps)
        write_policy(candidate_folder(folder, trainer.steps), trainer.write_policy)
    path = evaluation_file(folder, trainer.steps)
    make_folder(path.parent)
    write_evaluation(path, contents)
    for candidate in candidate_folders(folder):
        if steps_of(candidate) not in best:
            shutil.rmtree(candidate)
    return path


def choose_best(folder: Path, measured: Mapping[Path, Sequence[MatchResult]]) -> Path:
    """Makes the strongest of the candidates, by matches on fresh circles or decks, ``RUN/best``.

    ``measured`` has the results of each by its folder. Returns that of the strongest.
    """
    best = max(measured, key=lambda candidate: _strength(measured[candidate]))
    contents = read_object(evaluation_file(folder, steps_of(best) or 0), finite=False)
    contents |= {"matches": [result.as_dict() for result in measured[best]], "sample_games": []}
    write_policy(folder / BEST, lambda target: shutil.copytree(best, target, dirs_exist_ok=True))
    write_evaluation(best_file(folder), contents)
    return best


def _show_game(log: Log, steps: int, result: MatchResult, is_first: bool) -> None:
    """Logs a game against an opponent, as text and as a picture."""
    game, names = result.kept[0], players_of(result, 0)
    log.add_text(_SHOWN_GAME, _as_markdown(game, names), steps)
    try:
        log.add_picture(_SHOWN_GAME, picture(game, names), steps)
    except MissingExtraError as error:
        if is_first:
            print(f"\nTensorBoard shows sample games as text only: {error}", flush=True)


def metrics(result: MatchResult) -> dict[str, float]:
    """The figures of a match as metrics by name."""
    opponent, (low, high) = result.opponent, result.interval
    rate_name, low_name, high_name = interval_metrics(opponent)
    figures = result.means(AGENT) | {
        "score_difference": result.score_difference,
        "turns_per_game": float(result.games.turns.sum(1).mean()),
    }
    named = {f"evaluation_games/{name}_against_{opponent}": value for name, value in figures.items()}
    return {rate_name: result.win_rate, low_name: low, high_name: high} | named


def conclusion(results: Sequence[MatchResult]) -> dict[str, float | str]:
    """What the last evaluation of a run says of it, by name: win rates with their intervals, and scores."""
    figures: dict[str, float | str] = {}
    for result in results:
        rates = zip(interval_metrics(result.opponent), (result.win_rate, *result.interval), strict=True)
        figures |= {name.removeprefix("evaluation/"): rate for name, rate in rates}
        figures[f"score_against_{result.opponent}"] = result.means(AGENT)["score"]
    return figures


def _strength(results: Sequence[MatchResult]) -> float:
    """What policies are compared by: the mean win rate, or the mean score where the sides do not interact."""
    return float(np.mean([result.metric for result in results]))


def _as_markdown(game: BaseGame, names: tuple[str, str]) -> str:
    title = f"{names[0]} (player 0) against {names[1]} (player 1), scores {game.scores()}"
    return f"{title}\n\n```\n{game}\n```\n\n```\n{game.notation()}```\n"
