"""Best-first trees, grown by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from patchwork_env.search.best_first import (
    Rule,
    add_edge,
    add_node,
    back_up,
    choose_edge,
    is_decided,
    is_solved,
    most_visited,
    new_tree,
    start_node,
)
from patchwork_env.search.tree import NOTHING, ROOT, Path, Tree, is_full, reset

STATE = np.dtype([("number", "<i8")])


def write(values: npt.NDArray[Any], value: float) -> None:
    """Four pairs: of opponents, ten times as much, of partners, and nothing."""
    values[:] = [value, -value, 10 * value, -10 * value, value, value, 0, 0]


def node_with(tree: Tree, player: int, values: list[float], rule: Rule) -> int:
    """A new node; its edges have the actions 10, 11 …"""
    node = add_node(tree)
    for k, value in enumerate(values):
        write(tree.edges[add_edge(tree, node, 10 + k)]["values"], value)
    start_node(tree, node, player, rule)
    return node


def visit(tree: Tree, edge: int, child: int, rule: Rule) -> None:
    """Counts a simulation that went from the root to a child and no further."""
    tree.edges[edge]["child"] = child
    back_up(tree, Path(np.array([ROOT]), np.array([edge])), 1, rule)


def rule(exploration: float = 0.3, temperature: float = 0.1, best_weight: float = 0.0) -> Rule:
    return Rule(exploration, temperature, best_weight)


def test_a_new_node_has_the_values_of_its_best_edge_and_a_softmax_of_priors() -> None:
    tree = new_tree(4, 3, STATE)
    node = node_with(tree, 1, [0.5, 0.4, 0.1], rule(temperature=0.2))
    weights = np.exp(np.array([0.5, 0.4, 0.1]) / 0.2)
    assert tree.nodes[node]["values"].tolist() == pytest.approx([0.5, -0.5, 5, -5, 0.5, 0.5, 0, 0])
    assert tree.edges["prior"][:3].tolist() == pytest.approx((weights / weights.sum()).tolist())
    assert tree.edges["child"][:3].tolist() == [NOTHING] * 3
    assert (tree.nodes[node]["player"], tree.nodes[node]["count"]) == (1, 3)


def test_priors_are_weighted() -> None:
    tree = new_tree(4, 2, STATE)
    node = add_node(tree)
    for weight in (1.0, 0.25):
        write(tree.edges[add_edge(tree, node, 10, weight)]["values"], 0.5)
    start_node(tree, node, 0, rule())
    assert tree.edges["prior"][:2].tolist() == pytest.approx([0.8, 0.2])


@pytest.mark.parametrize(("player", "sign"), [(0, 1), (1, -1)])
def test_an_edge_has_the_values_of_its_child_as_its_own_player_sees_them(player: int, sign: int) -> None:
    tree = new_tree(4, 2, STATE)
    node_with(tree, 0, [0.5, 0.1], rule())
    visit(tree, 0, node_with(tree, player, [0.2, -0.3], rule()), rule())
    assert tree.edges[0]["values"].tolist() == pytest.approx(
        [0.2 * sign, -0.2 * sign, 2 * sign, -2 * sign, 0.2, 0.2, 0, 0]
    )


@pytest.mark.parametrize("best_weight", [0.0, 0.25, 1.0])
def test_a_node_mixes_its_mean_with_its_best_edge(best_weight: float) -> None:
    tree = new_tree(4, 2, STATE)
    node_with(tree, 0, [0.5, 0.1], rule(best_weight=best_weight))
    child = node_with(tree, 1, [0.2], rule(best_weight=best_weight))
    for _ in range(3):
        visit(tree, 0, child, rule(best_weight=best_weight))
    mean, best = (0.5 - 3 * 0.2) / 4, 0.1
    assert tree.nodes[ROOT]["values"][0] == pytest.approx((1 - best_weight) * mean + best_weight * best)
    assert tree.nodes[ROOT]["visits"] == tree.edges[0]["visits"] == 3


def test_the_way_down_takes_the_value_with_a_bonus_that_fades() -> None:
    tree = new_tree(9, 3, STATE)
    node_with(tree, 0, [0.5, 0.45, -0.5], rule())
    assert choose_edge(tree, ROOT, rule()) == 0
    child = node_with(tree, 0, [0.46], rule())
    visit(tree, 0, child, rule())
    assert choose_edge(tree, ROOT, rule(exploration=0.0)) == 0
    assert choose_edge(tree, ROOT, rule(exploration=0.3)) == 1
    for _ in range(50):
        visit(tree, 0, child, rule())
    assert choose_edge(tree, ROOT, rule(exploration=0.3)) == 1  # the prior of the third is too small


def test_values_come_up_through_all_levels() -> None:
    tree = new_tree(4, 2, STATE)
    node_with(tree, 0, [0.5, 0.1], rule(best_weight=1.0))
    middle = node_with(tree, 1, [-0.4, -0.6], rule(best_weight=1.0))
    leaf = node_with(tree, 0, [0.9], rule(best_weight=1.0))
    tree.edges[0]["child"], tree.edges[2]["child"] = middle, leaf
    back_up(tree, Path(np.array([ROOT, middle]), np.array([0, 2])), 2, rule(best_weight=1.0))
    assert tree.edges["values"][:4, 0].tolist() == pytest.approx([0.6, 0.1, -0.9, -0.6])
    assert tree.nodes["values"][:2, 0].tolist() == pytest.approx([0.6, -0.6])


def test_nodes_are_solved_when_all_below_them_is_exact() -> None:
    tree = new_tree(4, 2, STATE)
    node_with(tree, 0, [0.5, 0.1], rule())
    for edge, value in ((0, -0.3), (1, -0.2)):
        assert not is_solved(tree, ROOT)
        child = add_node(tree)
        write(tree.nodes[child]["values"], value)
        tree.nodes[child]["player"] = 1
        assert is_solved(tree, child)
        visit(tree, edge, child, rule())
    assert is_solved(tree, ROOT)
    assert tree.nodes[ROOT]["values"].tolist() == pytest.approx(
        [0.3, -0.3, 3, -3, -0.3, -0.3, 0, 0]
    )  # no mean any more


def test_a_search_is_decided_when_the_rest_cannot_change_the_most_visited_edge() -> None:
    tree = new_tree(4, 3, STATE)
    node_with(tree, 0, [0.5, 0.4, 0.3], rule())
    assert most_visited(tree, ROOT) == 0
    tree.edges["visits"][:3] = 3, 8, 5
    assert most_visited(tree, ROOT) == 1
    assert [is_decided(tree, left) for left in (4, 3, 2, 0)] == [False, False, True, True]
    tree.edges["visits"][:3] = 8, 8, 5
    assert most_visited(tree, ROOT) == 0


def test_a_tree_is_full_until_it_is_cleared() -> None:
    tree = new_tree(2, 1, STATE)
    for _ in range(2):
        assert not is_full(tree)
        node_with(tree, 0, [0.0], rule())
    assert is_full(tree)
    reset(tree)
    assert not is_full(tree)
    assert node_with(tree, 1, [0.7], rule()) == ROOT
    assert tree.edges[0]["values"][0] == pytest.approx(0.7)
