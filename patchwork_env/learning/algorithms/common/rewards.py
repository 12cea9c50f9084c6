"""Rewards for the end of a game."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from patchwork_env.learning.config import Reward


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
    first = (winners >= 0) * weighed(reward, outcomes, scores[..., 0] - scores[..., 1])
    return np.stack([first, -first], -1).astype(np.float32)


def weighed(
    reward: Reward, outcomes: npt.NDArray[np.float64], margins: npt.NDArray[np.integer[Any]]
) -> npt.NDArray[Any]:
    """Rewards ``(...)`` from outcomes, 1 for a win and -1 for a loss, and score differences in points."""
    margin = np.clip(margins / reward.margin_scale, -1, 1)
    return reward.outcome * outcomes + reward.margin * margin
