"""The page about one run, or about several side by side, as HTML."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from patchwork_env.core.game import BaseGame
from patchwork_env.games import rules_of
from patchwork_env.learning.evaluation.records import SampleGame
from patchwork_env.learning.evaluation.results import milestones
from patchwork_env.learning.evaluation.runners import runner_of
from patchwork_env.learning.evaluation.seeds import OverSeeds, config_key, over_seeds
from patchwork_env.learning.evaluation.statistics import STUDENT
from patchwork_env.learning.reports.charts import MOST_POINTS, render
from patchwork_env.learning.reports.run_charts import WORDS, Words, sections, shares_of
from patchwork_env.learning.reports.run_results import RunResult

_MOST_PICTURES = 4
"""The number of last positions that are drawn, over all runs; each takes about 120 kB."""
_EARLIER = 3
"""The number of earlier positions that are drawn of the first game."""


def render_page(runs: Sequence[RunResult]) -> str:
    """The whole page about one run or several, which share their charts.

    Raises:
        ValueError: A sample game is damaged, or the runs are of different games.
    """
    games = {run.game: run.label for run in runs}
    if len(games) > 1:
        named = ", ".join(f"{name} is of {game}" for game, name in games.items())
        raise ValueError(f"runs of different games have nothing to compare: {named}")
    game = runs[0].game
    opponents = dict.fromkeys(opponent for run in runs for opponent in run.opponents)
    matches: list[dict[str, Any]] = [
        {"run": run.label, "steps": evaluation.steps, "figures": match}
        for opponent in opponents
        for run in runs
        for evaluation, match in run.matches(opponent)[-1:]
    ]
    figures = dict.fromkeys(name for one in matches for name in one["figures"].sides.agent)
    groups = groups_of_seeds(runs)
    return render(
        "run.html.jinja",
        title=", ".join(run.label for run in runs),
        runs=runs,
        words=WORDS.get(game, Words()),
        has_first_turn=not runner_of(game).is_noninteractive,
        shares=shares_of(game),
        over_seeds=_over_seeds(groups),
        statistics=STUDENT.description,
        matches=matches,
        figures=figures,
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


def _sample_games(runs: Sequence[RunResult]) -> list[dict[str, Any]]:
    """The games of the last evaluations, those against the hardest opponents first.

    The first game against each opponent is drawn, as far as there is room; earlier positions are drawn of the
    very first game alone.
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
    """A sample game with pictures as SVG: of the last position, and of so many earlier ones."""
    game, svg = rules_of(kind).game.from_notation(sample.notation), rules_of(kind).pictures.svg
    names = (sample.players[0], sample.players[1])
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
    """All moves: the player and the move in notation."""
    position, turns = game.root(), []
    for action in game.history:
        turns.append((position.current_player, position.move_text(action)))
        position.play(action)
    return turns
