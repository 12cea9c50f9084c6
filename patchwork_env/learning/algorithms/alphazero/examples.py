"""What AlphaZero learns from: states with the policy of a search and the return that followed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env.agents.base import check_running
from patchwork_env.agents.ragged import legal_lists
from patchwork_env.patchwork import Game
from patchwork_env.patchwork.state import States, empty_states


class Examples(NamedTuple):
    """``n`` searched decisions with ``total`` legal actions.

    Attributes:
        states: ``(n,)`` records.
        counts: int64 ``(n,)``, the numbers of legal actions.
        policies: float16 ``(total,)``, the improved policies over the legal actions, state after state.
        returns: float32 ``(n,)``, the returns of the players to move.
    """

    states: States
    counts: npt.NDArray[np.int64]
    policies: npt.NDArray[np.float16]
    returns: npt.NDArray[np.float32]

    def policies_of(self, chosen: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        """The policies of some examples, one after the other, as float32."""
        begins, counts = (np.cumsum(self.counts) - self.counts)[chosen], self.counts[chosen]
        written = np.cumsum(counts) - counts
        places = np.repeat(begins - written, counts) + np.arange(counts.sum())
        return self.policies[places].astype(np.float32)


def check_examples(examples: Examples) -> None:
    """Checks examples from outside: kernels that learn from them check no bounds.

    Raises:
        ValueError: A state is impossible, or the arrays do not fit its legal actions.
    """
    Game.check_states(examples.states)
    check_fit(examples)


def check_fit(examples: Examples) -> None:
    """Checks examples whose states are possible.

    Raises:
        ValueError: A game is over, or the arrays do not fit the legal actions of the states.
    """
    states, counts, policies, returns = examples
    check_running(states)
    if not np.array_equal(legal_lists(states).counts, counts):
        raise ValueError("the examples have other numbers of legal actions than their states")
    if len(policies) != counts.sum() or len(returns) != len(states):
        lengths = f"{len(policies)} probabilities and {len(returns)} returns"
        raise ValueError(f"the examples have {lengths}; they need {counts.sum()} and {len(states)}")


NO_EXAMPLES = Examples(
    empty_states(0), np.empty(0, np.int64), np.empty(0, np.float16), np.empty(0, np.float32)
)
