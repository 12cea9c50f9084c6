"""The page about one run, or about several side by side, as HTML."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup

from patchwork_env.core.game import BaseGame
from patchwork_env.games import rules_of
from patchwork_env.learning.evaluation.records import MatchFigures, SampleGame
from patchwork_env.learning.evaluation.results import milestones
from patchwork_env.learning.evaluation.runners import runner_of
from patchwork_env.learning.evaluation.seeds import OverSeeds, config_key, over_seeds
from patchwork_env.learning.evaluation.statistics import STUDENT
from patchwork_env.learning.reports.charts import MOST_POINTS, render
from patchwork_env.learning.reports.run_charts import sections, shares_of, words_of
from patchwork_env.learning.reports.run_results import RunResult

_MOST_PICTURES = 4
"""The number of last positions that are drawn, over all runs; each takes about 120 kB."""
_EARLIER = 3
"""The number of earlier positions that are drawn of the first game."""


class LastMatch(NamedTuple):
    """The last match of a run against an opponent."""

    run: str
    steps: int
    figures: MatchFigures


class PageGame(NamedTuple):
    """A sample game, ready to be shown.

    Attributes:
        opponent: The opponent of the match that the game is from.
        players: The names of the players by seat.
        scores: The scores of the players by seat.
        winner: The seat of the winner; None for a tie.
        final: The last position as SVG; None to show nothing but the moves.
        earlier: Earlier positions as SVG, each with the number of turns before it.
        turns: All moves: the player and the move in notation.
        notation: The game as text.
    """

    opponent: str
    players: Sequence[str]
    scores: tuple[int, ...]
    winner: int | None
    final: Markup | None
    earlier: list[tuple[int, Markup]]
    turns: list[tuple[int, str]]
    notation: str


class SampleGames(NamedTuple):
    """Sample games of the last evaluation of a run."""

    run: str
    steps: int
    games: list[PageGame]


def render_page(runs: Sequence[RunResult]) -> str:
    """The whole page about one run or several, which share their charts.

    Raises:
        ValueError: A sample game is damaged, or the runs are of different games.
    """
    games = {run.game: run.label for run in runs}
    if len(games) > 1:
        named = ", ".join(f"{name} is of {game}" for game, name in games.items())
        raise ValueError(f"runs of different games have nothing to compare: {named}")
    matches = _last_matches(runs)
    groups = groups_of_seeds(runs)
    return render(
        "run.html.jinja",
        title=", ".join(run.label for run in runs),
        runs=runs,
        words=words_of(runs[0].game),
        has_first_turn=not runner_of(runs[0].game).is_noninteractive,
        shares=shares_of(runs[0].game),
        over_seeds=_over_seeds(groups),
        statistics=STUDENT.description,
        matches=matches,
        figures=list(dict.fromkeys(name for match in matches for name in match.figures.sides.agent)),
        sections=sections(groups),
        most_points=MOST_POINTS,
        is_thinned=any(len(run.metrics) > MOST_POINTS for run, *others in groups if not others),
        sample_games=_sample_games(runs),
    )


def groups_of_seeds(runs: Sequence[RunResult]) -> list[list[RunResult]]:
    """Groups of runs that differ in their seeds and in nothing else, nor in whom they met at last.

    Of several runs with one seed, which are no independent samples, each is in a group of its own.
    """
    alike: dict[tuple[str, int], list[RunResult]] = {}
    earlier: Counter[tuple[str, int]] = Counter()
    for run in runs:
        key = json.dumps([config_key(run.configuration), _last_opponents(run)], default=str)
        alike.setdefault((key, earlier[key, run.seed]), []).append(run)
        earlier[key, run.seed] += 1
    return list(alike.values())


def _last_opponents(run: RunResult) -> list[str]:
    return [match.opponent for match in run.last.matches] if run.evaluations else []


def _over_seeds(groups: Sequence[Sequence[RunResult]]) -> list[tuple[str, list[OverSeeds]]]:
    """The names of the runs of each group of several, and what they reached together."""
    return [
        (
            ", ".join(run.label for run in group),
            over_seeds([[match.model_dump() for match in run.last.matches] for run in group]),
        )
        for group in groups
        if len(group) > 1 and _last_opponents(group[0])
    ]


def _last_matches(runs: Sequence[RunResult]) -> list[LastMatch]:
    """The last match of every run against the first opponent, then against the next one, and so on."""
    opponents = dict.fromkeys(opponent for run in runs for opponent in run.opponents)
    return [
        LastMatch(run.label, evaluation.steps, match)
        for opponent in opponents
        for run in runs
        for evaluation, match in run.matches(opponent)[-1:]
    ]


def _sample_games(runs: Sequence[RunResult]) -> list[SampleGames]:
    """The games of the last evaluations, those against the hardest opponents first.

    The first game against each opponent is drawn, as far as there is room; earlier positions are drawn of the
    very first game alone.
    """
    listed, pictures = [], 0
    for run in runs:
        games: list[PageGame] = []
        for sample in _by_difficulty(run):
            is_first = all(sample.opponent != game.opponent for game in games)
            has_picture = is_first and pictures < _MOST_PICTURES
            games.append(_page_game(sample, run.game, has_picture, _EARLIER if pictures == 0 else 0))
            pictures += has_picture
        if games:
            listed.append(SampleGames(run.label, run.last.steps, games))
    return listed


def _by_difficulty(run: RunResult) -> list[SampleGame]:
    """The last evaluation's sample games, those against the hardest opponent first."""
    if not run.evaluations:
        return []
    rates = {match.opponent: match.win_rate for match in run.last.matches}
    return sorted(run.last.sample_games, key=lambda sample: rates.get(sample.opponent, 0.0))


def _page_game(sample: SampleGame, kind: str, has_picture: bool, earlier: int) -> PageGame:
    """A sample game with its pictures; ValueError if the notation is damaged."""
    game, svg = rules_of(kind).game.from_notation(sample.notation), rules_of(kind).pictures.svg
    names = (sample.players[0], sample.players[1])
    return PageGame(
        sample.opponent,
        names,
        game.scores(),
        sample.winner,
        Markup(svg(game, names)) if has_picture else None,
        [
            (len(position.history), Markup(svg(position, names)))
            for position in (milestones(game, earlier) if earlier else [])
        ],
        _turns(game),
        sample.notation,
    )


def _turns(game: BaseGame) -> list[tuple[int, str]]:
    position, turns = game.root(), []
    for action in game.history:
        turns.append((position.current_player, position.move_text(action)))
        position.play(action)
    return turns
