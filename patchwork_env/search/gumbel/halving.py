"""Sequential Halving: how a budget of simulations is shared among the actions of the root.

After Karnin, Koren and Somekh, "Almost Optimal Exploration in Multi-Armed Bandits" (2013), in the form in
which "Policy improvement by planning with Gumbel" (Danihelka et al. 2022) and mctx use it: in every phase all
actions that are still considered are visited equally often, and then the better half of them stays.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def considered_visits(actions: int, simulations: int) -> npt.NDArray[np.int32]:
    """How many visits the action that each simulation takes has had before, int32 ``(simulations,)``.

    Among the considered actions with that many visits, the search takes the one with the highest score.
    Sequential Halving needs nothing else: actions that fall behind in visits are never asked for again.

    Args:
        actions: The number of actions that are considered at first, at least 1.
        simulations: The number of simulations, at least 1; all of them are spent.
    """
    if actions == 1:
        return np.arange(simulations, dtype=np.int32)
    phases = (actions - 1).bit_length()  # log2, rounded up
    visits: list[int] = []
    rounds_done, considered = 0, actions
    while len(visits) < simulations:
        for _ in range(max(1, simulations // (phases * considered))):
            visits += [rounds_done] * considered
            rounds_done += 1
        considered = max(2, considered // 2)
    return np.array(visits[:simulations], np.int32)


def considered_visits_table(most_actions: int, simulations: int) -> npt.NDArray[np.int32]:
    """:func:`considered_visits` for 1 to ``most_actions`` actions, ``(most_actions, simulations)``."""
    return np.stack([considered_visits(actions, simulations) for actions in range(1, most_actions + 1)])
