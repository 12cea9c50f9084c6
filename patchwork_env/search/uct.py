"""Trees for UCT with progressive widening, for any game of two players whose states are records.

UCT is the tree search of Kocsis and Szepesvári (2006): on the way down, every node treats its actions as a
multi-armed bandit. Progressive widening (Coulom 2007; Chaslot et al. 2008) lets a node consider only its
first few actions, in an order given by the game, and more the oftener it is visited.

A node is a state and a block of *edges*, the actions that its search may come to consider, best first. Edges
hold what is known of the actions, so that a choice reads one stretch of memory. A node gets its edges at its
second visit; most nodes never have a second one. Values are kept from the view of the player to move.

The game's part, playing and ordering actions, calls the kernels here; see
:mod:`patchwork_env.agents.patchwork.mcts.simulation`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env.core.compile import kernel

NOTHING = -1
ROOT = 0

NODE = np.dtype(
    [
        ("begin", "<i4"),  # the first of its edges
        ("count", "<i2"),  # edges; 0 as long as it has none
        ("opened", "<i2"),  # edges that have been visited, the first ones
        ("visits", "<i4"),  # of all its edges
        ("player", "<i4"),  # who is to move
    ]
)
EDGE = np.dtype(
    [
        ("value_sum", "<f8"),  # of its visits, for the player to move at its node
        ("visits", "<i4"),
        ("child", "<i4"),  # node, or NOTHING
        ("action", "<i8"),
    ]
)


class Tree(NamedTuple):
    """A tree; its root is node 0.

    Attributes:
        nodes: ``NODE (capacity,)``.
        edges: ``EDGE (edge_capacity,)``.
        states: Records of the game ``(capacity,)``, one for every node.
        sizes: int64 ``(2,)``, the numbers of nodes and edges in use.
    """

    nodes: npt.NDArray[np.void]
    edges: npt.NDArray[np.void]
    states: npt.NDArray[np.void]
    sizes: npt.NDArray[np.int64]


class Rule(NamedTuple):
    """How a node chooses among its actions.

    Attributes:
        exploration: Weight of the confidence interval, in units of the value.
        first: Actions that a node considers at once.
        factor: Of widening: after ``n`` visits it considers ``first + factor * n**exponent`` actions.
        exponent: Of widening.
    """

    exploration: float
    first: float
    factor: float
    exponent: float


def new_tree(capacity: int, edge_capacity: int, state: np.dtype[np.void]) -> Tree:
    """An empty tree with room for so many nodes and edges."""
    return Tree(
        np.empty(capacity, NODE),
        np.empty(edge_capacity, EDGE),
        np.empty(capacity, state),
        np.zeros(2, np.int64),
    )


@kernel
def add_node(tree: Tree) -> int:
    """A new node without edges, whose state is to be filled; ``NOTHING`` if the tree is full."""
    node = tree.sizes[0]
    if node == len(tree.nodes):
        return NOTHING
    tree.sizes[0] += 1
    tree.nodes[node]["count"] = 0
    tree.nodes[node]["opened"] = 0
    tree.nodes[node]["visits"] = 0
    return int(node)


@kernel
def has_room(tree: Tree, edges: int) -> bool:
    """Whether that many edges can be added."""
    return bool(tree.sizes[1] + edges <= len(tree.edges))


@kernel
def add_edges(
    tree: Tree,
    node: int,
    player: int,
    actions: npt.NDArray[np.int64],
    count: int,
) -> None:
    """Gives a node its edges.

    Args:
        tree: With room for them.
        node: Which has none.
        player: Who is to move there.
        actions: Best first.
        count: How many of them.
    """
    begin = tree.sizes[1]
    tree.sizes[1] += count
    tree.nodes[node]["begin"] = begin
    tree.nodes[node]["count"] = count
    tree.nodes[node]["player"] = player
    for k in range(count):
        edge = begin + k
        tree.edges[edge]["value_sum"] = 0.0
        tree.edges[edge]["visits"] = 0
        tree.edges[edge]["child"] = NOTHING
        tree.edges[edge]["action"] = actions[k]


@kernel
def choose_edge(tree: Tree, node: int, rule: Rule) -> int:
    """The edge to follow: a new one if it is time to widen, else the one with the highest upper bound."""
    visits, opened = tree.nodes[node]["visits"], tree.nodes[node]["opened"]
    begin = tree.nodes[node]["begin"]
    width = min(np.float64(tree.nodes[node]["count"]), rule.first + rule.factor * visits**rule.exponent)
    if opened < width:
        tree.nodes[node]["opened"] += 1
        return int(begin + opened)
    best, best_bound = begin, -np.inf
    log_visits = np.log(np.float64(visits))
    for edge in range(begin, begin + opened):
        n = np.float64(tree.edges[edge]["visits"])
        bound = tree.edges[edge]["value_sum"] / n + rule.exploration * np.sqrt(log_visits / n)
        if bound > best_bound:
            best, best_bound = edge, bound
    return int(best)


@kernel
def back_up(
    tree: Tree, nodes: npt.NDArray[np.int64], edges: npt.NDArray[np.int64], length: int, value: float
) -> None:
    """Counts a simulation.

    Args:
        tree: The tree.
        nodes: The nodes that were left on the way down, from the root on.
        edges: The edges that were followed.
        length: How many of them.
        value: What came out for player 0; the opposite is what came out for player 1.
    """
    for k in range(length):
        sign = 1.0 if tree.nodes[nodes[k]]["player"] == 0 else -1.0
        tree.nodes[nodes[k]]["visits"] += 1
        tree.edges[edges[k]]["visits"] += 1
        tree.edges[edges[k]]["value_sum"] += sign * value


@kernel
def most_visited(tree: Tree, node: int) -> int:
    """The edge with the most visits; of equal ones, that with the higher value."""
    begin = tree.nodes[node]["begin"]
    best = begin
    for edge in range(begin + 1, begin + tree.nodes[node]["opened"]):
        more = tree.edges[edge]["visits"] - tree.edges[best]["visits"]
        better = tree.edges[edge]["value_sum"] > tree.edges[best]["value_sum"]
        if more > 0 or (more == 0 and better):
            best = edge
    return int(best)


@kernel
def start_tree(tree: Tree, states: npt.NDArray[np.void], i: int) -> None:
    """Makes a tree a mere root with the state of record ``i``."""
    tree.sizes[0], tree.sizes[1] = 0, 0
    tree.states[add_node(tree)] = states[i]


@kernel(allocates=True)
def copy_subtree(tree: Tree, top: int, target: Tree) -> None:
    """Makes ``target`` the part of ``tree`` below and including node ``top``, as far as there is room."""
    source = np.empty(min(tree.sizes[0], len(target.nodes)), np.int64)
    target.sizes[0], target.sizes[1] = 1, 0
    source[0] = top
    node = 0
    while node < target.sizes[0]:
        target.nodes[node] = tree.nodes[source[node]]
        target.states[node] = tree.states[source[node]]
        count = target.nodes[node]["count"]
        if not has_room(target, count):
            count = 0
            target.nodes[node]["count"], target.nodes[node]["opened"], target.nodes[node]["visits"] = 0, 0, 0
        target.nodes[node]["begin"] = target.sizes[1]
        for k in range(count):
            edge = target.sizes[1] + k
            target.edges[edge] = tree.edges[tree.nodes[source[node]]["begin"] + k]
            child = target.edges[edge]["child"]
            if child != NOTHING and target.sizes[0] < len(source):
                source[target.sizes[0]] = child
                target.edges[edge]["child"] = target.sizes[0]
                target.sizes[0] += 1
            else:
                target.edges[edge]["child"] = NOTHING
        target.sizes[1] += count
        node += 1
