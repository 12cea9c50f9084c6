"""Endings are played exactly, or at least won, as soon as they can be solved within a part of the budget."""

from __future__ import annotations

from patchwork_env.agents.patchwork.champion.simulation import (
    EMPTY,
    Settings,
    Workspace,
    add_child,
    finish,
    write_expected,
    write_result,
)
from patchwork_env.agents.patchwork.endgame import NO_ACTION, Solver, margin_of, solve
from patchwork_env.agents.patchwork.value.choice import Payoffs
from patchwork_env.agents.patchwork.value.expansion import expand
from patchwork_env.agents.patchwork.value.features import signed
from patchwork_env.core.compile import kernel
from patchwork_env.patchwork.components import LAST_SPACE, NUM_PLAYERS
from patchwork_env.patchwork.engine import apply, is_over
from patchwork_env.patchwork.state import States
from patchwork_env.search.best_first import back_up
from patchwork_env.search.tree import ROOT, Tree, is_full

_MOST_SPACES = 24
"""The most spaces that both players have left together in a position that the solver tries."""
_EDGE_BUDGETS = 3
"""The budget of all edges of a root together, in units of the budget of one edge."""


@kernel
def is_ending(states: States, i: int, payoffs: Payoffs) -> bool:
    """Whether the solver tries a position: few spaces are left, and players are pure opponents."""
    position = states[i]["position"]
    left = 2 * LAST_SPACE - signed(position[0]) - signed(position[1])
    return left <= _MOST_SPACES and payoffs.denial == 1


def solved_ending(
    states: States, i: int, payoffs: Payoffs, budget: int, solver: Solver
) -> tuple[int, bool, int]:
    """:func:`solved_action`, which is not compiled before the first ending."""
    if not is_ending(states, i, payoffs):
        return NO_ACTION, False, 0
    return solved_action(states, i, payoffs, budget, solver)


@kernel
def solved_action(
    states: States, i: int, payoffs: Payoffs, budget: int, solver: Solver
) -> tuple[int, bool, int]:
    """The solver's action in a position, if it finds one within its budget.

    To find out who wins takes much less effort than by how much, so that is asked first, each with ``budget``
    quilts to look at. An ending that is lost by an unknown margin is left to the search: the opponent may
    err.

    Returns:
        The best action or else one that surely wins, or ``NO_ACTION``; whether it is the best; and the number
        of quilts that were looked at.
    """
    if not is_ending(states, i, payoffs):
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
def ensure_edge(tree: Tree, work: Workspace, settings: Settings, action: int) -> None:
    """Replaces the last edge of the root, which is complete, by one for an action that has no edge yet."""
    begin, end = tree.nodes[ROOT]["begin"], tree.nodes[ROOT]["begin"] + tree.nodes[ROOT]["count"]
    for edge in range(begin, end):
        if tree.edges[edge]["action"] == action:
            return
    tree.edges[end - 1]["action"] = action
    for k in range(expand(tree.states, ROOT, settings.weights, work.expansion)):
        if signed(work.expansion.actions[k]) == action:
            write_expected(tree.edges[end - 1]["values"], work.expansion, k, settings.payoffs)


@kernel
def solve_root(
    tree: Tree, work: Workspace, settings: Settings, best: int, budget: int, solver: Solver
) -> int:
    """Solves the edges of a root that is an ending, complete and with a choice, as far as the budget allows.

    The edge of the action ``best`` comes first. Each edge may take ``budget`` quilts to look at, all together
    ``_EDGE_BUDGETS`` times as many. Returns how many were looked at.
    """
    begin, end = tree.nodes[ROOT]["begin"], tree.nodes[ROOT]["begin"] + tree.nodes[ROOT]["count"]
    left = _EDGE_BUDGETS * budget
    for is_best in (True, False):
        for edge in range(begin, end):
            if (tree.edges[edge]["action"] == best) == is_best and left > 0 and not is_full(tree):
                left -= _solve_edge(tree, work, settings, edge, min(budget, left), solver)
    return _EDGE_BUDGETS * budget - left


@kernel
def _solve_edge(
    tree: Tree, work: Workspace, settings: Settings, edge: int, budget: int, solver: Solver
) -> int:
    """Solves an edge if the budget allows it; returns the number of quilts that were looked at."""
    game = work.expansion.successor
    game[0] = tree.states[ROOT]
    apply(game, 0, tree.edges[edge]["action"])
    is_solved, value, effort = False, 0, 0
    if not is_over(game, 0):
        is_solved, value, _ = solve(game, 0, budget, solver, False)
        effort = int(solver.buffers.effort[0])
        if not is_solved:
            return effort
    child = add_child(tree, ROOT, edge)
    if is_solved:
        player = signed(game[0]["current_player"])
        share, win = margin_of(value) / 2, 1.0 if value > 0 else 0.0
        values = tree.nodes[child]["values"]
        write_result(values, settings.payoffs, share, -share, win)
        swap = int(player != tree.nodes[ROOT]["player"])
        for k in range(NUM_PLAYERS):  # of empty cells the solver says nothing: what is expected stays
            values[EMPTY + k] = tree.edges[edge]["values"][EMPTY + (k ^ swap)]
        tree.nodes[child]["player"] = player
    else:
        finish(tree, settings.payoffs, child)
    work.path.nodes[0], work.path.edges[0] = ROOT, edge
    back_up(tree, work.path, 1, settings.rule)
    return effort
