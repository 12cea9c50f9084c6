"""The HTML page about one or several runs: tables, charts and sample games."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from markupsafe import Markup

from patchwork_env.core.game import BaseGame
from patchwork_env.games import rules_of
from patchwork_env.learning.evaluation.results import MatchFigures, SampleGame, milestones
from patchwork_env.learning.evaluation.runners import match_part
from patchwork_env.learning.evaluation.statistics import Curve
from patchwork_env.learning.reports import charts
from patchwork_env.learning.reports.charts import MOST_POINTS, Series, as_words, render
from patchwork_env.learning.reports.comparison import AXES, STEPS
from patchwork_env.learning.reports.run_results import RunResult

_MOST_PICTURES = 4  # the number of last positions that are drawn, over all runs; each takes about 120 kB
_EARLIER = 3  # the number of earlier positions that are drawn of the first game
_SHARE = re.compile(r"win_rate|share|fraction|bonus_tile")
_EVALUATIONS = ("evaluation", "evaluation_games")
"""The groups of metrics that are left out here, since the files of the evaluations hold them too."""
_LEAGUE = re.compile(r"league/|games/.*past_self")
_GROUPS = {
    "games": ("Self-play", "Means over the games that ended in an iteration."),
    "league": ("League", "Games against past selves."),
    "losses": ("Losses", "Figures of the learner in each iteration."),
    "time": ("Speed", "Playing and learning; evaluations are not counted."),
}
"""The titles and the explanations of groups of metrics; another group has its name as its title."""


def render_page(runs: Sequence[RunResult]) -> str:
    """Return the page about runs, which share their charts; ValueError if their games differ."""
    games = {run.game: run.label for run in runs}
    if len(games) > 1:
        named = ", ".join(f"{name} is of {game}" for game, name in games.items())
        raise ValueError(f"runs of different games have nothing to compare: {named}")
    part = match_part(runs[0].game)
    opponents = dict.fromkeys(opponent for run in runs for opponent in run.opponents)
    matches: list[dict[str, Any]] = [
        {"run": run.label, "steps": evaluation.steps, "figures": match}
        for opponent in opponents
        for run in runs
        for evaluation, match in run.matches(opponent)[-1:]
    ]
    figures = dict.fromkeys(name for one in matches for name in one["figures"].sides["agent"])
    return render(
        "run.html.jinja",
        title=", ".join(run.label for run in runs),
        runs=runs,
        part=part,
        matches=matches,
        figures=figures,
        sections=sections(runs),
        most_points=MOST_POINTS,
        is_thinned=any(len(run.metrics) > MOST_POINTS for run in runs),
        sample_games=_sample_games(runs),
    )


def _sample_games(runs: Sequence[RunResult]) -> list[dict[str, Any]]:
    """Return the games of the last evaluations, those against the hardest opponents first.

    The first game against each opponent is drawn, as far as there is room, and of the very first game earlier
    positions.
    """
    listed, pictures = [], 0
    for run in runs:
        if not run.evaluations:
            continue
        games, opponents = [], set()
        rates = {match.opponent: match.win_rate for match in run.last.matches}
        for sample in sorted(run.last.sample_games, key=lambda sample: rates.get(sample.opponent, 0.0)):
            has_picture = sample.opponent not in opponents and pictures < _MOST_PICTURES
            games.append(_page_game(sample, run.game, has_picture, _EARLIER if pictures == 0 else 0))
            opponents.add(sample.opponent)
            pictures += has_picture
        if games:
            listed.append({"run": run.label, "steps": run.last.steps, "games": games})
    return listed


def _page_game(sample: SampleGame, kind: str, has_picture: bool, earlier: int) -> dict[str, Any]:
    """Return a sample game with pictures as SVG: of the last position, and of so many earlier ones."""
    game, svg = rules_of(kind).game.from_notation(sample.notation), rules_of(kind).pictures.svg
    names = sample.players
    positions = milestones(game, earlier) if earlier else []
    return {
        "players": names,
        "scores": game.scores(),
        "winner": sample.winner,
        "final": Markup(svg(game, names)) if has_picture else None,
        "earlier": [(len(one.history), Markup(svg(one, names))) for one in positions],
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
"""A value, which may not be known, and its bounds if it has them."""
_Curve = tuple[str, Curve]  # a curve with its label


def sections(runs: Sequence[RunResult]) -> list[ChartSection]:
    """Return all sections with content for runs of one game, with a curve for every opponent or run."""
    listed = [_win_rates(runs), _evaluation_games(runs)]
    names_of: dict[str, list[str]] = {group: [] for group in _GROUPS}
    for name in dict.fromkeys(name for run in runs for name in run.metric_names()):
        group = "league" if _LEAGUE.match(name) else name.partition("/")[0]
        if group not in _EVALUATIONS:
            names_of.setdefault(group, []).append(name)
    for group, names in names_of.items():
        title, text = _GROUPS.get(group, (as_words(group), ""))
        drawn = []
        for name in names:
            curves = [(run.label, run.curve(name)) for run in runs]
            drawn += _draw(runs, as_words(name), STEPS, curves, is_share=bool(_SHARE.search(name)))
        listed.append(ChartSection(title, text, drawn))
    return [section for section in listed if section.charts]


def _win_rates(runs: Sequence[RunResult]) -> ChartSection:
    drawn = []
    for axis in AXES:
        for name, curves in _against_opponents(
            runs, axis, lambda match: (match.win_rate, match.win_rate_interval)
        ):
            title = f"games won{name}, over {axis}"
            drawn += _draw(runs, title, axis, curves, is_share=True, y_range=(0, 1))
    return ChartSection("Win rates", "Bands are 95% intervals.", drawn)


def _evaluation_games(runs: Sequence[RunResult]) -> ChartSection:
    """Return the section with figures of evaluations; of several runs only their score differences."""

    def difference(match: MatchFigures) -> _Value:
        return match.score_difference, match.score_difference_interval

    drawn = []
    for name, curves in _against_opponents(runs, STEPS, difference):
        drawn += _draw(runs, f"score difference{name}", STEPS, curves)
    matches = [match for evaluation in runs[0].evaluations for match in evaluation.matches]
    figures = dict.fromkeys(name for match in matches for name in match.sides["agent"])
    for figure in figures if len(runs) == 1 else ():

        def mean(match: MatchFigures, figure: str = figure) -> _Value:
            interval = match.score_intervals.get("agent") if figure == "score" else None
            return match.sides["agent"].get(figure), interval  # earlier versions knew fewer figures

        is_share = figure in match_part(runs[0].game).shares
        for name, curves in _against_opponents(runs, STEPS, mean):
            drawn += _draw(runs, as_words(figure) + name, STEPS, curves, is_share=is_share)
    text = "The policy's own figures, per game against each opponent. Bands are 95% intervals."
    return ChartSection("Games of the evaluations", text, drawn)


def _against_opponents(
    runs: Sequence[RunResult], axis: str, value: Callable[[MatchFigures], _Value]
) -> list[tuple[str, list[_Curve]]]:
    """Return the charts of a value of matches: for each the opponent's part of its title, and its curves."""

    def curve(run: RunResult, opponent: str) -> Curve:
        values = [(getattr(one, axis), *value(match)) for one, match in run.matches(opponent)]
        return Curve.of((x, y, bounds) for x, y, bounds in values if y is not None)

    opponents = list(dict.fromkeys(name for run in runs for name in run.opponents))
    if len(runs) == 1:
        curves = [(opponent, curve(runs[0], opponent)) for opponent in opponents]
        name = f" against {opponents[0]}" if len(opponents) == 1 else ""  # there will be no legend
        return [(name, curves)] if curves else []
    return [
        (f" against {opponent}", [(run.label, curve(run, opponent)) for run in runs])
        for opponent in opponents
    ]


def _draw(
    runs: Sequence[RunResult], title: str, axis: str, curves: Sequence[_Curve], **options: Any
) -> list[Markup]:
    """Return a chart, with a legend wherever there are several runs; none if no curve has points.

    The color of a curve is its place among all, so that charts agree.
    """
    series = [Series(label, curve, color) for color, (label, curve) in enumerate(curves) if len(curve.places)]
    return [charts.draw(title, axis, series, has_legend=len(runs) > 1, **options)] if series else []
