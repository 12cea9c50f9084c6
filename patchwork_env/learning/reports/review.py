"""Judges every move of a game.

The evaluation of a position is what its best move leads to, by one search with the whole budget of the agent.
The loss of a move is the difference between the evaluations before and after it, from the view of the player
who made it: what a graph of the evaluations shows as a step. A move that the search would have played itself
loses nothing, whatever a later search finds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from patchwork_env.agents import Agent, analyse
from patchwork_env.agents.analysis import Analysis
from patchwork_env.games import PATCHWORK
from patchwork_env.learning.reports.review.figures import Name, accuracy, counts, name_of
from patchwork_env.patchwork import Game

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
        player: The player who made the move.
        move: The move in notation.
        best: The move that the agent would have played; ``move`` itself if both lead to alike positions.
        margin_loss: The expected margin that the move lost against the best one, in points.
        win_loss: The probability to win that the move lost against the best one. Both are negative where the
            position turns out better than the best move had seemed.
        name: What a move is called that lost so much of the probability to win, or None.
        cost: Both losses in one number, at least 0: ``win_loss + margin_loss / POINTS``.
        best_line: The line of play that the agent expects, from the best move on.
        played_line: The line of play that the agent expects, from the move that was played on.
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
    """How a player played.

    Attributes:
        accuracy: 0-100, see :func:`~patchwork_env.learning.reports.review.figures.accuracy`; None if the
            player made no move.
        counts: The number of moves of each name.
    """

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
        """The review as plain data, for JSON; docs/evaluation.md describes it."""
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


@dataclass(frozen=True)
class _Opinion:
    """A position with its evaluation and, if the game goes on, its analysis."""

    evaluation: Evaluation
    analysis: Analysis | None

    @property
    def line(self) -> tuple[str, ...]:
        """How the game goes on if both play their best."""
        return self.analysis.best.line if self.analysis else ()

    def values(self, player: int) -> tuple[float, float]:
        """The expected margin of a player, and its probability to win."""
        margin, win = self.evaluation.margin, self.evaluation.win
        return (margin, win) if player == 0 else (-margin, 1 - win)


def review(game: Game, agent: Agent, progress: Callable[[int], object] | None = None) -> Review:
    """Judges all moves of a game by an agent that searches with a learned value.

    Every position takes one search with the budget of the agent. ``progress`` is called with the number of
    moves that were judged since the last call.

    Raises:
        ValueError: The game has no moves, or the agent cannot analyse.
    """
    if not game.history:
        raise ValueError("the game has no moves; there is nothing to review")
    position = game.root()
    opinion = _opinion(position, agent)
    evaluations, verdicts = [opinion.evaluation], []
    for action in game.history:
        move = position.move_text(action)
        position.play(action)
        following = _opinion(position, agent)
        verdicts.append(_verdict(len(evaluations), move, opinion, following))
        evaluations.append(following.evaluation)
        opinion = following
        if progress:
            progress(1)
    return Review(agent.name, game, tuple(evaluations), tuple(verdicts))


def _opinion(game: Game, agent: Agent) -> _Opinion:
    if game.is_over:
        first, second = game.scores()
        return _Opinion(Evaluation(first - second, float(game.winner() == 0), True), None)
    analysis = analyse(game, agent)
    best, sign = analysis.best, 1 if analysis.player == 0 else -1
    win = best.win if analysis.player == 0 else 1 - best.win
    return _Opinion(Evaluation(sign * best.margin, win, best.source == "exact"), analysis)


def _verdict(number: int, move: str, before: _Opinion, after: _Opinion) -> Verdict:
    analysis = before.analysis
    assert analysis is not None  # the game went on
    player, best = analysis.player, analysis.best
    played_line = (move, *after.line)
    if analysis.find(move) is best:
        return Verdict(number, player, move, move, 0.0, 0.0, None, 0.0, played_line, played_line)
    (margin, win), (best_margin, best_win) = after.values(player), before.values(player)
    margin_loss, win_loss = best_margin - margin, best_win - win
    cost = max(0.0, win_loss + margin_loss / POINTS)
    name = name_of(win_loss)
    return Verdict(number, player, move, best.move, margin_loss, win_loss, name, cost, best.line, played_line)
