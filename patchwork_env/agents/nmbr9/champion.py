"""The agents of NMBR 9 that play by a learned value, with or without a search of every move.

A search compares the best placements by rollouts. Decks are drawn at random from the cards that are left. All
candidates get the same decks, which reduces the variance of their differences. In each series of as many
decks as cards left, every card comes next once. A rollout plays some tiles by the value, then adds the value
of the table for the rest. After each round, the better half of the candidates is kept (Sequential Halving;
see :mod:`patchwork_env.search.gumbel`).
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

    candidates: int = 12  # the initial number of candidates
    root_width: int = 32  # the number of placements of each level that may become candidates
    width: int = 4  # the number of placements of each level from which rollouts choose
    depth: int = 3  # the number of tiles that a rollout places by the value after the candidate


SETTINGS = RolloutSettings()


class Workspace(NamedTuple):
    """The buffers of one search."""

    actions: npt.NDArray[np.int64]  # (MOST_CANDIDATES,), first the candidates that are still considered
    sums: npt.NDArray[np.float64]  # (MOST_CANDIDATES,), the sums of the results of their rollouts
    rollouts: npt.NDArray[np.int64]  # (1,), the number of rollouts of each remaining candidate
    evaluations: npt.NDArray[np.int64]  # (1,), the number of placements evaluated
    root: States  # the position as a game of one player
    game: States  # the state of a rollout
    order: npt.NDArray[np.uint8]  # (MAX_CARDS,), the next cards in a series of decks
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
    work.rollouts[0] = 0
    work.sums[:] = 0
    count = value.expand(work.root, 0, settings.root_width, weights, work.expansion)
    work.evaluations[0] = count
    length = min(count, settings.candidates)
    for k in range(length):
        best = value.best_action(work.expansion, count)
        work.actions[k] = work.expansion.actions[best]
        work.expansion.values[best] = -np.inf
    return length


@kernel
def _write_root(states: States, i: int, work: Workspace) -> None:
    """Write the current player's table to ``root`` as a game of one player, with sorted cards to come."""
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
    """Draw a deck and play a rollout with it for each of the first ``considered`` candidates."""
    root = work.root
    _draw_deck(work, streams)
    for k in range(considered):
        copy_record(work.game, 0, root, 0)
        work.sums[k] += _play(work.actions[k], settings, weights, work)
    work.rollouts[0] += 1


@kernel
def _draw_deck(work: Workspace, streams: Streams) -> None:
    """Shuffle the cards to come; the series of decks gives the next card."""
    root, order = work.root, work.order
    deck, first = root[0]["deck"], int(root[0]["round"]) + 1
    cards = int(root[0]["num_cards"]) - first
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
"""Named budgets: the number of placements evaluated for a move; 600,000 take about a second."""
DEFAULT_LEVEL = "strong"
ANALYSIS_SEED = 0  # the seed of the decks of an analysis, which makes it reproducible
_RESULTS = 10  # the approximate number of results of an analysis; each round of halving has at least one


class _PlacingAgent(BatchAgent):
    """An agent that cannot choose digits."""

    games = (NMBR9,)

    def check_states(self, states: States) -> str:
        game = super().check_states(states)
        if (states["order"] == FREE).any():
            raise ValueError(f"agent {self.name!r} places tiles as they come; it does not choose digits")
        return game


class ValueAgent(_PlacingAgent):
    """Plays the placement after which the table has the highest value, without regard to the deck's order."""

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

    It uses the tile in hand and the number of cards left of each digit, never their order. It maximizes its
    own points and ignores the tables of other players. The weights are not copied.

    ``evaluations`` is the number of placements to evaluate for a move, at least 1; it may be exceeded by a
    few hundred. ``seconds`` may be given instead; a move may take a few milliseconds more.
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
        """Yield the best placements with their expected final scores, until the budget is spent.

        The first line is the placement to play, the others are best first. A placement that is no longer
        considered keeps its difference to the first one from the rollouts of both. Each analysis has its own
        workspace and draws the same decks.
        """
        self.check_states(game.state)
        return self._analyses(game.clone(), new_workspace())

    def expected_scores(self, game: Game) -> list[float]:
        """Return the expected final scores of all players, by the value of their tables without a search."""
        buffer = value.new_buffer()
        return [
            score + float(value.evaluate(game.state, 0, player, self._weights, buffer))
            for player, score in enumerate(game.scores())
        ]

    def _search(
        self, states: States, i: int, work: Workspace, streams: Streams, results: int = 1
    ) -> Iterator[int]:
        """Search by rounds of halving; finally the first candidate is the best one.

        Every round has an equal share of the budget, in one or more steps, about ``results`` in total. Yield
        the number of candidates before the first step and after each step.
        """
        considered = int(begin(states, i, self._settings, self._weights, work))
        yield considered
        keep_best(considered, 0, work)  # changes nothing: kernels compile before the time begins
        roll_out(considered, self._settings, self._weights, work, streams)
        began, before = perf_counter(), 0
        rounds = max((considered - 1).bit_length(), 1)
        steps = max(round(results / rounds), 1)
        for done in range(1, rounds * steps + 1):
            while work.rollouts[0] == before or self._spent(work, began) < done / (rounds * steps):
                roll_out(considered, self._settings, self._weights, work, streams)
            before = int(work.rollouts[0])
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
        if _is_last_tile(work):  # scores are exact
            lines = []
            for action in work.actions[:considered].tolist():
                after = game.clone()
                after.play(action)
                lines.append(ScoreLine(action, 1, float(after.scores()[game.current_player]), exact=True))
            yield sorted(lines, key=lambda line: -line.score)
            return
        visits: dict[int, int] = {}
        means: dict[int, dict[int, float]] = {}  # by number of rollouts, of the candidates considered then
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
    """Return the agent of a value's checkpoint; it searches if it has a budget or is shipped."""
    budget = check_budget(level=level, nodes=nodes, seconds=seconds)
    weights = value.read_value(checkpoint)
    name = spec_of(checkpoint.name, **budget)
    if level == INSTANT or not (budget or checkpoint.is_shipped):
        return ValueAgent(weights, name)
    evaluations = nodes or LEVELS[level or DEFAULT_LEVEL]
    return ChampionAgent(weights, name, evaluations=evaluations, seconds=seconds, seed=seed)
