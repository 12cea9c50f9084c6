"""A review as text for a terminal, as a page, and as a picture of who was ahead when."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from patchwork_env.core.names import aligned, counted
from patchwork_env.drawing.pictures import player_names
from patchwork_env.drawing.scene import to_svg
from patchwork_env.learning.evaluation.players import labels
from patchwork_env.learning.evaluation.results import position_after
from patchwork_env.learning.reports import charts
from patchwork_env.learning.reports.charts import Sample, Series, render
from patchwork_env.learning.reports.plots import SERIES, new_figure, save
from patchwork_env.learning.reports.review import NAMES, Review, Verdict, counts_text
from patchwork_env.patchwork.render import PICTURES, svg
from patchwork_env.patchwork.render.table import mark_move, table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_MISTAKES = 5
"""The number of mistakes of each player that the tables, the page and the picture show."""
_MOST_WORDS = 8
BEST, PLAYED = "#1d6fd1", "#d0263b"
"""The colors of the best move and of the one that was played, on the board."""
_INSET = 6
"""How far the line around the played move runs within that around the best one, in units of the scene."""
_LONGEST = 30
"""The number of moves of a line of play that the page shows."""
_SIZE = 9.0, 6.0
_INK = "#2e2823"
_ROOM = 0.25
"""The room for labels above and below the curve of margins, as a share of its range."""
_EDGE, _ROW = 0.02, 0.045
"""The distance of labels from the frame, and of one from the next, as shares of the panel's height."""
_MOST_LABELS = 3
"""The number of mistakes of each player whose moves are named."""


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
    """What a move lost in margin and in probability to win, with signs unless it rounds to 0."""
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
    """The whole page as HTML, which needs no other files."""
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
    margins = [Sample(k, evaluation.margin) for k, evaluation in enumerate(review.evaluations)]
    wins = [Sample(k, evaluation.win) for k, evaluation in enumerate(review.evaluations)]
    most = max(1.0, *(abs(sample.y) for sample in margins))
    margin, win = [Series("margin", margins, 0)], [Series("win", wins, 0)]
    return [
        charts.draw("expected margin of player 0", "moves", margin, y_range=(-most, most)),
        charts.draw("probability that player 0 wins", "moves", win, is_share=True, y_range=(0, 1)),
    ]


def _board(review: Review, verdict: Verdict) -> str:
    """The position before a mistake as SVG, with both moves."""
    position = position_after(review.game, verdict.number - 1)
    scene = table(position, player_names(position))
    for move, color, inset in ((verdict.best, BEST, 0), (verdict.move, PLAYED, _INSET)):
        mark_move(scene, position, position.parse_move(move), color, inset)
    return to_svg(scene, PICTURES.title)


# --- the picture --------------------------------------------------------------------------------------------


def write_picture(review: Review, path: Path) -> None:
    """Writes the picture, as PNG 1080 by 720 pixels."""
    figure = new_figure(*_SIZE)
    margin, win = figure.subplots(2, 1, sharex=True)
    margins = [evaluation.margin for evaluation in review.evaluations]
    wins = [100 * evaluation.win for evaluation in review.evaluations]
    _panel(margin, margins, 0.0)
    margin.set_ylabel("margin of player 0, points")
    margin.margins(y=_ROOM)
    _panel(win, wins, 50.0)
    win.set_ylabel("player 0 wins, %")
    win.set_ylim(0, 100)
    win.set_xlabel("moves played")
    for player in (0, 1):
        mistakes = review.mistakes(player, MOST_MISTAKES)
        _mark(margin, mistakes, margins, player)
        _mark(win, mistakes, wins, player)
        _name(margin, mistakes[:_MOST_LABELS], margins)
    margin.set_title(f"{headline(review)}; judged by {labels([review.agent])[0]}", fontsize=10)
    lines, names = margin.get_legend_handles_labels()
    if lines:
        figure.legend(lines, names, loc="outside lower center", ncols=2)
    save(figure, path)


def _panel(axes: Axes, values: list[float], even: float) -> None:
    """Draws a curve over all positions; the area is filled in the color of the player who is ahead."""
    places, heights = np.arange(len(values)), np.array(values)
    for player, ahead in enumerate((heights >= even, heights <= even)):
        axes.fill_between(
            places, heights, even, where=ahead, interpolate=True, color=SERIES[player], alpha=0.18, lw=0
        )
    axes.plot(places, heights, color=_INK, linewidth=1.4, clip_on=False)
    axes.axhline(even, color=_INK, linewidth=0.8)
    axes.margins(x=0.02)
    axes.grid(alpha=0.3)


def _mark(axes: Axes, mistakes: list[Verdict], values: list[float], player: int) -> None:
    """Draws for each mistake the step of the curve in the player's color."""
    label = f"costliest moves of player {player}"
    for verdict in mistakes:
        steps = [verdict.number - 1, verdict.number]
        heights = [values[step] for step in steps]
        style: dict[str, Any] = {"color": SERIES[player], "clip_on": False}
        axes.plot(steps, heights, linewidth=3, label=label, solid_capstyle="round", **style)
        axes.plot(steps[1], heights[1], "o", markersize=5, **style)
        label = "_"  # no second entry in the legend


def _name(axes: Axes, mistakes: list[Verdict], values: list[float]) -> None:
    """Writes moves above or below the curve, to which side it went, each with a thin line to its mark.

    Every move has a row of its own, later ones nearer to the curve, so that texts and lines keep apart.
    """
    for row, verdict in enumerate(sorted(mistakes, key=lambda verdict: verdict.number)):
        height = _EDGE + row * _ROW
        below, color = verdict.player == 0, SERIES[verdict.player]
        axes.annotate(
            f"{verdict.number}. {verdict.move}",
            (verdict.number, values[verdict.number]),
            xytext=(verdict.number, height if below else 1 - height),
            textcoords=axes.get_xaxis_transform(),
            va="bottom" if below else "top",
            fontsize=8,
            color=color,
            arrowprops={"arrowstyle": "-", "color": color, "linewidth": 0.7, "relpos": (0, 0.5)},
        )
