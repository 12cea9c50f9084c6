"""What environments ask of the engine, in few compiled calls: turns, views, rewards, batches."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from patchwork_env.core.compile import kernel
from patchwork_env.patchwork.components import NUM_PLAYERS
from patchwork_env.patchwork.engine import (
    NUM_MAPS,
    apply,
    is_legal,
    is_over,
    legal,
    legal_mask,
    nth_legal,
    restart,
    score,
    winner,
)
from patchwork_env.patchwork.observation import Observation, write_observation
from patchwork_env.patchwork.state import States

OVER = NUM_PLAYERS
"""What :func:`whose_turn` says of a game that is over."""
MARGIN_SCALE = 100
"""Points per unit of the reward ``"margin"``."""
REWARDS = ("outcome", "margin")

Mask = npt.NDArray[np.int8]
Games = npt.NDArray[np.int64]
"""Indices of some games of a batch, shape ``(k,)``."""


@kernel
def whose_turn(states: States, i: int) -> int:
    """Who is to move, 0 or 1, or ``OVER``."""
    return OVER if is_over(states, i) else int(states[i]["current_player"])


@kernel
def write_view(states: States, i: int, observer: int, mask: Mask, observation: Observation) -> None:
    """Writes what ``observer`` (0 or 1) sees of a state and may do in it.

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
def reward(states: States, i: int, player: int, margin: bool) -> float:
    """The reward of a player at the end of a game.

    Args:
        states: Records.
        i: Which of them; it is over.
        player: 0 or 1.
        margin: The difference of the scores / ``MARGIN_SCALE`` instead of the outcome, 1 or -1.
    """
    if margin:
        return (score(states, i, player) - score(states, i, 1 - player)) / MARGIN_SCALE
    return 1.0 if winner(states, i) == player else -1.0


# --- some games of a batch --------------------------------------------------------------------------------


@kernel
def write_views(
    states: States, games: Games, observers: npt.NDArray[np.int64], masks: Mask, observations: Observation
) -> None:
    """:func:`write_view` of the listed games into the rows of the same indices."""
    for i in games:
        write_view(states, i, observers[i], masks[i], observations[i])


@kernel
def check_actions(states: States, actions: npt.NDArray[np.int64], legal: npt.NDArray[np.bool_]) -> None:
    """Writes for every game whether its action, any integer, is legal."""
    for i in range(len(states)):
        legal[i] = is_legal(states, i, actions[i])


@kernel
def play_listed(states: States, games: Games, actions: npt.NDArray[np.int64]) -> None:
    """Plays legal actions ``(k,)`` in the ``k`` listed games."""
    for k in range(len(games)):
        apply(states, games[k], actions[k])


@kernel(allocates=True)
def play_forced(states: States) -> None:
    """Plays on in every game as long as there is exactly one legal action."""
    anchors = np.empty((2, NUM_MAPS), np.uint64)
    for i in range(len(states)):
        while legal(states, i, anchors) == 1:
            apply(states, i, nth_legal(anchors, 0))


@kernel
def restart_listed(
    states: States, games: Games, streams: npt.NDArray[np.uint64], variant: int, first_player: int
) -> None:
    """Starts the listed games anew, each from the random stream of the same index."""
    for i in games:
        restart(states, i, streams, variant, first_player)


@kernel
def list_over(states: States, games: Games) -> int:
    """Lists the games that are over in ``games``, which has room for all, and returns their number."""
    count = 0
    for i in range(len(states)):
        if is_over(states, i):
            games[count] = i
            count += 1
    return count


@kernel
def list_waiting(states: States, seats: npt.NDArray[np.int64], games: Games) -> int:
    """Lists the games that go on without it being the turn of player ``seats[i]``; returns their number."""
    count = 0
    for i in range(len(states)):
        if states[i]["current_player"] != seats[i] and not is_over(states, i):
            games[count] = i
            count += 1
    return count


@kernel
def write_results(
    states: States,
    games: Games,
    seats: npt.NDArray[np.int64],
    margin: bool,
    rewards: npt.NDArray[np.float64],
    scores: npt.NDArray[np.int16],
) -> None:
    """Writes the results of the listed games, which are over.

    Args:
        states: ``(n,)`` records.
        games: ``(k,)``, which of them.
        seats: ``(n,)``, the player whose view counts.
        margin: See :func:`reward`.
        rewards: ``(n,)``, receives that player's reward at the listed indices.
        scores: ``(n, 2)``, receives that player's score and the other's at the listed indices.
    """
    for i in games:
        rewards[i] = reward(states, i, seats[i], margin)
        scores[i, 0] = score(states, i, seats[i])
        scores[i, 1] = score(states, i, 1 - seats[i])
