"""Advantages for any number of players whose turns need not alternate."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env.core.compile import kernel


class Decisions(NamedTuple):
    """What advantages depend on: ``T`` turns of ``N`` games.

    Attributes:
        players: uint8 ``(T, N)``, who moved.
        learning: bool ``(T, N)``, whether the move is a decision of the learner, whose value is known.
        values: float32 ``(T, N)``, the return that the player who moved expected.
        rewards: float32 ``(T, N, players)``, all rewards after the move. Those of the last turn include
            the rewards of games in which nobody has a choice any more.
        ends: bool ``(T, N)``, whether the move ended its game.
        last_players: uint8 ``(N,)``, who has the first choice after the rollout.
        last_values: float32 ``(N,)``, the return that this player expects there.
    """

    players: npt.NDArray[np.uint8]
    learning: npt.NDArray[np.bool_]
    values: npt.NDArray[np.float32]
    rewards: npt.NDArray[np.float32]
    ends: npt.NDArray[np.bool_]
    last_players: npt.NDArray[np.uint8]
    last_values: npt.NDArray[np.float32]


@kernel(allocates=True)
def advantages(decisions: Decisions, gamma: float, gae_lambda: float) -> npt.NDArray[np.float32]:
    """Generalized advantage estimation (Schulman et al. 2016) along each player's own decisions.

    The estimate looks from one decision of a player to the next one *of the same player*, however many turns
    others have in between. So no sign ever changes, and the loser's last decision meets its defeat. Only at
    the end of the rollout the players who are not to move share the negated value of the one who is: the
    game has zero sum. A single player is always to move, and its rewards may have any sum.

    Args:
        decisions: The rollout.
        gamma: The discount for each own decision, 0 ... 1.
        gae_lambda: The lambda of the estimator, 0 ... 1.

    Returns:
        float32 ``(T, N)``; 0 where ``learning`` is false. Returns are advantages plus values.
    """
    turns, games, players = decisions.rewards.shape
    result = np.zeros((turns, games), np.float32)
    reward, next_value, next_advantage = np.zeros(players), np.zeros(players), np.zeros(players)
    for game in range(games):
        reward[:] = 0.0
        next_advantage[:] = 0.0
        for player in range(players):
            is_next = player == decisions.last_players[game]
            next_value[player] = decisions.last_values[game] / (1 if is_next else 1 - players)
        for turn in range(turns - 1, -1, -1):
            if decisions.ends[turn, game]:
                reward[:] = 0.0
                next_value[:] = 0.0
                next_advantage[:] = 0.0
            reward += decisions.rewards[turn, game]
            if not decisions.learning[turn, game]:
                continue
            player, value = decisions.players[turn, game], decisions.values[turn, game]
            error = reward[player] + gamma * next_value[player] - value
            next_advantage[player] = error + gamma * gae_lambda * next_advantage[player]
            next_value[player] = value
            reward[player] = 0.0
            result[turn, game] = next_advantage[player]
    return result
