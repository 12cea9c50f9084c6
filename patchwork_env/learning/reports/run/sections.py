"""The charts of the page: which metrics of which run, under which heading, and what the page says of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from patchwork_env.games import NMBR9, PATCHWORK
from patchwork_env.learning.evaluation.contests import contest_of
from patchwork_env.learning.reports import charts
from patchwork_env.learning.reports.charts import Chart, Sample, Series, as_words
from patchwork_env.learning.reports.run.run_data import Point, RunData

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

Match = dict[str, Any]
"""A match as the file of an evaluation holds it."""


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
    return [name for name, figure in contest_of(game).figures.items() if figure.is_share]


class Section(NamedTuple):
    """Charts under a heading."""

    title: str
    text: str
    charts: list[Chart]


def sections(runs: Sequence[RunData]) -> list[Section]:
    """All sections that have anything to show.

    Args:
        runs: The runs. Charts of one run have a curve for every opponent, those of several a curve for every
            run.
    """
    said = words_of(runs[0].game)
    found = [_win_rates(runs, said), _evaluation_games(runs, said)]
    groups: dict[str, list[str]] = {group: [] for group in _GROUPS}
    for name in dict.fromkeys(name for run in runs for name in run.metric_names()):
        group = "league" if _LEAGUE.match(name) else name.partition("/")[0]
        if group not in _EVALUATIONS:
            groups.setdefault(group, []).append(name)
    for group, names in groups.items():
        title, text = _GROUPS.get(group, (as_words(group), ""))
        drawn = [chart for name in names if (chart := _of_metric(name, runs)) is not None]
        found.append(Section(title, text.format(self_play=said.self_play), drawn))
    return [section for section in found if section.charts]


def _of_metric(name: str, runs: Sequence[RunData]) -> Chart | None:
    curves = [(run.name, run.curve(name)) for run in runs]
    series = _series(curves, "steps")
    return (
        charts.draw(as_words(name), "steps", series, is_share=bool(_SHARE.search(name))) if series else None
    )


def _win_rates(runs: Sequence[RunData], said: Words) -> Section:
    drawn = []
    for axis in ("steps", "minutes"):
        for name, curves in _against_opponents(runs, _win_rate):
            title = f"games won{name}, over {axis}"
            drawn.append(charts.draw(title, axis, _series(curves, axis), is_share=True, y_range=(0, 1)))
    matches = said.matches[0].upper() + said.matches[1:]
    return Section("Win rates", f"{matches}. Bands are 95% intervals.", drawn)


def _evaluation_games(runs: Sequence[RunData], said: Words) -> Section:
    """The section with the figures of the evaluations' games."""
    drawn = []
    for name, curves in _against_opponents(runs, _score_difference):
        drawn.append(charts.draw(f"score difference{name}", "steps", _series(curves, "steps")))
    matches = [match for evaluation in runs[0].evaluations for match in evaluation["matches"]]
    figures = dict.fromkeys(name for match in matches for name in match["sides"]["agent"])
    shares = shares_of(runs[0].game)
    for figure in figures if len(runs) == 1 else ():  # of several runs it would be too many
        for name, curves in _against_opponents(runs, partial(_mean, figure)):
            series, is_share = _series(curves, "steps"), figure in shares
            drawn.append(charts.draw(as_words(figure) + name, "steps", series, is_share=is_share))
    text = (
        f"The policy's own figures, per game against each opponent. {said.figures} Bands are 95% intervals."
    )
    return Section("Games of the evaluations", text, drawn)


_Value = tuple[float, tuple[float, float] | None]
"""A value, and its bounds if it has them."""
_Curve = tuple[str, list[Point]]
"""The label of a curve, and its points."""


def _against_opponents(
    runs: Sequence[RunData], value: Callable[[Match], _Value | None]
) -> list[tuple[str, list[_Curve]]]:
    """The charts of a value of matches: for each what its title says of the opponent, and its curves."""
    opponents = list(dict.fromkeys(opponent for run in runs for opponent in run.opponents))
    if len(runs) == 1:
        curves = [(opponent, _points(runs[0], opponent, value)) for opponent in opponents]
        names = f" against {opponents[0]}" if len(opponents) == 1 else ""  # there will be no legend
        return [(names, curves)] if curves else []
    return [
        (f" against {opponent}", [(run.name, _points(run, opponent, value)) for run in runs])
        for opponent in opponents
    ]


def _points(run: RunData, opponent: str, value: Callable[[Match], _Value | None]) -> list[Point]:
    return [
        Point(evaluation["steps"], evaluation["minutes"], *found)
        for evaluation, match in run.matches(opponent)
        if (found := value(match)) is not None
    ]


def _win_rate(match: Match) -> _Value:
    return match["win_rate"], tuple(match["win_rate_interval"])


def _score_difference(match: Match) -> _Value:
    interval = match["score_difference_interval"]
    return match["score_difference"], None if interval is None else tuple(interval)


def _mean(figure: str, match: Match) -> _Value | None:
    mean = match["sides"]["agent"].get(figure)  # earlier versions knew fewer figures
    interval = match.get("score_intervals", {}).get("agent") if figure == "score" else None
    return None if mean is None else (mean, None if interval is None else tuple(interval))


def _series(curves: Sequence[_Curve], axis: str) -> list[Series]:
    """The curves that have points; the color of a curve is its place among all, so that charts agree."""
    return [
        Series(label, [Sample(getattr(point, axis), point.value, point.bounds) for point in points], color)
        for color, (label, points) in enumerate(curves)
        if points
    ]
