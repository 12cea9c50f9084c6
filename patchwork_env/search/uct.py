"""UCT with progressive widening and playouts, for any game whose states are records.

UCT is the tree search of Kocsis and Szepesvári (2006): on the way down, every node treats its actions as a
multi-armed bandit. Progressive widening (Coulom 2007; Chaslot et al. 2008) lets a node consider only its
first few actions, in an order given by the game, and more of them the more often it is visited.

A node gets its edges, best first, at its second visit; most nodes have no second visit. The edges of a node
are contiguous, so that a choice reads one block of memory. Values are stored from the view of the player to
move; each player maximizes its own (max^n, Luckhardt and Irani 1986).

The game comes as a namespace of kernels, for which :func:`simulate` is compiled; see :class:`Game`.
"""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
import numpy.typing as npt

from patchwork_env.core.compile import kernel, template
from patchwork_env.core.intrinsics import copy_record
from patchwork_env.core.random import Streams
from patchwork_env.search import tree as trees
from patchwork_env.search.tree import NOTHING, ROOT, Path, Tree, add_node, has_room, reset, set_edge
from patchwork_env.search.tree import most_visited as most_visited_by

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


class Rule(NamedTuple):
    """The rule by which a node chooses among its actions."""

    exploration: float  # the weight of the confidence interval, in units of the value
    first: float  # the actions that a node considers from the start
    factor: float  # after ``n`` visits it considers ``first + factor * n**exponent``
    exponent: float


class Workspace(Protocol):
    """The data of simulations besides the tree; a NamedTuple with these fields and more."""

    state: npt.NDArray[np.void]  # one record, in which a game is played out
    actions: npt.NDArray[np.int64]  # receives the actions of a node
    values: npt.NDArray[np.float64]  # of the end of a game for each player
    path: Path  # of the current simulation; its length bounds the depth of the tree


class Game(Protocol):
    """The kernels of a game, as attributes of a module object."""

    apply: Any  # ``(states, i, action)`` plays an action
    is_over: Any  # ``(states, i)``
    list_actions: Any  # ``(states, i, work, streams)`` writes ``work.actions``, best first; their number
    play_out: Any  # ``(work, streams)`` plays ``work.state`` to its end and writes ``work.values``


game = cast(Game, None)  # each game's kernels take its place


def new_tree(capacity: int, edge_capacity: int, state: np.dtype[np.void]) -> Tree:
    """Return an empty tree with room for ``capacity`` nodes and ``edge_capacity`` edges."""
    return trees.new_tree(NODE, EDGE, state, capacity, edge_capacity)


@kernel
def add_edges(tree: Tree, node: int, player: int, actions: npt.NDArray[np.int64], count: int) -> None:
    """Give a node without edges those of ``count`` actions, best first; ``player`` moves at the node."""
    begin = tree.sizes[1]
    tree.sizes[1] += count
    tree.nodes[node]["begin"] = begin
    tree.nodes[node]["count"] = count
    tree.nodes[node]["opened"] = 0
    tree.nodes[node]["player"] = player
    for k in range(count):
        set_edge(tree, begin + k, actions[k])
        tree.edges[begin + k]["value_sum"] = 0.0


@kernel
def choose_edge(tree: Tree, node: int, rule: Rule) -> int:
    """Return the edge to follow: a new one if the node widens, else that of the highest upper bound."""
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
def back_up(tree: Tree, path: Path, length: int, values: npt.NDArray[np.float64]) -> None:
    """Count a simulation along its path, with the value that it found for each player."""
    for k in range(length):
        node, edge = path.nodes[k], path.edges[k]
        tree.nodes[node]["visits"] += 1
        tree.edges[edge]["visits"] += 1
        tree.edges[edge]["value_sum"] += values[tree.nodes[node]["player"]]


@kernel
def most_visited(tree: Tree, node: int) -> int:
    """Return the edge with the most visits; ties go to the higher value."""
    return int(most_visited_by(tree, node, tree.edges["value_sum"]))


@kernel
def start_tree(tree: Tree, states: npt.NDArray[np.void], i: int) -> None:
    """Reset a tree to a root with the state of record ``i``."""
    reset(tree)
    copy_record(tree.states, add_node(tree), states, i)


# --- simulations ------------------------------------------------------------------------------------------


@template
def simulate(tree: Tree, work: Workspace, rule: Rule, streams: Streams, simulations: int) -> None:
    """Add simulations to a tree: down to a new node, a playout, and its values back up.

    The root is not over. ``work`` is the workspace of the game's type, see :class:`Workspace`; the random
    stream is ``(1,)``.
    """
    for _ in range(simulations):
        length = _descend(tree, work, rule, streams)
        game.play_out(work, streams)
        back_up(tree, work.path, length, work.values)


@template(inline=True)
def _descend(tree: Tree, work: Workspace, rule: Rule, streams: Streams) -> int:
    """Go down to a new node and copy its state to ``work.state``; return the length of the path."""
    node, length = ROOT, 0
    while length < len(work.path.nodes) and _is_inner(tree, node, work, streams):
        edge = choose_edge(tree, node, rule)
        work.path.nodes[length], work.path.edges[length] = node, edge
        length += 1
        child = tree.edges[edge]["child"]
        if child == NOTHING:
            copy_record(work.state, 0, tree.states, node)
            game.apply(work.state, 0, tree.edges[edge]["action"])
            child = add_node(tree)
            if child != NOTHING:
                tree.edges[edge]["child"] = child
                copy_record(tree.states, child, work.state, 0)
            return length
        node = child
    copy_record(work.state, 0, tree.states, node)
    return length


@template(inline=True)
def _is_inner(tree: Tree, node: int, work: Workspace, streams: Streams) -> bool:
    """Whether a node has edges, which it gets when it is visited again; forced actions are played first."""
    if tree.nodes[node]["count"] > 0:
        return True
    if game.is_over(tree.states, node) or not has_room(tree, len(work.actions)):
        return False
    count = game.list_actions(tree.states, node, work, streams)
    while count == 1:
        game.apply(tree.states, node, work.actions[0])
        if game.is_over(tree.states, node):
            return False
        count = game.list_actions(tree.states, node, work, streams)
    if count > 0:
        add_edges(tree, node, tree.states[node]["current_player"], work.actions, count)
    return bool(count > 0)


# --- trees that are reused from one search to the next ------------------------------------------------------


@kernel(allocates=True)
def copy_subtree(tree: Tree, top: int, target: Tree) -> None:
    """Copy the subtree of ``tree`` whose root is node ``top`` to ``target``, as far as there is room."""
    source = np.empty(min(tree.sizes[0], len(target.nodes)), np.int64)
    target.sizes[0], target.sizes[1] = 1, 0
    source[0] = top
    node = 0
    while node < target.sizes[0]:
        target.nodes[node] = tree.nodes[source[node]]
        copy_record(target.states, node, tree.states, source[node])
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


class TreeMemory:
    """Keeps the trees of running games, up to ``most_nodes`` nodes; the oldest trees are removed first."""

    def __init__(self, most_nodes: int) -> None:
        self.most_nodes = most_nodes
        self._trees: deque[Tree] = deque()

    @property
    def num_nodes(self) -> int:
        """The number of nodes of all trees that are kept."""
        return sum(len(tree.nodes) for tree in self._trees)

    def copy(self) -> TreeMemory:
        """Return another memory that shares the trees, which do not change."""
        twin = TreeMemory(self.most_nodes)
        twin._trees = self._trees.copy()
        return twin

    def keep(self, tree: Tree) -> None:
        """Keep a copy of a tree."""
        nodes, edges = tree.sizes.tolist()
        kept = tree.nodes[:nodes].copy(), tree.edges[:edges].copy(), tree.states[:nodes].copy()
        self._trees.append(Tree(*kept, tree.sizes.copy()))
        while self.num_nodes > self.most_nodes:
            self._trees.popleft()

    def recall(self, state: npt.NDArray[np.void], target: Tree) -> bool:
        """Copy the subtree of a state ``(1,)`` to ``target`` and remove its tree; whether a tree holds it."""
        for tree in self._trees:
            nodes = np.flatnonzero(trees.as_blocks(tree.states) == trees.as_blocks(state))
            if len(nodes):
                copy_subtree(tree, nodes[0], target)
                self._trees = deque(other for other in self._trees if other is not tree)
                return True
        return False
