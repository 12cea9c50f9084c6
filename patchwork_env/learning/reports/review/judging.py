"""Judges every move of a game.

The evaluation of a position is what its best move leads to. What a move costs is told by two searches with
the same budget, of the position that the best move leads to and of that after the move played: a search of
the position before would judge its best move by far more simulations than any other. If they like the played
move better, it costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from patchwork_env.agents import Agent, analyse
from patchwork_env.agents.analysis import Analysis
from patchwork_env.games import PATCHWORK
from patchwork_env.learning.evaluation.sample_games import position_after
from patchwork_env.patchwork import Game

FORMAT = "patchwork-env review"
VERSION = 1
POINTS = 80
"""What a win instead of a loss weighs, in points of margin, if the cost of a move is told in one number."""


@dataclass(frozen=True)
class Evaluation:
    """What a position is worth.

    Attributes:
        margin: Expected final margin of player 0, in points.
        win: Probability that player 0 wins, 0-1.
        exact: Whether the game is over, or its ending solved.
    """

    margin: float
    win: float
    exact: bool


@dataclass(frozen=True)
class Verdict:
    """What a move of a game was worth.

    Attributes:
        number: The number of the move, from 1.
        player: The player who made the move.
        move: The move in notation.
        best: The move that the agent would have played; ``move`` itself where that is alike.
        margin_loss: How much expected margin the move lost against the best one, in points.
        win_loss: How much probability to win it lost.
        cost: Both together: ``win_loss``, plus 1 for each :data:`POINTS` of ``margin_loss``; at least 0.
        best_line: What the agent expects from the best move on.
        played_line: What it expects from the move that was played on.
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
    """A game with what an agent thinks of it.

    Attributes:
        agent: The name of the agent.
        game: The game, finished or not.
        evaluations: The evaluation of every position, from the first to the last one.
        verdicts: The verdict on every move.
    """

    agent: str
    game: Game
    evaluations: tuple[Evaluation, ...]
    verdicts: tuple[Verdict, ...]

    def mistakes(self, player: int, most: int) -> list[Verdict]:
        """The moves of a player that cost anything, the costliest first."""
        moves = [verdict for verdict in self.verdicts if verdict.player == player and verdict.cost > 0]
        return sorted(moves, key=lambda verdict: -verdict.cost)[:most]

    def as_dict(self) -> dict[str, Any]:
        """The contents of the JSON file."""
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
        """Expected margin, and probability to win, of a player."""
        margin, win = self.evaluation.margin, self.evaluation.win
        return (margin, win) if player == 0 else (-margin, 1 - win)


def review(game: Game, agent: Agent, progress: Callable[[int], object] | None = None) -> Review:
    """Judges all moves of a game.

    Args:
        game: Has at least one move in its history.
        agent: Any search with a learned value; its budget is that of each search, of which every move takes
            one or two.
        progress: Called with the number of moves judged since the last call.

    Raises:
        ValueError: The game has no moves, or the agent cannot analyse.
    """
    if not game.history:
        raise ValueError("the game has no moves; there is nothing to review")
    opinion = _opinion(position_after(game, 0), agent)
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
