"""Rollouts with a value: which of the most promising placements brings most, over decks drawn at random.

What is to come is drawn anew from the cards that are left, in whatever order they lie in the record. All
candidates meet the same decks, so that chance matters less to their differences; and among any decks in a
row that are as many as the cards left, each card comes next once. A rollout plays some tiles by the value and
then takes the value's word for the rest. The better half of the candidates goes on (sequential halving; see
:mod:`patchwork_env.search.gumbel.halving`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env.agents.nmbr9.value.expansion import Expansion, best_action, expand, new_expansion
from patchwork_env.agents.nmbr9.value.network import Weights, count_remaining, evaluate
from patchwork_env.core.compile import kernel
from patchwork_env.core.random import Streams, random_below
from patchwork_env.nmbr9.components import MAX_CARDS, NUM_DIGITS
from patchwork_env.nmbr9.engine import apply, is_over, num_placed, score, shuffle
from patchwork_env.nmbr9.state import UNKNOWN, States, empty_states

MOST_CANDIDATES = 64


class Plan(NamedTuple):
    """How rollouts are played.

    Attributes:
        candidates: Placements that are tried at first.
        root_width: How many placements of each level may become candidates; see :func:`.expansion.expand`.
        width: The same for the placements of rollouts.
        depth: Tiles that a rollout places by the value behind the candidate.
    """

    candidates: int
    root_width: int
    width: int
    depth: int


PLAN = Plan(candidates=12, root_width=32, width=4, depth=3)
"""What is measured to be good; see ``research/nmbr9_search``."""


class Workspace(NamedTuple):
    """Memory of one search.

    Attributes:
        actions: int64, the candidates that are still considered, and behind them those that are not.
        sums: float64, of the results of the rollouts of each candidate.
        rollouts: int64 ``(1,)``, of each candidate that is considered.
        effort: int64 ``(1,)``, placements evaluated so far.
        root: The position as a game of one player.
        game: The game of a rollout.
        order: uint8, the cards to come of the present row of decks, one of which comes first in each.
        expansion: The successors of a position.
    """

    actions: npt.NDArray[np.int64]
    sums: npt.NDArray[np.float64]
    rollouts: npt.NDArray[np.int64]
    effort: npt.NDArray[np.int64]
    root: States
    game: States
    order: npt.NDArray[np.uint8]
    expansion: Expansion


def new_workspace() -> Workspace:
    """Memory for one thread."""
    return Workspace(
        np.empty(MOST_CANDIDATES, np.int64),
        np.empty(MOST_CANDIDATES, np.float64),
        np.zeros(1, np.int64),
        np.zeros(1, np.int64),
        empty_states(1),
        empty_states(1),
        np.empty(MAX_CARDS, np.uint8),
        new_expansion(),
    )


@kernel
def begin(states: States, i: int, plan: Plan, weights: Weights, work: Workspace) -> int:
    """Starts a search: lists the candidates, the most promising first, and returns their number."""
    _isolate(states, i, work)
    work.rollouts[0] = work.effort[0] = 0
    work.sums[:] = 0
    count = expand(work.root, 0, plan.root_width, weights, work.expansion)
    work.effort[0] += count
    length = min(count, plan.candidates)
    for k in range(length):
        best = best_action(work.expansion, count)
        work.actions[k] = work.expansion.actions[best]
        work.expansion.values[best] = -np.inf
    return length


@kernel(allocates=True)
def _isolate(states: States, i: int, work: Workspace) -> None:
    """Makes a game of one player of the current player's table; the cards to come are in ascending order."""
    root, player = work.root, int(states[i]["current_player"])
    root[0] = states[i]
    placed = num_placed(states, i, player)
    root[0]["piece"][0] = states[i]["piece"][player]
    root[0]["level"][0] = states[i]["level"][player]
    root[0]["row"][0] = states[i]["row"][player]
    root[0]["column"][0] = states[i]["column"][player]
    root[0]["num_players"] = 1
    root[0]["current_player"] = 0
    root[0]["round"] = placed
    root[0]["order"] = UNKNOWN
    memory = work.expansion.memory[0]
    count_remaining(root, 0, placed + 1, memory)
    place = placed + 1
    for digit in range(NUM_DIGITS):
        for _ in range(memory["remaining"][digit]):
            root[0]["deck"][place] = digit
            place += 1


@kernel
def roll_out(considered: int, plan: Plan, weights: Weights, work: Workspace, streams: Streams) -> None:
    """Draws a deck and plays a rollout of each of the first ``considered`` candidates with it."""
    root = work.root
    _draw_deck(work, streams)
    for k in range(considered):
        work.game[0] = root[0]
        work.sums[k] += _play(work.actions[k], plan, weights, work)
    work.rollouts[0] += 1


@kernel
def _draw_deck(work: Workspace, streams: Streams) -> None:
    """Brings the cards to come into a random order, the next one as the present row of decks has it."""
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
def _play(action: int, plan: Plan, weights: Weights, work: Workspace) -> float:
    """Plays a rollout on ``game``; returns the final score that it promises."""
    game = work.game
    apply(game, 0, action)
    for _ in range(plan.depth):
        if is_over(game, 0):
            break
        count = expand(game, 0, plan.width, weights, work.expansion)
        work.effort[0] += count
        apply(game, 0, work.expansion.actions[best_action(work.expansion, count)])
    return score(game, 0, 0) + evaluate(game, 0, 0, weights, work.expansion.memory)


@kernel
def keep_best(considered: int, number: int, work: Workspace) -> None:
    """Moves the ``number`` candidates with the best rollouts to the front, the best first."""
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
