"""The page about one run, or about several side by side, as HTML."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from patchwork_env.learning.evaluation.runners import runner_of
from patchwork_env.learning.evaluation.seeds import OverSeeds, over_seeds
from patchwork_env.learning.evaluation.statistics import STUDENT
from patchwork_env.learning.reports.comparison.grouping import recipe_of
from patchwork_env.learning.reports.run.games import ShownGame, shown_game
from patchwork_env.learning.reports.run.run_data import RunData
from patchwork_env.learning.reports.run.sections import Match, sections, shares_of, words_of
from patchwork_env.learning.reports.templates import render

_TEMPLATE = "run/page.html.jinja"
_MOST_PICTURES = 4
"""The number of last positions that are drawn, over all runs; each takes about 120 kB."""


class LastMatch(NamedTuple):
    """The last match against an opponent."""

    run: str
    steps: int
    figures: Match


class SampleGames(NamedTuple):
    """Sample games of the last evaluation of a run."""

    run: str
    steps: int
    games: list[ShownGame]


def render_page(runs: Sequence[RunData]) -> str:
    """The whole page about one run or several, which share their charts.

    Raises:
        ValueError: A sample game is damaged, or the runs are of different games.
    """
    games = {run.game: run.name for run in runs}
    if len(games) > 1:
        named = ", ".join(f"{name} is of {game}" for game, name in games.items())
        raise ValueError(f"runs of different games have nothing to compare: {named}")
    matches = _last_matches(runs)
    groups = groups_of_seeds(runs)
    drawn = sections(groups)
    return render(
        _TEMPLATE,
        title=", ".join(run.name for run in runs),
        runs=runs,
        said=words_of(runs[0].game),
        has_first_turn=not runner_of(runs[0].game).is_noninteractive,
        shares=shares_of(runs[0].game),
        over_seeds=_over_seeds(groups),
        statistics=STUDENT.description,
        matches=matches,
        figures=list(dict.fromkeys(name for match in matches for name in match.figures["sides"]["agent"])),
        sections=drawn,
        is_thinned=any(chart.is_thinned for section in drawn for chart in section.charts),
        sample_games=_sample_games(runs),
    )


def groups_of_seeds(runs: Sequence[RunData]) -> list[list[RunData]]:
    """Groups of runs that differ in their seeds and in nothing else, nor in whom they met at last.

    Of several runs with one seed, which are no independent samples, each is in a group of its own.
    """
    alike: dict[tuple[str, int], list[RunData]] = {}
    earlier: Counter[tuple[str, str]] = Counter()
    for run in runs:
        key = json.dumps([recipe_of(run.config), _last_opponents(run)], sort_keys=True, default=str)
        sample = key, str(run.config.get("seed", 0))
        alike.setdefault((key, earlier[sample]), []).append(run)
        earlier[sample] += 1
    return list(alike.values())


def _last_opponents(run: RunData) -> list[str]:
    return [match["opponent"] for match in run.evaluations[-1]["matches"]] if run.evaluations else []


def _over_seeds(groups: Sequence[Sequence[RunData]]) -> list[tuple[str, list[OverSeeds]]]:
    """The names of the runs of each group of several, and what they reached together."""
    return [
        (", ".join(run.name for run in group), over_seeds([run.evaluations[-1]["matches"] for run in group]))
        for group in groups
        if len(group) > 1 and _last_opponents(group[0])
    ]


def _last_matches(runs: Sequence[RunData]) -> list[LastMatch]:
    """The last match of every run against the first opponent, then against the next one, and so on."""
    opponents = dict.fromkeys(opponent for run in runs for opponent in run.opponents)
    lasts = [(run, run.matches(opponent)[-1:]) for opponent in opponents for run in runs]
    return [
        LastMatch(run.name, evaluation["steps"], figures)
        for run, last in lasts
        for evaluation, figures in last
    ]


def _sample_games(runs: Sequence[RunData]) -> list[SampleGames]:
    """The games of the last evaluations, those against the hardest opponents first.

    The first game against each opponent is drawn, as far as there is room; earlier positions are drawn of the
    very first game alone.
    """
    shown, pictures = [], 0
    for run in runs:
        games: list[ShownGame] = []
        for sample in _by_difficulty(run):
            is_first = all(sample["opponent"] != game.opponent for game in games)
            has_pictures = is_first and pictures < _MOST_PICTURES
            has_earlier = pictures == 0
            shown_sample = shown_game(sample, run.game, has_pictures=has_pictures, has_earlier=has_earlier)
            games.append(shown_sample)
            pictures += has_pictures
        if games:
            shown.append(SampleGames(run.name, run.evaluations[-1]["steps"], games))
    return shown


def _by_difficulty(run: RunData) -> list[dict[str, Any]]:
    """The last evaluation's sample games, those against the hardest opponent first."""
    if not run.evaluations:
        return []
    last = run.evaluations[-1]
    rates = {match["opponent"]: match["win_rate"] for match in last["matches"]}
    return sorted(last["sample_games"], key=lambda sample: rates.get(sample["opponent"], 0.0))
