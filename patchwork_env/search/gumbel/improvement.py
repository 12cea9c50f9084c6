"""The results of a search: the improved policy and the value of each root, and the action to play.

Equations are those of "Policy improvement by planning with Gumbel" (Danihelka et al. 2022).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env.core.compile import kernel
from patchwork_env.search.gumbel.qvalues import Scale, q_transformation, q_value, weigh_children
from patchwork_env.search.gumbel.selection import Candidates, select_candidate
from patchwork_env.search.gumbel.tree import Edges, Floats, Nodes, capacity_of
from patchwork_env.search.tree import NOTHING


class SearchResult(NamedTuple):
    """The results of a search in ``n`` games with ``total`` legal actions.

    Attributes:
        counts: int64 ``(n,)``, the number of legal actions of each game; 0 if it is over.
        actions: int64 ``(total,)``, the legal actions, game by game, in the order of the evaluation.
        policy: float32 ``(total,)``, the improved policy (equation 11).
        visits: int32 ``(total,)``, the number of simulations that tried each action.
        chosen: int64 ``(n,)``, the action to play, which Sequential Halving chose; -1 if the game is over.
        values: float32 ``(n,)``, the expected payoff of the player to move under the improved policy.
    """

    counts: npt.NDArray[np.int64]
    actions: npt.NDArray[np.int64]
    policy: npt.NDArray[np.float32]
    visits: npt.NDArray[np.int32]
    chosen: npt.NDArray[np.int64]
    values: npt.NDArray[np.float32]


@kernel
def summarize(
    nodes: Nodes,
    edges: Edges,
    candidates: Candidates,
    scale: Scale,
    finished: npt.NDArray[np.bool_],
    result: SearchResult,
) -> None:
    """Writes the results of the search of every root; of finished games, the values alone.

    ``candidates`` are the actions of the roots that are considered, ``(trees, m)``; ``result.actions`` is
    left as it is.
    """
    counts, chosen, values = result.counts, result.chosen, result.values
    capacity = capacity_of(nodes, len(finished))
    for tree in range(len(finished)):
        root = tree * capacity
        if finished[tree]:
            values[tree] = nodes[root]["sign"] * nodes[root]["value"]
            continue
        begin, counts[tree] = nodes[root]["begin"], nodes[root]["count"]
        own = slice(begin, begin + counts[tree])
        values[tree] = _improve_policy(nodes, edges, root, scale, result.policy[own], result.visits[own])
        most = candidates[tree][0]["visits"]
        for k in range(len(candidates[tree])):
            most = max(most, candidates[tree][k]["visits"])
        best = select_candidate(nodes, root, candidates[tree], most, scale)
        chosen[tree] = edges.actions[candidates[tree][best]["edge"]]


@kernel(allocates=True)
def _improve_policy(
    nodes: Nodes, edges: Edges, root: int, scale: Scale, policy: Floats, visits: npt.NDArray[np.int32]
) -> float:
    """Writes the improved policy and the visits of a root; returns the mean of Q-values under the policy."""
    mixed, factor, highest, _ = q_transformation(nodes, root, scale)
    begin = nodes[root]["begin"]
    unvisited_weight = np.exp(factor * (mixed - highest))
    total, weighted_sum = 0.0, 0.0
    weights = np.empty(len(policy))
    for k in range(len(policy)):
        weights[k] = np.exp(np.float64(edges.log_priors[begin + k])) * unvisited_weight
        visits[k] = 0
    weigh_children(nodes, root, factor, highest)
    child = nodes[root]["first_child"]
    while child != NOTHING:
        k = nodes[child]["edge"] - begin
        weights[k], visits[k] = nodes[child]["weight"], nodes[child]["visits"]
        # The mean is that of the mixed value, corrected for the actions that have a value of their own.
        weighted_sum += weights[k] * (q_value(nodes, root, child) - mixed)
        child = nodes[child]["next_sibling"]
    for k in range(len(policy)):
        total += weights[k]
    for k in range(len(policy)):
        policy[k] = weights[k] / total
    return float(mixed + weighted_sum / total)
