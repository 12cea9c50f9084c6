"""Best-first trees, compared with plain ones that compute every value from its definition."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import pytest

from patchwork_env.search import best_first
from patchwork_env.search.tree import NOTHING, ROOT, Path, is_full, new_path, reset

STATE = np.dtype([("number", "<i8")])


class Position:
    """A position of a made-up game, determined by a seed and a path."""

    def __init__(self, seed, path=()):
        self.seed, self.path = seed, path
        rng = np.random.default_rng([seed, *path])
        self.player = int(rng.integers(2))
        self.is_exact = len(path) > 3 or (len(path) > 1 and rng.random() < 0.3)
        self.values = rng.uniform(-1, 1, best_first.VALUES)
        edges = rng.uniform(-1, 1, (rng.integers(1, 4), best_first.VALUES)).astype(np.float32)
        self.edges = edges[np.argsort(-edges[:, 0], kind="stable")]
        self.weights = rng.choice([1.0, 0.25], len(edges))

    def after(self, k):
        return Position(self.seed, (*self.path, k))


# --- the tree under test ------------------------------------------------------------------------------------


def plant(tree, position, positions, rule):
    node = best_first.add_node(tree)
    positions.append(position)
    if position.is_exact:
        tree.nodes[node]["values"], tree.nodes[node]["player"] = position.values, position.player
        return node
    for k, (values, weight) in enumerate(zip(position.edges, position.weights, strict=True)):
        tree.edges[best_first.add_edge(tree, node, 10 + k, weight)]["values"] = values
    best_first.start_node(tree, node, position.player, rule)
    return node


def descend(tree, rule):
    """A path to an edge without a node, which is marked, or to a solved edge; None without such an edge."""
    path = new_path(10)
    if (length := best_first.descend(tree, path, rule)) == 0:
        return None
    nodes, edges = path.nodes[:length].tolist(), path.edges[:length].tolist()
    if tree.edges[edges[-1]]["child"] == NOTHING:
        tree.edges[edges[-1]]["child"] = best_first.OPENING
    return nodes, edges


def finish(tree, positions, rule, nodes, edges):
    """Back up a path whose arrays are longer than it."""
    if tree.edges[edges[-1]]["child"] == best_first.OPENING:
        following = positions[nodes[-1]].after(int(tree.edges[edges[-1]]["action"]) - 10)
        tree.edges[edges[-1]]["child"] = plant(tree, following, positions, rule)
    best_first.back_up(tree, Path(np.array([*nodes, ROOT]), np.array([*edges, 2])), len(nodes), rule)


# --- a plain one --------------------------------------------------------------------------------------------


@dataclass
class Node:
    position: Position
    children: dict[int, Node] = field(default_factory=dict)
    visits: dict[int, int] = field(default_factory=dict)
    opening: set[int] = field(default_factory=set)

    def edge(self, k):
        """The values of an edge as the player of this node sees them, in pairs."""
        if k not in self.children:
            return self.position.edges[k].astype(float)
        child = self.children[k]
        values = child.kept.reshape(-1, 2)
        return (values if child.position.player == self.position.player else values[:, ::-1]).ravel()

    def is_solved(self):
        numbers = range(len(self.position.edges))
        return self.position.is_exact or all(
            k in self.children and self.children[k].is_solved() for k in numbers
        )

    def best(self):
        return max(map(self.edge, range(len(self.position.edges))), key=lambda values: values[0])

    def refresh(self, rule):
        """Set the values of a node: a mixture of the mean over its visits and its best edge."""
        if self.position.is_exact:
            self.kept = self.position.values
            return
        mean = self.position.edges[0] + sum(n * self.edge(k) for k, n in self.visits.items())
        mean = mean / (1 + sum(self.visits.values()))
        share = 1.0 if self.is_solved() else rule.best_weight
        self.kept = (1 - share) * mean + share * self.best()

    def choose(self, rule):
        """Rosin (2011): the value plus a bonus in proportion to the prior, which fades with visits."""
        first = self.position.edges[:, 0].astype(float)
        weights = self.position.weights * np.exp(first / rule.temperature)
        total = math.sqrt(1 + sum(self.visits.values()))
        bounds = {
            k: self.edge(k)[0]
            + rule.exploration * weights[k] / weights.sum() * total / (1 + self.visits.get(k, 0))
            for k in range(len(first))
            if k not in self.opening
        }
        return max(bounds, key=bounds.get, default=None)


def descend_plainly(root, rule):
    """A path whose visits are counted before its values change; None if all edges are being completed."""
    node, path = root, []
    while not node.position.is_exact:
        k = node.choose(rule)
        if k is None:
            return None
        path.append((node, k))
        if k not in node.children:
            node.opening.add(k)
            break
        node = node.children[k]
        if node.is_solved():
            break
    for above, k in path:
        above.visits[k] = above.visits.get(k, 0) + 1
    return path


def finish_plainly(path, rule):
    node, k = path[-1]
    if k in node.opening:
        node.opening.remove(k)
        node.children[k] = Node(node.position.after(k))
        node.children[k].refresh(rule)
    for above, _ in reversed(path):
        above.refresh(rule)


def check_same(tree, number, node):
    record = tree.nodes[number]
    np.testing.assert_allclose(record["values"], node.kept, atol=1e-5)
    assert (record["player"], best_first.is_solved(tree, number)) == (node.position.player, node.is_solved())
    if node.position.is_exact:
        assert record["count"] == 0
        return
    assert (record["count"], record["visits"]) == (len(node.position.edges), sum(node.visits.values()))
    for k, edge in enumerate(range(record["begin"], record["begin"] + record["count"])):
        assert tree.edges[edge]["visits"] == node.visits.get(k, 0)
        np.testing.assert_allclose(tree.edges[edge]["values"], node.edge(k), atol=1e-5)
        assert (tree.edges[edge]["child"] >= 0) == (k in node.children)
        if k in node.children:
            check_same(tree, int(tree.edges[edge]["child"]), node.children[k])


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(
    ("exploration", "temperature", "best_weight"), [(0.3, 0.1, 0.0), (1.5, 1.0, 0.4), (0.3, 0.1, 1.0)]
)
def test_trees_are_those_of_the_definition(exploration, temperature, best_weight, threads):
    """Threads take turns at random; each holds the lock while it descends or backs up."""
    rule = best_first.Rule(exploration, temperature, best_weight)
    tree, solved = best_first.new_tree(200, 3, STATE), 0
    random = np.random.default_rng(threads)
    for seed in range(6):
        reset(tree)
        assert tree.sizes.tolist() == [0, 0]
        positions: list[Position] = []
        plant(tree, Position(seed), positions, rule)
        root = Node(Position(seed))
        root.refresh(rule)
        under_way = []
        for number in range(120):
            if number % 8 == 0:
                check_same(tree, ROOT, root)
            if under_way and (len(under_way) == threads or random.random() < 0.5):
                path, plain = under_way.pop(random.integers(len(under_way)))
                finish(tree, positions, rule, *path)
                finish_plainly(plain, rule)
                continue
            path, plain = descend(tree, rule), descend_plainly(root, rule)
            assert (path is None) == (plain is None)
            if path is not None:
                under_way.append((path, plain))
        for path, plain in under_way:
            finish(tree, positions, rule, *path)
            finish_plainly(plain, rule)
        solved += root.is_solved()
        numbers = range(len(root.position.edges))
        judged = {k: (0 if root.is_solved() else root.visits.get(k, 0), root.edge(k)[0]) for k in numbers}
        assert tree.edges[best_first.best_edge(tree, ROOT)]["action"] == 10 + max(numbers, key=judged.get)
    assert 0 < solved < 6


# --- ends ---------------------------------------------------------------------------------------------------


def test_a_search_is_decided_when_the_rest_cannot_change_the_most_visited_edge():
    tree = best_first.new_tree(1, 3, STATE)
    assert not is_full(tree)
    node = best_first.add_node(tree)
    assert is_full(tree)
    for action, value in enumerate((0.5, 0.4, 0.3)):
        tree.edges[best_first.add_edge(tree, node, action)]["values"] = value
    best_first.start_node(tree, node, 0, best_first.Rule(exploration=0.3, temperature=0.1, best_weight=0.0))
    assert best_first.most_visited(tree, ROOT) == 0
    tree.edges["visits"][:3] = 3, 8, 5
    assert best_first.most_visited(tree, ROOT) == 1
    assert [best_first.is_decided(tree, left) for left in (4, 3, 2, 0)] == [False, False, True, True]
    tree.edges["visits"][:3] = 8, 8, 5
    assert best_first.most_visited(tree, ROOT) == 0
