"""Rollouts with a value: which of the best placements brings the most points, over decks drawn at random?

Decks are drawn at random from the cards that are left, whatever their order in the record. All candidates
meet the same decks, so that chance matters less to their differences. In a row of as many decks as there are
cards left, each card comes next once. A rollout plays some tiles by the value and then adds the value of the
table for the rest. After each round, the better half of the candidates goes on (Sequential Halving; see
:mod:`patchwork_env.search.gumbel`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env.agents.nmbr9.expansion import (
    Expansion,
    best_action,
    expand,
    new_expansion,
    write_solo_game,
)
from patchwork_env.agents.nmbr9.value import Weights, count_remaining, evaluate
from patchwork_env.core.compile import kernel
from patchwork_env.core.random import Streams, random_below
from patchwork_env.nmbr9.components import MAX_CARDS, NUM_DIGITS
from patchwork_env.nmbr9.engine import apply, is_over, score, shuffle
from patchwork_env.nmbr9.state import UNKNOWN, States, empty_states

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

    actions: npt.NDArray[np.int64]  # the candidates that are still considered, then those that are not
    sums: npt.NDArray[np.float64]  # of the results of the rollouts of each candidate
    rollouts: npt.NDArray[np.int64]  # (1,), of each candidate that is considered
    effort: npt.NDArray[np.int64]  # (1,), the placements evaluated so far
    root: States  # the position as a game of one player
    game: States  # that of a rollout
    order: npt.NDArray[np.uint8]  # the cards to come, as they come first in a row of decks
    expansion: Expansion


def new_workspace() -> Workspace:
    """The buffers of one thread."""
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
def begin(states: States, i: int, settings: RolloutSettings, weights: Weights, work: Workspace) -> int:
    """Starts a search: lists the candidates, the one with the highest value first; returns their number."""
    _write_root(states, i, work)
    work.rollouts[0] = work.effort[0] = 0
    work.sums[:] = 0
    count = expand(work.root, 0, settings.root_width, weights, work.expansion)
    work.effort[0] += count
    length = min(count, settings.candidates)
    for k in range(length):
        best = best_action(work.expansion, count)
        work.actions[k] = work.expansion.actions[best]
        work.expansion.values[best] = -np.inf
    return length


@kernel(allocates=True)
def _write_root(states: States, i: int, work: Workspace) -> None:
    """Writes the current player's table to ``root`` as a game of one player; sorts the cards to come."""
    place = write_solo_game(states, i, UNKNOWN, work.root) + 1
    remaining = work.expansion.buffer[0]["remaining"]
    count_remaining(work.root, 0, place, work.expansion.buffer[0])
    for digit in range(NUM_DIGITS):
        for _ in range(remaining[digit]):
            work.root[0]["deck"][place] = digit
            place += 1


@kernel
def roll_out(
    considered: int, settings: RolloutSettings, weights: Weights, work: Workspace, streams: Streams
) -> None:
    """Draws a deck and plays a rollout of each of the first ``considered`` candidates with it."""
    root = work.root
    _draw_deck(work, streams)
    for k in range(considered):
        work.game[0] = root[0]
        work.sums[k] += _play(work.actions[k], settings, weights, work)
    work.rollouts[0] += 1


@kernel
def _draw_deck(work: Workspace, streams: Streams) -> None:
    """Brings the cards to come into a random order; the row of decks says which card comes next."""
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
def _play(action: int, settings: RolloutSettings, weights: Weights, work: Workspace) -> float:
    """Plays a rollout on ``game``; returns its expected final score."""
    game = work.game
    apply(game, 0, action)
    for _ in range(settings.depth):
        if is_over(game, 0):
            break
        count = expand(game, 0, settings.width, weights, work.expansion)
        work.effort[0] += count
        apply(game, 0, work.expansion.actions[best_action(work.expansion, count)])
    return score(game, 0, 0) + evaluate(game, 0, 0, weights, work.expansion.buffer)


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
