"""The compiled rules of a game: its own kernels, and those that follow from them.

A legal set is an array of words ``(rows, words)``, whose meaning only the game's kernels know. By default it
is a bitset: bit ``b`` of word ``w``, counted through all rows, is 1 if action ``64 * w + b`` is legal.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from inspect import get_annotations
from types import ModuleType
from typing import Any, Protocol, cast

import numpy as np
import numpy.typing as npt

from patchwork_env.core.bits import U0, U1, lowest_bit, nth_bit, popcount
from patchwork_env.core.compile import kernel, specialize, template
from patchwork_env.core.intrinsics import unpack_bits
from patchwork_env.core.random import Streams
from patchwork_env.core.tensors import Observation

States = npt.NDArray[np.void]
"""Array of a game's records, shape ``(n,)``. The records of every game have a field ``current_player``."""
LegalSet = npt.NDArray[np.uint64]
"""The legal actions of one state, shape ``(rows, words)``."""

OVER, ILLEGAL = -1, -2
"""The results of ``play`` in place of the next player."""
_WORD = 64


def copy_of(states: States) -> States:
    """Return a copy of the records ``(n,)``; NumPy copies field by field, which is 30 times slower.

    For some of the records, ``states.take(games)`` is as fast, unlike ``states[games]``.
    """
    return np.ndarray(states.shape, states.dtype, bytearray(states.tobytes()))


class Kernels(Protocol):
    """The compiled rules of one game, which trust their arguments; templates know them as ``game``.

    Most of them take ``(states, i)`` first, an array of records and an index. A game must have ``is_over``,
    ``legal``, ``apply``, ``score``, ``deal`` and ``write_observation``; the others have defaults.

    Attributes:
        legal_shape: The shape of legal sets.
        mask_words: The number of words of 64 bits, one for each word of a legal set.
        max_players: The highest number of players.
        is_over: ``(states, i)`` returns whether the game has ended.
        legal: ``(states, i, legal_set)`` writes the legal actions of the current player and returns their
            number, 0 if the game is over.
        apply: ``(states, i, action)`` plays a legal action.
        score: ``(states, i, player)`` returns a player's score at any time, an integer. A move changes only
            the score of the player who makes it.
        deal: ``(states, i, streams, initial_state, flags)`` begins a game; see
            :class:`~patchwork_env.core.rules.SetUp`. Random numbers come from ``streams[i]``.
        write_observation: ``(states, i, observer, out)`` writes the observation of a player to a contiguous
            float32 array ``(layout.size,)``.
        num_players: ``(states, i)`` returns the number of players; by default ``max_players``.
        outcome: ``(states, i, player)`` returns the reward for the end of a game: 1 for a sole winner; the
            rewards of all players add up to 0. By default the highest score wins.
        visible_score: ``(states, i, observer, player)`` returns the part of a player's score that the
            observer knows; by default all of it.
        determinize: ``(states, i, streams)`` resamples the information in the record that the current player
            does not have, such as the order of the next cards; by default nothing.
        draw: ``(states, i, streams)`` draws the next card, after the deal and after every move, for records
            that do not hold the order of the deck; by default nothing.
        is_legal: ``(states, i, action)`` returns whether the current player may play an action, any integer.
        allows: ``(legal_set, action)`` returns whether the legal set of a game that is not over has an
            action, any integer.
        nth_legal: ``(legal_set, n)`` returns the ``n``-th legal action in ascending order, or -1.
        write_actions: ``(legal_set, actions)`` writes the legal actions in ascending order to an int16 array
            and returns their number.
        update_mask: ``(states, i, legal_set, count, mask, used)`` writes a legal set with ``count`` actions
            as 0 and 1 to an int8 array ``(num_actions,)``. It reads and updates ``used``, uint64
            ``(mask_words,)``, whose bits mark the parts of the mask that may hold ones.
        legal_mask: ``(states, i, mask)`` writes the mask of a state and returns the number of legal actions.
        play: ``(states, i, action)`` plays an action, any integer, and returns the next player, or ``OVER``.
            If the action is not legal, it changes nothing and returns ``ILLEGAL``.
    """

    legal_shape: tuple[int, int]
    mask_words: int
    max_players: int
    is_over: Callable[[States, int], bool]
    legal: Callable[[States, int, LegalSet], int]
    apply: Callable[[States, int, int], None]
    score: Callable[[States, int, int], int]
    deal: Callable[[States, int, Streams, States, int], None]
    write_observation: Callable[[States, int, int, Observation], None]
    num_players: Callable[[States, int], int]
    outcome: Callable[[States, int, int], float]
    visible_score: Callable[[States, int, int, int], int]
    determinize: Callable[[States, int, Streams], None]
    draw: Callable[[States, int, Streams], None]
    is_legal: Callable[[States, int, int], bool]
    allows: Callable[[LegalSet, int], bool]
    nth_legal: Callable[[LegalSet, int], int]
    write_actions: Callable[[LegalSet, npt.NDArray[np.int16]], int]
    update_mask: Callable[[States, int, LegalSet, int, npt.NDArray[np.int8], npt.NDArray[np.uint64]], None]
    legal_mask: Callable[[States, int, npt.NDArray[np.int8]], int]
    play: Callable[[States, int, int], int]


game = cast(Kernels, None)  # each game's kernels take its place


# --- bitsets ----------------------------------------------------------------------------------------------


@kernel
def nth_legal(legal_set: LegalSet, n: int) -> int:
    """Return the ``n``-th legal action of a bitset in ascending order, or -1."""
    rows, words = legal_set.shape
    for row in range(rows):
        for k in range(words):
            word = legal_set[row, k]
            if word:
                count = popcount(word)
                if n < count:
                    return int((row * words + k) * _WORD) + nth_bit(word, n)
                n -= count
    return -1


@kernel
def write_actions(legal_set: LegalSet, actions: npt.NDArray[np.int16]) -> int:
    """List the legal actions of a bitset in ascending order and return their number."""
    rows, words = legal_set.shape
    count = 0
    for row in range(rows):
        for k in range(words):
            word = legal_set[row, k]
            while word:
                actions[count] = (row * words + k) * _WORD + lowest_bit(word)
                count += 1
                word &= word - U1
    return count


@kernel
def update_mask(
    states: States,
    i: int,
    legal_set: LegalSet,
    count: int,
    mask: npt.NDArray[np.int8],
    used: npt.NDArray[np.uint64],
) -> None:
    """Write the words of a bitset that have ones, or whose part of the mask has ones."""
    words = legal_set.reshape(-1)
    for group in range(len(used)):
        first = group * _WORD
        holding = U0
        for k in range(min(_WORD, len(words) - first)):
            holding |= np.uint64(words[first + k] != 0) << np.uint64(k)
        written = used[group] | holding
        used[group] = holding
        while written:
            place = first + lowest_bit(written)
            written &= written - U1
            begin = place * _WORD
            if begin + _WORD <= len(mask):
                unpack_bits(mask, begin, words[place])
            else:
                for action in range(begin, len(mask)):
                    mask[action] = (words[place] >> np.uint64(action % _WORD)) & U1


@kernel
def allows(legal_set: LegalSet, action: int) -> bool:
    """Whether a bitset holds an action, any integer."""
    rows, words = legal_set.shape
    if action < 0 or action >= rows * words * _WORD:
        return False
    place = action // _WORD
    return bool((legal_set[place // words, place % words] >> np.uint64(action % _WORD)) & U1 != 0)


# --- what follows for every game --------------------------------------------------------------------------


@template(allocates=True)
def is_legal(states: States, i: int, action: int) -> bool:
    """Whether the current player may play ``action``, any integer."""
    legal_set = np.empty(game.legal_shape, np.uint64)
    return game.legal(states, i, legal_set) > 0 and game.allows(legal_set, action)


@template(allocates=True)
def legal_mask(states: States, i: int, mask: npt.NDArray[np.int8]) -> int:
    """Write the mask of a state and return the number of legal actions."""
    legal_set, used = np.empty(game.legal_shape, np.uint64), np.empty(game.mask_words, np.uint64)
    return rewrite_mask(states, i, mask, legal_set, used)


@template
def rewrite_mask(
    states: States,
    i: int,
    mask: npt.NDArray[np.int8],
    legal_set: LegalSet,
    used: npt.NDArray[np.uint64],
) -> int:
    """Write the mask of a state with scratch arrays of the caller; return the number of legal actions."""
    count = game.legal(states, i, legal_set)
    mask[:] = 0
    used[:] = U0
    game.update_mask(states, i, legal_set, count, mask, used)
    return count


@template
def play_if_legal(states: States, i: int, action: int) -> int:
    """Play an action, any integer; return the next player, ``OVER``, or ``ILLEGAL``."""
    if not game.is_legal(states, i, action):
        return ILLEGAL
    game.apply(states, i, action)
    return OVER if game.is_over(states, i) else int(states[i]["current_player"])


@template
def most_players(states: States, i: int) -> int:
    """Return the number of players of a game that always has the same number."""
    return game.max_players


@template
def shared_prize(states: States, i: int, player: int) -> float:
    """Return a player's reward at the end of a game of several players.

    The players with the highest score share a prize of 1 equally. The shares are scaled so that a sole winner
    gets 1 and the rewards of all ``n`` players add up to 0; the others get ``-1 / (n - 1)`` each. Two players
    who tie get 0 each.
    """
    number = game.num_players(states, i)
    own, best, winners = game.score(states, i, player), game.score(states, i, 0), 0
    for other in range(1, number):
        best = max(best, game.score(states, i, other))
    for other in range(number):
        winners += game.score(states, i, other) == best
    share = 1.0 / winners if own == best else 0.0
    return (number * share - 1.0) / (number - 1.0)


@template
def score_of(states: States, i: int, observer: int, player: int) -> int:
    """Return a player's score in a game without hidden scores."""
    return game.score(states, i, player)


@kernel
def keep(states: States, i: int, streams: Streams) -> None:
    """Change nothing: the record has no hidden information."""


_DEFAULTS: dict[str, Any] = {
    "num_players": most_players,
    "outcome": shared_prize,
    "visible_score": score_of,
    "determinize": keep,
    "draw": keep,
    "is_legal": is_legal,
    "allows": allows,
    "nth_legal": nth_legal,
    "write_actions": write_actions,
    "update_mask": update_mask,
    "legal_mask": legal_mask,
    "play": play_if_legal,
}


def kernels_of(
    name: str, modules: tuple[ModuleType, ...], legal_shape: tuple[int, int], max_players: int
) -> Kernels:
    """Return the kernels of the game ``name``, which ``modules`` define by the names of :class:`Kernels`.

    Raises:
        AttributeError: A kernel that every game must have is missing.
    """
    kernels = ModuleType(name)
    mask_words = -(-math.prod(legal_shape) // _WORD)
    sources = _DEFAULTS | {"legal_shape": legal_shape, "mask_words": mask_words, "max_players": max_players}
    for module in modules:
        sources |= vars(module)
    for key in get_annotations(Kernels):
        if key not in sources:
            raise AttributeError(f"the game {name!r} has no kernel {key!r}")
        source = sources[key]
        setattr(kernels, key, specialize(source, kernels) if hasattr(source, "__template__") else source)
    return cast(Kernels, kernels)
