"""How a simulation chooses its path: Sequential Halving at the root, the improved policy below.

Equations are those of "Policy improvement by planning with Gumbel" (Danihelka et al. 2022).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env.core.compile import kernel
from patchwork_env.search.gumbel.qvalues import Scale, q_transformation, q_value, weigh_children
from patchwork_env.search.gumbel.tree import (
    UNKNOWN,
    VISITED,
    Edges,
    Integers,
    Nodes,
    add_child,
    back_up,
    capacity_of,
)
from patchwork_env.search.tree import NOTHING

CANDIDATE = np.dtype(
    [
        ("score", "<f8"),  # Gumbel noise + log prior
        ("edge", "<i8"),
        ("child", "<i4"),  # node, or NOTHING
        ("visits", "<i4"),
    ]
)

Candidates = npt.NDArray[np.void]
"""The actions of the roots that are considered, :data:`CANDIDATE` records: ``(trees, m)``, or ``(m,)`` of one
tree."""


class Leaves(NamedTuple):
    """The nodes that a simulation added, at most one per tree.

    Attributes:
        nodes: int64 ``(n,)``, the new nodes.
        parents: int64 ``(n,)``, the parents of the new nodes.
        actions: int64 ``(n,)``, the actions that lead to the new nodes.
    """

    nodes: Integers
    parents: Integers
    actions: Integers


@kernel
def choose_candidates(
    nodes: Nodes, edges: Edges, sizes: Integers, noise: npt.NDArray[np.float64], candidates: Candidates
) -> None:
    """Picks the actions with the highest sums of noise and log prior in every tree, best first.

    The candidates ``(trees, m)`` that are left over have no edge. A tree whose root has a single action has
    it as its candidate and is not searched: its size is set to 0.
    """
    capacity = capacity_of(nodes, len(sizes))
    for tree in range(len(sizes)):
        chosen = candidates[tree]
        for k in range(len(chosen)):
            chosen[k]["edge"], chosen[k]["child"], chosen[k]["visits"] = NOTHING, NOTHING, 0
            chosen[k]["score"] = -np.inf
        if sizes[tree] == 0:
            continue
        root = tree * capacity
        for edge in range(nodes[root]["begin"], nodes[root]["begin"] + nodes[root]["count"]):
            _insert(chosen, edge, noise[edge] + edges.log_priors[edge])
        if nodes[root]["count"] == 1:
            sizes[tree] = 0


@kernel
def _insert(candidates: Candidates, edge: int, score: float) -> None:
    """Inserts an edge into candidates in descending order of their scores and drops the last one."""
    k = len(candidates) - 1
    if candidates[k]["edge"] != NOTHING and score <= candidates[k]["score"]:
        return
    while k > 0 and score > candidates[k - 1]["score"]:
        candidates[k]["edge"], candidates[k]["score"] = candidates[k - 1]["edge"], candidates[k - 1]["score"]
        k -= 1
    candidates[k]["edge"], candidates[k]["score"] = edge, score


@kernel
def select_leaves(
    nodes: Nodes,
    edges: Edges,
    sizes: Integers,
    candidates: Candidates,
    visits_by_actions: npt.NDArray[np.int32],
    simulation: int,
    scale: Scale,
    leaves: Leaves,
) -> int:
    """Goes down every tree and adds one node to it; a path that ends in a finished game is counted at once.

    Args:
        nodes: ``(trees * capacity,)``, the nodes of all trees.
        edges: The legal actions of the nodes.
        sizes: ``(trees,)``, the number of nodes of each tree; 0 for trees that are not searched.
        candidates: ``(trees, m)``, the actions of the roots that are considered.
        visits_by_actions: ``(m, simulations)``, the table of :mod:`~patchwork_env.search.gumbel.halving`.
        simulation: The index of the simulation, from 0.
        scale: The scale of Q-values.
        leaves: Receives the new nodes, whose number is returned.
    """
    capacity = capacity_of(nodes, len(sizes))
    added = 0
    for tree in range(len(sizes)):
        if sizes[tree] == 0:
            continue
        root = tree * capacity
        actions = min(len(candidates[tree]), nodes[root]["count"])
        visits = visits_by_actions[actions - 1, simulation]
        k = select_candidate(nodes, root, candidates[tree], visits, scale)
        candidates[tree][k]["visits"] += 1
        node, child, edge = root, candidates[tree][k]["child"], candidates[tree][k]["edge"]
        while child != NOTHING and nodes[child]["count"] > 0:
            node, child = child, _select_child(nodes, edges, child, scale)
            edge = nodes[node]["best_unvisited"]
        if child != NOTHING:
            back_up(nodes, child, nodes[child]["value"])
            continue
        child = root + sizes[tree]
        sizes[tree] += 1
        add_child(nodes, edges, node, child, edge)
        if node == root:
            candidates[tree][k]["child"] = child
        leaves.nodes[added], leaves.parents[added] = child, node
        leaves.actions[added] = edges.actions[edge]
        added += 1
    return added


@kernel
def select_candidate(nodes: Nodes, root: int, candidates: Candidates, visits: int, scale: Scale) -> int:
    """The index of the best candidate that has ``visits`` visits, as Sequential Halving asks for it."""
    mixed, factor, _, _ = q_transformation(nodes, root, scale)
    best, best_score = NOTHING, -np.inf
    for k in range(len(candidates)):
        if candidates[k]["edge"] != NOTHING and candidates[k]["visits"] == visits:
            child = candidates[k]["child"]
            q = mixed if child == NOTHING else q_value(nodes, root, child)
            score = candidates[k]["score"] + factor * q
            if score > best_score:
                best, best_score = k, score
    return best


@kernel
def _select_child(nodes: Nodes, edges: Edges, node: int, scale: Scale) -> int:
    """The child to visit next, or ``NOTHING`` for the best unvisited action: equation 14.

    The choice is deterministic and makes the shares of visits approach the improved policy.
    """
    if nodes[node]["best_unvisited"] == UNKNOWN:
        nodes[node]["best_unvisited"] = _best_unvisited(nodes, edges, node)
    mixed, factor, highest, unvisited_prior = q_transformation(nodes, node, scale)
    best, best_edge = NOTHING, nodes[node]["best_unvisited"]
    total, best_score = 0.0, -np.inf
    if best_edge != NOTHING:
        weight = np.exp(factor * (mixed - highest))
        prior = np.exp(np.float64(edges.log_priors[best_edge]))
        total, best_score = max(unvisited_prior, prior) * weight, prior * weight
    total += weigh_children(nodes, node, factor, highest)
    best_score /= total
    child = nodes[node]["first_child"]
    while child != NOTHING:
        score = nodes[child]["weight"] / total - nodes[child]["visits"] / nodes[node]["visits"]
        if score > best_score or (score == best_score and nodes[child]["edge"] < best_edge):
            best, best_edge, best_score = child, nodes[child]["edge"], score
        child = nodes[child]["next_sibling"]
    return best


@kernel
def _best_unvisited(nodes: Nodes, edges: Edges, node: int) -> int:
    """The edge with the highest prior that is not marked as visited, or ``NOTHING``."""
    best, best_prior = NOTHING, VISITED
    for edge in range(nodes[node]["begin"], nodes[node]["begin"] + nodes[node]["count"]):
        if edges.log_priors[edge] > best_prior:
            best, best_prior = edge, edges.log_priors[edge]
    return best
