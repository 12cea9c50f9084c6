"""The trees of Gumbel searches of many games at once: adding nodes, and descending in a simulation.

The trees of a batch are in one array of nodes: tree ``t`` has the nodes ``t * capacity`` and following, its
root first. A node has a linked list of its visited children. Its legal actions are a range of two arrays that
all nodes share, the *edges*; most are never visited. All unvisited actions of a node have the same completed
Q-value. So the one with the highest prior is the next to be visited, and sums need one term for all of them:
the cost of a visit grows only with the number of visited children.

Values are stored from the view of player 0. Equations are those of "Policy improvement by planning with
Gumbel" (Danihelka et al. 2022).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env.core.compile import kernel
from patchwork_env.search.tree import NOTHING

NODE = np.dtype(
    [
        ("value_sum", "<f8"),  # of the evaluations of the node and all descendants, from player 0's view
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

UNKNOWN = -2  # in ``best_unvisited``: not computed yet

LOWEST_LOG_PRIOR = np.float32(-700.0)
"""The lowest log prior: its exponential is above 0, so that no prior is 0 and needs special treatment."""
VISITED = np.float32(-np.inf)  # the log prior that marks edges whose child exists already
_C_VISIT = 50.0
"""The visits that are added to those of the most visited child in the transformation of Q-values."""

Nodes = npt.NDArray[np.void]
Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]


CANDIDATE = np.dtype(
    [
        ("score", "<f8"),  # Gumbel noise + log prior
        ("edge", "<i8"),  # NOTHING if there are fewer actions than candidates
        ("child", "<i4"),  # node, or NOTHING
        ("visits", "<i4"),
    ]
)
"""An action of a root that is considered."""

Candidates = npt.NDArray[np.void]


class Edges(NamedTuple):
    """The legal actions of all nodes of a batch."""

    actions: npt.NDArray[np.int32]  # int32 ``(capacity,)``
    log_priors: Floats  # float32 ``(capacity,)``; below the root, minus infinity if the child exists


class Trees(NamedTuple):
    """The trees of a batch of ``n`` games."""

    nodes: Nodes  # NODE records ``(n * capacity,)``
    edges: Edges
    sizes: Integers  # int64 ``(n,)``, the nodes of each tree; 0 if its root needs no search
    candidates: Candidates  # CANDIDATE records ``(n, m)``


@kernel
def capacity_of(trees: Trees) -> int:
    """Return the number of nodes of each tree; 0 if there are no trees."""
    return len(trees.nodes) // max(len(trees.sizes), 1)


@kernel
def add_child(trees: Trees, node: int, child: int, edge: int) -> None:
    """Link a new node to its parent ``node``; :func:`expand` fills it."""
    nodes, edges = trees.nodes, trees.edges
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
    edges: Edges, begin: int, counts: Integers, actions: Integers, log_probabilities: Floats, values: Floats
) -> bool:
    """Add the legal actions of an evaluation from edge ``begin``; return whether it is well-formed.

    ``counts`` and ``values`` are ``(n,)``, lists of actions and log-probabilities are concatenated.
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
        is_sound &= log_prior < np.inf  # false for NaN
        edges.actions[begin + k], edges.log_priors[begin + k] = actions[k], log_prior
    return is_sound


@kernel
def set_up_roots(trees: Trees, finished: npt.NDArray[np.bool_]) -> None:
    """Reset every tree to its root; trees of finished games get the size 0."""
    capacity = capacity_of(trees)
    for tree in range(len(trees.sizes)):
        trees.nodes[tree * capacity]["parent"] = NOTHING
        trees.sizes[tree] = 0 if finished[tree] else 1


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
    """Fill new nodes, and add their values to all nodes above them."""
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
    """Add a value, from player 0's view, to a node and to all nodes above it."""
    while node != NOTHING:
        nodes[node]["value_sum"] += value
        nodes[node]["visits"] += 1
        node = nodes[node]["parent"]


# --- Q-values for the player to move, completed and transformed ---------------------------------------------


class Scale(NamedTuple):
    """The constants of the transformation of Q-values, ``sigma`` of equation 8."""

    c_scale: float  # the factor of the transformed Q-values
    value_range: float  # the difference of Q-values that counts as 1


@kernel(inline=True)
def q_value(nodes: Nodes, node: int, child: int) -> float:
    """Return the mean value of a visited child, for the player to move at its parent ``node``."""
    return float(nodes[node]["sign"] * nodes[child]["value_sum"] / nodes[child]["visits"])


@kernel
def q_transformation(nodes: Nodes, node: int, scale: Scale) -> tuple[float, float, float, float]:
    """Return the numbers that the transformed completed Q-values of a node are computed from.

    Returns:
        The mixed value, which completes the Q-values of unvisited actions (equation 33); the factor of
        ``sigma``; the highest completed Q-value; and the prior probability of all unvisited actions.
    """
    child = nodes[node]["first_child"]
    children, visits, most_visits = 0, 0, 0
    visited_prior, weighted_sum = 0.0, 0.0
    highest = -np.inf
    while child != NOTHING:
        q = q_value(nodes, node, child)
        visited_prior += nodes[child]["prior"]
        weighted_sum += nodes[child]["prior"] * q
        highest = max(highest, q)
        visits += nodes[child]["visits"]
        most_visits = max(most_visits, nodes[child]["visits"])
        children += 1
        child = nodes[child]["next_sibling"]
    mixed = nodes[node]["sign"] * nodes[node]["value"]
    if children:
        mixed = (mixed + visits * weighted_sum / visited_prior) / (1 + visits)
    unvisited_prior = 0.0
    if children < nodes[node]["count"]:
        unvisited_prior = max(1.0 - visited_prior, 0.0)
        highest = max(highest, mixed)
    factor = (_C_VISIT + most_visits) * scale.c_scale / scale.value_range
    return mixed, factor, highest, unvisited_prior


@kernel
def weigh_children(nodes: Nodes, node: int, factor: float, highest: float) -> float:
    """Write the unnormalized weights of the children in the improved policy; return their sum."""
    total = 0.0
    child = nodes[node]["first_child"]
    while child != NOTHING:
        weight = nodes[child]["prior"] * np.exp(factor * (q_value(nodes, node, child) - highest))
        nodes[child]["weight"] = weight
        total += weight
        child = nodes[child]["next_sibling"]
    return total


# --- the path of a simulation: Sequential Halving at the root, the improved policy below --------------------


class Leaves(NamedTuple):
    """The nodes that a simulation added, at most one per tree."""

    nodes: Integers  # int64 ``(n,)``, the new nodes
    parents: Integers  # their parents
    actions: Integers  # the actions that lead to them


@kernel
def choose_candidates(trees: Trees, noise: npt.NDArray[np.float64]) -> None:
    """Pick the actions with the highest sums of noise and log prior in every tree, best first.

    A tree whose root has a single action has it as its candidate and is not searched.
    """
    nodes, sizes, capacity = trees.nodes, trees.sizes, capacity_of(trees)
    for tree in range(len(sizes)):
        chosen = trees.candidates[tree]
        for k in range(len(chosen)):
            chosen[k]["edge"], chosen[k]["child"], chosen[k]["visits"] = NOTHING, NOTHING, 0
            chosen[k]["score"] = -np.inf
        if sizes[tree] == 0:
            continue
        root = tree * capacity
        for edge in range(nodes[root]["begin"], nodes[root]["begin"] + nodes[root]["count"]):
            _insert(chosen, edge, noise[edge] + trees.edges.log_priors[edge])
        if nodes[root]["count"] == 1:
            sizes[tree] = 0


@kernel
def _insert(candidates: Candidates, edge: int, score: float) -> None:
    """Insert an edge into candidates in descending order of their scores, and drop the last one."""
    k = len(candidates) - 1
    if candidates[k]["edge"] != NOTHING and score <= candidates[k]["score"]:
        return
    while k > 0 and score > candidates[k - 1]["score"]:
        candidates[k]["edge"], candidates[k]["score"] = candidates[k - 1]["edge"], candidates[k - 1]["score"]
        k -= 1
    candidates[k]["edge"], candidates[k]["score"] = edge, score


@kernel
def select_leaves(
    trees: Trees, visits_by_actions: npt.NDArray[np.int32], simulation: int, scale: Scale, leaves: Leaves
) -> int:
    """Add one node to every tree; a path that ends in a finished game is counted at once."""
    nodes, sizes, candidates, capacity = trees.nodes, trees.sizes, trees.candidates, capacity_of(trees)
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
            node, child = child, _select_child(trees, child, scale)
            edge = nodes[node]["best_unvisited"]
        if child != NOTHING:
            back_up(nodes, child, nodes[child]["value"])
            continue
        child = root + sizes[tree]
        sizes[tree] += 1
        add_child(trees, node, child, edge)
        if node == root:
            candidates[tree][k]["child"] = child
        leaves.nodes[added], leaves.parents[added] = child, node
        leaves.actions[added] = trees.edges.actions[edge]
        added += 1
    return added


@kernel
def select_candidate(nodes: Nodes, root: int, candidates: Candidates, visits: int, scale: Scale) -> int:
    """Return the index of the best candidate with ``visits`` visits, for Sequential Halving."""
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
def _select_child(trees: Trees, node: int, scale: Scale) -> int:
    """Return the child to visit next, or ``NOTHING`` for the best unvisited action: equation 14.

    The choice is deterministic and makes the shares of visits approach the improved policy.
    """
    nodes, edges = trees.nodes, trees.edges
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
    """Return the edge with the highest prior that is not marked as visited, or ``NOTHING``."""
    best, best_prior = NOTHING, VISITED
    for edge in range(nodes[node]["begin"], nodes[node]["begin"] + nodes[node]["count"]):
        if edges.log_priors[edge] > best_prior:
            best, best_prior = edge, edges.log_priors[edge]
    return best


# --- the results: the improved policy and the value of each root, and the action to play --------------------


class SearchResult(NamedTuple):
    """The results of a search in ``n`` games with ``total`` legal actions."""

    counts: npt.NDArray[np.int64]  # (n,), the legal actions of each game; 0 if it is over
    actions: npt.NDArray[np.int64]  # (total,), the legal actions, game by game, as in the evaluation
    policy: npt.NDArray[np.float32]  # (total,), the improved policy (equation 11)
    visits: npt.NDArray[np.int32]  # (total,), the simulations that tried each action
    chosen: npt.NDArray[np.int64]  # (n,), to play, by Sequential Halving; -1 if the game is over
    values: npt.NDArray[np.float32]  # (n,), the payoffs under the improved policy, for who is to move


@kernel
def summarize(trees: Trees, scale: Scale, finished: npt.NDArray[np.bool_], result: SearchResult) -> None:
    """Write all results but the actions; of finished games, the values alone."""
    nodes, candidates, capacity = trees.nodes, trees.candidates, capacity_of(trees)
    counts, chosen, values = result.counts, result.chosen, result.values
    for tree in range(len(finished)):
        root = tree * capacity
        if finished[tree]:
            values[tree] = nodes[root]["sign"] * nodes[root]["value"]
            continue
        begin, counts[tree] = nodes[root]["begin"], nodes[root]["count"]
        own = slice(begin, begin + counts[tree])
        values[tree] = _improve_policy(trees, root, scale, result.policy[own], result.visits[own])
        most = 0
        for k in range(len(candidates[tree])):
            most = max(most, candidates[tree][k]["visits"])
        best = select_candidate(nodes, root, candidates[tree], most, scale)
        chosen[tree] = trees.edges.actions[candidates[tree][best]["edge"]]


@kernel(allocates=True)
def _improve_policy(
    trees: Trees, root: int, scale: Scale, policy: Floats, visits: npt.NDArray[np.int32]
) -> float:
    """Write the improved policy and the visits of a root; return the mean of Q-values under the policy."""
    nodes, edges = trees.nodes, trees.edges
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
