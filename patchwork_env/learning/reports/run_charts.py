"""The charts of the page: which metrics of which run, under which heading, and what the page says of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup

from patchwork_env.core.names import counted
from patchwork_env.games import NMBR9, PATCHWORK
from patchwork_env.learning.evaluation.records import MatchFigures
from patchwork_env.learning.evaluation.runners import runner_of
from patchwork_env.learning.reports import charts
from patchwork_env.learning.reports.charts import Sample, Series, as_words
from patchwork_env.learning.reports.comparison import AXES, STEPS, at_common_places
from patchwork_env.learning.reports.run_results import Point, RunResult, name_without_seed

_SHARE = re.compile(r"win_rate|share|fraction|bonus_tile")
_EVALUATIONS = ("evaluation", "evaluation_games")
"""The groups of metrics that are left out here, since the files of the evaluations hold them too."""
_LEAGUE = re.compile(r"league/|games/.*past_self")
_GROUPS = {
    "games": ("Self-play", "Games that ended in an iteration. {self_play}"),
    "league": ("League", "Games against past selves."),
    "losses": ("Losses", "What the learner reports of each iteration."),
    "time": ("Speed", "Playing and learning; evaluations are not counted."),
}
"""The titles and the explanations of groups of metrics; a group that is not listed has its name as its title.

An explanation may name a field of :class:`Words`, whose text takes its place.
"""


class Words(NamedTuple):
    """What the page says of a game.

    Attributes:
        matches: How the agents met.
        self_play: What the figures of self-play are.
        figures: What the figures of evaluations are.
        moves: Examples of moves in notation, each with its meaning.
    """

    matches: str
    self_play: str = ""
    figures: str = ""
    moves: tuple[tuple[str, str], ...] = ()


_WORDS: Mapping[str, Words] = {
    PATCHWORK: Words(
        matches="paired games, every circle from both seats; there are no draws",
        self_play="Scores, empty cells, income and buttons are those of a player at the end; buttons spent, "
        "from income and from advancing are sums over a game.",
        figures="Empty cells, income and buttons are those at the end; buttons spent, from income and from "
        "advancing are sums over a game.",
        moves=(
            ("+", "advances"),
            ("12/3@d5", "buys patch 12 and places it in orientation 3 at column d, row 5"),
            ("*d5", "places a special patch"),
        ),
    ),
    NMBR9: Words(
        matches="both play the same decks, each on a table of its own; a tie is half a win",
        self_play="Scores and levels are those of a table at the end, level 0 being the table itself.",
        figures="Levels are those with tiles on them, the table itself included.",
        moves=(
            (
                "7/3@-2,5",
                "places tile 7 in orientation 3, two rows above and five columns right of the first tile",
            ),
            ("=7", "chooses tile 7, where the order is free"),
        ),
    ),
}


def words_of(game: str) -> Words:
    """What the page says of a game; of a game that is not listed it says little."""
    return _WORDS.get(game, Words(matches="every set-up from both seats"))


def shares_of(game: str) -> list[str]:
    """The names of the figures whose means are shares of the games."""
    return [name for name, figure in runner_of(game).figures.items() if figure.is_share]


class Section(NamedTuple):
    """Charts under a heading."""

    title: str
    text: str
    charts: list[Markup]


def sections(groups: Sequence[Sequence[RunResult]]) -> list[Section]:
    """All sections that have anything to show.

    Args:
        groups: Runs of one game; those of a group differ in nothing but their seeds. Charts of one run have a
            curve for every opponent, those of several a curve for every group.
    """
    runs = [run for group in groups for run in group]
    words = words_of(runs[0].game)
    listed = [_win_rates(groups, words), _evaluation_games(groups, words)]
    names_of: dict[str, list[str]] = {group: [] for group in _GROUPS}
    for name in dict.fromkeys(name for run in runs for name in run.metric_names()):
        group = "league" if _LEAGUE.match(name) else name.partition("/")[0]
        if group not in _EVALUATIONS:
            names_of.setdefault(group, []).append(name)
    for group, names in names_of.items():
        title, text = _GROUPS.get(group, (as_words(group), ""))
        drawn = [chart for name in names if (chart := _of_metric(name, groups)) is not None]
        listed.append(Section(title, text.format(self_play=words.self_play), drawn))
    return [section for section in listed if section.charts]


def _of_metric(name: str, groups: _Groups) -> Markup | None:
    curves = [(label, [(run.label, run.curve(name)) for run in group]) for label, group in _labelled(groups)]
    series = _series(curves, STEPS)
    return (
        _draw(groups, as_words(name), STEPS, series, is_share=bool(_SHARE.search(name))) if series else None
    )


def _draw(groups: _Groups, title: str, axis: str, series: list[Series], **options: Any) -> Markup:
    """A chart, with a legend wherever there are several runs."""
    return charts.draw(title, axis, series, has_legend=not _is_single(groups), **options)


def _win_rates(groups: _Groups, words: Words) -> Section:
    drawn = []
    for axis in AXES:
        for name, curves in _against_opponents(groups, partial(_figure, "win_rate")):
            title = f"games won{name}, over {axis}"
            drawn.append(_draw(groups, title, axis, _series(curves, axis), is_share=True, y_range=(0, 1)))
    matches = words.matches[0].upper() + words.matches[1:]
    return Section("Win rates", f"{matches}. {_bands(groups)}", drawn)


def _evaluation_games(groups: _Groups, words: Words) -> Section:
    """The section with the figures of the evaluations' games."""
    drawn = []
    for name, curves in _against_opponents(groups, partial(_figure, "score_difference")):
        drawn.append(_draw(groups, f"score difference{name}", STEPS, _series(curves, STEPS)))
    first = groups[0][0]
    matches = [match for evaluation in first.evaluations for match in evaluation.matches]
    figures = dict.fromkeys(name for match in matches for name in match.sides.agent)
    shares = shares_of(first.game)
    for figure in figures if _is_single(groups) else ():  # of several runs it would be too many
        for name, curves in _against_opponents(groups, partial(_mean, figure)):
            series, is_share = _series(curves, STEPS), figure in shares
            drawn.append(_draw(groups, as_words(figure) + name, STEPS, series, is_share=is_share))
    text = f"The policy's own figures, per game against each opponent. {words.figures} {_bands(groups)}"
    return Section("Games of the evaluations", text, drawn)


_Value = tuple[float, tuple[float, float] | None]
"""A value, and its bounds if it has them."""
_Curve = tuple[str, list[tuple[str, list[Point]]]]
"""The label of a curve, and the names of its runs with their points."""
_Samples = list[tuple[str, list[Sample]]]
"""Curves with their names."""
_Groups = Sequence[Sequence[RunResult]]


def _is_single(groups: _Groups) -> bool:
    return sum(map(len, groups)) == 1


def _bands(groups: _Groups) -> str:
    """What bands are, in words."""
    if all(len(group) == 1 for group in groups):
        return "Bands are 95% intervals."
    return (
        "Runs that differ in nothing but their seeds share a curve, their mean, with a band from the lowest "
        "to the highest of them; bands of single runs are 95% intervals."
    )


def _labelled(groups: _Groups) -> list[tuple[str, Sequence[RunResult]]]:
    """The groups with the labels of their curves: the names of runs, without seeds where that is enough."""
    labels = []
    for group in groups:
        names = ", ".join(dict.fromkeys(name_without_seed(run.label) or run.label for run in group))
        labels.append(f"{names} ({counted(len(group), 'run')})" if len(group) > 1 else group[0].label)
    return [
        (label if labels.count(label) == 1 else ", ".join(run.label for run in group), group)
        for label, group in zip(labels, groups, strict=True)
    ]


def _against_opponents(
    groups: _Groups, value: Callable[[MatchFigures], _Value | None]
) -> list[tuple[str, list[_Curve]]]:
    """The charts of a value of matches: for each what its title says of the opponent, and its curves."""
    opponents = list(
        dict.fromkeys(opponent for group in groups for run in group for opponent in run.opponents)
    )
    if _is_single(groups):
        run = groups[0][0]
        curves = [(opponent, [(run.label, _points(run, opponent, value))]) for opponent in opponents]
        names = f" against {opponents[0]}" if len(opponents) == 1 else ""  # there will be no legend
        return [(names, curves)] if curves else []
    return [
        (
            f" against {opponent}",
            [
                (label, [(run.label, _points(run, opponent, value)) for run in group])
                for label, group in _labelled(groups)
            ],
        )
        for opponent in opponents
    ]


def _points(run: RunResult, opponent: str, value: Callable[[MatchFigures], _Value | None]) -> list[Point]:
    return [
        Point(evaluation.steps, evaluation.minutes, *figure)
        for evaluation, match in run.matches(opponent)
        if (figure := value(match)) is not None
    ]


def _figure(name: str, match: MatchFigures) -> _Value:
    return getattr(match, name), getattr(match, f"{name}_interval")


def _mean(figure: str, match: MatchFigures) -> _Value | None:
    mean = match.sides.agent.get(figure)  # earlier versions knew fewer figures
    interval = match.score_intervals.get("agent") if figure == "score" else None
    return None if mean is None else (mean, interval)


def _series(curves: Sequence[_Curve], axis: str) -> list[Series]:
    """The curves that have points; the color of a curve is its place among all, so that charts agree."""
    return [
        Series(name, samples, color)
        for color, (label, of_runs) in enumerate(curves)
        for name, samples in _samples(label, of_runs, axis)
    ]


def _samples(label: str, of_runs: Sequence[tuple[str, list[Point]]], axis: str) -> _Samples:
    """The mean of the runs that have points; each by itself where they have no place in common."""
    own = [
        (name, [Sample(float(getattr(point, axis)), point.value, point.bounds) for point in points])
        for name, points in of_runs
        if points
    ]
    if len(own) < 2:
        return [(label, samples) for _, samples in own]
    places, figures = at_common_places([[(x, y) for x, y, _ in samples] for _, samples in own], axis)
    if not len(places):
        return own
    means, lows, highs = (how(figures[0], -1).tolist() for how in (np.mean, np.min, np.max))
    return [(label, list(map(Sample, places.tolist(), means, zip(lows, highs, strict=True))))]
