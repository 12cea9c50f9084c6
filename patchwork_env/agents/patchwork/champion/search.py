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
"""The rule by which the champion's tree grows."""
_LIKELY_BELOW_ROOT = 4
"""The number of placements of a patch that are evaluated at nodes below the root."""
_ALIKE_AT_ROOT, _ALIKE = 4, 2
"""The maximum number of edges for one patch, of the root and of other nodes."""
WIDTH = 1 + NUM_OFFERED * _ALIKE_AT_ROOT
"""The maximum number of edges of a node."""
_LISTED = 1 + NUM_OFFERED * LIKELY
"""The maximum number of actions from which edges are chosen."""
_WEIGHTS = np.array([0.2**k for k in range(_ALIKE_AT_ROOT)])
"""The prior weights of the placements of a patch, best first. Without a search, the value ranks placements
well, but not patches."""
NO_LIMIT = 2**40
"""An effort that no search reaches."""
NODE_EFFORT, QUILT_EFFORT = 2, 3
"""The effort of a simulation besides its evaluations, and of a quilt that is not in the cache."""
_MOST_TRIES = 20_000
"""The number of attempts to take the lock before a thread sleeps: a tenth of a millisecond."""
_CONFIDENCE, _PER_SPACE, _MOST_CONFIDENCE = 0.157, 0.0335, 2.42
"""Calibration raises the odds to a power that grows with the spaces left."""
_DOUBT, _SPACES_OF_DOUBT = 3.56, 13.3
"""The reduction of the log odds at the end, and the number of spaces left at which it is 1/e of this."""
_SAME = 1e-5
"""If values of two actions differ by less, their successors count as turns or flips of each other."""


SHOWN = 5
"""The number of moves to which an analysis gives at least ``ENOUGH`` visits."""
ENOUGH = 3000
"""The number of visits at which the margin and the probability of a move are reliable."""
_JUDGING = 4
"""One in this number of simulations of an analysis goes to a move with fewer visits."""


class Evaluator(NamedTuple):
    """The weights and payoffs with which a search evaluates positions."""

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
"""A node that is being evaluated and is not in the tree yet."""


class Workspace(NamedTuple):
    """The buffers of one thread; the threads of a tree share ``effort``, ``lock`` and ``stop``."""

    expansion: Expansion
    best: npt.NDArray[np.int64]  # (_LISTED,), the successors with the highest utilities, best first
    utilities: npt.NDArray[np.float64]  # (_LISTED,), of these successors
    numbers: npt.NDArray[np.int64]  # (NUM_KINDS,), the number of edges of a node by kind
    path: Path
    effort: npt.NDArray[np.int64]  # (1,), spent on the tree since it was reset
    lock: npt.NDArray[np.int64]  # (1,), held by the thread that reads and writes nodes and edges
    stop: npt.NDArray[np.int64]  # (1,), not 0 if all threads must leave the tree
    under_way: npt.NDArray[np.void]  # (1,), of _UNDER_WAY


def new_workspace() -> Workspace:
    """Return a workspace for one thread."""
    best, utilities, numbers = np.empty(_LISTED, np.int64), np.empty(_LISTED), np.empty(NUM_KINDS, np.int64)
    expansion, path = new_expansion(SEARCH_CACHE_SIZE), new_path(MAX_TURNS)
    effort, lock, stop = np.zeros((3, 1), np.int64)
    return Workspace(expansion, best, utilities, numbers, path, effort, lock, stop, np.zeros(1, _UNDER_WAY))


@kernel
def reset_search(tree: Tree, work: Workspace, evaluator: Evaluator, states: States, i: int) -> None:
    """Empty the tree, and make a game that is not over its complete root."""
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
    """Add simulations to a tree that was reset, or whose root has only its state, up to a total number.

    It ends when the effort since the reset is spent, the tree is full, its root is solved or ``work.stop`` is
    set. With ``may_stop`` it also ends once no other edge of the root can become the most visited one at the
    present pace. The evaluation of a successor has the effort 1, a new quilt ``QUILT_EFFORT`` more, and a
    simulation ``NODE_EFFORT``.

    Threads may grow a tree together, each with its own workspace. Return whether this thread has to wait for
    the others and call again; a single thread never waits.
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
    """Take the lock; return False if another thread, which may be paused, holds it for too long."""
    tries = 0
    while not take_lock(work.lock):
        tries += 1
        if tries == _MOST_TRIES:
            return False
    return True


@kernel
def _goes_on(tree: Tree, spent: int, simulations: int, effort: int, may_stop: bool) -> bool:
    """Whether to add another simulation."""
    left, added = effort - spent, tree.nodes[ROOT]["visits"]
    if left <= 0 or added >= simulations or is_full(tree) or is_solved(tree, ROOT):
        return False
    at_this_pace = left * (added + 1) // spent + 1
    return not (may_stop and is_decided(tree, min(simulations - added, at_this_pace)))


@kernel
def _edge_to_judge(tree: Tree, shown: int) -> int:
    """Return the edge of the root with which an analysis begins the next simulation, or ``NOTHING``.

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
    """Reserve a node for the end of the path."""
    tree.edges[work.path.edges[length - 1]]["child"] = OPENING
    work.under_way[0]["length"], work.under_way[0]["node"] = length, add_node(tree)


@kernel
def _evaluate(tree: Tree, work: Workspace, evaluator: Evaluator) -> None:
    """Evaluate the reserved node without the lock: this takes most of the time."""
    last, node = work.under_way[0]["length"] - 1, work.under_way[0]["node"]
    copy_record(tree.states, node, tree.states, work.path.nodes[last])
    apply(tree.states, node, tree.edges[work.path.edges[last]]["action"])
    work.under_way[0]["listed"], work.under_way[0]["effort"] = _expand(tree, work, evaluator, node)


@kernel
def _put(tree: Tree, work: Workspace, payoffs: Payoffs) -> None:
    """Put the reserved node into the tree."""
    length, node = work.under_way[0]["length"], work.under_way[0]["node"]
    _complete(tree, work, payoffs, node, work.under_way[0]["listed"])
    tree.edges[work.path.edges[length - 1]]["child"] = node
    back_up(tree, work.path, length, RULE)
    work.effort[0] += NODE_EFFORT + work.under_way[0]["effort"]
    work.under_way[0]["length"] = 0


@kernel
def _expand(tree: Tree, work: Workspace, evaluator: Evaluator, node: int) -> tuple[int, int]:
    """Play forced moves up to a position with a choice or the end; list the best successors there.

    Return their number and the effort.
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
    """Complete a new node with its listed successors; if there are none, its game is over."""
    if listed == 0:
        finish(tree, payoffs, node)
        return
    _add_edges(tree, work, payoffs, node, listed)
    start_node(tree, node, signed(tree.states[node]["current_player"]), RULE)


@kernel
def _add_edges(tree: Tree, work: Workspace, payoffs: Payoffs, node: int, length: int) -> None:
    """Add edges for the listed successors to a new node, with a maximum per kind."""
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
    """Complete a node whose game is over with its exact values."""
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
    """Write the expected values of the ``k``-th successor, the player who acts first."""
    write_result(values, payoffs, expansion.owns[k], expansion.others[k], expansion.wins[k])


@kernel
def _list_best(work: Workspace, payoffs: Payoffs, count: int) -> int:
    """List the best of ``count`` successors, one of each group of symmetric ones; return their number."""
    expansion, length = work.expansion, 0
    for index in range(count):
        value, place = action_utility(payoffs, expansion, index), length
        while place > 0 and value > work.utilities[place - 1]:
            place -= 1
        if _is_known(work, value, index, place, length):
            continue
        for k in range(length, place, -1):
            work.best[k], work.utilities[k] = work.best[k - 1], work.utilities[k - 1]
        work.best[place], work.utilities[place] = index, value
        length += 1
    return length


@kernel
def _is_known(work: Workspace, value: float, index: int, place: int, length: int) -> bool:
    """Whether the successor ``index`` is symmetric to a neighbor of its place in the list."""
    margin = margin_of(work.expansion, index)
    for k in range(max(place - 1, 0), min(place + 1, length)):
        difference = margin_of(work.expansion, work.best[k]) - margin
        if abs(work.utilities[k] - value) < _SAME and abs(difference) < _SAME * 30:
            return True
    return False


@kernel
def calibrated(win: float, states: States, i: int) -> float:
    """Return the calibrated probability that the player to move wins, from ``win`` of the champion's search.

    It is valid for searches with the shipped champion's value that play to win and use the solver. The value
    learned from games with weaker play, whose outcome was less certain for a long time. Close to the end the
    solver finds most wins of the player to move, so a win that it has not found is less likely.

    Fitted to 6500 games of the champion with itself at ``instant``. When fitted to one half of 5000 games,
    the error in each tenth of the probabilities of the other half is at most 0.012.
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

    The first is the edge to play: that of the solver's action ``solved`` if there is one, else the best edge.
    The others are in the order of their values, which predict a longer search better than visits do.
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
    """Return the line of an edge of the root."""
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
    """Play the forced moves before a node and the best line below it; return the actions played."""
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
