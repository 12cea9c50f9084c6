"""One simulation after the other: down the tree, one new node, a playout, and its outcome back up."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env.agents.patchwork.mcts.candidates import Candidates, list_candidates, new_candidates
from patchwork_env.agents.patchwork.mcts.playout import Table, new_table, play_out
from patchwork_env.core.compile import kernel
from patchwork_env.patchwork.engine import MAX_TURNS, apply, is_over, score, winner
from patchwork_env.patchwork.state import States, empty_states
from patchwork_env.search.uct import (
    NOTHING,
    ROOT,
    Rule,
    Tree,
    add_edges,
    add_node,
    back_up,
    choose_edge,
    has_room,
)


class Workspace(NamedTuple):
    """What simulations need beside the tree.

    Attributes:
        game: One record, in which games are played out.
        candidates: The actions of a node.
        table: For playouts.
        nodes: int64 ``(MAX_TURNS,)``, the way down.
        edges: int64 ``(MAX_TURNS,)``, the way down.
    """

    game: States
    candidates: Candidates
    table: Table
    nodes: npt.NDArray[np.int64]
    edges: npt.NDArray[np.int64]


def new_workspace() -> Workspace:
    """Room for simulations, which may be used for any game."""
    path = np.empty((2, MAX_TURNS), np.int64)
    return Workspace(empty_states(1), new_candidates(), new_table(), path[0], path[1])


@kernel
def simulate(
    tree: Tree,
    work: Workspace,
    rule: Rule,
    margin_share: float,
    streams: npt.NDArray[np.uint64],
    simulations: int,
) -> None:
    """Adds simulations to a tree.

    Args:
        tree: Whose root is not over.
        work: Room.
        rule: How actions are chosen within the tree.
        margin_share: 0-1, see :func:`value_of`.
        streams: Random numbers ``(1,)``.
        simulations: How many.
    """
    for _ in range(simulations):
        length = _descend(tree, work, rule)
        play_out(work.game, 0, work.table, streams, 0)
        back_up(tree, work.nodes, work.edges, length, value_of(work.game, 0, margin_share))


@kernel
def _descend(tree: Tree, work: Workspace, rule: Rule) -> int:
    """Goes down to a new node, whose state is left in ``work.game``; returns the length of the way."""
    node, length = ROOT, 0
    while _is_inner(tree, node, work):
        edge = choose_edge(tree, node, rule)
        work.nodes[length], work.edges[length] = node, edge
        length += 1
        child = tree.edges[edge]["child"]
        if child == NOTHING:
            work.game[0] = tree.states[node]
            apply(work.game, 0, tree.edges[edge]["action"])
            child = add_node(tree)
            if child != NOTHING:
                tree.edges[edge]["child"] = child
                tree.states[child] = work.game[0]
            return length
        node = child
    work.game[0] = tree.states[node]
    return length


@kernel
def _is_inner(tree: Tree, node: int, work: Workspace) -> bool:
    """Whether a node that is visited again has edges, which it may get now."""
    if tree.nodes[node]["count"] > 0:
        return True
    if is_over(tree.states, node) or not has_room(tree, len(work.candidates.actions)):
        return False
    count = list_candidates(tree.states, node, work.candidates)
    while count == 1:
        apply(tree.states, node, work.candidates.actions[0])
        if is_over(tree.states, node):
            return False
        count = list_candidates(tree.states, node, work.candidates)
    player = tree.states[node]["current_player"]
    add_edges(tree, node, player, work.candidates.actions, count)
    return True


@kernel
def value_of(states: States, i: int, margin_share: float) -> float:
    """What the end of a game is worth to player 0, from -1 to 1.

    Args:
        states: Records.
        i: Which of them; it is over.
        margin_share: How much of it is the difference of the scores instead of the outcome.
    """
    outcome = 1.0 if winner(states, i) == 0 else -1.0
    margin = (score(states, i, 0) - score(states, i, 1)) / 50.0
    return (1.0 - margin_share) * outcome + margin_share * min(max(margin, -1.0), 1.0)
