"""Loops over batches of games, written once for every game.

``loop(template, rules)`` is the compiled loop for one game:

>>> from patchwork_env.core.batches import first_finished, loop
>>> from patchwork_env.patchwork.rules import RULES
>>> loop(first_finished, RULES)(RULES.empty_states(3))
-1
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any, Protocol, TypeVar, cast

import numpy as np
import numpy.typing as npt

from patchwork_env.core.compile import specialize, template
from patchwork_env.core.kernels import Kernels, States, copy_of, rewrite_mask
from patchwork_env.core.random import Streams, random_below
from patchwork_env.core.rules import Rules
from patchwork_env.core.tensors import Observation

Games = npt.NDArray[np.int64]  # the indices of some games of a batch, shape ``(k,)``
Actions = npt.NDArray[np.int64]
Masks = npt.NDArray[np.int8]
ONE_GAME: Games = np.zeros(1, np.int64)  # all games of a batch of one

OUTCOME, MARGIN, SCORE = range(3)  # the kinds of rewards, as indices into `REWARDS`
REWARDS = ("outcome", "margin", "score")
MARGIN_SCALE = 100  # points per unit of the reward ``"margin"``

_Template = TypeVar("_Template", bound=Callable[..., Any])
game = cast(Kernels, None)  # each game's kernels take its place


class _Loop(Protocol):
    def __call__(self, template: _Template, rules: Rules) -> _Template: ...


@cache
def _loop(template: Any, rules: Rules) -> Any:
    return specialize(template, cast(ModuleType, rules.kernels))


loop: _Loop = _loop
"""``loop(template, rules)`` compiles a template, of this module or of another, for one game."""


def list_games(template: Any, rules: Rules, states: States, *args: Any) -> Games:
    """Return the indices of the games that a loop such as :func:`list_over` lists."""
    games = np.empty(len(states), np.int64)
    return games[: loop(template, rules)(states, *args, games)]


def begin_games(rules: Rules, streams: Streams, **options: Any) -> States:
    """Begin one game with each of the random ``streams``, ``(n,)``; other options keep their defaults."""
    states = rules.empty_states(len(streams))
    initial_state, flags, _ = rules.set_up({**rules.options, **options}, {})
    loop(deal_listed, rules)(states, np.arange(len(states)), streams, initial_state, flags)
    return states


def determinized(rules: Rules, states: States, streams: Streams, games: Games) -> States:
    """Return copies of records ``(k,)`` with the information hidden from the current player sampled anew.

    The streams are those of the games with the indices ``games``, ``(k,)``.
    """
    shown = copy_of(states)
    if rules.has_hidden_information:
        drawn = streams[games]
        loop(determinize_all, rules)(shown, drawn)
        streams[games] = drawn
    return shown


# --- all games of a batch -----------------------------------------------------------------------------------


@template
def first_finished(states: States) -> int:
    """Return the index of the first game that is over, or -1."""
    for i in range(len(states)):
        if game.is_over(states, i):
            return i
    return -1


@template
def first_illegal(states: States, actions: Actions) -> int:
    """Return the index of the first game whose action is not legal, or -1; actions are any integers."""
    for i in range(len(states)):
        if not game.is_legal(states, i, actions[i]):
            return i
    return -1


@template
def first_not_allowed(legal_sets: npt.NDArray[np.uint64], actions: Actions) -> int:
    """Return :func:`first_illegal`, computed from the legal sets of games that are not over."""
    for i in range(len(legal_sets)):
        if not game.allows(legal_sets[i], actions[i]):
            return i
    return -1


@template
def check_actions(states: States, actions: Actions, legal: npt.NDArray[np.bool_]) -> None:
    """Write to ``legal`` whether the action of each game is legal; actions are any integers."""
    for i in range(len(states)):
        legal[i] = game.is_legal(states, i, actions[i])


@template(allocates=True)
def sample_actions(states: States, stream: Streams, actions: Actions) -> None:
    """Draw a uniformly random legal action for every game from one stream, ``(1,)``; no game may be over."""
    legal_set = np.empty(game.legal_shape, np.uint64)
    for i in range(len(states)):
        actions[i] = game.nth_legal(legal_set, random_below(stream, 0, game.legal(states, i, legal_set)))


@template(allocates=True)
def list_legal(states: States, counts: npt.NDArray[np.int64], actions: npt.NDArray[np.int16]) -> int:
    """Concatenate the legal actions of games that are not over; return their total number.

    ``counts`` is ``(n,)``; ``actions``, ascending within each game, has room for ``n * max_legal_actions``.
    """
    legal_set = np.empty(game.legal_shape, np.uint64)
    total = 0
    for i in range(len(states)):
        game.legal(states, i, legal_set)
        counts[i] = game.write_actions(legal_set, actions[total:])
        total += counts[i]
    return total


@template(allocates=True)
def play_forced(states: States) -> int:
    """Play in every game while there is exactly one legal action; return the number of turns."""
    legal_set = np.empty(game.legal_shape, np.uint64)
    turns = 0
    for i in range(len(states)):
        while game.legal(states, i, legal_set) == 1:
            game.apply(states, i, game.nth_legal(legal_set, 0))
            turns += 1
    return turns


@template
def list_over(states: States, games: Games) -> int:
    """Write the indices of the games that are over to ``games``, ``(n,)``; return their number."""
    count = 0
    for i in range(len(states)):
        if game.is_over(states, i):
            games[count] = i
            count += 1
    return count


@template
def list_waiting(states: States, seats: npt.NDArray[np.int64], games: Games) -> int:
    """List the games in which another player than ``seats[i]`` is to move; return their number."""
    count = 0
    for i in range(len(states)):
        if states[i]["current_player"] != seats[i] and not game.is_over(states, i):
            games[count] = i
            count += 1
    return count


@template
def determinize_all(states: States, streams: Streams) -> None:
    """Sample the information hidden from the current players anew, from the streams of the same indices."""
    for i in range(len(states)):
        game.determinize(states, i, streams)


@template
def write_current_observations(states: States, out: Observation) -> None:
    """Write the observation of the current player of each game to ``out``, ``(n, layout.size)``."""
    for i in range(len(states)):
        game.write_observation(states, i, states[i]["current_player"], out[i])


# --- some games of a batch ----------------------------------------------------------------------------------


@template
def write_over(states: States, games: Games, over: npt.NDArray[np.bool_]) -> None:
    """Write to ``over`` whether each of the listed games, ``(k,)``, is over."""
    for k in range(len(games)):
        over[k] = game.is_over(states, games[k])


@template
def deal_listed(states: States, games: Games, streams: Streams, initial_state: States, flags: int) -> None:
    """Begin the listed games, each with the random stream of the same index; see ``SetUp`` for the rest."""
    for i in games:
        game.deal(states, i, streams, initial_state, flags)


@template
def play_listed(states: States, games: Games, actions: Actions) -> None:
    """Play legal actions ``(k,)`` in the ``k`` listed games."""
    for k in range(len(games)):
        game.apply(states, games[k], actions[k])


@template(allocates=True)
def write_view(
    states: States, i: int, observer: int, mask: npt.NDArray[np.int8], observation: Observation
) -> None:
    """Write the observation and the mask of a player; out of turn the mask is all zeros."""
    legal_set, used = np.empty(game.legal_shape, np.uint64), np.empty(game.mask_words, np.uint64)
    _write_view(states, i, observer, mask, observation, legal_set, used)


@template(allocates=True)
def write_views(
    states: States, games: Games, observers: npt.NDArray[np.int64], masks: Masks, observations: Observation
) -> None:
    """Write observations and masks for the listed games, ``(k,)``, to their rows of arrays for all games."""
    legal_set, used = np.empty(game.legal_shape, np.uint64), np.empty(game.mask_words, np.uint64)
    for i in games:
        _write_view(states, i, observers[i], masks[i], observations[i], legal_set, used)


@template
def _write_view(
    states: States,
    i: int,
    observer: int,
    mask: npt.NDArray[np.int8],
    observation: Observation,
    legal_set: npt.NDArray[np.uint64],
    used: npt.NDArray[np.uint64],
) -> None:
    if states[i]["current_player"] == observer:
        rewrite_mask(states, i, mask, legal_set, used)
    else:
        mask[:] = 0
    game.write_observation(states, i, observer, observation)


# --- rewards ------------------------------------------------------------------------------------------------


@template
def reward_of(states: States, i: int, seat: int, kind: int, score: int) -> float:
    """Return the reward of a seat for a step; all interfaces use this function.

    For ``SCORE`` it is the points gained since the seat's ``score`` before the step. The other kinds reward
    only the end of a game: ``OUTCOME`` the result, ``MARGIN`` the difference to the best score of the others,
    divided by ``MARGIN_SCALE``.
    """
    if kind == SCORE:
        return float(game.score(states, i, seat) - score)
    if not game.is_over(states, i):
        return 0.0
    if kind == OUTCOME:
        return float(game.outcome(states, i, seat))
    rival = -(1 << 30)
    for other in range(game.num_players(states, i)):
        if other != seat:
            rival = max(rival, game.score(states, i, other))
    return (game.score(states, i, seat) - rival) / MARGIN_SCALE


@template
def write_all_rewards(
    states: States, i: int, player: int, kind: int, score: int, rewards: npt.NDArray[np.float32]
) -> None:
    """Write the rewards of all players, ``(players,)``, for a move of ``player``, who had ``score``."""
    for seat in range(len(rewards)):
        gains = kind != SCORE or seat == player  # a move changes the score of its player alone
        rewards[seat] = reward_of(states, i, seat, kind, score) if gains else 0.0


@template
def write_rewards(
    states: States,
    games: Games,
    seats: npt.NDArray[np.int64],
    kind: int,
    scores: npt.NDArray[np.int64],
    rewards: npt.NDArray[np.float64],
) -> None:
    """Write the rewards of players ``seats[i]``, who had ``scores[i]`` before, for the listed games."""
    for i in games:
        rewards[i] = reward_of(states, i, seats[i], kind, scores[i])


@template
def write_own_scores(
    states: States, games: Games, seats: npt.NDArray[np.int64], scores: npt.NDArray[np.int64]
) -> None:
    """Write the scores of players ``seats[i]`` for the listed games to ``scores``, ``(n,)``."""
    for i in games:
        scores[i] = game.score(states, i, seats[i])


@template
def write_scores(
    states: States, games: Games, seats: npt.NDArray[np.int64], scores: npt.NDArray[np.int16]
) -> None:
    """Call :func:`write_scores_of` for the listed games, into their rows of ``scores``."""
    for i in games:
        write_scores_of(states, i, seats[i], scores[i])


@template
def write_scores_of(states: States, i: int, seat: int, scores: npt.NDArray[np.int16]) -> None:
    """Write the scores that a seat knows, in the order of play from itself on: ``(players,)`` or ``(1,)``."""
    for k in range(len(scores)):
        scores[k] = game.visible_score(states, i, seat, (seat + k) % game.num_players(states, i))


@template(allocates=True)
def write_view_and_scores(
    states: States,
    seat: int,
    mask: npt.NDArray[np.int8],
    observation: Observation,
    scores: npt.NDArray[np.int16],
) -> None:
    """Write the view and the scores of a single game; one call is faster than two."""
    write_view(states, 0, seat, mask, observation)
    write_scores_of(states, 0, seat, scores)
