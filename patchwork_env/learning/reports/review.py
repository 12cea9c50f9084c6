"""Reviews of games by an agent: evaluations of all positions, and the costliest moves.

The evaluation of a position is that of its best move, by one search with the whole budget of the agent.
The loss of a move is the difference between the evaluations before and after it, for the player who made it;
a move that the search would have played loses nothing, even if a later search disagrees.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from markupsafe import Markup

from patchwork_env.agents import Agent, analyse
from patchwork_env.agents.analysis import Analysis
from patchwork_env.core.names import aligned, counted
from patchwork_env.drawing import player_names, to_svg
from patchwork_env.games import PATCHWORK, rules_of
from patchwork_env.learning.evaluation.results import position_after
from patchwork_env.learning.evaluation.statistics import Curve
from patchwork_env.learning.reports import charts
from patchwork_env.learning.reports.charts import Series, render
from patchwork_env.patchwork import Game
from patchwork_env.patchwork.render import PICTURES, mark_move, svg, table
from patchwork_env.service import positions

Name = Literal["inaccuracy", "mistake", "blunder"]
NAMES: dict[Name, float] = {"inaccuracy": 0.05, "mistake": 0.1, "blunder": 0.2}
"""The least loss of the probability to win for each name of a move, ascending."""

_PLURALS: dict[Name, str] = {"inaccuracy": "inaccuracies", "mistake": "mistakes", "blunder": "blunders"}
_LEAST_ACCURACY = 1.0
"""The least accuracy of a move in the harmonic mean, which would be 0 with a single 0."""

FORMAT = "patchwork-env review"
VERSION = 1
POINTS = 80  # in the cost of a move, this margin in points counts as much as the whole game

MOST_MISTAKES = 5  # the number of mistakes of each player that the tables, the page and the picture show
_MOST_WORDS = 8
BEST, PLAYED = "#1d6fd1", "#d0263b"
"""The colors of the best move and of the one that was played, on the board."""
_INSET = 6
"""The distance from the line around the best move to that around the played one, in units of the scene."""
_LONGEST = 30  # the number of moves of a line of play that the page shows


@dataclass(frozen=True)
class PositionEvaluation:
    """The final margin in points and the probability to win that player 0 may expect, exact near the end."""

    margin: float
    win: float
    exact: bool


@dataclass(frozen=True)
class Verdict:
    """The judgement of a move."""

    number: int  # the number of the move, from 1
    player: int
    move: str
    best: str  # the agent's move; `move` itself if both lead to equivalent positions
    margin_loss: float  # against the best move, in points; may be negative
    win_loss: float  # the same of the probability to win
    name: Name | None  # for the size of `win_loss`; None for a small one
    cost: float  # both losses in one number, at least 0: `win_loss + margin_loss / POINTS`
    best_line: tuple[str, ...]  # the expected line from the best move on
    played_line: tuple[str, ...]  # the expected line from the played move on


@dataclass(frozen=True)
class Side:
    """A player's :func:`accuracy`, None without any move, and the number of moves with each name."""

    accuracy: float | None
    counts: dict[Name, int]


@dataclass(frozen=True)
class Review:
    """An agent's judgement of a game, finished or not: of all positions and all moves."""

    agent: str
    game: Game
    evaluations: tuple[PositionEvaluation, ...]
    verdicts: tuple[Verdict, ...]

    def __repr__(self) -> str:
        return f"<Review of {self.game!r} by {self.agent}>"

    def mistakes(self, player: int, most: int) -> list[Verdict]:
        """Return the moves of a player that cost anything, at most ``most`` of them, the costliest first."""
        moves = [verdict for verdict in self.verdicts if verdict.player == player and verdict.cost > 0]
        return sorted(moves, key=lambda verdict: -verdict.cost)[:most]

    def side(self, player: int) -> Side:
        """Return a player's accuracy and counts."""
        losses = [verdict.win_loss for verdict in self.verdicts if verdict.player == player]
        return Side(accuracy(losses), counts(losses))

    def as_dict(self) -> dict[str, Any]:
        """Return the review as plain data, for JSON; docs/reference/formats.md describes it."""
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
    """Judge all moves of a game by an agent that searches with a learned value, once for every position.

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


def _evaluate(game: Game, agent: Agent) -> tuple[PositionEvaluation, Analysis | None]:
    if game.is_over:
        first, second = game.scores()
        return PositionEvaluation(first - second, float(game.winner() == 0), True), None
    analysis = analyse(game, agent)
    figures = _of_player(analysis.player, analysis.margin, analysis.win)
    return PositionEvaluation(*figures, analysis.best.source == "exact"), analysis


def _of_player(player: int, margin: float, win: float) -> tuple[float, float]:
    """Return a margin and a probability to win from the view of player 0, from that of a player, or back."""
    return (margin, win) if player == 0 else (-margin, 1 - win)


def _judge(
    move: str,
    analysis: Analysis,
    played_line: tuple[str, ...],
    before: PositionEvaluation,
    after: PositionEvaluation,
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
    """Return the name of a loss; None if it is less than an inaccuracy."""
    reached: list[Name] = [name for name, least in NAMES.items() if loss >= least]
    return reached[-1] if reached else None


def counts(losses: Sequence[float]) -> dict[Name, int]:
    """Return the number of moves with each name."""
    names = [name_of(loss) for loss in losses]
    return {name: names.count(name) for name in NAMES}


def counts_text(counted: dict[Name, int]) -> str:
    """Return the counts in words."""
    return ", ".join(f"{n} {name if n == 1 else _PLURALS[name]}" for name, n in counted.items())


def accuracy(losses: Sequence[float]) -> float | None:
    """Return a player's accuracy, 0-100, from the losses of all its moves; None without any.

    The mean of the arithmetic mean of the moves' accuracies, in which every move counts the same, and of the
    harmonic one, which a single blunder lowers much.
    """
    if not losses:
        return None
    accuracies = [move_accuracy(loss) for loss in losses]
    arithmetic = math.fsum(accuracies) / len(accuracies)
    harmonic = len(accuracies) / math.fsum(1 / max(one, _LEAST_ACCURACY) for one in accuracies)
    return (arithmetic + harmonic) / 2


def move_accuracy(loss: float) -> float:
    """Return the accuracy of a move, 0-100, by the formula of lichess: https://lichess.org/page/accuracy."""
    if loss <= 0:
        return 100.0
    return max(0.0, 103.1668 * math.exp(-4.354 * loss) - 3.1669)


def read_game(path: Path) -> Game:
    """Read a game in notation; ValueError names a file with another content, and the first wrong move."""
    game = positions.read_game_file(path)
    if not isinstance(game, Game):
        title = rules_of(game.state).title
        raise ValueError(f"{path} holds a game of {title}; only games of Patchwork can be reviewed")
    return game


# --- as text ------------------------------------------------------------------------------------------------


def text(review: Review) -> str:
    """Return the moves with their effects, then the costliest mistakes of each player."""
    parts = [f"{headline(review)}; judged by {review.agent}", "", *_moves(review)]
    for player in (0, 1):
        parts += ["", summary(review, player), *_mistakes(review.mistakes(player, MOST_MISTAKES))]
    return "\n".join(parts)


def headline(review: Review) -> str:
    """Return the length and the result of the game in words."""
    game = review.game
    scores = game.scores()
    end = "not finished"
    if (winner := game.winner()) is not None:
        end = f"player {winner} won {scores[winner]} to {scores[1 - winner]}"
    return f"{counted(len(review.verdicts), 'move')}, {end}"


def summary(review: Review, player: int) -> str:
    """Return a player's accuracy and counts in words."""
    side = review.side(player)
    if side.accuracy is None:
        return f"player {player}: no moves"
    return f"player {player}: accuracy {side.accuracy:.0f}%, {counts_text(side.counts)}"


def line_text(words: Sequence[str], most: int = _MOST_WORDS) -> str:
    """Return the first moves of a line of play as text."""
    return " ".join(words[:most]) + (" ..." if len(words) > most else "")


def loss_texts(verdict: Verdict) -> tuple[str, str]:
    """Return the losses of margin and probability to win as text, with signs unless they round to 0."""
    margin, win = (round(-loss, 1) for loss in (verdict.margin_loss, 100 * verdict.win_loss))
    return f"{margin:+.1f}" if margin else "0.0", f"{win:+.1f}%" if win else "0.0%"


def _moves(review: Review) -> list[str]:
    rows: list[tuple[str, ...]] = [("", "player", "move", "margin", "win", "", "lost", "", "", "best")]
    first = review.evaluations[0]
    rows.append(("", "", "", f"{first.margin:+.1f}", f"{first.win:.1%}", *("",) * 5))
    for verdict, evaluation in zip(review.verdicts, review.evaluations[1:], strict=True):
        is_costly = verdict.cost > 0
        losses = (*loss_texts(verdict), verdict.name or "", verdict.best) if is_costly else ("",) * 4
        exact = "exact" if evaluation.exact else ""
        figures = f"{evaluation.margin:+.1f}", f"{evaluation.win:.1%}", exact
        rows.append((str(verdict.number), str(verdict.player), verdict.move, *figures, *losses))
    return ["margin and win: of player 0, after the move", *aligned(rows, left=(2, 5, 8, 9))]


def _mistakes(mistakes: Sequence[Verdict]) -> list[str]:
    if not mistakes:
        return []
    rows = [("", "move", "lost", "", "", "best line")]
    rows += [(str(v.number), v.move, *loss_texts(v), v.name or "", line_text(v.best_line)) for v in mistakes]
    return aligned(rows, left=(1, 4, 5))


# --- the page -----------------------------------------------------------------------------------------------


def render_page(review: Review, title: str) -> str:
    """Return the page as HTML without other files."""
    return render(
        "review.html.jinja",
        title=title,
        review=review,
        headline=headline(review),
        charts=_charts(review),
        sides=[
            {
                "player": player,
                "summary": summary(review, player),
                "mistakes": [
                    {
                        "verdict": verdict,
                        "losses": loss_texts(verdict),
                        "best_line": line_text(verdict.best_line, _LONGEST),
                        "played_line": line_text(verdict.played_line, _LONGEST),
                        "position": Markup(_board(review, verdict)),
                    }
                    for verdict in review.mistakes(player, MOST_MISTAKES)
                ],
            }
            for player in (0, 1)
        ],
        moves=list(zip(review.verdicts, review.evaluations[1:], strict=True)),
        losses=loss_texts,
        names=NAMES,
        color_of={"best": BEST, "played": PLAYED},
        final=Markup(svg(review.game)),
    )


def _charts(review: Review) -> list[Markup]:
    margins = Curve.of((k, one.margin, None) for k, one in enumerate(review.evaluations))
    wins = Curve.of((k, one.win, None) for k, one in enumerate(review.evaluations))
    most = max(1.0, float(np.abs(margins.values).max()))
    margin, win = [Series("margin", margins, 0)], [Series("win", wins, 0)]
    return [
        charts.draw("expected margin of player 0", "moves", margin, y_range=(-most, most)),
        charts.draw("probability that player 0 wins", "moves", win, is_share=True, y_range=(0, 1)),
    ]


def _board(review: Review, verdict: Verdict) -> str:
    position = position_after(review.game, verdict.number - 1)
    scene = table(position, player_names(position))
    mark_move(scene, position, position.parse_move(verdict.best), BEST)
    mark_move(scene, position, position.parse_move(verdict.move), PLAYED, _INSET)
    return to_svg(scene, PICTURES.title)
