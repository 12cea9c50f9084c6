"""What a search has come to: the improved policy and the value of the root, and the action to play."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from patchwork_env.core.compile import kernel
from patchwork_env.search.gumbel.qvalues import Scale, q_transformation, q_value, weigh_children
from patchwork_env.search.gumbel.selection import Candidates, select_candidate
from patchwork_env.search.gumbel.tree import Edges, Floats, Integers, Nodes, capacity_of
from patchwork_env.search.tree import NOTHING


@kernel
def summarize(
    nodes: Nodes,
    edges: Edges,
    candidates: Candidates,
    scale: Scale,
    finished: npt.NDArray[np.bool_],
    counts: Integers,
    policy: Floats,
    visits: npt.NDArray[np.int32],
    chosen: Integers,
    values: Floats,
) -> None:
    """Writes what the search of every root has come to; of finished games, the values alone.

    Args:
        nodes: The nodes of all trees.
        edges: Their legal actions.
        candidates: ``(trees, m)``.
        scale: The scale of Q-values.
        finished: ``(trees,)``.
        counts: ``(trees,)``, receives the numbers of legal actions.
        policy: Receives the improved policy for all legal actions of the roots (equation 11).
        visits: Receives the visits of the same actions.
        chosen: ``(trees,)``, receives the actions that Sequential Halving chose.
        values: ``(trees,)``, receives the value of the improved policy, for the player to move.
    """
    capacity = capacity_of(nodes, len(finished))
    for tree in range(len(finished)):
        root = tree * capacity
        if finished[tree]:
            values[tree] = nodes[root]["sign"] * nodes[root]["value"]
            continue
        begin, counts[tree] = nodes[root]["begin"], nodes[root]["count"]
        own = slice(begin, begin + counts[tree])
        values[tree] = _improve_policy(nodes, edges, root, scale, policy[own], visits[own])
        most = candidates[tree][0]["visits"]
        for k in range(len(candidates[tree])):
            most = max(most, candidates[tree][k]["visits"])
        best = select_candidate(nodes, root, candidates[tree], most, scale)
        chosen[tree] = edges.actions[candidates[tree][best]["edge"]]


@kernel(allocates=True)
def _improve_policy(
    nodes: Nodes, edges: Edges, root: int, scale: Scale, policy: Floats, visits: npt.NDArray[np.int32]
) -> float:
    """Writes improved policy and visits of a root; returns the policy's mean of completed Q-values."""
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
