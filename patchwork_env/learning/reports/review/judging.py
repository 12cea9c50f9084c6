"""Judges every move of a game.

The evaluation of a position is what its best move leads to. The cost of a move comes from two searches with
the same budget, one of the position after the best move and one of that after the move played: a search of
the position before both would spend far more simulations on its best move than on any other. If the position
after the played move is found to be the better one, the move costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from patchwork_env.agents import Agent, analyse
from patchwork_env.agents.analysis import Analysis
from patchwork_env.games import PATCHWORK
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
        win_loss: The probability to win that the move lost against the best one.
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
    cost: float
    best_line: tuple[str, ...]
    played_line: tuple[str, ...]


@dataclass(frozen=True)
class Review:
    """A game, finished or not, that an agent judged: all positions, the last one too, and all moves."""

    agent: str
    game: Game
    evaluations: tuple[Evaluation, ...]
    verdicts: tuple[Verdict, ...]

    def mistakes(self, player: int, most: int) -> list[Verdict]:
        """The moves of a player that cost anything, at most ``most`` of them, the costliest first."""
        moves = [verdict for verdict in self.verdicts if verdict.player == player and verdict.cost > 0]
        return sorted(moves, key=lambda verdict: -verdict.cost)[:most]

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
        }


@dataclass(frozen=True)
class _Opinion:
    """A position with its evaluation and, if the game goes on, its analysis."""

    game: Game
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

    Every move takes one or two searches, each with the budget of the agent. ``progress`` is called with the
    number of moves that were judged since the last call.

    Raises:
        ValueError: The game has no moves, or the agent cannot analyse.
    """
    if not game.history:
        raise ValueError("the game has no moves; there is nothing to review")
    opinion = _opinion(game.root(), agent)
    evaluations, verdicts = [opinion.evaluation], []
    for action in game.history:
        after = opinion.game.clone()
        after.play(action)
        following = _opinion(after, agent)
        verdicts.append(_verdict(opinion, action, following, agent))
        evaluations.append(following.evaluation)
        opinion = following
        if progress:
            progress(1)
    return Review(agent.name, game, tuple(evaluations), tuple(verdicts))


def _opinion(game: Game, agent: Agent) -> _Opinion:
    if game.is_over:
        first, second = game.scores()
        return _Opinion(game, Evaluation(first - second, float(game.winner() == 0), True), None)
    analysis = analyse(game, agent)
    best, sign = analysis.best, 1 if analysis.player == 0 else -1
    win = best.win if analysis.player == 0 else 1 - best.win
    return _Opinion(game, Evaluation(sign * best.margin, win, best.source == "exact"), analysis)


def _verdict(before: _Opinion, action: int, played: _Opinion, agent: Agent) -> Verdict:
    game, analysis = before.game, before.analysis
    assert analysis is not None  # the game went on
    number, player, move = len(game.history) + 1, game.current_player, game.move_text(action)
    played_line = (move, *played.line)
    if analysis.find(move) is analysis.best:
        return Verdict(number, player, move, move, 0.0, 0.0, 0.0, played_line, played_line)
    after = game.clone()
    after.play(analysis.best.action)
    better = _opinion(after, agent)
    (margin, win), (best_margin, best_win) = played.values(player), better.values(player)
    margin_loss, win_loss = best_margin - margin, best_win - win
    cost = max(0.0, win_loss + margin_loss / POINTS)
    best_line = (analysis.best.move, *better.line)
    return Verdict(
        number, player, move, analysis.best.move, margin_loss, win_loss, cost, best_line, played_line
    )
