"""Exports of Patchwork: the champion, and analyses in steps."""

from __future__ import annotations

from collections.abc import Callable

from patchwork_env.agents.patchwork.champion.proofs import ensure_edge, solve_root, solved_action
from patchwork_env.agents.patchwork.champion.search import (
    ENOUGH,
    SCORE,
    SHOWN,
    WIN,
    calibrated,
    grow,
    rank_edges,
    reset_search,
)
from patchwork_env.agents.patchwork.placements import NO_ACTION, only_action
from patchwork_env.core.compile import kernel
from patchwork_env.patchwork import engine
from patchwork_env.search.best_first import best_edge, is_solved
from patchwork_env.search.tree import NOTHING, ROOT, is_full
from tools.site.modules.patchwork_memory import Memory, memory


def choose(simulations: int, effort: int, to_solve: int) -> int:
    """The champion's action with a budget; ``to_solve`` is that of each question for the solver."""
    here = memory()
    known, spent = only_action(here.states, 0, here.legal_set), 0
    if known == NO_ACTION:
        known, _, spent = solved_action(here.states, 0, here.evaluator.payoffs, to_solve, here.solver)
    if known != NO_ACTION:
        return known
    reset_search(here.tree, here.work, here.evaluator, here.states, 0)
    grow(here.tree, here.work, here.evaluator, simulations, effort - spent, True, 0)
    return here.tree.edges[best_edge(here.tree, ROOT)]["action"]


def begin_search() -> int:
    """Begins a search of the game, which is not over; returns the number of actions considered."""
    here = memory()
    reset_search(here.tree, here.work, here.evaluator, here.states, 0)
    return here.tree.nodes[ROOT]["count"]


def solve(quilts: int) -> int:
    """The solver's action at the root, if so many quilts are enough for one, else ``NO_ACTION``.

    Writes whether it is the best one to ``exact``.
    """
    here = memory()
    here.exact[0] = 0
    if here.tree.nodes[ROOT]["count"] == 0:
        return NO_ACTION
    solved, is_exact, _ = solved_action(here.tree.states, ROOT, here.evaluator.payoffs, quilts, here.solver)
    here.exact[0] = is_exact
    return solved


def put_solved(action: int, quilts: int) -> int:
    """Gives a new root an edge for the solver's action; with quilts to look at, also solves its edges."""
    here = memory()
    ensure_edge(here.tree, here.work, here.evaluator, action)
    return solve_root(here.tree, here.work, here.evaluator, action, quilts, here.solver) if quilts > 0 else 0


def go_on(simulations: int, effort: int) -> int:
    """Continues a search to a total number of simulations or effort; returns the number of simulations."""
    here = memory()
    grow(here.tree, here.work, here.evaluator, simulations, effort, False, SHOWN)
    return here.tree.nodes[ROOT]["visits"]


def effort() -> int:
    """The effort spent on a search so far."""
    return memory().work.effort[0]


def is_finished() -> int:
    """Whether a search has ended: its tree is full, or its root solved."""
    return int(is_full(memory().tree) or is_solved(memory().tree, ROOT))


def is_root_solved() -> int:
    """Whether the root of a search is solved."""
    return int(is_solved(memory().tree, ROOT))


def list_lines(solved: int) -> int:
    """Lists the figures of the actions of the root, the best one first; returns their number.

    ``solved`` is the solver's action, if it has one. The root is not the game itself if that has only one
    legal action.
    """
    here = memory()
    count = rank_edges(here.tree, solved, here.ranked)
    for k in range(count):
        edge, figures = here.tree.edges[here.ranked[k]], here.figures[k]
        figures[0], figures[1], figures[4] = edge["action"], edge["visits"], edge["solved"]
        figures[2] = edge["values"][SCORE] - edge["values"][SCORE + 1]
        figures[3] = calibrated(edge["values"][WIN], here.tree.states, ROOT)
        figures[5] = k == 0 or edge["solved"] or edge["visits"] >= ENOUGH
    return count


def read_root() -> int:
    """Writes the figures of the root itself as those of the first line; returns its player to move."""
    here = memory()
    root, figures = here.tree.nodes[ROOT], here.figures[0]
    figures[1], figures[4] = root["visits"], is_solved(here.tree, ROOT)
    figures[2] = root["values"][SCORE] - root["values"][SCORE + 1]
    figures[3] = calibrated(root["values"][WIN], here.tree.states, ROOT)
    return root["player"]


def list_line(k: int) -> int:
    """Lists the best line of play from the ``k``-th line on, or with -1 from the root; returns its length."""
    here = memory()
    here.successor[0] = here.states[0]
    if k < 0:
        return _list_best_play(here, ROOT, 0)
    edge = here.tree.edges[here.ranked[k]]
    here.actions[0] = edge["action"]
    engine.apply(here.successor, 0, edge["action"])
    return _list_best_play(here, edge["child"], 1)


@kernel
def _list_best_play(here: Memory, node: int, length: int) -> int:
    """Continues from ``successor`` with forced moves and the best line below a node."""
    tree = here.tree
    length = _play_forced(here, length)
    while node != NOTHING and tree.nodes[node]["count"] > 0:
        edge = best_edge(tree, node)
        here.actions[length] = tree.edges[edge]["action"]
        engine.apply(here.successor, 0, tree.edges[edge]["action"])
        length = _play_forced(here, length + 1)
        node = tree.edges[edge]["child"]
    return length


@kernel
def _play_forced(here: Memory, length: int) -> int:
    """Plays forced moves; returns the new length of the list of actions."""
    while engine.legal(here.successor, 0, here.legal_set) == 1:
        action = engine.nth_legal(here.legal_set, 0)
        here.actions[length] = action
        engine.apply(here.successor, 0, action)
        length += 1
    return length


EXPORTS: tuple[Callable[..., float], ...] = (
    *(choose, begin_search, solve, put_solved, go_on, effort, is_finished, is_root_solved),
    *(list_lines, read_root, list_line),
)
