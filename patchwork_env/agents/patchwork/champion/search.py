"""The champion's search: a best-first tree of positions, each with its best actions by a learned value."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env.agents.analysis import Line
from patchwork_env.agents.patchwork.placements import NUM_KINDS, kind_of
from patchwork_env.agents.patchwork.value.expansion import (
    LIKELY,
    Expansion,
    Payoffs,
    action_utility,
    expand_further,
    margin_of,
    new_expansion,
    utility,
)
from patchwork_env.agents.patchwork.value.features import signed
from patchwork_env.agents.patchwork.value.network import Quantized
from patchwork_env.agents.patchwork.value.quilt_cache import SEARCH_CACHE_SIZE, forget
from patchwork_env.core.compile import kernel
from patchwork_env.core.intrinsics import Floats, copy_record, release_lock, take_lock
from patchwork_env.patchwork.components import LAST_SPACE, NUM_OFFERED
from patchwork_env.patchwork.engine import MAX_TURNS, apply, is_over, score, winner
from patchwork_env.patchwork.game import Game
from patchwork_env.patchwork.state import States
from patchwork_env.search.best_first import (
    OPENING,
    Rule,
    add_edge,
    add_node,
    back_up,
    best_edge,
    descend,
    is_decided,
    is_solved,
    start_node,
)
from patchwork_env.search.tree import NOTHING, ROOT, Path, Tree, is_full, new_path, reset

UTILITY, SCORE, WIN = 0, 2, 4
"""The first index of each pair of values: utilities, scores and probabilities to win."""
RULE = Rule(exploration=0.8, temperature=0.45, best_weight=0.5)
"""The selection rule of the champion's trees."""
_LIKELY_BELOW_ROOT = 4
"""The number of placements of a patch that the champion evaluates below the root."""
_ALIKE_AT_ROOT, _ALIKE = 4, 2
"""The most placements of one patch that become edges of the root, and of other nodes."""
WIDTH = 1 + NUM_OFFERED * _ALIKE_AT_ROOT
"""The most edges of a node."""
_LISTED = 64
"""The most actions from which edges are chosen."""
_WEIGHTS = np.array([0.2**k for k in range(_ALIKE_AT_ROOT)])
"""The prior weights of the best placements of a patch, the best one first. The value alone judges placements
well, but not the choice of a patch."""
NO_LIMIT = 2**40
"""An effort that no search spends."""
NODE_EFFORT, QUILT_EFFORT = 2, 3
"""The effort of a simulation besides its evaluations, and of a quilt that is met for the first time."""
LEAST_EFFORT = NODE_EFFORT + 2
"""The least effort of a simulation that adds a node, which has a choice."""
_MOST_TRIES = 20_000
"""Tries of a thread to take the lock before it lets others work: a tenth of a millisecond."""
_CONFIDENCE, _PER_SPACE, _MOST_CONFIDENCE = 0.157, 0.0335, 2.42
"""Calibration raises odds to a power, which grows with the spaces left."""
_DOUBT, _SPACES_OF_DOUBT = 3.56, 13.3
"""The reduction of the log odds at the end, and the number of spaces left at which it is 1/e of that."""
_SAME = 1e-5
"""Actions of one kind whose values differ by less lead to positions that are turns or flips of each other."""


SHOWN = 5
"""The number of moves that an analysis visits often enough to judge them."""
ENOUGH = 3000
"""The visits of a move from which on an analysis states what to expect of it."""
_JUDGING = 4
"""One in so many simulations of an analysis goes to a move that has not enough visits."""


class Evaluator(NamedTuple):
    """The evaluation of positions in a search."""

    weights: Quantized
    payoffs: Payoffs


_UNDER_WAY = np.dtype(
    [
        ("length", "<i8"),  # of the path to the node, or 0 for none
        ("node", "<i8"),
        ("listed", "<i8"),  # successors
        ("effort", "<i8"),
    ]
)
"""A node that is evaluated, but not in the tree yet."""


class Workspace(NamedTuple):
    """The memory of a thread's simulations; the threads of a tree share ``effort``, ``lock`` and ``stop``."""

    expansion: Expansion
    best: npt.NDArray[np.int64]  # (_LISTED,), the successors with the highest utilities, best first
    utilities: npt.NDArray[np.float64]  # (_LISTED,), of these successors
    numbers: npt.NDArray[np.int64]  # (NUM_KINDS,), the edges of each kind that a node has so far
    path: Path
    effort: npt.NDArray[np.int64]  # (1,), spent on the tree since it was reset
    lock: npt.NDArray[np.int64]  # (1,), of the thread that reads and writes nodes and edges
    stop: npt.NDArray[np.int64]  # (1,), not 0 if all threads are to leave the tree
    under_way: npt.NDArray[np.void]  # (1,), of _UNDER_WAY


def new_workspace() -> Workspace:
    """Return a workspace for simulations of any game."""
    best, utilities, numbers = np.empty(_LISTED, np.int64), np.empty(_LISTED), np.empty(NUM_KINDS, np.int64)
    expansion, path = new_expansion(SEARCH_CACHE_SIZE), new_path(MAX_TURNS)
    effort, lock, stop = np.zeros((3, 1), np.int64)
    return Workspace(expansion, best, utilities, numbers, path, effort, lock, stop, np.zeros(1, _UNDER_WAY))


@kernel
def reset_search(tree: Tree, work: Workspace, evaluator: Evaluator, states: States, i: int) -> None:
    """Make a game that is not over the root of an empty tree, and complete it."""
    reset(tree)
    forget(work.expansion.quilts)
    work.under_way[0]["length"] = 0
    root = add_node(tree)
    copy_record(tree.states, root, states, i)
    listed, work.effort[0] = _expand(tree, work, evaluator, root)
    _complete(tree, work, evaluator.payoffs, root, listed)


@kernel
def grow(
    tree: Tree,
    work: Workspace,
    evaluator: Evaluator,
    simulations: int,
    effort: int,
    may_stop: bool,
    shown: int,
) -> bool:
    """Add simulations to a tree that was reset, or whose root has only its state, up to so many in all.

    It ends when the effort since the reset is spent, the tree is full, its root is solved or ``work.stop`` is
    set; with ``may_stop`` also as soon as the most visited edge of the root will stay so at the present pace.
    The evaluation of a successor is an effort of 1, a new quilt ``QUILT_EFFORT`` more, and a simulation
    ``NODE_EFFORT``.

    Threads with workspaces of their own may grow a tree together. Returns whether this one is to be called
    again, when others have done what it waits for; one thread alone never waits.
    """
    if not _take_lock(work):
        return True
    if work.effort[0] == 0:
        reset_search(tree, work, evaluator, tree.states, ROOT)
    while True:
        if work.under_way[0]["length"] > 0:
            _put(tree, work, evaluator.payoffs)
        if work.stop[0] != 0 or not _goes_on(tree, work.effort[0], simulations, effort, may_stop):
            release_lock(work.lock)
            return False
        length = descend(tree, work.path, RULE, _edge_to_judge(tree, shown))
        if length == 0:
            release_lock(work.lock)
            return True
        if tree.edges[work.path.edges[length - 1]]["child"] == NOTHING:
            _begin(tree, work, length)
            release_lock(work.lock)
            _evaluate(tree, work, evaluator)
            if not _take_lock(work):
                return True
        else:
            work.effort[0] += NODE_EFFORT
            back_up(tree, work.path, length, RULE)


@kernel
def _take_lock(work: Workspace) -> bool:
    """Whether this thread has the lock; False if another one, which may be paused, keeps it for long."""
    tries = 0
    while not take_lock(work.lock):
        tries += 1
        if tries == _MOST_TRIES:
            return False
    return True


@kernel
def _goes_on(tree: Tree, spent: int, simulations: int, effort: int, may_stop: bool) -> bool:
    """Whether one more simulation is to be added."""
    left, added = effort - spent, tree.nodes[ROOT]["visits"]
    if left <= 0 or added >= simulations or is_full(tree) or is_solved(tree, ROOT):
        return False
    at_this_pace = left * (added + 1) // spent + 1
    return not (may_stop and is_decided(tree, min(simulations - added, at_this_pace)))


@kernel
def _edge_to_judge(tree: Tree, shown: int) -> int:
    """Return the edge of the root that the next simulation begins with to judge it, or ``NOTHING``.

    One simulation in ``_JUDGING`` goes to the least visited of the ``shown`` edges with the highest values,
    until each has ``ENOUGH`` visits.
    """
    least, fewest = NOTHING, ENOUGH
    if shown == 0 or tree.nodes[ROOT]["visits"] % _JUDGING != 0:
        return least
    begin, end = tree.nodes[ROOT]["begin"], tree.nodes[ROOT]["begin"] + tree.nodes[ROOT]["count"]
    for edge in range(begin, end):
        here = tree.edges[edge]
        if here["visits"] < fewest and here["solved"] == 0 and here["child"] != OPENING:
            better = 0
            for other in range(begin, end):
                better += tree.edges[other]["values"][0] > here["values"][0]
            if better < shown:
                least, fewest = edge, here["visits"]
    return least


@kernel
def _begin(tree: Tree, work: Workspace, length: int) -> None:
    """Reserve the node at the end of a path."""
    tree.edges[work.path.edges[length - 1]]["child"] = OPENING
    work.under_way[0]["length"], work.under_way[0]["node"] = length, add_node(tree)


@kernel
def _evaluate(tree: Tree, work: Workspace, evaluator: Evaluator) -> None:
    """Evaluate the node that is under way, without the lock: this takes longest."""
    last, node = work.under_way[0]["length"] - 1, work.under_way[0]["node"]
    copy_record(tree.states, node, tree.states, work.path.nodes[last])
    apply(tree.states, node, tree.edges[work.path.edges[last]]["action"])
    work.under_way[0]["listed"], work.under_way[0]["effort"] = _expand(tree, work, evaluator, node)


@kernel
def _put(tree: Tree, work: Workspace, payoffs: Payoffs) -> None:
    """Put the node that was under way into the tree."""
    length, node = work.under_way[0]["length"], work.under_way[0]["node"]
    _complete(tree, work, payoffs, node, work.under_way[0]["listed"])
    tree.edges[work.path.edges[length - 1]]["child"] = node
    back_up(tree, work.path, length, RULE)
    work.effort[0] += NODE_EFFORT + work.under_way[0]["effort"]
    work.under_way[0]["length"] = 0


@kernel
def _expand(tree: Tree, work: Workspace, evaluator: Evaluator, node: int) -> tuple[int, int]:
    """Play forced moves up to a choice, and list its best successors, or up to the end of the game.

    Returns how many are listed, and the effort.
    """
    effort, quilts = 0, work.expansion.quilts
    while not is_over(tree.states, node):
        width = LIKELY if node == ROOT else _LIKELY_BELOW_ROOT
        known = quilts.added[0]
        count = expand_further(tree.states, node, width, evaluator.weights, work.expansion)
        effort += count + QUILT_EFFORT * (quilts.added[0] - known)
        if count > 1:
            return _list_best(work, evaluator.payoffs, count), effort
        apply(tree.states, node, signed(work.expansion.actions[0]))
    return 0, effort


@kernel
def _complete(tree: Tree, work: Workspace, payoffs: Payoffs, node: int, listed: int) -> None:
    """Complete a new node whose successors are listed; without successors its game is over."""
    if listed == 0:
        finish(tree, payoffs, node)
        return
    _add_edges(tree, work, payoffs, node, listed)
    start_node(tree, node, signed(tree.states[node]["current_player"]), RULE)


@kernel
def _add_edges(tree: Tree, work: Workspace, payoffs: Payoffs, node: int, length: int) -> None:
    """Give a new node edges for the listed successors, but not too many of one kind."""
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
            edge = add_edge(tree, node, action, _WEIGHTS[number])
            write_expected(tree.edges[edge]["values"], work.expansion, index, payoffs)


@kernel
def finish(tree: Tree, payoffs: Payoffs, node: int) -> None:
    """Complete a node whose game is over: its values are exact."""
    values = tree.nodes[node]["values"]
    win = 1.0 if winner(tree.states, node) == 0 else 0.0
    write_result(values, payoffs, score(tree.states, node, 0), score(tree.states, node, 1), win)
    tree.nodes[node]["player"] = 0


@kernel
def write_result(values: Floats, payoffs: Payoffs, own: float, other: float, win: float) -> None:
    """Write the values of a position from the scores of the player to move and of the other player."""
    values[UTILITY] = utility(payoffs, own, other, win)
    values[UTILITY + 1] = utility(payoffs, other, own, 1 - win)
    values[SCORE], values[SCORE + 1] = own, other
    values[WIN], values[WIN + 1] = win, 1 - win


@kernel
def write_expected(values: Floats, expansion: Expansion, k: int, payoffs: Payoffs) -> None:
    """Write the values of the ``k``-th successor, for the player who acts."""
    write_result(values, payoffs, expansion.owns[k], expansion.others[k], expansion.wins[k])


@kernel
def _list_best(work: Workspace, payoffs: Payoffs, count: int) -> int:
    """List the best of ``count`` successors, one of those that are alike; return their number."""
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
def calibrated(win: float, states: States, i: int) -> float:
    """Return how often the player to move wins where the champion's search expects a probability of ``win``.

    It holds for searches with the shipped champion's value that play to win and ask the solver. The games
    that the value has learned from were played less well than a search plays, and were less certain for long.
    Close to the end the solver knows most of the wins of the player to move: one that it does not know is
    less likely. Fitted to 6500 games of the champion with itself at ``instant``; fitted to one half of 5000,
    no tenth of the probabilities of the other half is off by more than 0.012.
    """
    if win <= 0 or win >= 1:
        return win
    position = states[i]["position"]
    spaces_left = 2 * LAST_SPACE - signed(position[0]) - signed(position[1])
    power = min(_CONFIDENCE + _PER_SPACE * spaces_left, _MOST_CONFIDENCE)
    odds = (win / (1 - win)) ** power * np.exp(-_DOUBT * np.exp(-spaces_left / _SPACES_OF_DOUBT))
    return float(odds / (1 + odds))


@kernel
def rank_edges(tree: Tree, solved: int, ranked: npt.NDArray[np.int64]) -> int:
    """List the edges of the root in the order of an analysis; return their number.

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


# --- lines of an analysis -----------------------------------------------------------------------------------


def line_of(tree: Tree, game: Game, edge: int, calibrate: bool) -> Line:
    """Return the line that begins with an edge of the root."""
    record = tree.edges[edge]
    margin, win = _margin_and_win(tree, record["values"], calibrate)
    action, after = int(record["action"]), game.clone()
    after.play(action)
    visits, is_exact = int(record["visits"]), bool(record["solved"])
    variation = action, *_best_play(tree, after, int(record["child"]))
    return Line(action, visits, margin, win, is_exact, variation, is_exact or visits >= ENOUGH)


def _margin_and_win(
    tree: Tree, values: npt.NDArray[np.floating[Any]], calibrate: bool
) -> tuple[float, float]:
    win = float(values[WIN])
    return float(values[SCORE] - values[SCORE + 1]), calibrated(win, tree.states, ROOT) if calibrate else win


def line_of_forced(tree: Tree, game: Game, calibrate: bool) -> Line:
    """Return the line of the only legal action; the root is the next position with a choice, or the end."""
    root = tree.nodes[ROOT]
    margin, win = _margin_and_win(tree, root["values"], calibrate)
    if int(root["player"]) != game.current_player:
        margin, win = -margin, 1 - win
    variation = _best_play(tree, game.clone(), ROOT)
    return Line(variation[0], int(root["visits"]), margin, win, bool(is_solved(tree, ROOT)), tuple(variation))


def _best_play(tree: Tree, game: Game, node: int) -> list[int]:
    """Play the forced moves before a node and the best line below it; return what it played."""
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
