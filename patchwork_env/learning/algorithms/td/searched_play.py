"""Self-play by short searches, whose results teach the value: expert iteration.

Every move is searched as the champion searches, with a few dozen positions. What the search says of the
root takes the place of what the best action promises, and every position of the tree with visits enough
is learned from as well. So the value sees, and unlearns, what a search finds attractive and a game seldom
reaches. See Anthony et al., "Thinking fast and slow with deep learning and tree search" (2017), and, for
learning from whole trees, Veness et al., "Bootstrapping from game tree search" (2009).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env.agents.compiled.drawing import draw_by_softmax
from patchwork_env.agents.patchwork.champion.simulation import (
    EMPTY,
    NO_LIMIT,
    SCORE,
    UTILITY,
    WIDTH,
    WIN,
    Budget,
    Mind,
    Workspace,
    grow,
    new_workspace,
    plant,
)
from patchwork_env.agents.patchwork.mcts.playout import Table, choose
from patchwork_env.agents.patchwork.value import network
from patchwork_env.core.compile import kernel
from patchwork_env.learning.algorithms.td.games import STEPS, Games, Positions, Targets
from patchwork_env.patchwork.engine import MAX_TURNS, apply, is_over, legal, nth_legal, random_below
from patchwork_env.patchwork.state import STATE, States, empty_states
from patchwork_env.search.best_first import ROOT, Tree, best_edge, new_tree

_SAMPLES_PER_TURN = 6


class Desk(NamedTuple):
    """Room of one thread for searches and what is learned from their trees.

    Attributes:
        tree: Of the present move.
        work: For its growth.
        states: ``(capacity,)`` positions from trees.
        targets: float32 ``(capacity, OUTPUTS)``, what the searches say of them.
        size: int64 ``(1,)``, how many there are.
    """

    tree: Tree
    work: Workspace
    states: States
    targets: Targets
    size: npt.NDArray[np.int64]


def new_desk(games: int, nodes: int) -> Desk:
    """Room for so many games and searches of so many positions."""
    capacity = games * MAX_TURNS * _SAMPLES_PER_TURN
    return Desk(
        new_tree(nodes, WIDTH, STATE),
        new_workspace(),
        empty_states(capacity),
        np.empty((capacity, network.OUTPUTS), np.float32),
        np.zeros(1, np.int64),
    )


def clear(desk: Desk) -> None:
    """Removes all positions from trees."""
    desk.size[0] = 0


def samples_of(desk: Desk) -> Positions:
    """A copy of the positions from trees."""
    size = int(desk.size[0])
    return Positions(desk.states[:size].copy(), desk.targets[:size].copy())


@kernel
def play_searched(
    games: Games,
    desk: Desk,
    table: Table,
    mind: Mind,
    least_visits: int,
    exploration: float,
    temperature: float,
) -> None:
    """Plays all games to their ends, with a search for every turn, and fills the desk, which is clear.

    Args:
        games: Whose openings have been played.
        desk: Room; the number of nodes of its tree is the budget of a search.
        table: Room of the guests' policy.
        mind: What searches think with.
        least_visits: Of a position in a tree that is learned from.
        exploration: Probability that a move is not the best, but drawn.
        temperature: Of the softmax from which it is drawn, in units of utility.
    """
    states = games.states
    for i in range(len(states)):
        turn = 0
        while not is_over(states, i):
            games.positions[i, turn] = states[i]
            preferred = _search(states, i, desk, mind)
            _write_values(desk.tree, ROOT, states[i]["current_player"], games.targets[i, turn])
            _keep_samples(desk, least_visits)
            action = preferred
            if states[i]["current_player"] == games.guests[i]:
                action = choose(states, i, table, games.streams, i)
            elif random_below(games.streams, i, STEPS) < exploration * STEPS and _has_choice(states, i, desk):
                action = _draw(desk.tree, temperature, games.streams, i)
            games.explored[i, turn] = action != preferred
            apply(states, i, action)
            turn += 1
        games.lengths[i] = turn


@kernel
def _search(states: States, i: int, desk: Desk, mind: Mind) -> int:
    """Grows a tree from a game and returns the best action; a root with a choice is the game itself."""
    plant(desk.tree, desk.work, states, i)
    grow(desk.tree, desk.work, mind, Budget(len(desk.tree.nodes) - 1, NO_LIMIT), False)
    if not _has_choice(states, i, desk):
        return int(nth_legal(desk.work.expansion.anchors, 0))
    return int(desk.tree.edges[best_edge(desk.tree, ROOT)]["action"])


@kernel
def _has_choice(states: States, i: int, desk: Desk) -> bool:
    return bool(legal(states, i, desk.work.expansion.anchors) > 1)


@kernel
def _write_values(tree: Tree, node: int, player: int, target: Targets) -> None:
    """Writes what a node is worth to a player, in the order of the network's outputs."""
    values = tree.nodes[node]["values"]
    other = int(tree.nodes[node]["player"] != player)
    target[network.OWN_SCORE], target[network.OTHER_SCORE] = values[SCORE + other], values[SCORE + 1 - other]
    target[network.OWN_EMPTY], target[network.OTHER_EMPTY] = values[EMPTY + other], values[EMPTY + 1 - other]
    target[network.WIN] = values[WIN + other]


@kernel
def _keep_samples(desk: Desk, least_visits: int) -> None:
    """Keeps positions below the root that have been visited often enough, as long as there is room."""
    tree = desk.tree
    for node in range(1, tree.sizes[0]):
        k = desk.size[0]
        if tree.nodes[node]["visits"] >= least_visits and k < len(desk.states):
            desk.states[k] = tree.states[node]
            _write_values(tree, node, tree.nodes[node]["player"], desk.targets[k])
            desk.size[0] += 1


@kernel(allocates=True)
def _draw(tree: Tree, temperature: float, streams: npt.NDArray[np.uint64], i: int) -> int:
    """An action of the root, drawn with probabilities in proportion to ``exp(utility / temperature)``."""
    begin, count = tree.nodes[ROOT]["begin"], tree.nodes[ROOT]["count"]
    utilities = np.empty(count)
    for k in range(count):
        utilities[k] = tree.edges[begin + k]["values"][UTILITY]
    return int(tree.edges[begin + draw_by_softmax(utilities, temperature, streams, i)]["action"])
