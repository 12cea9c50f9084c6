"""What environments ask of the engine, in few compiled calls: turns, rewards, batches."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from patchwork_env.core.compile import kernel
from patchwork_env.core.random import Streams, random_below
from patchwork_env.nmbr9.actions import TABLE_SIZE
from patchwork_env.nmbr9.components import MAX_PLAYERS
from patchwork_env.nmbr9.engine import (
    NUM_MAPS,
    apply,
    is_legal,
    is_over,
    legal,
    legal_mask,
    meets_edge,
    nth_legal,
    score,
    shuffle,
    write_mask,
)
from patchwork_env.nmbr9.observation import Observation, write_observation
from patchwork_env.nmbr9.state import FREE, States

OVER = MAX_PLAYERS
"""What :func:`whose_turn` says of a game that is over."""
REWARDS = ("score", "outcome")
GOES_ON, ENDED, CUT_OFF = range(3)
"""What became of a game: it goes on, it is over, or it would have met the edge of the table."""

Mask = npt.NDArray[np.int8]
Games = npt.NDArray[np.int64]
"""Indices of some games of a batch, shape ``(k,)``."""


@kernel
def whose_turn(states: States, i: int) -> int:
    """Who is to move, 0-3, or ``OVER``."""
    return OVER if is_over(states, i) else int(states[i]["current_player"])


@kernel
def write_view(states: States, i: int, observer: int, mask: Mask, observation: Observation) -> None:
    """Writes what a player sees of a state and may do in it.

    Args:
        states: Records.
        i: Which of them.
        observer: The player.
        mask: int8 ``(NUM_ACTIONS,)``, contiguous; all zeros if it is not the observer's turn.
        observation: float32 ``(OBSERVATION_SIZE,)``, contiguous.
    """
    if states[i]["current_player"] == observer:
        legal_mask(states, i, mask)
    else:
        mask[:] = 0
    write_observation(states, i, observer, observation)


@kernel
def best_score(states: States, i: int) -> int:
    """The highest score of all players."""
    best = 0
    for player in range(states[i]["num_players"]):
        best = max(best, score(states, i, player))
    return best


@kernel
def outcome(states: States, i: int, player: int) -> float:
    """A player's reward at the end of a game of several players.

    The winners share 1 equally. What each has got of it is scaled so that a sole winner gets 1 and all
    rewards add up to 0: of ``n`` players, the others get ``-1 / (n - 1)``. Two players that tie get 0.
    """
    number, winners, best = int(states[i]["num_players"]), 0, best_score(states, i)
    for other in range(number):
        winners += score(states, i, other) == best
    share = 1.0 / winners if score(states, i, player) == best else 0.0
    return (number * share - 1.0) / (number - 1.0)


# --- batches ----------------------------------------------------------------------------------------------


@kernel
def restart(states: States, i: int, streams: Streams, beginning: States, shuffled: bool) -> None:
    """Starts a game like ``beginning``, ``(1,)``, with its deck ``shuffled`` unless the order is free."""
    states[i] = beginning[0]
    if shuffled and states[i]["order"] != FREE:
        shuffle(states, i, streams, 0)


@kernel
def restart_games(states: States, streams: Streams, beginning: States, shuffled: bool) -> None:
    """Starts all games of a batch; see :func:`restart`."""
    for i in range(len(states)):
        restart(states, i, streams, beginning, shuffled)


@kernel
def first_illegal(states: States, actions: npt.NDArray[np.int64]) -> int:
    """Index of the first game whose action is not legal, or -1."""
    for i in range(len(states)):
        if not is_legal(states, i, actions[i]):
            return i
    return -1


@kernel
def _play(states: States, i: int, action: int) -> tuple[int, int]:
    """Plays a legal action unless it meets the edge; returns the points and what became of the game."""
    if meets_edge(states, i, action):
        return 0, CUT_OFF
    player = states[i]["current_player"]
    before = score(states, i, player)
    apply(states, i, action)
    return score(states, i, player) - before, ENDED if is_over(states, i) else GOES_ON


@kernel
def play_games(
    states: States,
    streams: Streams,
    actions: npt.NDArray[np.int64],
    beginning: States,
    shuffled: bool,
    gains: npt.NDArray[np.int16],
    endings: npt.NDArray[np.int8],
    final_scores: npt.NDArray[np.int16],
) -> None:
    """Plays one legal action in every game and starts a new game where one ends.

    Args:
        states: ``(n,)`` games, none of them over.
        streams: ``(n,)`` random streams for the decks of new games.
        actions: ``(n,)`` legal actions.
        beginning: ``(1,)``, how games begin; see :func:`restart`.
        shuffled: Whether their decks are shuffled.
        gains: ``(n,)``, receives the points that the player has gained.
        endings: ``(n,)``, receives ``GOES_ON``, ``ENDED`` or ``CUT_OFF``: at the edge the action is not
        played.
        final_scores: ``(n, MAX_PLAYERS)``, receives the scores where a game ended or was cut off.
    """
    for i in range(len(states)):
        gains[i], endings[i] = _play(states, i, actions[i])
        if endings[i] != GOES_ON:
            for player in range(MAX_PLAYERS):
                final_scores[i, player] = score(states, i, player)
            restart(states, i, streams, beginning, shuffled)


@kernel(allocates=True)
def describe_games(
    states: States,
    streams: Streams,
    counts: npt.NDArray[np.int16],
    masks: Mask,
    samples: npt.NDArray[np.int64],
) -> None:
    """Writes the legal actions of every game.

    Args:
        states: ``(n,)`` games.
        streams: ``(n,)`` random streams for ``samples``.
        counts: ``(n,)``, receives the number of legal actions.
        masks: ``(n, NUM_ACTIONS)``, receives the masks; of length 0 to leave them out.
        samples: ``(n,)``, receives a uniformly random legal action; of length 0 to leave them out.
    """
    maps = np.empty((NUM_MAPS, TABLE_SIZE), np.uint64)
    for i in range(len(states)):
        counts[i] = legal(states, i, maps)
        if len(masks) > 0:
            write_mask(maps, masks[i])
        if len(samples) > 0:
            samples[i] = nth_legal(maps, random_below(streams, i, counts[i]))


# --- some games of a batch --------------------------------------------------------------------------------


@kernel
def check_actions(states: States, actions: npt.NDArray[np.int64], legal: npt.NDArray[np.bool_]) -> None:
    """Writes for every game whether its action, any integer, is legal."""
    for i in range(len(states)):
        legal[i] = is_legal(states, i, actions[i])


@kernel
def play_listed(states: States, games: Games, actions: npt.NDArray[np.int64]) -> None:
    """Plays legal actions ``(k,)``, none of which meets the edge, in the ``k`` listed games."""
    for k in range(len(games)):
        apply(states, games[k], actions[k])


@kernel
def restart_listed(states: States, games: Games, streams: Streams, beginning: States, shuffled: bool) -> None:
    """Starts the listed games anew, each from the random stream of the same index; see :func:`restart`."""
    for i in games:
        restart(states, i, streams, beginning, shuffled)


@kernel
def write_views(states: States, games: Games, masks: Mask, observations: Observation) -> None:
    """:func:`write_view` by the first player of the listed games into the rows of the same indices."""
    for i in games:
        write_view(states, i, 0, masks[i], observations[i])


@kernel
def play_all(
    states: States,
    actions: npt.NDArray[np.int64],
    playable: npt.NDArray[np.bool_],
    gains: npt.NDArray[np.float64],
    endings: npt.NDArray[np.int8],
) -> None:
    """Plays one action in every game that is ``playable``.

    Args:
        states: ``(n,)`` games, none of them over.
        actions: ``(n,)``, legal where ``playable``.
        playable: ``(n,)``.
        gains: ``(n,)``, receives the points that the player has gained.
        endings: ``(n,)``, receives ``GOES_ON``, ``ENDED`` or ``CUT_OFF``, where the action is not played.
    """
    for i in range(len(states)):
        gains[i], endings[i] = 0.0, GOES_ON
        if playable[i]:
            gains[i], endings[i] = _play(states, i, actions[i])
