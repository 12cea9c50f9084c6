"""The trees of UCT, on games whose exact values are known."""

from __future__ import annotations

import math

import numpy as np

from patchwork_env.search.tree import NOTHING, ROOT, Path, Tree, has_room
from patchwork_env.search.uct import (
    Rule,
    TreeMemory,
    add_edges,
    add_node,
    back_up,
    choose_edge,
    copy_subtree,
    most_visited,
    new_tree,
    start_tree,
)
from tests.search.games import RandomTree, TicTacToe, ToyGame

STATE = np.dtype([("board", "i1", 9), ("player", "i1"), ("unused", "i1", 6)])
RULE = Rule(exploration=1.0, first=1.0, factor=1.0, exponent=0.5)


class Padded(TicTacToe):
    """With records of whole words."""

    dtype = STATE


def search(game: ToyGame, tree: Tree, simulations: int, rng: np.random.Generator) -> None:
    """UCT with random playouts, in plain Python around the kernels."""
    for _ in range(simulations):
        node, nodes, edges = ROOT, [], []
        while True:
            if tree.nodes[node]["count"] == 0:
                actions = np.array(game.legal(tree.states[node]), np.int64)
                if len(actions) == 0 or not has_room(tree, len(actions)):
                    state = tree.states[node].copy()
                    break
                add_edges(tree, node, int(tree.states[node]["player"]), actions, len(actions))
            edge = choose_edge(tree, node, RULE)
            nodes.append(node)
            edges.append(edge)
            child = tree.edges[edge]["child"]
            if child == NOTHING:
                state = tree.states[node].copy()
                game.play(state, int(tree.edges[edge]["action"]))
                child = add_node(tree)
                if child != NOTHING:
                    tree.edges[edge]["child"] = child
                    tree.states[child] = state
                break
            node = child
        while actions := game.legal(state):
            game.play(state, int(rng.choice(actions)))
        value = game.payoff(state)
        path = Path(np.array(nodes, np.int64), np.array(edges, np.int64))
        back_up(tree, path, len(nodes), np.array([value, -value]))


def searched(game: ToyGame, state, simulations: int, capacity: int = 5000) -> Tree:
    tree = new_tree(capacity, 10 * capacity, game.dtype)
    start_tree(tree, np.array([state], game.dtype), 0)
    search(game, tree, simulations, np.random.default_rng(1))
    return tree


def check_sums(tree: Tree) -> None:
    """The visits of a node are those of its edges; a child's first visit is its own playout."""
    for node in range(tree.sizes[0]):
        begin, count = tree.nodes[node]["begin"], tree.nodes[node]["count"]
        edges = tree.edges[begin : begin + count] if count else tree.edges[:0]
        opened = tree.nodes[node]["opened"]
        assert tree.nodes[node]["visits"] == edges["visits"].sum()
        assert (edges["visits"][:opened] > 0).all()
        assert (edges["visits"][opened:] == 0).all()
        assert (np.abs(edges["value_sum"]) <= edges["visits"]).all()
        for edge in edges[edges["child"] != NOTHING]:
            child = tree.nodes[edge["child"]]
            if child["count"]:
                assert child["visits"] == edge["visits"] - 1


def test_it_finds_the_only_move_that_does_not_lose() -> None:
    game = Padded()
    state = np.zeros(1, STATE)[0]
    state["board"][[0, 1, 4]] = 1, 1, -1  # player 1 must block at 2
    state["player"] = 1
    tree = searched(game, state, 600)
    assert game.best_actions(state) == {2}
    assert tree.edges[most_visited(tree, ROOT)]["action"] == 2
    check_sums(tree)


def test_it_plays_random_trees_well() -> None:
    game, right = RandomTree(depth=4, most_actions=4), 0
    states = [state for state in game.start(5, 60) if len(game.legal(state)) > 1]
    for state in states:
        tree = searched(game, state, 400)
        check_sums(tree)
        right += tree.edges[most_visited(tree, ROOT)]["action"] in game.best_actions(state)
    assert right >= 0.9 * len(states)


def test_widening_considers_as_many_actions_as_the_rule_says() -> None:
    game = Padded()
    for simulations in (1, 4, 9, 30):
        tree = searched(game, np.zeros(1, STATE)[0], simulations)
        assert tree.nodes[ROOT]["opened"] == min(9, math.ceil(1 + math.sqrt(simulations - 1)))


def test_choices_follow_the_upper_bounds() -> None:
    tree = new_tree(10, 10, STATE)
    start_tree(tree, np.zeros(1, STATE), 0)
    add_edges(tree, ROOT, 0, np.array([5, 6, 7]), 3)
    tree.nodes[ROOT]["opened"], tree.nodes[ROOT]["visits"] = 3, 100
    tree.edges["visits"][:3] = 60, 30, 10
    tree.edges["value_sum"][:3] = 30.0, 12.0, 2.0
    bounds = [0.5 + math.sqrt(math.log(100) / 60), 0.4 + math.sqrt(math.log(100) / 30)]
    bounds.append(0.2 + math.sqrt(math.log(100) / 10))
    assert choose_edge(tree, ROOT, RULE) == int(np.argmax(bounds)) == 2
    assert choose_edge(tree, ROOT, RULE._replace(exploration=0.0)) == 0


def test_a_full_tree_is_searched_on() -> None:
    game = Padded()
    tree = searched(game, np.zeros(1, STATE)[0], 300, capacity=40)
    assert tree.sizes[0] == 40
    assert tree.sizes[1] <= 400
    assert tree.nodes[ROOT]["visits"] == 300


def subtree_texts(tree: Tree, node: int) -> list:
    """A subtree without the numbers of its nodes and edges."""
    begin, count = tree.nodes[node]["begin"], tree.nodes[node]["count"]
    edges = []
    for edge in range(begin, begin + count):
        child = tree.edges[edge]["child"]
        known = [tree.edges[edge][name].item() for name in ("action", "visits", "value_sum")]
        edges.append([*known, None if child == NOTHING else subtree_texts(tree, child)])
    facts = [tree.nodes[node][name].item() for name in ("visits", "opened")]
    return [tree.states[node].tobytes(), facts, edges]


def test_a_subtree_is_the_same_tree() -> None:
    game = Padded()
    tree = searched(game, np.zeros(1, STATE)[0], 500)
    top = int(tree.edges[most_visited(tree, ROOT)]["child"])
    part = new_tree(5000, 50_000, STATE)
    copy_subtree(tree, top, part)
    assert subtree_texts(part, ROOT) == subtree_texts(tree, top)
    search(game, part, 100, np.random.default_rng(2))
    check_sums(part)


def test_a_subtree_may_be_cut_to_the_room_there_is() -> None:
    tree = searched(Padded(), np.zeros(1, STATE)[0], 500)
    part = new_tree(50, 120, STATE)
    copy_subtree(tree, ROOT, part)
    assert part.sizes[0] <= 50
    assert part.sizes[1] <= 120
    search(Padded(), part, 50, np.random.default_rng(2))
    assert part.nodes[ROOT]["visits"] == 550


def test_memory_finds_later_positions_and_forgets_the_oldest() -> None:
    game = Padded()
    tree, target = searched(game, np.zeros(1, STATE)[0], 200), new_tree(5000, 50_000, STATE)
    memory = TreeMemory(most_nodes=2 * int(tree.sizes[0]))
    later = tree.states[7:8].copy()
    assert not memory.recall(later, target)
    for _ in range(3):
        memory.keep(tree)
    assert memory.num_nodes == 2 * tree.sizes[0]
    assert memory.recall(later, target)
    assert subtree_texts(target, ROOT) == subtree_texts(tree, 7)
    assert memory.num_nodes == tree.sizes[0]
    elsewhere = later.copy()
    elsewhere["board"] = 1
    assert not memory.recall(elsewhere, target)
    twin = memory.copy()
    assert twin.recall(later, target)
    assert (twin.num_nodes, memory.num_nodes) == (0, tree.sizes[0])


def test_memory_compares_records_of_any_length() -> None:
    kind = np.dtype([("board", "i1", 9), ("player", "i1"), ("more", "i1", 3)])
    tree, target = new_tree(3, 3, kind), new_tree(3, 3, kind)
    states = np.zeros(2, kind)
    states["more"][1, 2] = 1  # differs in the last byte
    start_tree(tree, states, 0)
    memory = TreeMemory(most_nodes=10)
    memory.keep(tree)
    assert not memory.recall(states[1:], target)
    assert memory.recall(states[:1], target)
