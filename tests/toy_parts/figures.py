"""Statistics of games of Row."""

import numpy as np
import numpy.typing as npt

from patchwork_env.core.kernels import States
from tests.toy import RULES


class GameStats:
    """Finds the games of a batch that end."""

    def __init__(self, num_games: int) -> None:
        self.counts = np.zeros((num_games, 0), np.int64)

    def count(self, states: States, actions: npt.NDArray[np.int64]) -> dict[str, float]:
        """Return the statistics of the games that end with ``(T, num_games)`` turns."""
        before, played = states.reshape(-1), actions.reshape(-1)
        games = [RULES.game.unchecked(before, i) for i in range(len(before))]
        for game, action in zip(games, played, strict=True):
            game.play(action)
        finals = [game.state for game in games if game.is_over]
        return statistics_of_games(np.concatenate(finals) if finals else before[:0])


def statistics_of_games(finals: States) -> dict[str, float]:
    """Return the mean score of both players; empty without games."""
    return {"score": float(np.bitwise_count(finals["covered"]).mean())} if len(finals) else {}
