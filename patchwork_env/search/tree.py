"""Trees for UCT and best-first search: nodes with blocks of edges, and a state for every node.

A node is a record with the fields ``begin`` and ``count``, the block of its edges; ``visits``, the sum over
its edges; and ``player``, the player to move. An edge is a record with the fields ``action``, ``child``, the
node that it leads to or :data:`NOTHING`, and ``visits``. Each search adds fields, as few as possible, since
most of its time goes into reading them. :mod:`~patchwork_env.search.gumbel_tree` has other trees.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env.core.compile import kernel

NOTHING = -1  # no node, or no edge
ROOT = 0


class Tree(NamedTuple):
    """A tree; its root is node 0."""

    nodes: npt.NDArray[np.void]  # records of the search ``(capacity,)``
    edges: npt.NDArray[np.void]  # records of the search ``(edge_capacity,)``
    states: npt.NDArray[np.void]  # records of the game ``(capacity,)``
    sizes: npt.NDArray[np.int64]  # int64 ``(2,)``, the numbers of nodes and edges in use


class Path(NamedTuple):
    """A path from the root down a tree."""

    nodes: npt.NDArray[np.int64]  # int64 ``(longest,)``, all but the last one
    edges: npt.NDArray[np.int64]  # int64 ``(longest,)``, those that were followed


def new_tree(
    node: np.dtype[np.void], edge: np.dtype[np.void], state: np.dtype[np.void], nodes: int, edges: int
) -> Tree:
    """Return an empty tree with room for a number of nodes and edges, records of the given types."""
    return Tree(np.empty(nodes, node), np.empty(edges, edge), np.empty(nodes, state), np.zeros(2, np.int64))


def new_path(longest: int) -> Path:
    """Return a path with room for ``longest`` edges."""
    return Path(np.empty(longest, np.int64), np.empty(longest, np.int64))


def as_blocks(states: npt.NDArray[np.void]) -> npt.NDArray[np.void]:
    """Return a view of the records without fields, which NumPy copies and compares many times faster."""
    return states.view(np.dtype((np.void, states.dtype.itemsize)))


@kernel
def reset(tree: Tree) -> None:
    """Remove all nodes and edges."""
    tree.sizes[0], tree.sizes[1] = 0, 0


@kernel
def is_full(tree: Tree) -> bool:
    """Whether no node can be added."""
    return bool(tree.sizes[0] == len(tree.nodes))


@kernel
def has_room(tree: Tree, edges: int) -> bool:
    """Whether that many edges can be added."""
    return bool(tree.sizes[1] + edges <= len(tree.edges))


@kernel
def add_node(tree: Tree) -> int:
    """Return a new node without edges, or ``NOTHING`` if the tree is full; its state is not set."""
    node = tree.sizes[0]
    if node == len(tree.nodes):
        return NOTHING
    tree.sizes[0] += 1
    tree.nodes[node]["begin"] = tree.nodes[node]["count"] = 0
    tree.nodes[node]["visits"] = 0
    return int(node)


@kernel
def add_edge(tree: Tree, node: int, action: int) -> int:
    """Give the node that is being completed one more edge, for which there must be room."""
    edge = tree.sizes[1]
    tree.sizes[1] += 1
    if tree.nodes[node]["count"] == 0:
        tree.nodes[node]["begin"] = edge
    tree.nodes[node]["count"] += 1
    set_edge(tree, edge, action)
    return int(edge)


@kernel(inline=True)
def set_edge(tree: Tree, edge: int, action: int) -> None:
    """Give an edge its action, no visits and no child."""
    new = tree.edges[edge]
    new["action"], new["visits"], new["child"] = action, 0, NOTHING


@kernel
def most_visited(tree: Tree, node: int, values: npt.NDArray[np.floating]) -> int:
    """Return the edge of a node with the most visits; on ties, with the highest of ``values``."""
    begin = tree.nodes[node]["begin"]
    best = begin
    for edge in range(begin + 1, begin + tree.nodes[node]["count"]):
        more = tree.edges[edge]["visits"] - tree.edges[best]["visits"]
        if more > 0 or (more == 0 and values[edge] > values[best]):
            best = edge
    return int(best)
