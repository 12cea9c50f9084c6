"""Q-values of a node, for the player to move there, completed and transformed.

Equations are those of "Policy improvement by planning with Gumbel" (Danihelka et al. 2022).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from patchwork_env.core.compile import kernel
from patchwork_env.search.gumbel.tree import Nodes
from patchwork_env.search.tree import NOTHING

_SMALLEST_RANGE = 1e-8


class Scale(NamedTuple):
    """The constants of the transformation of Q-values, ``sigma`` of equation 8.

    Attributes:
        c_visit: The visits that are added to those of the most visited child.
        c_scale: The factor of the transformed Q-values.
        value_range: The difference of Q-values that counts as 1; 0 for the difference between the highest and
            the lowest completed Q-value of the node.
    """

    c_visit: float
    c_scale: float
    value_range: float


@kernel(inline=True)
def q_value(nodes: Nodes, node: int, child: int) -> float:
    """The mean value of a visited child, for the player to move at its parent ``node``."""
    return float(nodes[node]["sign"] * nodes[child]["value_sum"] / nodes[child]["visits"])


@kernel
def q_transformation(nodes: Nodes, node: int, scale: Scale) -> tuple[float, float, float, float]:
    """The numbers that the transformed completed Q-values of a node are computed from.

    Returns:
        The mixed value, which completes the Q-values of unvisited actions (equation 33); the factor of
        ``sigma``; the highest completed Q-value; and the prior probability of all unvisited actions.
    """
    child = nodes[node]["first_child"]
    children, visits, most_visits = 0, 0, 0
    visited_prior, weighted_sum = 0.0, 0.0
    lowest, highest = np.inf, -np.inf
    while child != NOTHING:
        q = q_value(nodes, node, child)
        visited_prior += nodes[child]["prior"]
        weighted_sum += nodes[child]["prior"] * q
        lowest, highest = min(lowest, q), max(highest, q)
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
        lowest, highest = min(lowest, mixed), max(highest, mixed)
    value_range = scale.value_range if scale.value_range > 0 else max(highest - lowest, _SMALLEST_RANGE)
    factor = (scale.c_visit + most_visits) * scale.c_scale / value_range
    return mixed, factor, highest, unvisited_prior


@kernel
def weigh_children(nodes: Nodes, node: int, factor: float, highest: float) -> float:
    """Writes the unnormalized weights of the children in the improved policy; returns their sum."""
    total = 0.0
    child = nodes[node]["first_child"]
    while child != NOTHING:
        weight = nodes[child]["prior"] * np.exp(factor * (q_value(nodes, node, child) - highest))
        nodes[child]["weight"] = weight
        total += weight
        child = nodes[child]["next_sibling"]
    return total
