"""Analyses that get ever deeper while somebody looks on: rollouts of the best placements, again and again."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter
from typing import NamedTuple

from patchwork_env.agents.analysis import ScoreLine
from patchwork_env.agents.nmbr9.champion.search import (
    RolloutSettings,
    begin,
    keep_best,
    new_workspace,
    roll_out,
)
from patchwork_env.agents.nmbr9.value.network import Weights, evaluate, new_buffer
from patchwork_env.core.checks import seed_streams
from patchwork_env.nmbr9.game import Game

_STEP = 0.1
"""The share of the budget after which there are new results, or fewer where a round ends before."""
_SEED = 0
"""The seed of the decks that are drawn, so that an analysis can be repeated."""


class Limits(NamedTuple):
    """When an analysis ends: after so many evaluated placements, or so many seconds, whichever is given."""

    effort: int | None
    seconds: float | None


class Deepening:
    """The search of one game, which goes on step by step in memory of its own.

    Every round of halving gets an equal share of the budget, as in the agent's own search; placements that
    are not considered any more keep what was found out.

    Args:
        game: The game, which is not over and has a tile to be placed; it is left as it was.
        weights: The weights of the value.
        settings: The settings of the rollouts.
        limits: When it ends.
    """

    def __init__(self, game: Game, weights: Weights, settings: RolloutSettings, limits: Limits) -> None:
        self._game, self._weights, self._settings, self._limits = game.clone(), weights, settings, limits
        self._work, self._streams = new_workspace(), seed_streams(_SEED)
        self._found: dict[int, ScoreLine] = {}

    def __iter__(self) -> Iterator[list[ScoreLine]]:
        """A line for each of the best placements, the best first, after ever more rollouts."""
        began = perf_counter()
        considered = int(begin(self._game.state, 0, self._settings, self._weights, self._work))
        if self._game.round + 1 == self._game.num_rounds:
            yield self._exact(considered)
            return
        rounds = max((considered - 1).bit_length(), 1)
        steps = max(round(1 / _STEP / rounds), 1)
        for done in range(1, rounds * steps + 1):
            self._roll_out(considered, done / (rounds * steps), began)
            yield self._lines(considered)
            if done % steps == 0 and considered > 1:
                kept = (considered + 1) // 2
                keep_best(considered, kept, self._work)
                considered = kept

    def _roll_out(self, considered: int, share: float, began: float) -> None:
        """Plays rollouts until such a share of the budget is spent, but at least one."""
        before = int(self._work.rollouts[0])
        while self._work.rollouts[0] == before or self._spent(began) < share:
            roll_out(considered, self._settings, self._weights, self._work, self._streams)

    def _spent(self, began: float) -> float:
        """The share of the budget that is spent."""
        if self._limits.effort is not None:
            return float(self._work.effort[0]) / self._limits.effort
        assert self._limits.seconds is not None
        return (perf_counter() - began) / self._limits.seconds

    def _lines(self, considered: int) -> list[ScoreLine]:
        """What is known of all candidates by now; those that are considered come first."""
        rollouts = int(self._work.rollouts[0])
        actions = self._work.actions[:considered].tolist()
        sums = self._work.sums[:considered].tolist()
        for action, total in zip(actions, sums, strict=True):
            self._found[action] = ScoreLine(action, rollouts, total / rollouts, exact=False)
        return sorted(self._found.values(), key=lambda line: (-line.visits, -line.score))

    def _exact(self, considered: int) -> list[ScoreLine]:
        """The scores of the last tile, which are what they will be."""
        lines = []
        for action in self._work.actions[:considered].tolist():
            after = self._game.clone()
            after.play(action)
            lines.append(ScoreLine(action, 1, float(after.scores()[self._game.current_player]), exact=True))
        return sorted(lines, key=lambda line: -line.score)


def expected_scores(game: Game, weights: Weights) -> list[float]:
    """The final scores that all players may expect at a glance at their tables, by the value alone."""
    buffer = new_buffer()
    return [
        score + float(evaluate(game.state, 0, player, weights, buffer))
        for player, score in enumerate(game.scores())
    ]
