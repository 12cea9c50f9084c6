"""A review as text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from patchwork_env.core.names import counted
from patchwork_env.learning.evaluation.tables import aligned
from patchwork_env.learning.reports.review import Review, Verdict, counts_text

MOST_MISTAKES = 5
"""The number of mistakes of each player that the tables, the page and the picture show."""
_MOST_WORDS = 8

_Row = tuple[str, ...]


def text(review: Review) -> str:
    """The moves with what they led to, then the costliest mistakes of each player."""
    parts = [f"{headline(review)}; judged by {review.agent}", "", *_moves(review)]
    for player in (0, 1):
        parts += ["", summary(review, player), *_mistakes(review.mistakes(player, MOST_MISTAKES))]
    return "\n".join(parts)


def headline(review: Review) -> str:
    """How long the game was and how it ended."""
    game = review.game
    scores = game.scores()
    end = "not finished"
    if (winner := game.winner()) is not None:
        end = f"player {winner} won {scores[winner]} to {scores[1 - winner]}"
    return f"{counted(len(review.verdicts), 'move')}, {end}"


def summary(review: Review, player: int) -> str:
    """How a player played, in a phrase."""
    side = review.side(player)
    if side.accuracy is None:
        return f"player {player}: no moves"
    return f"player {player}: accuracy {side.accuracy:.0f}%, {counts_text(side.counts)}"


def line_text(words: Sequence[str], most: int = _MOST_WORDS) -> str:
    """The first moves of a line of play as text."""
    return " ".join(words[:most]) + (" ..." if len(words) > most else "")


def loss_texts(verdict: Verdict) -> tuple[str, str]:
    """What a move lost in margin and in probability to win, with signs."""
    return f"{_signed(-verdict.margin_loss, 1)}", f"{_signed(-100 * verdict.win_loss, 1)}%"


def _signed(value: float, digits: int) -> str:
    """A number with its sign, or without one if it rounds to 0."""
    rounded = round(value, digits)
    return f"{rounded:+.{digits}f}" if rounded else f"{0:.{digits}f}"


def _moves(review: Review) -> list[str]:
    rows: list[_Row] = [("", "player", "move", "margin", "win", "", "lost", "", "", "best")]
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
    rows: list[_Row] = [("", "move", "lost", "", "", "best line")]
    rows += [(str(v.number), v.move, *loss_texts(v), v.name or "", line_text(v.best_line)) for v in mistakes]
    return aligned(rows, left=(1, 4, 5))
