"""The agents of NMBR 9 that play by a learned value: at a glance, or with a search of every move."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from time import perf_counter

import numpy as np

from patchwork_env.agents.analysis import ScoreLine
from patchwork_env.agents.base import Actions, Agent, BatchAgent, DrawingAgent
from patchwork_env.agents.checkpoints import is_shipped
from patchwork_env.agents.nmbr9.expansion import LIKELY, Expansion, best_action, expand, new_expansion
from patchwork_env.agents.nmbr9.search import (
    SETTINGS,
    RolloutSettings,
    Workspace,
    begin,
    keep_best,
    new_workspace,
    roll_out,
)
from patchwork_env.agents.nmbr9.value import Weights, evaluate, new_buffer, read_value
from patchwork_env.agents.specs import check_budget, spec_of
from patchwork_env.core.checks import seed_streams
from patchwork_env.core.compile import kernel
from patchwork_env.core.random import Streams
from patchwork_env.games import NMBR9
from patchwork_env.nmbr9.game import Game
from patchwork_env.nmbr9.state import FREE, States

INSTANT = "instant"
LEVELS: Mapping[str, int] = {INSTANT: 0, "fast": 20_000, "strong": 160_000, "analysis": 800_000}
"""Budgets with a name: the number of placements evaluated for a move; 600,000 take about a second."""
DEFAULT_LEVEL = "strong"
ANALYSIS_SEED = 0
"""The seed of the decks that an analysis draws, so that it can be repeated."""
_RESULTS = 10
"""The number of results of an analysis, or more where a round of halving ends between them."""


class _PlacingAgent(BatchAgent):
    """An agent that cannot choose digits."""

    games = (NMBR9,)

    def check_states(self, states: States) -> str:
        """See :meth:`Agent.check_states`; ValueError also where players choose their tiles."""
        game = super().check_states(states)
        if (states["order"] == FREE).any():
            raise ValueError(f"agent {self.name!r} places tiles as they come; it does not choose digits")
        return game


class ValueAgent(_PlacingAgent):
    """Plays the placement whose table has the highest value, without looking further ahead.

    What it knows and maximizes is what :class:`ChampionAgent` does.
    """

    def __init__(self, weights: Weights, name: str = "nmbr9 value") -> None:
        self.name = name
        self._weights = weights

    def _new_workspace(self) -> Expansion:
        return new_expansion()

    def act_batch(self, states: States) -> Actions:
        self.check_states(states)
        actions = np.empty(len(states), np.int64)
        _choose(states, self._weights, self.workspace(), actions)
        return actions


@kernel
def _choose(states: States, weights: Weights, expansion: Expansion, actions: Actions) -> None:
    for i in range(len(states)):
        count = expand(states, i, LIKELY, weights, expansion)
        actions[i] = expansion.actions[best_action(expansion, count)]


class ChampionAgent(_PlacingAgent, DrawingAgent):
    """Searches every move by rollouts; see :mod:`patchwork_env.agents.nmbr9.search`.

    It uses the tile in hand and how many of each digit are left, never their order. Other players' tables do
    not matter: it maximizes its own points.

    Args:
        weights: The weights of the value, which are not copied: later changes change how the agent plays.
        name: The name of the agent in tables and messages.
        effort: The number of placements to evaluate for a move, at least 1; a few hundred more are possible.
        seconds: The seconds of a move instead; it may take a few milliseconds more.
        seed: The seed of the decks that it draws, ``0 ... 2**64 - 1``; None for fresh ones.
        settings: The settings of the rollouts.
    """

    def __init__(
        self,
        weights: Weights,
        name: str = "nmbr9_champion",
        *,
        effort: int = LEVELS[DEFAULT_LEVEL],
        seconds: float | None = None,
        seed: int | None = None,
        settings: RolloutSettings = SETTINGS,
    ) -> None:
        self.name = name
        self._weights, self._settings = weights, settings
        self._effort, self._seconds = effort, seconds
        super().__init__(seed)

    def _new_workspace(self) -> Workspace:
        return new_workspace()

    def _choose(self, states: States, stream: Streams, actions: Actions) -> None:
        work = self.workspace()
        for i in range(len(states)):
            search = self._search(states, i, work, stream)
            if next(search) > 1 and not _is_last_tile(work):
                for _ in search:
                    pass
            actions[i] = work.actions[0]

    def deepen(self, game: Game) -> Iterator[list[ScoreLine]]:
        """Analyses a game: the best placements with the final scores to expect, the best first.

        The first is the one that would be played. The lines come again and again until the budget is spent;
        placements that are not considered any more keep their distance to it, over the decks that both met.
        Each analysis has a memory of its own, so that it may wait, and draws the same decks.

        Raises:
            ValueError: The game is over, or players choose their tiles.
        """
        self.check_states(game.state)
        return self._analyses(game.clone(), new_workspace())

    def expected_scores(self, game: Game) -> list[float]:
        """The final scores that all players may expect, by the value of their tables alone."""
        buffer = new_buffer()
        return [
            score + float(evaluate(game.state, 0, player, self._weights, buffer))
            for player, score in enumerate(game.scores())
        ]

    def _search(
        self, states: States, i: int, work: Workspace, streams: Streams, results: int = 1
    ) -> Iterator[int]:
        """Rollouts of ever fewer candidates, the best of which is the first in the end.

        Every round of halving has an equal share of the budget, in one step or more, ``results`` in all. The
        number of candidates comes before the first step and after each.
        """
        began = perf_counter()
        considered = int(begin(states, i, self._settings, self._weights, work))
        yield considered
        rounds = max((considered - 1).bit_length(), 1)
        steps = max(round(results / rounds), 1)
        for done in range(1, rounds * steps + 1):
            before = int(work.rollouts[0])
            while work.rollouts[0] == before or self._spent(work, began) < done / (rounds * steps):
                roll_out(considered, self._settings, self._weights, work, streams)
            yield considered
            if done % steps == 0:
                kept = (considered + 1) // 2
                keep_best(considered, kept, work)
                considered = kept

    def _spent(self, work: Workspace, began: float) -> float:
        """The share of the budget that is spent."""
        if self._seconds is None:
            return float(work.effort[0]) / self._effort
        return (perf_counter() - began) / self._seconds

    def _analyses(self, game: Game, work: Workspace) -> Iterator[list[ScoreLine]]:
        search = self._search(game.state, 0, work, seed_streams(ANALYSIS_SEED), _RESULTS)
        considered = next(search)
        if _is_last_tile(work):
            yield _exact_lines(game, work.actions[:considered].tolist())
            return
        visits: dict[int, int] = {}
        means: dict[int, dict[int, float]] = {}  # of all that were considered then, by the number of rollouts
        for considered in search:
            rollouts = int(work.rollouts[0])
            totals = zip(work.actions[:considered].tolist(), work.sums[:considered].tolist(), strict=True)
            means[rollouts] = {action: total / rollouts for action, total in totals}
            visits.update(dict.fromkeys(means[rollouts], rollouts))
            best = max(means[rollouts], key=means[rollouts].__getitem__)
            lines = [
                ScoreLine(action, met, means[rollouts][best] + (means[met][action] - means[met][best]), False)
                for action, met in visits.items()
            ]
            yield sorted(lines, key=lambda line: (line.action != best, -line.score))


def _is_last_tile(work: Workspace) -> bool:
    return int(work.root[0]["round"]) + 1 == int(work.root[0]["num_rounds"])


def _exact_lines(game: Game, actions: list[int]) -> list[ScoreLine]:
    """The scores of the last tile, which are what they will be."""
    lines = []
    for action in actions:
        after = game.clone()
        after.play(action)
        lines.append(ScoreLine(action, 1, float(after.scores()[game.current_player]), exact=True))
    return sorted(lines, key=lambda line: -line.score)


def load(
    path: str | Path,
    seed: int | None = None,
    *,
    level: str | None = None,
    nodes: int | None = None,
    seconds: float | None = None,
) -> Agent:
    """The agent of a value's checkpoint; it searches if there is a budget, or it comes with the package."""
    budget = check_budget(level=level, nodes=nodes, seconds=seconds)
    weights, _ = read_value(Path(path))
    name = spec_of(Path(path).name, **budget)
    if level == INSTANT or not (budget or is_shipped(path)):
        return ValueAgent(weights, name)
    effort = nodes or LEVELS[level or DEFAULT_LEVEL]
    return ChampionAgent(weights, name, effort=effort, seconds=seconds, seed=seed)
