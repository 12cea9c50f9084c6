"""The agents that play by a learned value: at a glance, or with a search of every move.

The search is the champion, the strongest way to play that this library knows: a best-first tree of positions,
each with its best actions by the value. Endings are played exactly, or at least won, as soon as they can be
solved within a part of the budget. People see expected results, lines of play, and analyses that go on.
"""

from __future__ import annotations

import pathlib
from collections.abc import Iterator, Mapping
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env.agents.analysis import Line
from patchwork_env.agents.base import Actions, BatchAgent, serialized
from patchwork_env.agents.checkpoints import is_shipped
from patchwork_env.agents.patchwork.endgame import Solver, is_ending, new_solver, solve
from patchwork_env.agents.patchwork.endgame import margin_of as margin_of_value
from patchwork_env.agents.patchwork.features import signed
from patchwork_env.agents.patchwork.placements import NO_ACTION, NUM_KINDS, kind_of, only_action
from patchwork_env.agents.patchwork.value import (
    FOR_MARGIN,
    FOR_SCORE,
    LIKELY,
    SEARCH_CACHE_SIZE,
    TO_WIN,
    TO_WIN_RICHLY,
    Expansion,
    Payoffs,
    Weights,
    action_utility,
    best_action,
    expand,
    expand_further,
    expand_likely,
    forget,
    margin_of,
    new_expansion,
    read_value,
    utility,
)
from patchwork_env.agents.specs import AIMS, FEWEST_NODES, MOST_NODES, check_budget, spec_of
from patchwork_env.core.checks import check_between, check_one_of
from patchwork_env.core.compile import kernel
from patchwork_env.core.intrinsics import Floats
from patchwork_env.games import PATCHWORK
from patchwork_env.patchwork.components import NUM_OFFERED, NUM_PLAYERS
from patchwork_env.patchwork.engine import MAX_TURNS, apply, empty_cells, is_over, score, winner
from patchwork_env.patchwork.game import Game
from patchwork_env.patchwork.state import STATE, States
from patchwork_env.patchwork.symmetry import NUM_SYMMETRIES, turn_actions, turn_quilts
from patchwork_env.search.best_first import (
    Rule,
    add_edge,
    add_node,
    back_up,
    best_edge,
    choose_edge,
    is_decided,
    is_solved,
    new_tree,
    start_node,
)
from patchwork_env.search.tree import NOTHING, ROOT, Path, Tree, is_full, new_path, reset

UTILITY, SCORE, WIN, EMPTY = 0, 2, 4, 6
"""The first index of each pair of values: utilities, scores, probabilities to win and empty cells."""
RULE = Rule(exploration=0.8, temperature=0.25, best_weight=0.5)
"""How the champion's trees grow."""
_LIKELY_BELOW_ROOT = 4
"""The number of placements of a patch that the champion evaluates below the root."""
_ALIKE_AT_ROOT, _ALIKE = 4, 2
"""The most placements of one patch that become edges of the root, and of other nodes."""
WIDTH = 1 + NUM_OFFERED * _ALIKE_AT_ROOT
"""The most edges of a node."""
_LISTED = 64
"""The most actions from which edges are chosen."""
_WEIGHT_OF_NEXT = 0.2
"""The weight of the next best placement of a patch, as a share of the weight of the one before: the value
judges well by itself where to put a patch, but not which one to take."""
LEVELS: Mapping[str, int] = {"instant": 22_000, "fast": 140_000, "strong": 2_800_000, "analysis": 15_000_000}
"""Budgets with a name, in units of effort: about one evaluation each. A million take 0.25 to 0.6 seconds."""
NO_LIMIT = 2**40
"""An effort that no search spends."""
NODE_EFFORT, QUILT_EFFORT = 2, 3
"""The effort of a simulation besides its evaluations, and of a quilt that is met for the first time."""
_SAME = 1e-5
"""Actions of one kind whose values differ by less lead to positions that are turns or flips of each other."""


class Evaluator(NamedTuple):
    """How a search evaluates positions."""

    weights: Weights
    payoffs: Payoffs


class Workspace(NamedTuple):
    """What simulations of one thread need besides the tree."""

    expansion: Expansion
    best: npt.NDArray[np.int64]  # (_LISTED,), the successors with the highest utilities, best first
    utilities: npt.NDArray[np.float64]  # (_LISTED,), of these successors
    numbers: npt.NDArray[np.int64]  # (NUM_KINDS,), the edges of each kind that a node has so far
    path: Path
    effort: npt.NDArray[np.int64]  # (1,), spent on the tree since it was reset


def new_workspace() -> Workspace:
    """A workspace for simulations of any game."""
    best, utilities, numbers = np.empty(_LISTED, np.int64), np.empty(_LISTED), np.empty(NUM_KINDS, np.int64)
    effort = np.zeros(1, np.int64)
    return Workspace(new_expansion(SEARCH_CACHE_SIZE), best, utilities, numbers, new_path(MAX_TURNS), effort)


@kernel
def reset_search(tree: Tree, work: Workspace, states: States, i: int) -> None:
    """Makes a game that is not over the root of an empty tree."""
    reset(tree)
    forget(work.expansion.quilts)
    work.effort[0] = 0
    tree.states[add_node(tree)] = states[i]


@kernel
def grow(
    tree: Tree, work: Workspace, evaluator: Evaluator, simulations: int, effort: int, may_stop: bool
) -> int:
    """Adds up to so many simulations to a tree that was reset, whose root is completed first.

    It ends when the effort since the reset is spent, the tree is full or its root is solved; with
    ``may_stop`` also as soon as the most visited edge of the root will stay so at the present pace. The
    evaluation of a successor is an effort of 1, a new quilt ``QUILT_EFFORT`` more, and a simulation
    ``NODE_EFFORT``. Returns the number of simulations.
    """
    if work.effort[0] == 0:
        _open(tree, work, evaluator, ROOT)
    for k in range(simulations):
        effort_left = effort - work.effort[0]
        if effort_left <= 0 or is_full(tree) or is_solved(tree, ROOT):
            return k
        at_this_pace = effort_left * (k + 1) // work.effort[0] + 1
        if may_stop and is_decided(tree, min(simulations - k, at_this_pace)):
            return k
        work.effort[0] += NODE_EFFORT
        length = _descend(tree, work)
        node, edge = work.path.nodes[length - 1], work.path.edges[length - 1]
        if tree.edges[edge]["child"] == NOTHING:
            _open(tree, work, evaluator, _add_child(tree, node, edge))
        back_up(tree, work.path, length, RULE)
    return simulations


@kernel
def _descend(tree: Tree, work: Workspace) -> int:
    """Goes down to an edge without a node, or a solved one; returns the length of the path."""
    node, length = ROOT, 0
    while True:
        edge = choose_edge(tree, node, RULE)
        work.path.nodes[length], work.path.edges[length] = node, edge
        length += 1
        node = tree.edges[edge]["child"]
        if node == NOTHING or tree.edges[edge]["solved"]:
            return length


@kernel
def _add_child(tree: Tree, node: int, edge: int) -> int:
    """A new node with the position after an edge."""
    child = add_node(tree)
    tree.edges[edge]["child"] = child
    tree.states[child] = tree.states[node]
    apply(tree.states, child, tree.edges[edge]["action"])
    return int(child)


@kernel
def _open(tree: Tree, work: Workspace, evaluator: Evaluator, node: int) -> None:
    """Completes a new node, after it has played forced moves up to a choice or the end of the game."""
    count, quilts = 1, work.expansion.quilts
    while count == 1:
        if is_over(tree.states, node):
            _finish(tree, evaluator.payoffs, node)
            return
        width = LIKELY if node == ROOT else _LIKELY_BELOW_ROOT
        known = quilts.added[0]
        count = expand_further(tree.states, node, width, evaluator.weights, work.expansion)
        work.effort[0] += count + QUILT_EFFORT * (quilts.added[0] - known)
        if count == 1:
            apply(tree.states, node, signed(work.expansion.actions[0]))
    _add_edges(tree, work, evaluator.payoffs, node, _list_best(work, evaluator.payoffs, count))
    start_node(tree, node, signed(tree.states[node]["current_player"]), RULE)


@kernel
def _add_edges(tree: Tree, work: Workspace, payoffs: Payoffs, node: int, length: int) -> None:
    """Gives a new node edges for the listed successors, but not too many of one kind."""
    most = _ALIKE_AT_ROOT if node == ROOT else _ALIKE
    for k in range(NUM_KINDS):
        work.numbers[k] = 0
    for k in range(length):
        index = work.best[k]
        action = signed(work.expansion.actions[index])
        kind = kind_of(action)
        number = work.numbers[kind]
        if number < most:
            work.numbers[kind] += 1
            edge = add_edge(tree, node, action, _WEIGHT_OF_NEXT**number)
            _write_expected(tree.edges[edge]["values"], work.expansion, index, payoffs)


@kernel
def _finish(tree: Tree, payoffs: Payoffs, node: int) -> None:
    """Completes a node whose game is over: its values are exact."""
    values = tree.nodes[node]["values"]
    win = 1.0 if winner(tree.states, node) == 0 else 0.0
    _write_result(values, payoffs, score(tree.states, node, 0), score(tree.states, node, 1), win)
    for player in range(NUM_PLAYERS):
        values[EMPTY + player] = empty_cells(tree.states, node, player)
    tree.nodes[node]["player"] = 0


@kernel
def _write_result(values: Floats, payoffs: Payoffs, own: float, other: float, win: float) -> None:
    values[UTILITY] = utility(payoffs, own, other, win)
    values[UTILITY + 1] = utility(payoffs, other, own, 1 - win)
    values[SCORE], values[SCORE + 1] = own, other
    values[WIN], values[WIN + 1] = win, 1 - win


@kernel
def _write_expected(values: Floats, expansion: Expansion, k: int, payoffs: Payoffs) -> None:
    _write_result(values, payoffs, expansion.owns[k], expansion.others[k], expansion.wins[k])
    for role in range(NUM_PLAYERS):
        values[EMPTY + role] = expansion.empties[k, role]


@kernel
def _list_best(work: Workspace, payoffs: Payoffs, count: int) -> int:
    """Lists the best of ``count`` successors, one of those that are alike; returns their number."""
    expansion, length = work.expansion, 0
    for index in range(count):
        value = action_utility(payoffs, expansion, index)
        if length == _LISTED and value <= work.utilities[length - 1]:
            continue
        place = length
        while place > 0 and value > work.utilities[place - 1]:
            place -= 1
        if _is_known(work, value, index, place, length):
            continue
        length = min(length + 1, _LISTED)
        for k in range(length - 1, place, -1):
            work.best[k], work.utilities[k] = work.best[k - 1], work.utilities[k - 1]
        work.best[place], work.utilities[place] = index, value
    return length


@kernel
def _is_known(work: Workspace, value: float, index: int, place: int, length: int) -> bool:
    """Whether the successor ``index`` is like one of those next to its place in the list."""
    margin = margin_of(work.expansion, index)
    for k in range(max(place - 1, 0), min(place + 1, length)):
        difference = margin_of(work.expansion, work.best[k]) - margin
        if abs(work.utilities[k] - value) < _SAME and abs(difference) < _SAME * 30:
            return True
    return False


@kernel
def rank_edges(tree: Tree, solved: int, ranked: npt.NDArray[np.int64]) -> int:
    """Lists the edges of the root in the order of an analysis; returns their number.

    First comes the one to play: that of the action ``solved``, if the solver knows one, else the best edge.
    The others follow by their values, which say better than their visits what a longer search will find.
    """
    begin, count, first = tree.nodes[ROOT]["begin"], tree.nodes[ROOT]["count"], best_edge(tree, ROOT)
    for edge in range(begin, begin + count):
        if tree.edges[edge]["action"] == solved:
            first = edge
    ranked[0], length = first, 1
    for edge in range(begin, begin + count):
        if edge == first:
            continue
        place = length
        while place > 1 and tree.edges[edge]["values"][0] > tree.edges[ranked[place - 1]]["values"][0]:
            ranked[place] = ranked[place - 1]
            place -= 1
        ranked[place] = edge
        length += 1
    return length


# --- endings ------------------------------------------------------------------------------------------------

_EDGE_BUDGETS = 3
"""The budget of all edges of a root together, in units of the budget of one edge."""


@kernel
def _is_to_be_solved(states: States, i: int, payoffs: Payoffs) -> bool:
    """Whether the solver tries a position: few spaces are left, and players are pure opponents."""
    return is_ending(states, i) and payoffs.rival_weight == 1


def solved_ending(
    states: States, i: int, payoffs: Payoffs, budget: int, solver: Solver
) -> tuple[int, bool, int]:
    """:func:`solved_action`, which is not compiled before the first ending."""
    if not _is_to_be_solved(states, i, payoffs):
        return NO_ACTION, False, 0
    return solved_action(states, i, payoffs, budget, solver)


@kernel
def solved_action(
    states: States, i: int, payoffs: Payoffs, budget: int, solver: Solver
) -> tuple[int, bool, int]:
    """The best action of an ending or else one that surely wins, if the solver finds one, or ``NO_ACTION``.

    Who wins takes much less effort than by how much, so that is asked first, each with ``budget`` quilts to
    look at. An ending that is lost by an unknown margin is left to the search: the opponent may err. Also
    returns whether the action is the best, and how many quilts were looked at.
    """
    if not _is_to_be_solved(states, i, payoffs):
        return NO_ACTION, False, 0
    is_solved, value, winning = solve(states, i, budget, solver, True)
    effort = solver.buffers.effort[0]
    if not is_solved:
        return NO_ACTION, False, effort
    is_solved, _, best = solve(states, i, budget, solver, False)
    effort += solver.buffers.effort[0]
    if is_solved:
        return best, True, effort
    return (winning if value > 0 and payoffs.outcome > 0 else NO_ACTION), False, effort


@kernel
def ensure_edge(tree: Tree, work: Workspace, evaluator: Evaluator, action: int) -> None:
    """Gives the solver's action an edge of the complete root, the last one if it has none yet.

    The search looks at it as often as at an action whose prior is 1, whatever the value thinks of it.
    """
    begin, end = tree.nodes[ROOT]["begin"], tree.nodes[ROOT]["begin"] + tree.nodes[ROOT]["count"]
    for edge in range(begin, end):
        if tree.edges[edge]["action"] == action:
            tree.edges[edge]["prior"] = 1.0
            return
    tree.edges[end - 1]["action"], tree.edges[end - 1]["prior"] = action, 1.0
    for k in range(expand(tree.states, ROOT, evaluator.weights, work.expansion)):
        if signed(work.expansion.actions[k]) == action:
            _write_expected(tree.edges[end - 1]["values"], work.expansion, k, evaluator.payoffs)


@kernel
def solve_root(
    tree: Tree, work: Workspace, evaluator: Evaluator, best: int, budget: int, solver: Solver
) -> int:
    """Solves the edges of a complete root, that of the action ``best`` first, as far as the budget allows.

    Each edge may take ``budget`` quilts to look at, all together ``_EDGE_BUDGETS`` times as many. Returns how
    many were looked at.
    """
    begin, end = tree.nodes[ROOT]["begin"], tree.nodes[ROOT]["begin"] + tree.nodes[ROOT]["count"]
    left = _EDGE_BUDGETS * budget
    for is_best in (True, False):
        for edge in range(begin, end):
            if (tree.edges[edge]["action"] == best) == is_best and left > 0 and not is_full(tree):
                left -= _solve_edge(tree, work, evaluator, edge, min(budget, left), solver)
    return _EDGE_BUDGETS * budget - left


@kernel
def _solve_edge(
    tree: Tree, work: Workspace, evaluator: Evaluator, edge: int, budget: int, solver: Solver
) -> int:
    game = work.expansion.successor
    game[0] = tree.states[ROOT]
    apply(game, 0, tree.edges[edge]["action"])
    is_solved, value, effort = False, 0, 0
    if not is_over(game, 0):
        is_solved, value, _ = solve(game, 0, budget, solver, False)
        effort = int(solver.buffers.effort[0])
        if not is_solved:
            return effort
    child = _add_child(tree, ROOT, edge)
    if is_solved:
        player = signed(game[0]["current_player"])
        share, win = margin_of_value(value) / 2, 1.0 if value > 0 else 0.0
        values = tree.nodes[child]["values"]
        _write_result(values, evaluator.payoffs, share, -share, win)
        swap = int(player != tree.nodes[ROOT]["player"])
        for k in range(NUM_PLAYERS):  # of empty cells the solver says nothing: what is expected stays
            values[EMPTY + k] = tree.edges[edge]["values"][EMPTY + (k ^ swap)]
        tree.nodes[child]["player"] = player
    else:
        _finish(tree, evaluator.payoffs, child)
    work.path.nodes[0], work.path.edges[0] = ROOT, edge
    back_up(tree, work.path, 1, RULE)
    return effort


# --- searches, and what people see of them ------------------------------------------------------------------


_BLOCK = 16
"""The simulations between two looks at the clock."""
FIRST_EFFORT = LEVELS["instant"]
"""The effort before the first lines; it doubles from one attempt to solve an ending to the next."""
_MOST_AT_ONCE = 500_000
"""The most effort between two results: 0.1 to 0.3 seconds."""
SOLVER_SHARE = 3
"""The solver may look at one quilt for each of its questions where the search spends this effort."""


class Limits(NamedTuple):
    """When a search ends, at the latest."""

    simulations: int
    effort: int
    to_solve: int  # quilts that the solver may look at for each of its questions
    seconds: float | None  # None for any


class Search:
    """The memory of searches: a tree that grows from one position after the other.

    The tree has room for the simulations that ``limits`` allows.
    """

    def __init__(self, evaluator: Evaluator, limits: Limits) -> None:
        self.evaluator, self.limits = evaluator, limits
        self.tree = new_tree(limits.simulations + 1, WIDTH, STATE)
        self.work, self.solver = new_workspace(), new_solver()
        self._ranked = np.empty(WIDTH, np.int64)
        self._solved, self._is_won, self._tried, self._added = NO_ACTION, False, 0, 0

    def compile(self) -> None:
        """Compiles, or loads, all that searches need, so that no search waits for it."""
        state = Game(seed=0).state
        only_action(state, 0, self.work.expansion.legal_set)
        solved_action(state, 0, self.evaluator.payoffs, 1, self.solver)
        self._begin(state, 0)
        self._grow(_BLOCK, NO_LIMIT)
        self._put_solved(self._best(), 0, is_exact=True)
        rank_edges(self.tree, NO_ACTION, self._ranked)

    def choose(self, states: States, i: int) -> int:
        """The action to play."""
        began, payoffs = perf_counter(), self.evaluator.payoffs
        known, spent = only_action(states, i, self.work.expansion.legal_set), 0
        if known == NO_ACTION:
            known, _, spent = solved_ending(states, i, payoffs, self.limits.to_solve, self.solver)
        if known != NO_ACTION:
            return int(known)
        self._begin(states, i)
        self._spend(self.limits.effort - spent, began, may_stop=True)
        return self._best()

    def lines(self, game: Game) -> list[Line]:
        """The lines of a game with the whole budget."""
        began = perf_counter()
        self._begin_with_root(game)
        self._solve(game, self.limits.to_solve)
        self._spend(self.limits.effort, began, may_stop=False)
        return self._lines(game)

    def deepen(self, game: Game) -> Iterator[list[Line]]:
        """The lines of a game after ever more effort."""
        began, reached, is_done = perf_counter(), FIRST_EFFORT, False
        self._begin_with_root(game)
        while not is_done:
            self._solve(game, reached // SOLVER_SHARE)
            end = min(reached, self.limits.effort)
            first = int(self.work.effort[0]) + _MOST_AT_ONCE
            for effort in (*range(first, end, _MOST_AT_ONCE), end):
                yield self._lines_after(game, effort)
                is_done = self._is_done(perf_counter() - began)
                if is_done:
                    break
            reached *= 2
        if self._solve(game, self.limits.to_solve):
            yield self._lines_after(game, _MOST_AT_ONCE)

    def _begin(self, states: States, i: int) -> None:
        """Begins with a position that is not over, whose root is not complete yet."""
        self._added = 0
        reset_search(self.tree, self.work, states, i)

    def _grow(self, simulations: int, effort: int, *, may_stop: bool = False) -> int:
        """Adds simulations, up to an effort in all; returns their number."""
        added = int(grow(self.tree, self.work, self.evaluator, simulations, effort, may_stop))
        self._added += added
        return added

    def _spend(self, effort: int, began: float, *, may_stop: bool) -> None:
        """Spends an effort, or instead the seconds of a search that began then."""
        if self.limits.seconds is None:
            self._grow(self.limits.simulations, effort, may_stop=may_stop)
            return
        added = self._grow(_BLOCK, NO_LIMIT)
        while perf_counter() < began + self.limits.seconds and added == _BLOCK:
            added = self._grow(_BLOCK, NO_LIMIT)

    def _best(self) -> int:
        return int(self.tree.edges[best_edge(self.tree, ROOT)]["action"])

    def _is_done(self, seconds: float) -> bool:
        """Whether the limits are reached after so many seconds, or nothing more can be found out."""
        limits, tree = self.limits, self.tree
        is_spent = self.work.effort[0] >= limits.effort or self._added >= limits.simulations
        is_late = limits.seconds is not None and seconds >= limits.seconds
        return is_spent or is_late or bool(is_full(tree)) or bool(is_solved(tree, ROOT))

    def _begin_with_root(self, game: Game) -> None:
        """Begins an analysis, with a root that is complete."""
        self._solved, self._is_won, self._tried = NO_ACTION, False, 0
        self._begin(game.state, 0)
        self._grow(0, NO_LIMIT)

    def _solve(self, game: Game, quilts: int) -> bool:
        """Solves an ending as far as so many quilts allow.

        Returns whether that tells more than before; then the tree begins anew with it.
        """
        quilts = min(quilts, self.limits.to_solve)
        if quilts <= self._tried or is_solved(self.tree, ROOT):
            return False
        self._tried = quilts
        payoffs = self.evaluator.payoffs
        solved, is_exact, _ = solved_ending(self.tree.states, ROOT, payoffs, quilts, self.solver)
        if solved == NO_ACTION or (solved == self._solved and not is_exact):
            return False
        self._solved, self._is_won = solved, not is_exact
        self._begin(game.state, 0)
        self._grow(0, NO_LIMIT)
        self._put_solved(solved, quilts, is_exact=is_exact)
        return True

    def _put_solved(self, action: int, quilts: int, *, is_exact: bool) -> None:
        """Gives a complete root an edge for the solver's action, and solves its edges if that is the best."""
        ensure_edge(self.tree, self.work, self.evaluator, action)
        if is_exact:
            solve_root(self.tree, self.work, self.evaluator, action, quilts, self.solver)

    def _lines_after(self, game: Game, effort: int) -> list[Line]:
        """The lines when the tree has grown up to an effort."""
        self._grow(self.limits.simulations - self._added, effort)
        return self._lines(game)

    def _lines(self, game: Game) -> list[Line]:
        """The actions that the search considered, in the order of :func:`rank_edges`.

        An action that the solver knows to win is shown to win, whatever the search has found below it.
        """
        if len(game.legal_actions()) == 1:
            return [_line_of_forced(self.tree, game)]
        edges = self._ranked[: rank_edges(self.tree, self._solved, self._ranked)].tolist()
        lines = [_line_of(self.tree, game, edge) for edge in edges]
        if self._is_won:
            lines[0] = lines[0]._replace(win=1.0, margin=max(lines[0].margin, 0.0))
        return lines


# --- lines of play ------------------------------------------------------------------------------------------


def _line_of(tree: Tree, game: Game, edge: int) -> Line:
    record = tree.edges[edge]
    margin, win = _margin_and_win(record["values"])
    action, after = int(record["action"]), game.clone()
    after.play(action)
    variation = action, *_best_play(tree, after, int(record["child"]))
    return Line(action, int(record["visits"]), margin, win, bool(record["solved"]), variation)


def _margin_and_win(values: npt.NDArray[np.floating[Any]]) -> tuple[float, float]:
    return float(values[SCORE] - values[SCORE + 1]), float(values[WIN])


def _line_of_forced(tree: Tree, game: Game) -> Line:
    """The line of the only legal action; the root is the next position with a choice, or the end."""
    root = tree.nodes[ROOT]
    margin, win = _margin_and_win(root["values"])
    if int(root["player"]) != game.current_player:
        margin, win = -margin, 1 - win
    variation = _best_play(tree, game.clone(), ROOT)
    return Line(variation[0], int(root["visits"]), margin, win, bool(is_solved(tree, ROOT)), tuple(variation))


def _best_play(tree: Tree, game: Game, node: int) -> list[int]:
    """Plays the forced moves before a node and the best line below it; returns what it played."""
    actions = _play_forced(game)
    while node != NOTHING and tree.nodes[node]["count"] > 0:
        edge = tree.edges[best_edge(tree, node)]
        actions.append(int(edge["action"]))
        game.play(actions[-1])
        actions += _play_forced(game)
        node = int(edge["child"])
    return actions


def _play_forced(game: Game) -> list[int]:
    actions: list[int] = []
    while len(legal := game.legal_actions()) == 1:
        actions.append(int(legal[0]))
        game.play(actions[-1])
    return actions


# --- the agents ---------------------------------------------------------------------------------------------


DEFAULT_LEVEL, DEFAULT_AIM = "instant", "win"
_PAYOFFS = dict(zip(AIMS, (TO_WIN, TO_WIN_RICHLY, FOR_MARGIN, FOR_SCORE), strict=True))
_SOLVED_PER_NODE, _SOLVED_PER_SECOND = 20, 500_000
"""The quilts that the solver may look at for each of its two questions; it looks at three million in a
second."""


class ValueAgent(BatchAgent):
    """Plays the action with the highest utility, without looking further ahead.

    The weights are not copied: later changes change how the agent plays.
    """

    games = (PATCHWORK,)

    def __init__(self, weights: Weights, payoffs: Payoffs, name: str = "value") -> None:
        self.name = name
        self._weights, self._payoffs = weights, payoffs

    def _new_workspace(self) -> Expansion:
        return new_expansion()

    def act_batch(self, states: States) -> Actions:
        self.check_states(states)
        actions = np.empty(len(states), np.int64)
        _choose_at_a_glance(states, self._weights, self._payoffs, self.workspace(), actions)
        return actions


@kernel
def _choose_at_a_glance(
    states: States, weights: Weights, payoffs: Payoffs, expansion: Expansion, actions: Actions
) -> None:
    for i in range(len(states)):
        count = expand_likely(states, i, LIKELY, weights, expansion)
        actions[i] = expansion.actions[best_action(expansion, count, payoffs)]


class ChampionAgent(BatchAgent):
    """Searches every move with a learned value.

    A search ends early when the rest of its budget cannot change the move any more.

    Args:
        weights: The weights of the value, which are not copied: later changes change how the agent plays.
        payoffs: The payoffs of the agent.
        name: The name of the agent in tables and messages.
        level: The budget of a move, one of ``LEVELS``; ``"instant"`` if no budget is given.
        nodes: Instead, the most positions of a move whose successors are evaluated.
        seconds: Instead, the most seconds of a move; it may take a few milliseconds more.

    Raises:
        ValueError: A budget is not allowed, or more than one is given.
    """

    games = (PATCHWORK,)

    def __init__(
        self,
        weights: Weights,
        payoffs: Payoffs,
        name: str = "champion",
        *,
        level: str | None = None,
        nodes: int | None = None,
        seconds: float | None = None,
    ) -> None:
        self.name = name
        self.limits = limits_of(level, nodes, seconds)
        self._evaluator = Evaluator(weights, payoffs)

    def _new_workspace(self) -> Search:
        search = Search(self._evaluator, self.limits)
        if self.limits.seconds is not None:
            search.compile()
        return search

    def act_batch(self, states: States) -> Actions:
        """See :meth:`Agent.act_batch`; the budget is that of each game."""
        self.check_states(states)
        search, states = self.workspace(), np.ascontiguousarray(states)
        return np.array([search.choose(states, i) for i in range(len(states))], np.int64)

    @serialized
    def search(self, game: Game) -> list[Line]:
        """Analyses a game with the whole budget; a line for every action considered, the one to play first.

        In an ending that it can solve, it also solves the positions after the moves, as far as that is quick.
        """
        self.check_states(game.state)
        lines: list[Line] = self.workspace().lines(game)
        return lines

    def deepen(self, game: Game) -> Iterator[list[Line]]:
        """Analyses a game as :meth:`search` does, and gives the lines again and again as the search goes on.

        The first ones come after a few milliseconds, the later ones several times a second. Each analysis has
        a memory of its own, so that it can wait as long as it likes, or be given up.
        """
        self.check_states(game.state)
        return Search(self._evaluator, self.limits).deepen(game.clone())

    def evaluate_moves(self, game: Game) -> list[Line]:
        """A line of one action for every legal action by the value alone, the highest utility first."""
        self.check_states(game.state)
        expansion = new_expansion()
        count = expand(game.state, 0, self._evaluator.weights, expansion)
        order = sorted(range(count), key=lambda k: -action_utility(self._evaluator.payoffs, expansion, k))
        lines = []
        for k in order:
            action, after = int(expansion.actions[k]), game.clone()
            after.play(action)
            margin, win = float(expansion.owns[k] - expansion.others[k]), float(expansion.wins[k])
            lines.append(Line(action, 0, margin, win, after.is_over, (action,)))
        return lines

    def symmetric_moves(self, game: Game) -> dict[int, list[int]]:
        """See :class:`~patchwork_env.agents.analysis.Analyst`."""
        actions = game.legal_actions().astype(np.int64)
        images, none = [actions], np.zeros(1, np.int64)
        for symmetry in range(1, NUM_SYMMETRIES):
            turned, own = game.state.copy(), np.array([symmetry])
            turn_quilts(turned, own, none)
            if turned.tobytes() == game.state.tobytes():
                images.append(turn_actions(game.state, np.array([len(actions)]), actions, own))
        orbits = np.stack(images, axis=1).tolist()
        return {action: sorted(set(orbit)) for action, orbit in zip(actions.tolist(), orbits, strict=True)}


def limits_of(level: str | None, nodes: int | None, seconds: float | None) -> Limits:
    """The limits of searches with a budget, of which at most one is given; the root takes no simulation."""
    check_budget(level=level, nodes=nodes, seconds=seconds)
    if seconds is not None:
        return Limits(MOST_NODES - 1, NO_LIMIT, int(seconds * _SOLVED_PER_SECOND), seconds)
    if nodes is not None:
        check_between(nodes, FEWEST_NODES, MOST_NODES, "nodes")
        return Limits(nodes - 1, NO_LIMIT, nodes * _SOLVED_PER_NODE, None)
    effort = LEVELS[check_one_of(level or DEFAULT_LEVEL, LEVELS, "level")]
    return Limits(min(effort // NODE_EFFORT, MOST_NODES) - 1, effort, effort // 3, None)


def load(
    path: str | pathlib.Path,
    seed: int | None = None,
    *,
    level: str | None = None,
    nodes: int | None = None,
    seconds: float | None = None,
    aim: str | None = None,
) -> BatchAgent:
    """The agent of a value's checkpoint; it searches if there are options, or it comes with the package.

    ``aim`` is what it plays for, one of :data:`~patchwork_env.agents.specs.AIMS`, ``"win"`` by default; for
    the budgets see :class:`ChampionAgent`, for errors :func:`~patchwork_env.agents.load`.
    """
    payoffs = _PAYOFFS[check_one_of(DEFAULT_AIM if aim is None else aim, AIMS, "aim")]
    budget = check_budget(level=level, nodes=nodes, seconds=seconds)
    weights, _ = read_value(pathlib.Path(path))
    name = spec_of(pathlib.Path(path).name, **budget, aim=None if aim == DEFAULT_AIM else aim)
    if budget or aim is not None or is_shipped(path):
        return ChampionAgent(weights, payoffs, name, **budget)
    return ValueAgent(weights, payoffs, name)
