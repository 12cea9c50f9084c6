"""A review as a page."""

from __future__ import annotations

from typing import NamedTuple

from markupsafe import Markup

from patchwork_env.drawing.pictures import player_names
from patchwork_env.drawing.svg_drawing import to_svg
from patchwork_env.learning.evaluation.sample_games import position_after
from patchwork_env.learning.reports import charts
from patchwork_env.learning.reports.charts import Sample, Series, render
from patchwork_env.learning.reports.review import NAMES, Review, Verdict
from patchwork_env.learning.reports.review_tables import (
    MOST_MISTAKES,
    headline,
    line_text,
    loss_texts,
    summary,
)
from patchwork_env.patchwork import Game
from patchwork_env.patchwork.render import PICTURES, svg
from patchwork_env.patchwork.render.table import mark_move, table

BEST, PLAYED = "#1d6fd1", "#d0263b"
"""The colors of the best move and of the one that was played, on the board."""
_INSET = 6
"""How far the line around the played move runs within that around the best one, in units of the scene."""
_LONGEST = 30
"""The number of moves of a line of play that the page shows."""


class Mistake(NamedTuple):
    """A mistake with the position in which it was made, as SVG."""

    verdict: Verdict
    losses: tuple[str, str]
    best_line: str
    played_line: str
    position: Markup


class Side(NamedTuple):
    """A player and its costliest mistakes."""

    player: int
    summary: str
    mistakes: list[Mistake]


def render_page(review: Review, title: str) -> str:
    """The whole page as HTML, which needs no other files."""
    return render(
        "review.html.jinja",
        title=title,
        review=review,
        headline=headline(review),
        charts=_charts(review),
        sides=[_side(review, player) for player in (0, 1)],
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
    chances = charts.draw(
        "probability that player 0 wins", "moves", [Series("win", wins, 0)], is_share=True, y_range=(0, 1)
    )
    ahead = charts.draw(
        "expected margin of player 0", "moves", [Series("margin", margins, 0)], y_range=(-most, most)
    )
    return [ahead, chances]


def _side(review: Review, player: int) -> Side:
    mistakes = [_mistake(review, verdict) for verdict in review.mistakes(player, MOST_MISTAKES)]
    return Side(player, summary(review, player), mistakes)


def _mistake(review: Review, verdict: Verdict) -> Mistake:
    position = position_after(review.game, verdict.number - 1)
    best, played = line_text(verdict.best_line, _LONGEST), line_text(verdict.played_line, _LONGEST)
    return Mistake(verdict, loss_texts(verdict), best, played, Markup(_board(position, verdict)))


def _board(position: Game, verdict: Verdict) -> str:
    """The position before a mistake as SVG, with both moves."""
    scene = table(position, player_names(position))
    for move, color, inset in ((verdict.best, BEST, 0), (verdict.move, PLAYED, _INSET)):
        mark_move(scene, position, position.parse_move(move), color, inset)
    return to_svg(scene, PICTURES.title)
