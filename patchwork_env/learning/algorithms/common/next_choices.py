"""Where games stand at their next choice, as bootstrapping at the end of a rollout needs it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env.core import batches
from patchwork_env.core.batches import OUTCOME, list_games, loop
from patchwork_env.core.kernels import States
from patchwork_env.games import rules_of


class NextChoices(NamedTuple):
    """``n`` games of two players after all turns that leave no choice.

    Attributes:
        states: ``(n,)`` records: each game is over, or its current player has two legal actions at least.
        winners: int8 ``(n,)``, the winner, 0 or 1, where a game is over, else -1.
        scores: int16 ``(n, 2)``, both players' scores where a game is over, else 0.
    """

    states: States
    winners: npt.NDArray[np.int8]
    scores: npt.NDArray[np.int16]


def next_choices(states: States) -> NextChoices:
    """Plays turns with a single legal action in a copy of games, up to a choice or to the end of the game.

    Values are learned only where there is a choice, so they mean something only there.

    Args:
        states: ``(n,)`` records of a game of two players, none of which is over.
    """
    rules, ahead, firsts = rules_of(states), states.copy(), np.zeros(len(states), np.int64)
    loop(batches.play_forced, rules)(ahead)
    over = list_games(batches.list_over, rules, ahead)
    scores, outcomes = np.zeros((len(ahead), 2), np.int16), np.zeros(len(ahead))
    loop(batches.write_scores, rules)(ahead, over, firsts, scores)
    loop(batches.write_final_rewards, rules)(ahead, over, firsts, OUTCOME, outcomes)
    winners = np.full(len(ahead), -1, np.int8)
    winners[over] = outcomes[over] < 0
    return NextChoices(ahead, winners, scores)
