"""Best-first trees over an evaluation that gives all successors of a position, for any game of two players.

An evaluation gives a position its *edges* at once: its best actions with the values of the positions that
they lead to. A simulation follows edges down to one that leads to no node yet, adds that node and refreshes
the values on the way back up. Selection is PUCT (Rosin 2011; Silver et al. 2017): the value of an edge plus a
bonus in proportion to its prior, which fades with its visits. Priors are a softmax of the values that the
edges start with, times weights that the game gives.

The value of a node is a mixture of the mean over its visits and of the value of its best edge. With a share
of 0 for the latter, this is the backup of Monte Carlo tree search, with a share of 1 best-first minimax.

All values come as :data:`VALUES` numbers in pairs: one for the player to move at the node that has the edge,
one for the other player. Each player maximizes its own number of the first pair (max^n, Luckhardt and Irani
1986); the other pairs are carried along. Players need not alternate.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from patchwork_env.core.compile import kernel
from patchwork_env.search.tree import NOTHING, ROOT, Path, Tree
from patchwork_env.search.tree import add_edge as add_plain_edge
from patchwork_env.search.tree import add_node as add_plain_node
from patchwork_env.search.tree import most_visited as most_visited_by
from patchwork_env.search.tree import new_tree as new_tree_of

VALUES = 6
OPENING = -2
"""The ``child`` of an edge whose node is being completed by a thread."""

NODE = np.dtype(
    [
        ("values", "<f8", VALUES),
        ("totals", "<f8", VALUES),  # the values before any visit, plus those of all visits of its edges
        ("begin", "<i4"),  # the first of its edges
        ("count", "<i4"),  # edges; 0 if its values are exact
        ("visits", "<i4"),  # of all its edges
        ("player", "<i4"),  # who is to move
        ("solved", "<i4"),  # the number of its solved edges
    ]
)
EDGE = np.dtype(
    [
        ("values", "<f4", VALUES),
        ("prior", "<f4"),
        ("visits", "<i4"),
        ("child", "<i4"),  # node, or NOTHING
        ("action", "<i4"),
        ("solved", "<i4"),  # 1 if visits change nothing any more, else 0
    ]
)


class Rule(NamedTuple):
    """The rule by which a tree grows."""

    exploration: float  # the weight of the bonus for few visits, in units of the first value
    temperature: float  # of the priors, in units of the first value
    best_weight: float  # of the best edge in the value of a node, 0-1; the mean has the rest


def new_tree(capacity: int, edges_per_node: int, state: np.dtype[np.void]) -> Tree:
    """Return an empty tree with room for ``capacity`` nodes."""
    return new_tree_of(NODE, EDGE, state, capacity, capacity * edges_per_node)


@kernel
def add_node(tree: Tree) -> int:
    """Return a new node without edges, for which there must be room; see :func:`start_node`.

    If its values are exact, the caller writes them and the player.
    """
    node = add_plain_node(tree)
    tree.nodes[node]["solved"] = 0
    return int(node)


@kernel
def add_edge(tree: Tree, node: int, action: int, weight: float = 1.0) -> int:
    """Give the node that is being completed one more edge, the best one first, without its values.

    The prior of the edge is multiplied by ``weight``.
    """
    edge = add_plain_edge(tree, node, action)
    new = tree.edges[edge]
    new["prior"], new["solved"] = weight, 0
    return int(edge)


@kernel
def start_node(tree: Tree, node: int, player: int, rule: Rule) -> None:
    """Complete a node that has all its edges, best first: its values are those of the first one."""
    here = tree.nodes[node]
    here["player"] = player
    begin, end = here["begin"], here["begin"] + here["count"]
    first, total = tree.edges[begin]["values"], 0.0
    for k in range(begin, end):
        edge = tree.edges[k]
        edge["prior"] *= np.exp((edge["values"][0] - first[0]) / rule.temperature)
        total += edge["prior"]
    for k in range(begin, end):
        tree.edges[k]["prior"] /= total
    for k in range(VALUES):
        here["totals"][k] = here["values"][k] = first[k]


@kernel
def descend(tree: Tree, path: Path, rule: Rule, first: int = NOTHING) -> int:
    """Descend to an edge without a node or a solved one, count the visits, and return the length.

    The first edge is ``first``, or with ``NOTHING`` chosen by the rule. Until :func:`back_up`, a visit counts
    without a change of values, so other threads choose other paths. The length is 0 if other threads are
    completing the node.
    """
    node, length = ROOT, 0
    while True:
        edge = first if node == ROOT and first != NOTHING else choose_edge(tree, node, rule)
        child = tree.edges[edge]["child"]
        if child == OPENING:
            for k in range(length):
                count_visit(tree, path.nodes[k], path.edges[k], -1)
            return 0
        path.nodes[length], path.edges[length] = node, edge
        length += 1
        count_visit(tree, node, edge, 1)
        if child == NOTHING or tree.edges[edge]["solved"]:
            return length
        node = child


@kernel
def count_visit(tree: Tree, node: int, edge: int, number: int) -> None:
    """Add a ``number`` of visits, 1 or -1, to an edge at its present values."""
    for k in range(VALUES):
        tree.nodes[node]["totals"][k] += number * tree.edges[edge]["values"][k]
    tree.edges[edge]["visits"] += number
    tree.nodes[node]["visits"] += number


@kernel
def choose_edge(tree: Tree, node: int, rule: Rule) -> int:
    """Return the edge of a node to follow: the one with the highest value with its bonus.

    One whose node is about to be completed is chosen only if all are.
    """
    begin, count = tree.nodes[node]["begin"], tree.nodes[node]["count"]
    weight = rule.exploration * np.sqrt(1.0 + tree.nodes[node]["visits"])
    best, highest = begin, -np.inf
    for edge in range(begin, begin + count):
        bonus = weight * tree.edges[edge]["prior"] / (1.0 + tree.edges[edge]["visits"])
        if tree.edges[edge]["values"][0] + bonus > highest and tree.edges[edge]["child"] != OPENING:
            best, highest = edge, tree.edges[edge]["values"][0] + bonus
    return int(best)


@kernel
def back_up(tree: Tree, path: Path, length: int, rule: Rule) -> None:
    """Refresh the values on a path that was followed, whose edges lead to nodes, by the rule."""
    for k in range(length - 1, -1, -1):
        _refresh(tree, path.nodes[k], path.edges[k])
        _mix(tree, path.nodes[k], rule)


@kernel
def _refresh(tree: Tree, node: int, edge: int) -> None:
    """Set the values of an edge to those of the node that it leads to."""
    child, visits = tree.edges[edge]["child"], tree.edges[edge]["visits"]
    swap = int(tree.nodes[child]["player"] != tree.nodes[node]["player"])
    values, totals = tree.edges[edge]["values"], tree.nodes[node]["totals"]
    for k in range(VALUES):
        totals[k] -= visits * values[k]
        values[k] = tree.nodes[child]["values"][k ^ swap]
        totals[k] += visits * values[k]
    if tree.edges[edge]["solved"] == 0 and is_solved(tree, child):
        tree.edges[edge]["solved"] = 1
        tree.nodes[node]["solved"] += 1


@kernel
def is_solved(tree: Tree, node: int) -> bool:
    """Whether visits of a node change nothing any more: it is exact, or all its edges are solved."""
    return bool(tree.nodes[node]["solved"] == tree.nodes[node]["count"])


@kernel
def _mix(tree: Tree, node: int, rule: Rule) -> None:
    """Set the values of a node to the mixture of its mean and its best edge."""
    here = tree.nodes[node]
    best = tree.edges[_highest_edge(tree, node, here["begin"])]["values"]
    weight = 1.0 if is_solved(tree, node) else rule.best_weight
    for k in range(VALUES):
        mean = here["totals"][k] / (1.0 + here["visits"])
        here["values"][k] = (1.0 - weight) * mean + weight * best[k]


@kernel
def most_visited(tree: Tree, node: int) -> int:
    """Return the edge with the most visits; ties go to the higher value."""
    return int(most_visited_by(tree, node, tree.edges["values"][:, 0]))


@kernel
def best_edge(tree: Tree, node: int) -> int:
    """Return the edge to play: the most visited one, or that of the highest value in a solved node."""
    best = most_visited(tree, node)
    return _highest_edge(tree, node, best) if is_solved(tree, node) else best


@kernel(inline=True)
def _highest_edge(tree: Tree, node: int, best: int) -> int:
    """Return the edge of a node with the highest value; ties go to ``best``, then to the first one."""
    begin = tree.nodes[node]["begin"]
    for edge in range(begin, begin + tree.nodes[node]["count"]):
        if tree.edges[edge]["values"][0] > tree.edges[best]["values"][0]:
            best = edge
    return int(best)


@kernel
def is_decided(tree: Tree, simulations: int) -> bool:
    """Whether that many more simulations cannot change which edge of the root has the most visits."""
    best = most_visited(tree, ROOT)
    begin = tree.nodes[ROOT]["begin"]
    for edge in range(begin, begin + tree.nodes[ROOT]["count"]):
        if edge != best and tree.edges[edge]["visits"] + simulations >= tree.edges[best]["visits"]:
            return False
    return True
