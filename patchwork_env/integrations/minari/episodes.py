"""Episodes: what one player sees and does in one game, as the player's environment would show it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env.core.batches import SCORE, Masks, final_reward, loop, write_views
from patchwork_env.core.game import BaseGame, Rules
from patchwork_env.core.kernels import States
from patchwork_env.core.tensors import Observation
from patchwork_env.integrations.minari.games import PlayedGame
from patchwork_env.learning.evaluation.playing import Integers


class Episode(NamedTuple):
    """What one player sees and does in a game, in which the player decides ``T`` times.

    The last entries of observations, masks and plies are those at the end of the game.

    Attributes:
        seat: The number of the player.
        observations: float32 ``(T + 1, size)``, from this player's view, whenever it is to move.
        masks: int8 ``(T + 1, num_actions)``, 1 for the legal actions; at the end all zeros.
        actions: int64 ``(T,)``.
        rewards: float64 ``(T,)``; see :func:`episodes_of`.
        plies: int16 ``(T + 1,)``, the number of actions, of all players, that were played before.
    """

    seat: int
    observations: Observation
    masks: Masks
    actions: Integers
    rewards: npt.NDArray[np.float64]
    plies: npt.NDArray[np.int16]


def states_of(game: BaseGame[Any]) -> States:
    """The records of a game before every action and at the end, ``(plies + 1,)``."""
    position = game.root()
    states = np.repeat(position.state, len(game.history) + 1)
    for ply, action in enumerate(game.history, 1):
        position.play(action)
        states[ply] = position.state[0]
    return states


def episodes_of(rules: Rules, played: PlayedGame, states: States, rewards: int) -> Iterator[Episode]:
    """The episodes of all players of a game; rewards are of the kind ``rewards``."""
    actions = np.array(played.game.history, np.int64)
    end = len(actions)
    movers = states["current_player"][:end]
    for seat in range(len(played.seating)):
        plies = np.append(np.flatnonzero(movers == seat), end)
        observations, masks = _views(rules, states[plies], seat)
        yield Episode(
            seat=seat,
            observations=observations,
            masks=masks,
            actions=actions[plies[:-1]],
            rewards=_rewards(rules, states[plies], seat, rewards),
            plies=plies.astype(np.int16),
        )


def _views(rules: Rules, states: States, seat: int) -> tuple[Observation, Masks]:
    count = len(states)
    observations = np.empty((count, rules.layout.size), np.float32)
    masks = np.empty((count, rules.num_actions), np.int8)
    loop(write_views, rules)(states, np.arange(count), np.full(count, seat), masks, observations)
    return observations, masks


def _rewards(rules: Rules, states: States, seat: int, kind: int) -> npt.NDArray[np.float64]:
    """A player's rewards, ``(T,)``, for ``T`` records in which it is to move, and the last one."""
    if kind == SCORE:
        score = rules.kernels.score
        return np.diff([float(score(states, i, seat)) for i in range(len(states))])
    rewards = np.zeros(len(states) - 1)
    rewards[-1] = loop(final_reward, rules)(states, len(states) - 1, seat, kind)
    return rewards
