"""An agent of NMBR 9 that searches with a learned value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from patchwork_env.agents.analysis import ScoreLine
from patchwork_env.agents.base import Actions, Agent, BatchAgent
from patchwork_env.agents.checkpoints import is_shipped
from patchwork_env.agents.nmbr9.champion.deepening import Deepening, Limits, expected_scores
from patchwork_env.agents.nmbr9.champion.search import (
    SETTINGS,
    RolloutSettings,
    Workspace,
    begin,
    keep_best,
    new_workspace,
    roll_out,
)
from patchwork_env.agents.nmbr9.value import agent as value_agent
from patchwork_env.agents.nmbr9.value.agent import ValueAgent, check_tiles, read_value
from patchwork_env.agents.nmbr9.value.network import Weights
from patchwork_env.agents.specs import check_budget, spec_of
from patchwork_env.core.checks import check_one_of, seed_streams
from patchwork_env.core.random import Streams
from patchwork_env.games import NMBR9
from patchwork_env.nmbr9.game import Game
from patchwork_env.nmbr9.state import States

INSTANT = "instant"
LEVELS: Mapping[str, int] = {INSTANT: 0, "fast": 20_000, "strong": 160_000, "analysis": 800_000}
"""Budgets with a name: the number of placements evaluated for a move; 600,000 take about a second."""
DEFAULT_LEVEL = "strong"


class ChampionAgent(BatchAgent):
    """Searches every move by rollouts; see :mod:`patchwork_env.agents.nmbr9.champion.search`.

    It uses the tile in hand and how many of each digit are left, never their order. Other players' tables do
    not matter: it maximizes its own points.

    Args:
        weights: The weights of the value, which are not copied: later changes change how the agent plays.
        name: The name of the agent in tables and messages.
        effort: The number of placements to evaluate for a move, at least 1; a few hundred more are possible.
        seconds: Instead, the seconds of a move; it may take a few milliseconds more.
        seed: The seed of the decks that it draws, ``0 ... 2**64 - 1``; None for fresh ones.
        settings: The settings of the rollouts.

    Raises:
        ValueError: Not exactly one of ``effort`` and ``seconds`` is given.
    """

    games = (NMBR9,)

    def __init__(
        self,
        weights: Weights,
        name: str = "nmbr9_champion",
        *,
        effort: int | None = None,
        seconds: float | None = None,
        seed: int | None = None,
        settings: RolloutSettings = SETTINGS,
    ) -> None:
        if (effort is None) == (seconds is None):
            raise ValueError(f"effort is {effort} and seconds is {seconds}; give exactly one of them")
        self.name = name
        self._weights, self._settings = weights, settings
        self._effort, self._seconds = effort, seconds
        self.reseed(seed)

    def _new_workspace(self) -> Workspace:
        return new_workspace()

    def reseed(self, seed: int | None = None) -> None:
        """See :meth:`Agent.reseed`."""
        self._streams = seed_streams(seed)

    def act_batch(self, states: States) -> Actions:
        """See :meth:`Agent.act_batch`; the budget is that of each game."""
        self.check_states(states)
        check_tiles(states, self.name)
        streams = self._streams.copy()
        actions = [self._choose(states, i, streams) for i in range(len(states))]
        self._streams = streams  # not before there are answers to all, whatever interrupts the call
        return np.array(actions, np.int64)

    def deepen(self, game: Game) -> Iterator[list[ScoreLine]]:
        """Analyses a game: the best placements with the final scores to expect, the best first.

        The lines come again and again until the budget is spent. Each analysis has a memory of its own, so
        that it can wait as long as it likes, or be given up, and draws the same decks every time.

        Raises:
            ValueError: The game is over, or players choose their tiles.
        """
        self.check_states(game.state)
        check_tiles(game.state, self.name)
        return iter(Deepening(game, self._weights, self._settings, Limits(self._effort, self._seconds)))

    def expected_scores(self, game: Game) -> list[float]:
        """The final scores that all players may expect, by the value of their tables alone."""
        return expected_scores(game, self._weights)

    def _choose(self, states: States, i: int, streams: Streams) -> int:
        """The action of a search; every round of halving gets an equal share of the budget."""
        work = self.workspace()
        began = perf_counter()
        considered = int(begin(states, i, self._settings, self._weights, work))
        if int(work.root[0]["round"]) + 1 == int(work.root[0]["num_rounds"]):
            return int(work.actions[0])
        rounds = max(considered - 1, 0).bit_length()
        for done in range(1, rounds + 1):
            before = int(work.rollouts[0])
            while work.rollouts[0] == before or self._spent(began) < done / rounds:
                roll_out(considered, self._settings, self._weights, work, streams)
            kept = (considered + 1) // 2
            keep_best(considered, kept, work)
            considered = kept
        return int(work.actions[0])

    def _spent(self, began: float) -> float:
        """The share of the budget that is spent."""
        if self._effort is not None:
            return float(self.workspace().effort[0]) / self._effort
        assert self._seconds is not None
        return (perf_counter() - began) / self._seconds


def load_value(path: str | Path, seed: int | None = None, **options: Any) -> Agent:
    """The agent of a value's checkpoint; it searches if there are options, and if it comes with the package.

    For errors see :func:`load`.
    """
    return load(path, seed, **options) if options or is_shipped(path) else value_agent.load(path)


def load(
    path: str | Path,
    seed: int | None = None,
    *,
    level: str | None = None,
    nodes: int | None = None,
    seconds: float | None = None,
) -> Agent:
    """The agent of a value's checkpoint folder; for the options see :class:`ChampionAgent`.

    ``level`` names a budget, one of :data:`LEVELS`: ``"instant"`` does not search, and ``DEFAULT_LEVEL`` it
    is without any budget. ``nodes`` is the effort.

    Raises:
        FileNotFoundError: There is no checkpoint.
        ValueError: It is damaged, of another game, version or kind of policy; or the budget is not allowed.
    """
    given = check_budget(level=level, nodes=nodes, seconds=seconds)
    if level is not None:
        check_one_of(level, LEVELS, "level")
    weights, _ = read_value(Path(path))
    name = spec_of(Path(path).name, **given)
    if level == INSTANT:
        return ValueAgent(weights, name)
    if seconds is not None:
        return ChampionAgent(weights, name, seconds=seconds, seed=seed)
    effort = LEVELS[level or DEFAULT_LEVEL] if nodes is None else nodes
    return ChampionAgent(weights, name, effort=effort, seed=seed)
