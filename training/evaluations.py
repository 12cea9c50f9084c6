"""The evaluations of a run: files with figures and sample games, learning curves, and something to look at.

    RUN/evaluations/step_0000655360.json

Each file holds ``format``, ``version``, ``game``, ``algorithm``, ``steps``, ``iteration``, ``minutes``,
``machine``, ``matches``, the ``as_dict`` of the :class:`~training.results.Result` of every opponent, and
``sample_games``: for each of them ``opponent``, ``players``, the names by seat, ``scores``, ``winner``, which
is a seat, and ``notation``; see :mod:`patchwork_env.patchwork.notation`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from patchwork_env.patchwork import Game
from patchwork_env.patchwork.render import MissingExtraError, text
from training.curves import Curves
from training.files import write_text
from training.machine import describe_machine
from training.pictures import picture
from training.results import AGENT, Result
from training.trainer import Trainer

FOLDER = "evaluations"
FORMAT = "patchwork-env evaluation of a run"
VERSION = 1
SAMPLE_GAMES = 2
"""Games that an evaluation keeps of every match: one circle from both seats."""

_SHOWN_GAME = "sample_game"
_NEEDED = ("steps", "minutes", "machine", "matches", "sample_games")


class Evaluations:
    """Keeps the evaluations of a run.

    Args:
        folder: Of the run.
        trainer: Where the run goes on; what an earlier attempt wrote of later steps is dropped.
        curves: The learning curves of the run.
    """

    def __init__(self, folder: Path, trainer: Trainer, curves: Curves) -> None:
        self.folder = folder / FOLDER
        self._curves = curves
        self._draws = True
        for path in self.folder.glob("step_*.json"):
            if path.name > _file_name(trainer.steps):
                path.unlink()
        opponents = trainer.config.evaluation.opponents
        curves.draw_with_bounds({f"games won against {spec}": interval_metrics(spec) for spec in opponents})

    def has(self, steps: int) -> bool:
        """Whether the policy after so many steps has been evaluated."""
        return (self.folder / _file_name(steps)).exists()

    def add(self, trainer: Trainer, results: list[Result]) -> None:
        """Writes the results against all opponents, at the trainer's present step.

        Args:
            trainer: What was evaluated.
            results: Their ``kept`` games become sample games.
        """
        contents = {
            "format": FORMAT,
            "version": VERSION,
            "game": trainer.config.game,
            "algorithm": trainer.config.algorithm,
            "steps": trainer.steps,
            "iteration": trainer.iteration,
            "minutes": round(trainer.seconds / 60, 4),
            "machine": describe_machine(trainer.config.device),
            "matches": [result.as_dict() for result in results],
            "sample_games": [sample for result in results for sample in sample_games(result)],
        }
        for result in results:
            self._curves.add(trainer, metrics(result))
        if any(result.kept for result in results):
            self._show_game(trainer.steps, min(results, key=lambda result: result.win_rate))
        # The file comes last: an evaluation that has it is not repeated.
        self.folder.mkdir(exist_ok=True)
        write_text(self.folder / _file_name(trainer.steps), json.dumps(contents, indent=1) + "\n")

    def _show_game(self, steps: int, result: Result) -> None:
        """Shows a game of the match that the policy won least of."""
        game, names = result.kept[0], _players(result, 0)
        self._curves.add_text(_SHOWN_GAME, _as_markdown(game, names), steps)
        if not self._draws:
            return
        try:
            self._curves.add_picture(_SHOWN_GAME, picture(game, names), steps)
        except MissingExtraError as error:
            self._draws = False
            print(f"\nTensorBoard shows sample games as text only: {error}", flush=True)


def metrics(result: Result) -> dict[str, float]:
    """The figures of a match as metrics by name."""
    opponent, (low, high) = result.opponent, result.interval
    rate_name, low_name, high_name = interval_metrics(opponent)
    figures = result.means(AGENT) | {
        "score_difference": result.score_difference,
        "turns_per_game": float(result.games.turns.sum(1).mean()),
    }
    named = {f"evaluation_games/{name}_against_{opponent}": value for name, value in figures.items()}
    return {rate_name: result.win_rate, low_name: low, high_name: high} | named


def interval_metrics(opponent: str) -> tuple[str, str, str]:
    """The names of the win rate and of the bounds of its 95% interval."""
    names = ("win_rate", "win_rate_low", "win_rate_high")
    rate, low, high = (f"evaluation/{name}_against_{opponent}" for name in names)
    return rate, low, high


def sample_games(result: Result) -> list[dict[str, Any]]:
    """The games that a result kept, as plain data."""
    return [
        {
            "opponent": result.opponent,
            "players": list(_players(result, i)),
            "scores": list(game.scores()),
            "winner": game.winner(),
            "notation": game.notation(),
        }
        for i, game in enumerate(result.kept)
    ]


def read_evaluations(folder: Path) -> list[dict[str, Any]]:
    """The evaluations of a run by their steps; none if there are none yet.

    Args:
        folder: Of the run.

    Raises:
        ValueError: A file is damaged or of another version; the message names it.
    """
    return [_read(path) for path in sorted((folder / FOLDER).glob("step_*.json"))]


def _read(path: Path) -> dict[str, Any]:
    try:
        contents = json.loads(path.read_text(encoding="utf-8"))
        found = contents["format"], contents["version"]
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} is damaged: {error!r}") from None
    if found != (FORMAT, VERSION):
        raise ValueError(f"{path} is {found[0]!r}, version {found[1]!r}; this needs {FORMAT!r}, {VERSION}")
    missing = [key for key in _NEEDED if key not in contents]
    if missing:
        raise ValueError(f"{path} is damaged: it holds no {', '.join(missing)}")
    return contents


def _file_name(steps: int) -> str:
    return f"step_{steps:010d}.json"


def _players(result: Result, i: int) -> tuple[str, str]:
    """The names of the players of game ``i`` by seat."""
    agent, opponent = result.agent, result.opponent
    return (agent, opponent) if result.games.seats[i] == 0 else (opponent, agent)


def _as_markdown(game: Game, names: tuple[str, str]) -> str:
    title = f"{names[0]} (player 0) against {names[1]} (player 1), scores {game.scores()}"
    return f"{title}\n\n```\n{text(game)}\n```\n\n```\n{game.notation()}```\n"
