"""The trees of a search, and how nodes are added to them.

The trees of a batch lie in one array of nodes: tree ``t`` has the nodes ``t * capacity`` and following, its
root first. A node knows its visited children as a linked list, and its legal actions as a range of two arrays
that all nodes share, the *edges*. Most edges are never visited. Their completed Q-values are all the same, so
of all unvisited actions of a node the one with the highest prior is the next to be visited, and one number
stands for all of them in sums. So the cost of a visit grows with the number of visited children, not of legal
actions; the edges are looked through once for each child that a node gets.

Values are kept from the view of player 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env.core.compile import kernel
from patchwork_env.search.tree import NOTHING

NODE = np.dtype(
    [
        ("value_sum", "<f8"),  # of the evaluations of the node and of all below it, from player 0's view
        ("value", "<f8"),  # the evaluation of the node itself, from player 0's view
        ("prior", "<f8"),  # probability of the action that leads here
        ("weight", "<f8"),  # share in the parent's improved policy, times a factor common to its children
        ("begin", "<i8"),  # the first of its edges
        ("edge", "<i8"),  # the edge that leads here
        ("best_unvisited", "<i8"),  # edge; or UNKNOWN, NOTHING
        ("count", "<i4"),  # edges; 0 if the game is over
        ("visits", "<i4"),  # evaluations that are part of value_sum
        ("parent", "<i4"),  # node, or NOTHING
        ("first_child", "<i4"),  # node, the child that was added last; or NOTHING
        ("next_sibling", "<i4"),  # node, or NOTHING
        ("sign", "<i4"),  # 1: player 0 is to move, -1: player 1
    ]
)

UNKNOWN = -2
"""Stands for an edge that has not been looked for yet."""

LOWEST_LOG_PRIOR = np.float32(-700.0)
"""The lowest log prior: its exponential is above 0, so that no prior is 0 and needs special treatment."""
VISITED = np.float32(-np.inf)
"""The log prior that marks edges whose child exists already."""

Nodes = npt.NDArray[np.void]
Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]


class Edges(NamedTuple):
    """The legal actions of all nodes of a batch.

    Attributes:
        actions: int32 ``(capacity,)``, the actions.
        log_priors: float32 ``(capacity,)``, the log-probabilities of the actions; below the root, minus
            infinity if the child exists.
    """

    actions: npt.NDArray[np.int32]
    log_priors: Floats


@kernel
def capacity_of(nodes: Nodes, trees: int) -> int:
    """The number of nodes of each tree; 0 if there are no trees."""
    return len(nodes) // max(trees, 1)


@kernel
def add_child(nodes: Nodes, edges: Edges, node: int, child: int, edge: int) -> None:
    """Links a new node to its parent ``node``; :func:`expand` fills it."""
    nodes[child]["parent"] = node
    nodes[child]["edge"] = edge
    nodes[child]["prior"] = np.exp(np.float64(edges.log_priors[edge]))
    nodes[child]["next_sibling"] = nodes[node]["first_child"]
    nodes[node]["first_child"] = child
    if nodes[node]["parent"] != NOTHING:
        edges.log_priors[edge] = VISITED
        nodes[node]["best_unvisited"] = UNKNOWN


@kernel
def add_edges(
    edges: Edges,
    begin: int,
    counts: Integers,
    actions: Integers,
    log_probabilities: Floats,
    values: Floats,
) -> bool:
    """Adds the legal actions of an evaluation, from edge ``begin`` on, and returns whether it is well-formed.

    ``counts`` and ``values`` are ``(n,)``, actions and log-probabilities lie one list behind the other.
    """
    total = 0
    is_sound = len(counts) == len(values) and len(actions) == len(log_probabilities)
    for i in range(len(counts) if is_sound else 0):
        is_sound &= counts[i] > 0 and bool(np.isfinite(values[i]))
        total += counts[i]
    if total != len(actions):
        return False
    for k in range(total):
        log_prior = max(log_probabilities[k], LOWEST_LOG_PRIOR)
        is_sound &= log_prior < np.inf  # false if it is no number
        edges.actions[begin + k], edges.log_priors[begin + k] = actions[k], log_prior
    return is_sound


@kernel
def set_up_roots(nodes: Nodes, sizes: Integers, finished: npt.NDArray[np.bool_]) -> None:
    """Resets every tree to its root; trees of finished games get the size 0."""
    capacity = capacity_of(nodes, len(sizes))
    for tree in range(len(sizes)):
        nodes[tree * capacity]["parent"] = NOTHING
        sizes[tree] = 0 if finished[tree] else 1


@kernel
def expand(
    nodes: Nodes,
    leaves: Integers,
    finished: npt.NDArray[np.bool_],
    players: Integers,
    payoffs: Floats,
    begin: int,
    counts: Integers,
    values: Floats,
) -> None:
    """Gives new nodes their values and edges, and all nodes above them their values.

    Args:
        nodes: The nodes of all trees.
        leaves: ``(n,)``, the new nodes.
        finished: ``(n,)``, whether the games of the new nodes are over.
        players: ``(n,)``, the players to move.
        payoffs: The payoffs of player 0, one for every finished game.
        begin: The first edge of the first of the other games; the edges of the next ones follow.
        counts: The numbers of legal actions, one for each of the other games.
        values: The values for the players to move, one for each of the other games.
    """
    over, running = 0, 0
    for k in range(len(leaves)):
        node = leaves[k]
        nodes[node]["sign"] = 1 if players[k] == 0 else -1
        nodes[node]["first_child"] = NOTHING
        nodes[node]["best_unvisited"] = UNKNOWN
        nodes[node]["begin"] = begin
        nodes[node]["count"] = 0
        nodes[node]["visits"] = 0
        nodes[node]["value_sum"] = 0.0
        if finished[k]:
            nodes[node]["value"] = payoffs[over]
            over += 1
        else:
            nodes[node]["value"] = nodes[node]["sign"] * values[running]
            nodes[node]["count"] = counts[running]
            begin += counts[running]
            running += 1
        back_up(nodes, node, nodes[node]["value"])


@kernel
def back_up(nodes: Nodes, node: int, value: float) -> None:
    """Adds a value, from player 0's view, to a node and to all nodes above it."""
    while node != NOTHING:
        nodes[node]["value_sum"] += value
        nodes[node]["visits"] += 1
        node = nodes[node]["parent"]
