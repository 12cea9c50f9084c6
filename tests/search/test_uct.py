"""The trees of UCT, compared with a plain search, and reused; and the agent."""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import dataclass, field

import numpy as np
import pytest

from patchwork_env import agents
from patchwork_env.agents import uct
from patchwork_env.agents.uct import RULE, UctAgent, _kernels, _new_work
from patchwork_env.core.checks import seed_streams
from patchwork_env.games import rules_of
from patchwork_env.nmbr9 import Game as Nmbr9
from patchwork_env.patchwork import Game as Patchwork
from patchwork_env.search.tree import NOTHING, ROOT, new_path
from patchwork_env.search.uct import Rule, TreeMemory, copy_subtree, most_visited, new_tree, start_tree
from tests.patchwork.endings import made_up_ending

NARROW = Rule(exploration=1.4, first=1.0, factor=1.3, exponent=0.4)
KNOWN = Nmbr9(deck=[1, 5, 2, 9, 0, 7], order="known", players=3)


def search(game, tree, work, rule, simulations, seed=1):
    _kernels(rules_of(game.state)).simulate(tree, work, rule, seed_streams(seed), simulations)


def searched(game, simulations, capacity=5000, rule=RULE):
    tree = new_tree(capacity, 10 * capacity, game.state.dtype)
    start_tree(tree, game.state, 0)
    search(game, tree, _new_work(rules_of(game.state), 400), rule, simulations)
    return tree


# --- a plain search -----------------------------------------------------------------------------------------


@dataclass
class Edge:
    action: int
    visits: int = 0
    total: float = 0.0
    child: Node | None = None


@dataclass
class Node:
    state: np.ndarray
    edges: list[Edge] = field(default_factory=list)
    opened: int = 0
    visits: int = 0


class PlainSearch:
    """Kocsis and Szepesvari (2006) with progressive widening (Coulom 2007), each player for itself.

    The game orders its actions and plays itself out, at random.
    """

    def __init__(self, game, work, rule, nodes, edges, seed=1):
        self.kernels, self.work, self.rule = _kernels(rules_of(game.state)), work, rule
        self.nodes_left, self.edges_left, self.streams = nodes - 1, edges, seed_streams(seed)
        self.root = Node(game.state.copy())

    def simulate(self):
        path, state = self.descend()
        self.work.state[0] = state[0]
        self.kernels.play_out(self.work, self.streams)
        for node, edge in path:
            node.visits += 1
            edge.visits += 1
            edge.total += float(self.work.values[node.state[0]["current_player"]])

    def descend(self):
        """The path of nodes and edges, and the state at its end."""
        node, path = self.root, []
        while len(path) < len(self.work.path.nodes) and (node.edges or self.expand(node)):
            edge = self.choose(node)
            path.append((node, edge))
            if edge.child is None:
                state = node.state.copy()
                self.kernels.apply(state, 0, edge.action)
                if self.nodes_left:
                    self.nodes_left -= 1
                    edge.child = Node(state.copy())
                return path, state
            node = edge.child
        return path, node.state.copy()

    def expand(self, node):
        """Add the actions of a node, at its second visit; forced ones are played."""
        if self.kernels.is_over(node.state, 0) or self.edges_left < len(self.work.actions):
            return False
        count = self.kernels.list_actions(node.state, 0, self.work, self.streams)
        while count == 1:
            self.kernels.apply(node.state, 0, self.work.actions[0])
            if self.kernels.is_over(node.state, 0):
                return False
            count = self.kernels.list_actions(node.state, 0, self.work, self.streams)
        node.edges = [Edge(int(action)) for action in self.work.actions[:count]]
        self.edges_left -= count
        return True

    def choose(self, node):
        if node.opened < min(
            len(node.edges), self.rule.first + self.rule.factor * node.visits**self.rule.exponent
        ):
            node.opened += 1
            return node.edges[node.opened - 1]

        def bound(edge):
            confidence = math.sqrt(math.log(node.visits) / edge.visits)
            return edge.total / edge.visits + self.rule.exploration * confidence

        return max(node.edges[: node.opened], key=bound)


def plain_texts(node):
    """As :func:`subtree_texts`."""
    edges = [
        [e.action, e.visits, pytest.approx(e.total), None if e.child is None else plain_texts(e.child)]
        for e in node.edges
    ]
    return [node.state.tobytes(), [node.visits, node.opened] if edges else [0, 0], edges]


def games():
    """Positions near the end, of one to three players, some of them with forced turns ahead."""
    alone, several, rng = Nmbr9(deck=[3, 1, 4, 1, 5]), KNOWN.clone(), random.Random(3)
    for game in (alone, several):
        game.play(game.legal_actions()[0])
    endings = [made_up_ending(rng) for _ in range(12)]
    return [alone, several, *(game for game in endings if len(game.legal_actions()) > 1)]


@pytest.mark.parametrize("rule", [RULE, NARROW], ids=["wide", "narrow"])
@pytest.mark.parametrize(
    ("nodes", "edges", "longest"), [(500, 5000, 100), (500, 5000, 3), (40, 5000, 100), (500, 80, 100)]
)
def test_trees_are_those_of_a_plain_search(rule, nodes, edges, longest):
    """Also with too little room for nodes, for edges or for a longer path."""
    ended = 0
    for game in games():
        tree = new_tree(nodes, edges, game.state.dtype)
        work = _new_work(rules_of(game.state), 20)._replace(path=new_path(longest))
        start_tree(tree, game.state, 0)
        search(game, tree, work, rule, 150)
        plain = PlainSearch(game, work, rule, nodes, edges)
        for _ in range(150):
            plain.simulate()
        assert subtree_texts(tree, ROOT) == plain_texts(plain.root)
        best = max(plain.root.edges, key=lambda edge: (edge.visits, edge.total))
        assert tree.edges[most_visited(tree, ROOT)]["action"] == best.action
        ended += tree.sizes[0] < min(150, nodes)
    assert ended


def subtree_texts(tree, node):
    """A subtree as nested lists, without indices of nodes and edges."""
    begin, count = tree.nodes[node]["begin"], tree.nodes[node]["count"]
    edges = []
    for edge in range(begin, begin + count):
        child = tree.edges[edge]["child"]
        known = [tree.edges[edge][name].item() for name in ("action", "visits", "value_sum")]
        edges.append([*known, None if child == NOTHING else subtree_texts(tree, child)])
    facts = [tree.nodes[node][name].item() for name in ("visits", "opened")] if count else [0, 0]
    return [tree.states[node].tobytes(), facts, edges]


# --- trees that are used again ------------------------------------------------------------------------------


def test_a_subtree_may_be_cut_to_the_room_there_is():
    tree = searched(KNOWN, 500)
    part = new_tree(50, 300, tree.states.dtype)
    copy_subtree(tree, ROOT, part)
    assert part.sizes[0] <= 50
    assert part.sizes[1] <= 300
    assert is_part(subtree_texts(part, ROOT), subtree_texts(tree, ROOT))
    search(KNOWN, part, _new_work(rules_of(KNOWN.state), 400), RULE, 50)
    assert part.nodes[ROOT]["visits"] == 550


def is_part(cut, whole):
    """Whether a tree is a part of another one that lacks some children and the edges of some nodes."""
    if cut[0] != whole[0] or (cut[2] and cut[1] != whole[1]):
        return False
    pairs = list(zip(cut[2], whole[2], strict=True)) if cut[2] else []
    return all(one[:3] == other[:3] and (one[3] is None or is_part(one[3], other[3])) for one, other in pairs)


def test_memory_finds_later_positions_and_forgets_the_oldest():
    tree = searched(KNOWN, 200)
    target = new_tree(5000, 50_000, tree.states.dtype)
    memory = TreeMemory(most_nodes=2 * int(tree.sizes[0]))
    later = tree.states[7:8].copy()
    assert not memory.recall(later, target)
    for _ in range(3):
        memory.keep(tree)
    assert memory.num_nodes == 2 * tree.sizes[0]
    assert memory.recall(later, target)
    assert subtree_texts(target, ROOT) == subtree_texts(tree, 7)
    assert memory.num_nodes == tree.sizes[0]
    assert not memory.recall(Nmbr9(seed=1).state, target)
    twin = memory.copy()
    assert twin.recall(later, target)
    assert (twin.num_nodes, memory.num_nodes) == (0, tree.sizes[0])


def test_memory_compares_records_of_any_length():
    kind = np.dtype([("board", "i1", 9), ("player", "i1"), ("more", "i1", 3)])
    tree, target = new_tree(3, 3, kind), new_tree(3, 3, kind)
    states = np.zeros(2, kind)
    states["more"][1, 2] = 1  # differs in the last byte
    start_tree(tree, states, 0)
    memory = TreeMemory(most_nodes=10)
    memory.keep(tree)
    assert not memory.recall(states[1:], target)
    assert memory.recall(states[:1], target)


# --- the agent ----------------------------------------------------------------------------------------------


def play(game, *players):
    while not game.is_over:
        action = players[game.current_player].act(game)
        assert action in game.legal_actions()
        game.play(action)
    return game


def test_it_beats_random_play_in_both_games():
    uct, random = agents.load("uct:simulations=60", 1), agents.load("random", 1)
    games = [play(Patchwork(seed=seed), uct, random) for seed in range(4)]
    assert sum(game.scores()[0] > game.scores()[1] for game in games) >= 3
    table = play(Nmbr9(seed=1, players=3), uct, random, random)
    assert table.scores()[0] == max(table.scores())


@pytest.mark.parametrize(("players", "tiles"), [(1, 5), (2, 5), (3, 5), (1, 1)])
def test_the_value_of_an_end_is_its_outcome_and_its_points_in_a_scale_of_random_games(players, tiles):
    game = Nmbr9(deck=[5, 1, 9, 4, 7][:tiles], players=players)
    rules = rules_of(game.state)
    work, kernels = _new_work(rules, 10), _kernels(rules)
    work.root[0] = game.state[0]
    streams, same = seed_streams(4), seed_streams(4)
    kernels.measure_scale(work, streams, 16)
    scale, points = work.scale.copy(), []
    for _ in range(16):
        work.state[0] = game.state[0]
        kernels.play_out(work, same)
        points.append([leads(game.from_state(work.state, 0), player) for player in range(players)])
    own = np.array(points, float)[:, 0]
    center = own.mean() if players == 1 else 0.0
    assert scale == pytest.approx([center, 3 * max(1, np.sqrt(((own - center) ** 2).mean()))])
    shares = np.clip((np.array(points[-1]) - scale[0]) / scale[1], -1, 1)
    if players > 1:
        outcomes = [rules.kernels.outcome(work.state, 0, player) for player in range(players)]
        shares = 0.8 * np.array(outcomes) + 0.2 * shares
    assert work.values[:players] == pytest.approx(shares)


def leads(game, player):
    """A player's score, less the best one of the others."""
    scores = list(game.scores())
    own = scores.pop(player)
    return own - max(scores) if scores else own


def test_wrong_options_are_errors():
    for spec, message in (
        ("uct:simulations=1", "must be an integer of 2 to 1000000"),
        ("uct:simulations=4,seconds=1", "simulations=4 and seconds=1.0; give one of them"),
        (f"uct:simulations={10**12}", "must be an integer of 2 to 1000000"),
        ("uct:simulation=4", "did you mean 'simulations'"),
    ):
        with pytest.raises(ValueError, match=message):
            agents.load(spec)


def hidden():
    """A game of NMBR 9 whose next tiles are unknown, so that several decks are drawn."""
    game = Nmbr9(seed=3)
    for _ in range(4):
        game.play(int(game.legal_actions()[0]))
    return game


def test_every_possibility_has_an_equal_share_of_the_time(monkeypatch):
    """The clock advances by a second at each reading; each part ends at its share of 80 seconds."""
    clock = itertools.count()
    monkeypatch.setattr(uct, "perf_counter", lambda: next(clock))
    planted = []
    plant = uct._plant
    monkeypatch.setattr(uct, "_plant", lambda *given: (planted.append(next(clock)), plant(*given)))
    agent = UctAgent(1, seconds=80.0)
    assert agent.name == "uct:seconds=80"
    agent.block = 1
    agent.act(hidden())
    parts = planted[1:]  # the first one compiles
    assert len(parts) == 8
    assert all(9 <= later - earlier <= 12 for earlier, later in itertools.pairwise(parts))


def test_all_possibilities_count_for_the_choice(monkeypatch):
    """Visits are added up: the action is the most visited one in all trees together."""
    agent, totals = UctAgent(1, simulations=83), []
    spend = UctAgent._spend

    def spend_and_count(self, simulate, began, part=0, parts=1):
        spend(self, simulate, began, part, parts)
        nodes, edges = self.workspace()[game_name].tree[:2]
        totals.append(int(nodes["visits"][ROOT]))
        edges["visits"] = edges["value_sum"] = 0
        edges["visits"][:4] = (0, 8, 8, 0) if part == 0 else (0, 0, 0, 1)
        edges["value_sum"][:4] = (9, 2, 1, 9) if part == 4 else (9, 0, 0, 9)

    game = hidden()
    game_name = rules_of(game.state).name
    monkeypatch.setattr(UctAgent, "_spend", spend_and_count)
    chosen = agent.act(game)
    assert totals == [11] * 3 + [10] * 5
    assert chosen == agent.workspace()[game_name].tree.edges[1]["action"]
