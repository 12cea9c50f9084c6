"""Rewards, values at the end of a rollout, and advantages, also for turns that do not alternate."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env.core import batches
from patchwork_env.core.batches import OUTCOME, list_games, loop
from patchwork_env.core.compile import kernel
from patchwork_env.core.kernels import States
from patchwork_env.games import rules_of
from patchwork_env.learning.config import Reward


class Decisions(NamedTuple):
    """The inputs of advantages: ``T`` turns of ``N`` games.

    Attributes:
        players: uint8 ``(T, N)``, the player who moved.
        learner_mask: bool ``(T, N)``, True where the move is a decision of the learner, with a known value.
        values: float32 ``(T, N)``, the return that the player who moved expected.
        rewards: float32 ``(T, N, players)``, all rewards after the move. Those of the last turn include
            the rewards of games in which no player has another choice.
        dones: bool ``(T, N)``, whether the move ended its game.
        bootstrap_players: uint8 ``(N,)``, the player with the first choice after the rollout.
        bootstrap_values: float32 ``(N,)``, the return that this player expects there.
    """

    players: npt.NDArray[np.uint8]
    learner_mask: npt.NDArray[np.bool_]
    values: npt.NDArray[np.float32]
    rewards: npt.NDArray[np.float32]
    dones: npt.NDArray[np.bool_]
    bootstrap_players: npt.NDArray[np.uint8]
    bootstrap_values: npt.NDArray[np.float32]


@kernel(allocates=True)
def advantages(decisions: Decisions, gamma: float, gae_lambda: float) -> npt.NDArray[np.float32]:
    """Generalized advantage estimation (Schulman et al. 2016) along each player's own decisions.

    It looks from one decision of a player to the next decision of the same player, so no sign changes. At the
    end of the rollout, the players who are not to move share the negated value of the player to move, because
    the game has zero sum.

    Args:
        decisions: The rollout.
        gamma: The discount for each own decision, 0 ... 1.
        gae_lambda: The lambda of the estimator, 0 ... 1.

    Returns:
        float32 ``(T, N)``; 0 where ``learner_mask`` is false. Returns are advantages plus values.
    """
    turns, games, players = decisions.rewards.shape
    result = np.zeros((turns, games), np.float32)
    reward, next_value, next_advantage = np.zeros(players), np.zeros(players), np.zeros(players)
    for game in range(games):
        reward[:] = 0.0
        next_advantage[:] = 0.0
        for player in range(players):
            is_next = player == decisions.bootstrap_players[game]
            next_value[player] = decisions.bootstrap_values[game] / (1 if is_next else 1 - players)
        for turn in range(turns - 1, -1, -1):
            if decisions.dones[turn, game]:
                reward[:] = 0.0
                next_value[:] = 0.0
                next_advantage[:] = 0.0
            reward += decisions.rewards[turn, game]
            if not decisions.learner_mask[turn, game]:
                continue
            player, value = decisions.players[turn, game], decisions.values[turn, game]
            error = reward[player] + gamma * next_value[player] - value
            next_advantage[player] = error + gamma * gae_lambda * next_advantage[player]
            next_value[player] = value
            reward[player] = 0.0
            result[turn, game] = next_advantage[player]
    return result


def rewards_of_players(
    reward: Reward, winners: npt.NDArray[np.int8], scores: npt.NDArray[np.integer[Any]]
) -> npt.NDArray[np.float32]:
    """Both players' rewards for the end of games, float32 ``(..., 2)``; zero where no game ended.

    Args:
        reward: The weights of outcome and score difference.
        winners: The winner, 0 or 1, where a game ended, else -1; of any shape.
        scores: Both players' scores where a game ended, ``(..., 2)``.
    """
    outcomes = np.where(winners == 0, 1.0, -1.0)
    first = (winners >= 0) * combine_reward(reward, outcomes, scores[..., 0] - scores[..., 1])
    return np.stack([first, -first], -1).astype(np.float32)


def combine_reward(
    reward: Reward, outcomes: npt.NDArray[np.float64], margins: npt.NDArray[np.integer[Any]]
) -> npt.NDArray[Any]:
    """Return rewards ``(...)`` from outcomes, 1 for a win and -1 for a loss, and margins in points."""
    cut = math.inf if reward.margin_cut is None else reward.margin_cut
    return reward.outcome * outcomes + reward.margin * np.clip(margins / reward.margin_scale, -cut, cut)


class NextChoices(NamedTuple):
    """``n`` games of two players after all turns that leave no choice.

    Attributes:
        states: ``(n,)`` records: each game is over, or its current player has at least two legal actions.
        winners: int8 ``(n,)``, the winner, 0 or 1, where a game is over, else -1.
        scores: int16 ``(n, 2)``, both players' scores where a game is over, else 0.
    """

    states: States
    winners: npt.NDArray[np.int8]
    scores: npt.NDArray[np.int16]


def next_choices(states: States) -> NextChoices:
    """Play turns with a single legal action in a copy of ``(n,)`` running games of two players.

    Each game continues to a choice or to its end, because values are learned only where there is a choice.
    """
    rules, ahead, firsts = rules_of(states), states.copy(), np.zeros(len(states), np.int64)
    loop(batches.play_forced, rules)(ahead)
    over = list_games(batches.list_over, rules, ahead)
    scores, outcomes = np.zeros((len(ahead), 2), np.int16), np.zeros(len(ahead))
    loop(batches.write_scores, rules)(ahead, over, firsts, scores)
    loop(batches.write_rewards, rules)(ahead, over, firsts, OUTCOME, firsts, outcomes)
    winners = np.full(len(ahead), -1, np.int8)
    winners[over] = outcomes[over] < 0
    return NextChoices(ahead, winners, scores)
