"""Rewards for the end of a game, for any number of players."""

from __future__ import annotations

from typing import Any

import numpy as np

from patchwork_env.core.game import BaseGame
from patchwork_env.learning.algorithms.common.advantages import rewards_of_players
from patchwork_env.learning.config import Reward
from patchwork_env.patchwork import Game as PatchworkGame


def final_rewards(reward: Reward, game: BaseGame) -> list[float]:
    """The rewards of all players for a game that is over.

    In Patchwork they are the rewards of all other algorithms. In NMBR 9 they are ``reward.outcome`` times the
    outcome as its environments define it (1 for a sole winner, ``-1 / (n - 1)`` for each of the others), plus
    ``reward.margin`` times the difference to the best of the others, divided by ``margin_scale`` and clipped
    to -1 ... 1. A single player can neither win nor lose, and gets 0.
    """
    if isinstance(game, PatchworkGame):
        winner, scores = np.int8(game.winner()), np.array(game.scores(), np.int16)  # type: ignore[arg-type]
        rewards = rewards_of_players(reward, np.asarray(winner), scores)
        return [float(of_player) for of_player in rewards]
    return _of_nmbr9(reward, game)


def _of_nmbr9(reward: Reward, game: Any) -> list[float]:
    scores = game.scores()
    if len(scores) == 1:
        return [0.0]
    outcome = game.rules.kernels.outcome
    rewards = []
    for player, score in enumerate(scores):
        rival = max(scores[:player] + scores[player + 1 :])
        margin = float(np.clip((score - rival) / reward.margin_scale, -1, 1))
        rewards.append(reward.outcome * float(outcome(game.state, 0, player)) + reward.margin * margin)
    return rewards
