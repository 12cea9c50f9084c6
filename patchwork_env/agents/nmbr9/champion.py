"""The agents of NMBR 9 that play by a learned value: at a glance, or with a search of every move.

A search asks by rollouts which of the best placements brings the most points. Decks are drawn at random from
the cards that are left. All candidates meet the same decks, so that chance matters less to their differences;
in a row of as many decks as there are cards left, each card comes next once. A rollout plays some tiles by
the value and then adds the value of the table for the rest. After each round, the better half of the
candidates goes on (Sequential Halving; see :mod:`patchwork_env.search.gumbel`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from time import perf_counter
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env.agents.analysis import ScoreLine
from patchwork_env.agents.base import Actions, Agent, BatchAgent, DrawingAgent
from patchwork_env.agents.checkpoints import Checkpoint
from patchwork_env.agents.nmbr9 import value
from patchwork_env.agents.options import check_budget, spec_of
from patchwork_env.core.checks import seed_streams
from patchwork_env.core.compile import kernel
from patchwork_env.core.intrinsics import copy_record
from patchwork_env.core.random import Streams, random_below
from patchwork_env.games import NMBR9
from patchwork_env.nmbr9.components import MAX_CARDS, NUM_DIGITS
from patchwork_env.nmbr9.decks import shuffle
from patchwork_env.nmbr9.engine import apply, is_over, score
from patchwork_env.nmbr9.game import Game
from patchwork_env.nmbr9.state import FREE, UNKNOWN, States, empty_states

MOST_CANDIDATES = 64


class RolloutSettings(NamedTuple):
    """The settings of rollouts; the defaults are those of ``research/nmbr9_search``."""

    candidates: int = 12  # placements that are tried at first
    root_width: int = 32  # placements of each level that may become candidates
    width: int = 4  # placements of each level that rollouts choose from
    depth: int = 3  # tiles that a rollout places by the value after the candidate


SETTINGS = RolloutSettings()


class Workspace(NamedTuple):
    """The buffers of one search."""

    actions: npt.NDArray[np.int64]  # (MOST_CANDIDATES,), first those that are still considered
    sums: npt.NDArray[np.float64]  # (MOST_CANDIDATES,), of the results of the rollouts of each
    rollouts: npt.NDArray[np.int64]  # (1,), of each candidate that is considered
    evaluations: npt.NDArray[np.int64]  # (1,), the placements evaluated so far
    root: States  # the position as a game of one player
    game: States  # that of a rollout
    order: npt.NDArray[np.uint8]  # (MAX_CARDS,), the cards to come, as they come first in a row of decks
    expansion: value.Expansion


def new_workspace() -> Workspace:
    """Return the buffers of one thread."""
    return Workspace(
        np.empty(MOST_CANDIDATES, np.int64),
        np.empty(MOST_CANDIDATES, np.float64),
        np.zeros(1, np.int64),
        np.zeros(1, np.int64),
        empty_states(1),
        empty_states(1),
        np.empty(MAX_CARDS, np.uint8),
        value.new_expansion(),
    )


@kernel
def begin(states: States, i: int, settings: RolloutSettings, weights: value.Weights, work: Workspace) -> int:
    """Start a search: list the candidates, the one with the highest value first; return their number."""
    _write_root(states, i, work)
    work.rollouts[0] = work.evaluations[0] = 0
    work.sums[:] = 0
    count = value.expand(work.root, 0, settings.root_width, weights, work.expansion)
    work.evaluations[0] += count
    length = min(count, settings.candidates)
    for k in range(length):
        best = value.best_action(work.expansion, count)
        work.actions[k] = work.expansion.actions[best]
        work.expansion.values[best] = -np.inf
    return length


@kernel
def _write_root(states: States, i: int, work: Workspace) -> None:
    """Write the current player's table to ``root`` as a game of one player; sort the cards to come."""
    place = value.write_solo_game(states, i, UNKNOWN, work.root) + 1
    remaining = work.expansion.buffer[0]["remaining"]
    value.count_remaining(work.root, 0, place, work.expansion.buffer[0])
    for digit in range(NUM_DIGITS):
        for _ in range(remaining[digit]):
            work.root[0]["deck"][place] = digit
            place += 1


@kernel
def roll_out(
    considered: int, settings: RolloutSettings, weights: value.Weights, work: Workspace, streams: Streams
) -> None:
    """Draw a deck, and play a rollout of each of the first ``considered`` candidates with it."""
    root = work.root
    _draw_deck(work, streams)
    for k in range(considered):
        copy_record(work.game, 0, root, 0)
        work.sums[k] += _play(work.actions[k], settings, weights, work)
    work.rollouts[0] += 1


@kernel
def _draw_deck(work: Workspace, streams: Streams) -> None:
    """Bring the cards to come into a random order; the row of decks says which card comes next."""
    root, order = work.root, work.order
    deck, first = root[0]["deck"], int(root[0]["round"]) + 1
    cards = int(root[0]["num_cards"]) - first
    if cards == 0:
        return
    turn = work.rollouts[0] % cards
    if turn == 0:
        for k in range(cards):
            order[k] = deck[first + k]
        for k in range(cards - 1, 0, -1):
            other = random_below(streams, 0, k + 1)
            order[k], order[other] = order[other], order[k]
    place = first
    while deck[place] != order[turn]:
        place += 1
    deck[first], deck[place] = deck[place], deck[first]
    shuffle(root, 0, streams, first + 1)


@kernel
def _play(action: int, settings: RolloutSettings, weights: value.Weights, work: Workspace) -> float:
    """Play a rollout on ``game``; return its expected final score."""
    game = work.game
    apply(game, 0, action)
    for _ in range(settings.depth):
        if is_over(game, 0):
            break
        count = value.expand(game, 0, settings.width, weights, work.expansion)
        work.evaluations[0] += count
        apply(game, 0, work.expansion.actions[value.best_action(work.expansion, count)])
    return score(game, 0, 0) + value.evaluate(game, 0, 0, weights, work.expansion.buffer)


@kernel
def keep_best(considered: int, number: int, work: Workspace) -> None:
    """Move the ``number`` candidates with the best rollouts to the front, the best first."""
    actions, sums = work.actions, work.sums
    for k in range(number):
        best = k
        for other in range(k + 1, considered):
            if sums[other] > sums[best]:
                best = other
        action, total = actions[best], sums[best]
        for other in range(best, k, -1):
            actions[other], sums[other] = actions[other - 1], sums[other - 1]
        actions[k], sums[k] = action, total


# --- the agents ---------------------------------------------------------------------------------------------


INSTANT = "instant"
LEVELS: Mapping[str, int] = {INSTANT: 0, "fast": 20_000, "strong": 160_000, "analysis": 800_000}
"""Budgets with a name: the number of placements evaluated for a move; 600,000 take about a second."""
DEFAULT_LEVEL = "strong"
ANALYSIS_SEED = 0  # the seed of the decks that an analysis draws, so that it can be repeated
_RESULTS = 10  # the number of results of an analysis, or more where a round of halving ends between them


class _PlacingAgent(BatchAgent):
    """An agent that cannot choose digits."""

    games = (NMBR9,)

    def check_states(self, states: States) -> str:
        game = super().check_states(states)
        if (states["order"] == FREE).any():
            raise ValueError(f"agent {self.name!r} places tiles as they come; it does not choose digits")
        return game


class ValueAgent(_PlacingAgent):
    """Plays the placement whose table has the highest value; see :class:`ChampionAgent` for what it knows."""

    def __init__(self, weights: value.Weights, name: str = "nmbr9 value") -> None:
        self.name = name
        self._weights = weights

    def _new_workspace(self) -> value.Expansion:
        return value.new_expansion()

    def act_batch(self, states: States) -> Actions:
        self.check_states(states)
        actions = np.empty(len(states), np.int64)
        _choose(states, self._weights, self.workspace(), actions)
        return actions


@kernel
def _choose(states: States, weights: value.Weights, expansion: value.Expansion, actions: Actions) -> None:
    for i in range(len(states)):
        count = value.expand(states, i, value.LIKELY, weights, expansion)
        actions[i] = expansion.actions[value.best_action(expansion, count)]


class ChampionAgent(_PlacingAgent, DrawingAgent):
    """Searches every move by rollouts; see the module.

    It uses the tile in hand and how many of each digit are left, never their order, and maximizes its own
    points: other players' tables do not matter. The weights are not copied.

    ``evaluations`` is the number of placements to evaluate for a move, at least 1; a few hundred more are
    possible. With ``seconds`` instead, a move may take a few milliseconds more.
    """

    def __init__(
        self,
        weights: value.Weights,
        name: str = "nmbr9_champion",
        *,
        evaluations: int = LEVELS[DEFAULT_LEVEL],
        seconds: float | None = None,
        seed: int | None = None,
        settings: RolloutSettings = SETTINGS,
    ) -> None:
        self.name = name
        self._weights, self._settings = weights, settings
        self._evaluations, self._seconds = evaluations, seconds
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
        """Analyse a game: the best placements with the final scores to expect, the best first.

        The first is the one that would be played. The lines come again and again until the budget is spent;
        placements that are not considered any more keep their distance to it, over the decks that both met.
        Each analysis has a memory of its own and draws the same decks.
        """
        self.check_states(game.state)
        return self._analyses(game.clone(), new_workspace())

    def expected_scores(self, game: Game) -> list[float]:
        """Return the final scores that all players may expect, by the value of their tables alone."""
        buffer = value.new_buffer()
        return [
            score + float(value.evaluate(game.state, 0, player, self._weights, buffer))
            for player, score in enumerate(game.scores())
        ]

    def _search(
        self, states: States, i: int, work: Workspace, streams: Streams, results: int = 1
    ) -> Iterator[int]:
        """Roll out ever fewer candidates, the best of which is the first in the end.

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
        if self._seconds is None:
            return float(work.evaluations[0]) / self._evaluations
        return (perf_counter() - began) / self._seconds

    def _analyses(self, game: Game, work: Workspace) -> Iterator[list[ScoreLine]]:
        search = self._search(game.state, 0, work, seed_streams(ANALYSIS_SEED), _RESULTS)
        considered = next(search)
        if _is_last_tile(work):  # scores are what they will be
            lines = []
            for action in work.actions[:considered].tolist():
                after = game.clone()
                after.play(action)
                lines.append(ScoreLine(action, 1, float(after.scores()[game.current_player]), exact=True))
            yield sorted(lines, key=lambda line: -line.score)
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


def load(
    checkpoint: Checkpoint,
    seed: int | None = None,
    *,
    level: str | None = None,
    nodes: int | None = None,
    seconds: float | None = None,
) -> Agent:
    """Return the agent of a value's checkpoint, which searches if it has a budget or is shipped."""
    budget = check_budget(level=level, nodes=nodes, seconds=seconds)
    weights = value.read_value(checkpoint)
    name = spec_of(checkpoint.name, **budget)
    if level == INSTANT or not (budget or checkpoint.is_shipped):
        return ValueAgent(weights, name)
    evaluations = nodes or LEVELS[level or DEFAULT_LEVEL]
    return ChampionAgent(weights, name, evaluations=evaluations, seconds=seconds, seed=seed)
