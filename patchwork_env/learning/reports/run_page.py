"""The HTML page about a run: tables, charts and sample games."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from markupsafe import Markup

from patchwork_env.core.game import BaseGame
from patchwork_env.games import rules_of
from patchwork_env.learning.evaluation.results import MatchFigures, SampleGame
from patchwork_env.learning.evaluation.runners import match_part
from patchwork_env.learning.evaluation.statistics import Curve
from patchwork_env.learning.reports import charts
from patchwork_env.learning.reports.charts import MOST_POINTS, Series, as_words, render
from patchwork_env.learning.reports.comparison import AXES, STEPS
from patchwork_env.learning.reports.run_results import RunResult

_MOST_PICTURES = 4  # the number of last positions that are drawn; each takes about 120 kB
_SHARE = re.compile(r"win_rate|share|fraction|bonus_tile")
_EVALUATIONS = ("evaluation", "evaluation_games")
"""The groups of metrics that are not drawn, because the files of evaluations have them too."""
_LEAGUE = re.compile(r"league/|games/.*past_self")
_GROUPS = {
    "games": ("Self-play", "Means over the games that ended in an iteration."),
    "league": ("League", "Games against past selves."),
    "losses": ("Losses", "Figures of the learner in each iteration."),
    "time": ("Speed", "Playing and learning; evaluations are not counted."),
}
"""The titles and the explanations of groups of metrics; another group has its name as its title."""


def render_page(run: RunResult) -> str:
    """Return the page about a run."""
    matches = [run.matches(opponent)[-1] for opponent in run.opponents]
    return render(
        "run.html.jinja",
        title=run.label,
        run=run,
        part=match_part(run.game),
        matches=matches,
        figures=dict.fromkeys(name for _, match in matches for name in match.sides["agent"]),
        sections=_sections(run),
        most_points=MOST_POINTS,
        is_thinned=len(run.metrics) > MOST_POINTS,
        sample_games=_sample_games(run),
    )


def _sample_games(run: RunResult) -> list[dict[str, Any]]:
    """Return the games of the last evaluation, those against the hardest opponents first.

    The last position of the first game against each opponent is drawn, up to a limit.
    """
    games: list[dict[str, Any]] = []
    drawn: set[str] = set()
    evaluation = run.evaluations[-1] if run.evaluations else None
    rates = {match.opponent: match.win_rate for match in evaluation.matches} if evaluation else {}
    samples = evaluation.sample_games if evaluation else ()
    for sample in sorted(samples, key=lambda sample: rates.get(sample.opponent, 0.0)):
        has_picture = sample.opponent not in drawn and len(drawn) < _MOST_PICTURES
        games.append(_page_game(sample, run.game, has_picture))
        if has_picture:
            drawn.add(sample.opponent)
    return games


def _page_game(sample: SampleGame, kind: str, has_picture: bool) -> dict[str, Any]:
    """Return a sample game, with a picture of its last position as SVG or None."""
    game, svg = rules_of(kind).game.from_notation(sample.notation), rules_of(kind).pictures.svg
    return {
        "players": sample.players,
        "scores": game.scores(),
        "winner": sample.winner,
        "final": Markup(svg(game, sample.players)) if has_picture else None,
        "turns": _turns(game),
        "notation": sample.notation,
    }


def _turns(game: BaseGame) -> list[tuple[int, str]]:
    position, turns = game.root(), []
    for action in game.history:
        turns.append((position.current_player, position.move_text(action)))
        position.play(action)
    return turns


class ChartSection(NamedTuple):
    """Charts under a heading."""

    title: str
    text: str
    charts: list[Markup]


_Value = tuple[float | None, tuple[float, float] | None]
"""A value and its bounds, each None if unknown."""


def _sections(run: RunResult) -> list[ChartSection]:
    """Return all sections with content."""
    listed = [_win_rates(run), _evaluation_games(run)]
    names_of: dict[str, list[str]] = {group: [] for group in _GROUPS}
    for name in run.metric_names():
        group = "league" if _LEAGUE.match(name) else name.partition("/")[0]
        if group not in _EVALUATIONS:
            names_of.setdefault(group, []).append(name)
    for group, names in names_of.items():
        title, text = _GROUPS.get(group, (as_words(group), ""))
        drawn = []
        for name in names:
            words, is_share = as_words(name), bool(_SHARE.search(name))
            drawn += _draw(words, STEPS, [(words, run.curve(name))], is_share=is_share)
        listed.append(ChartSection(title, text, drawn))
    return [section for section in listed if section.charts]


def _win_rates(run: RunResult) -> ChartSection:
    drawn = []
    for axis in AXES:
        curves = _by_opponent(run, axis, lambda match: (match.win_rate, match.win_rate_interval))
        title = f"games won{_single_opponent(run)}, over {axis}"
        drawn += _draw(title, axis, curves, is_share=True, y_range=(0, 1))
    return ChartSection("Win rates", "Bands are 95% intervals.", drawn)


def _evaluation_games(run: RunResult) -> ChartSection:
    """Return the section with figures of evaluations."""
    against, part = _single_opponent(run), match_part(run.game)
    differences = _by_opponent(
        run, STEPS, lambda match: (match.score_difference, match.score_difference_interval)
    )
    drawn = _draw(f"score difference{against}", STEPS, differences)
    matches = [match for evaluation in run.evaluations for match in evaluation.matches]
    for figure in dict.fromkeys(name for match in matches for name in match.sides["agent"]):

        def mean(match: MatchFigures, figure: str = figure) -> _Value:
            interval = match.score_intervals.get("agent") if figure == "score" else None
            return match.sides["agent"].get(figure), interval  # earlier versions knew fewer figures

        curves = _by_opponent(run, STEPS, mean)
        drawn += _draw(as_words(figure) + against, STEPS, curves, is_share=figure in part.shares)
    text = "The policy's own figures, per game against each opponent. Bands are 95% intervals."
    return ChartSection("Games of the evaluations", text, drawn)


def _single_opponent(run: RunResult) -> str:
    """Return the end of the titles of charts that have one curve and so no legend."""
    return f" against {run.opponents[0]}" if len(run.opponents) == 1 else ""


def _by_opponent(
    run: RunResult, axis: str, value: Callable[[MatchFigures], _Value]
) -> list[tuple[str, Curve]]:
    """Return the curves of a value of matches, each with its opponent."""
    curves = []
    for opponent in run.opponents:
        values = [(getattr(one, axis), *value(match)) for one, match in run.matches(opponent)]
        curves.append((opponent, Curve.of((x, y, bounds) for x, y, bounds in values if y is not None)))
    return curves


def _draw(title: str, axis: str, curves: Sequence[tuple[str, Curve]], **options: Any) -> list[Markup]:
    """Return a chart of curves with labels; none if no curve has points.

    The color of a curve is its index among all curves, the same in all charts.
    """
    series = [Series(label, curve, color) for color, (label, curve) in enumerate(curves) if len(curve.places)]
    return [charts.draw(title, axis, series, **options)] if series else []
