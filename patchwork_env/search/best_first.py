"""Best-first trees over an evaluation that knows all successors of a position, for any game of two players.

An evaluation gives a position its *edges* at once: its most promising actions with the values of what they
lead to. A simulation follows edges down to one that leads to no node yet, adds that node with its edges and
refreshes the values on the way back up. Selection is PUCT (Rosin 2011; Silver et al. 2017): the value of an
edge plus a bonus in proportion to its prior, which fades with its visits. Priors are a softmax of the values
that the edges start with, times the weights that the game gives them; an edge without visits keeps its value.

The value of a node is a mixture of the mean over its visits and of the value of its best edge. With a share
of 0 for the latter, this is the backup of Monte Carlo tree search, with a share of 1 best-first minimax.

All values come as :data:`VALUES` numbers in pairs: one for the player to move at the node that has the edge,
one for the other player. The first pair is what the players maximize, each its own number, so that they need
not be pure opponents (max^n, Luckhardt and Irani 1986); the others travel along. Players need not alternate.

The game's part, playing and evaluating, calls the kernels here.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env.core.compile import kernel

NOTHING = -1
ROOT = 0
VALUES = 8

NODE = np.dtype(
    [
        ("values", "<f8", VALUES),
        ("totals", "<f8", VALUES),  # the values before any visit, plus those of all visits of its edges
        ("begin", "<i4"),  # the first of its edges
        ("count", "<i4"),  # edges; 0 if its values are exact
        ("visits", "<i4"),  # of all its edges
        ("player", "<i4"),  # who is to move
        ("settled", "<i4"),  # of its edges
    ]
)
EDGE = np.dtype(
    [
        ("values", "<f4", VALUES),
        ("prior", "<f4"),
        ("visits", "<i4"),
        ("child", "<i4"),  # node, or NOTHING
        ("action", "<i4"),
        ("settled", "<i4"),  # 1: visits change nothing any more
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
    """How a tree grows.

    Attributes:
        exploration: Weight of the bonus for edges with few visits, in units of the first value.
        temperature: Of the priors, likewise.
        greed: Share of the best edge in the value of a node, 0-1.
    """

    exploration: float
    temperature: float
    greed: float


def new_tree(capacity: int, edges_per_node: int, state: np.dtype[np.void]) -> Tree:
    """An empty tree with room for so many nodes."""
    return Tree(
        np.empty(capacity, NODE),
        np.empty(capacity * edges_per_node, EDGE),
        np.empty(capacity, state),
        np.zeros(2, np.int64),
    )


@kernel
def clear(tree: Tree) -> None:
    """Removes all nodes and edges."""
    tree.sizes[0], tree.sizes[1] = 0, 0


@kernel
def add_node(tree: Tree) -> int:
    """A new node, without edges.

    A node with edges is completed by :func:`start_node`; of one whose values are exact the player and the
    values are to be written.
    """
    node = tree.sizes[0]
    tree.sizes[0] += 1
    tree.nodes[node]["begin"] = tree.sizes[1]
    tree.nodes[node]["count"] = 0
    tree.nodes[node]["visits"] = 0
    tree.nodes[node]["settled"] = 0
    return int(node)


@kernel
def is_full(tree: Tree) -> bool:
    """Whether no node can be added."""
    return bool(tree.sizes[0] == len(tree.nodes))


@kernel
def add_edge(tree: Tree, node: int, action: int, weight: float = 1.0) -> int:
    """Gives the newest node one more edge, the best one first; its values are yet to be written.

    Args:
        tree: The tree.
        node: The newest one.
        action: That the edge stands for.
        weight: A factor of its prior.
    """
    edge = tree.sizes[1]
    tree.sizes[1] += 1
    tree.nodes[node]["count"] += 1
    tree.edges[edge]["action"] = action
    tree.edges[edge]["prior"] = weight
    tree.edges[edge]["visits"] = 0
    tree.edges[edge]["child"] = NOTHING
    tree.edges[edge]["settled"] = 0
    return int(edge)


@kernel
def start_node(tree: Tree, node: int, player: int, rule: Rule) -> None:
    """Completes a node that has all its edges, best first: its values are those of the first one."""
    begin, count = tree.nodes[node]["begin"], tree.nodes[node]["count"]
    tree.nodes[node]["player"] = player
    most, total = tree.edges[begin]["values"][0], 0.0
    for edge in range(begin, begin + count):
        tree.edges[edge]["prior"] *= np.exp((tree.edges[edge]["values"][0] - most) / rule.temperature)
        total += tree.edges[edge]["prior"]
    for edge in range(begin, begin + count):
        tree.edges[edge]["prior"] /= total
    for k in range(VALUES):
        tree.nodes[node]["totals"][k] = tree.edges[begin]["values"][k]
        tree.nodes[node]["values"][k] = tree.edges[begin]["values"][k]


@kernel
def choose_edge(tree: Tree, node: int, rule: Rule) -> int:
    """The edge of a node to follow: the one with the highest value with its bonus."""
    begin, count = tree.nodes[node]["begin"], tree.nodes[node]["count"]
    weight = rule.exploration * np.sqrt(1.0 + tree.nodes[node]["visits"])
    best, highest = begin, -np.inf
    for edge in range(begin, begin + count):
        bonus = weight * tree.edges[edge]["prior"] / (1.0 + tree.edges[edge]["visits"])
        if tree.edges[edge]["values"][0] + bonus > highest:
            best, highest = edge, tree.edges[edge]["values"][0] + bonus
    return int(best)


@kernel
def back_up(
    tree: Tree, nodes: npt.NDArray[np.int64], edges: npt.NDArray[np.int64], length: int, rule: Rule
) -> None:
    """Counts a simulation and refreshes the values on its way.

    Args:
        tree: The tree.
        nodes: The nodes that were left on the way down, from the root on.
        edges: The edges that were followed; each leads to a node.
        length: How many of them.
        rule: Whose ``greed`` mixes values.
    """
    for k in range(length - 1, -1, -1):
        _count_visit(tree, nodes[k], edges[k])
        _mix(tree, nodes[k], rule)


@kernel
def _count_visit(tree: Tree, node: int, edge: int) -> None:
    """Counts a visit of an edge, whose values become those of the node that it leads to."""
    child, visits = tree.edges[edge]["child"], tree.edges[edge]["visits"]
    swap = int(tree.nodes[child]["player"] != tree.nodes[node]["player"])
    values, totals = tree.edges[edge]["values"], tree.nodes[node]["totals"]
    for k in range(VALUES):
        totals[k] -= visits * values[k]
        values[k] = tree.nodes[child]["values"][k ^ swap]
        totals[k] += (visits + 1) * values[k]
    tree.edges[edge]["visits"] += 1
    tree.nodes[node]["visits"] += 1
    if tree.edges[edge]["settled"] == 0 and is_settled(tree, child):
        tree.edges[edge]["settled"] = 1
        tree.nodes[node]["settled"] += 1


@kernel
def is_settled(tree: Tree, node: int) -> bool:
    """Whether visits of a node change nothing any more: it is exact, or all its edges are settled."""
    return bool(tree.nodes[node]["settled"] == tree.nodes[node]["count"])


@kernel
def _mix(tree: Tree, node: int, rule: Rule) -> None:
    """Sets the values of a node to the mixture of its mean and its best edge."""
    begin, count = tree.nodes[node]["begin"], tree.nodes[node]["count"]
    best = begin
    for edge in range(begin, begin + count):
        if tree.edges[edge]["values"][0] > tree.edges[best]["values"][0]:
            best = edge
    greed = 1.0 if is_settled(tree, node) else rule.greed
    for k in range(VALUES):
        mean = tree.nodes[node]["totals"][k] / (1.0 + tree.nodes[node]["visits"])
        tree.nodes[node]["values"][k] = (1.0 - greed) * mean + greed * tree.edges[best]["values"][k]


@kernel
def most_visited(tree: Tree, node: int) -> int:
    """The edge with the most visits; of equal ones, that with the higher value."""
    begin = tree.nodes[node]["begin"]
    best = begin
    for edge in range(begin + 1, begin + tree.nodes[node]["count"]):
        more = tree.edges[edge]["visits"] - tree.edges[best]["visits"]
        better = tree.edges[edge]["values"][0] > tree.edges[best]["values"][0]
        if more > 0 or (more == 0 and better):
            best = edge
    return int(best)


@kernel
def best_edge(tree: Tree, node: int) -> int:
    """The edge to play: the most visited one, but that with the highest value if the node is settled."""
    best = most_visited(tree, node)
    if not is_settled(tree, node):
        return best
    begin = tree.nodes[node]["begin"]
    for edge in range(begin, begin + tree.nodes[node]["count"]):
        if tree.edges[edge]["values"][0] > tree.edges[best]["values"][0]:
            best = edge
    return best


@kernel
def is_decided(tree: Tree, simulations: int) -> bool:
    """Whether so many more simulations cannot change which edge of the root has the most visits."""
    best = most_visited(tree, ROOT)
    begin = tree.nodes[ROOT]["begin"]
    for edge in range(begin, begin + tree.nodes[ROOT]["count"]):
        if edge != best and tree.edges[edge]["visits"] + simulations >= tree.edges[best]["visits"]:
            return False
    return True
