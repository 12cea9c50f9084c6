"""Reviews of games that were played: who was ahead when, and which moves cost most, judged by an agent.

The evaluation of a position is what its best move leads to, by one search with the whole budget of the agent.
The loss of a move is the difference between the evaluations before and after it, from the view of the player
who made it: what a graph of the evaluations shows as a step. A move that the search would have played itself
loses nothing, whatever a later search finds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from patchwork_env.agents import Agent, analyse
from patchwork_env.agents.analysis import Analysis
from patchwork_env.core.documents import read_text
from patchwork_env.games import PATCHWORK, rules_of
from patchwork_env.patchwork import Game
from patchwork_env.service import positions

Name = Literal["inaccuracy", "mistake", "blunder"]
NAMES: dict[Name, float] = {"inaccuracy": 0.05, "mistake": 0.1, "blunder": 0.2}
"""What moves are called that lose at least so much of the probability to win, the mildest first."""

_PLURALS: dict[Name, str] = {"inaccuracy": "inaccuracies", "mistake": "mistakes", "blunder": "blunders"}
_LEAST_ACCURACY = 1.0
"""The accuracy that a move has at least in the harmonic mean, which a single 0 would bring to 0."""

FORMAT = "patchwork-env review"
VERSION = 1
POINTS = 80
"""In the cost of a move, so many points of margin weigh as much as a win instead of a loss."""


@dataclass(frozen=True)
class Evaluation:
    """The final margin that player 0 may expect, in points, and the probability that player 0 wins.

    They are exact if the game is over or its ending is solved.
    """

    margin: float
    win: float
    exact: bool


@dataclass(frozen=True)
class Verdict:
    """The judgement of a move.

    Attributes:
        number: The number of the move, from 1.
        best: The move that the agent would have played; ``move`` itself if both lead to alike positions.
        margin_loss, win_loss: The expected margin and the probability to win that the move lost against the
            best one; negative where the position turns out better than the best move had seemed.
        name: The name of so large a loss of the probability to win, or None.
        cost: Both losses in one number, at least 0: ``win_loss + margin_loss / POINTS``.
        best_line, played_line: The lines of play that the agent expects, from either move on.
    """

    number: int
    player: int
    move: str
    best: str
    margin_loss: float
    win_loss: float
    name: Name | None
    cost: float
    best_line: tuple[str, ...]
    played_line: tuple[str, ...]


@dataclass(frozen=True)
class Side:
    """How a player played: the :func:`accuracy`, None without any move, and how many moves have each name."""

    accuracy: float | None
    counts: dict[Name, int]


@dataclass(frozen=True)
class Review:
    """A game, finished or not, that an agent judged: all positions, the last one too, and all moves."""

    agent: str
    game: Game
    evaluations: tuple[Evaluation, ...]
    verdicts: tuple[Verdict, ...]

    def __repr__(self) -> str:
        return f"<Review of {self.game!r} by {self.agent}>"

    def mistakes(self, player: int, most: int) -> list[Verdict]:
        """The moves of a player that cost anything, at most ``most`` of them, the costliest first."""
        moves = [verdict for verdict in self.verdicts if verdict.player == player and verdict.cost > 0]
        return sorted(moves, key=lambda verdict: -verdict.cost)[:most]

    def side(self, player: int) -> Side:
        """How a player played."""
        losses = [verdict.win_loss for verdict in self.verdicts if verdict.player == player]
        return Side(accuracy(losses), counts(losses))

    def as_dict(self) -> dict[str, Any]:
        """The review as plain data, for JSON; docs/reference/formats.md describes it."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "game": PATCHWORK,
            "agent": self.agent,
            "notation": self.game.notation(),
            "scores": self.game.scores() if self.game.is_over else None,
            "winner": self.game.winner(),
            "evaluations": [asdict(evaluation) for evaluation in self.evaluations],
            "moves": [asdict(verdict) for verdict in self.verdicts],
            "players": [asdict(self.side(player)) for player in (0, 1)],
        }


def review(game: Game, agent: Agent, progress: Callable[[int], object] | None = None) -> Review:
    """Judges all moves of a game by an agent that searches with a learned value, once for every position.

    ``progress`` is called with the number of moves that were judged since the last call. ValueError: the game
    has no moves, or the agent cannot analyse.
    """
    if not game.history:
        raise ValueError("the game has no moves; there is nothing to review")
    position = game.root()
    evaluation, analysis = _evaluate(position, agent)
    evaluations, verdicts = [evaluation], []
    for action in game.history:
        move = position.move_text(action)
        position.play(action)
        assert analysis is not None  # the game went on
        before, (evaluation, following) = analysis, _evaluate(position, agent)
        played_line = (move, *(following.best.line if following else ()))
        verdicts.append(_judge(move, before, played_line, evaluations[-1], evaluation, len(evaluations)))
        evaluations.append(evaluation)
        analysis = following
        if progress:
            progress(1)
    return Review(agent.name, game, tuple(evaluations), tuple(verdicts))


def _evaluate(game: Game, agent: Agent) -> tuple[Evaluation, Analysis | None]:
    """The evaluation of a position and, if the game goes on, its analysis."""
    if game.is_over:
        first, second = game.scores()
        return Evaluation(first - second, float(game.winner() == 0), True), None
    analysis = analyse(game, agent)
    best = analysis.best
    return Evaluation(*_of_player(analysis.player, best.margin, best.win), best.source == "exact"), analysis


def _of_player(player: int, margin: float, win: float) -> tuple[float, float]:
    """A margin and a probability to win from the view of player 0, from that of a player, or back."""
    return (margin, win) if player == 0 else (-margin, 1 - win)


def _judge(
    move: str,
    analysis: Analysis,
    played_line: tuple[str, ...],
    before: Evaluation,
    after: Evaluation,
    number: int,
) -> Verdict:
    player, best = analysis.player, analysis.best
    if analysis.find(move) is best:
        return Verdict(number, player, move, move, 0.0, 0.0, None, 0.0, played_line, played_line)
    best_margin, best_win = _of_player(player, before.margin, before.win)
    margin, win = _of_player(player, after.margin, after.win)
    margin_loss, win_loss = best_margin - margin, best_win - win
    cost = max(0.0, win_loss + margin_loss / POINTS)
    name = name_of(win_loss)
    return Verdict(number, player, move, best.move, margin_loss, win_loss, name, cost, best.line, played_line)


# --- names of losses, and accuracy --------------------------------------------------------------------------
# A loss is the probability to win that a move took from the player who made it, 0-1. The page of
# ``patchwork-env play`` has the same figures, in ``page/js/analysis/review.js``; a test compares both.


def name_of(loss: float) -> Name | None:
    """The name of a loss; None if it is less than an inaccuracy."""
    reached: list[Name] = [name for name, least in NAMES.items() if loss >= least]
    return reached[-1] if reached else None


def counts(losses: Sequence[float]) -> dict[Name, int]:
    """How many moves have each name."""
    names = [name_of(loss) for loss in losses]
    return {name: names.count(name) for name in NAMES}


def counts_text(counted: dict[Name, int]) -> str:
    """Counts in words."""
    return ", ".join(f"{n} {name if n == 1 else _PLURALS[name]}" for name, n in counted.items())


def accuracy(losses: Sequence[float]) -> float | None:
    """How well a player played, 0-100, from the losses of all its moves; None without any.

    The mean of two means of the moves' accuracies: of the arithmetic one, in which every move counts the
    same, and of the harmonic one, which a single blunder lowers much.
    """
    if not losses:
        return None
    accuracies = [move_accuracy(loss) for loss in losses]
    arithmetic = math.fsum(accuracies) / len(accuracies)
    harmonic = len(accuracies) / math.fsum(1 / max(one, _LEAST_ACCURACY) for one in accuracies)
    return (arithmetic + harmonic) / 2


def move_accuracy(loss: float) -> float:
    """The accuracy of a move, 0-100, by the formula of lichess: https://lichess.org/page/accuracy."""
    if loss <= 0:
        return 100.0
    return max(0.0, 103.1668 * math.exp(-4.354 * loss) - 3.1669)


def read_game(path: Path) -> Game:
    """Reads a game in notation; ValueError names a file with another content, and the first wrong move."""
    text = read_text(path)
    try:
        game = positions.read_game(text)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    if not isinstance(game, Game):
        title = rules_of(game.state).title
        raise ValueError(f"{path} holds a game of {title}; games of Patchwork alone can be reviewed")
    return game
