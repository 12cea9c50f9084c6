"""Solved endings in the champion's search: best or winning moves, within a part of the budget."""

from __future__ import annotations

from patchwork_env.agents.patchwork.champion.search import (
    RULE,
    Evaluator,
    Workspace,
    finish,
    write_expected,
    write_result,
)
from patchwork_env.agents.patchwork.endings.solver import Solver, is_ending, margin_of, solve
from patchwork_env.agents.patchwork.placements import NO_ACTION
from patchwork_env.agents.patchwork.value.expansion import Payoffs, expand
from patchwork_env.agents.patchwork.value.features import signed
from patchwork_env.core.compile import kernel
from patchwork_env.core.intrinsics import copy_record
from patchwork_env.patchwork.engine import apply, is_over
from patchwork_env.patchwork.state import States
from patchwork_env.search.best_first import add_node, back_up, count_visit
from patchwork_env.search.tree import ROOT, Tree, is_full

_EDGE_BUDGETS = 3
"""The total budget of the edges of a root, in units of the budget of one edge."""


def solved_ending(
    states: States, i: int, payoffs: Payoffs, budget: int, solver: Solver
) -> tuple[int, bool, int]:
    """Return :func:`solved_action`; this Python function delays its compilation until the first ending."""
    if payoffs.rival_weight != 1 or not is_ending(states, i):
        return NO_ACTION, False, 0
    return solved_action(states, i, payoffs, budget, solver)


@kernel
def solved_action(
    states: States, i: int, payoffs: Payoffs, budget: int, solver: Solver
) -> tuple[int, bool, int]:
    """Return the best action of an ending, or else one that wins, or ``NO_ACTION``.

    Only endings in which the players' utilities are opposite are solved. To find the winner takes much less
    effort than to find the margin, so it is the first question; each has a budget of ``budget`` quilts. An
    ending that is lost by an unknown margin is left to the search, since the opponent may make a mistake.

    Also return whether the action is the best one, and the number of quilts evaluated.
    """
    if payoffs.rival_weight != 1 or not is_ending(states, i):
        return NO_ACTION, False, 0
    is_solved, value, winning = solve(states, i, budget, solver, True)
    effort = solver.buffers.evaluations[0]
    if not is_solved:
        return NO_ACTION, False, effort
    is_solved, _, best = solve(states, i, budget, solver, False)
    effort += solver.buffers.evaluations[0]
    if is_solved:
        return best, True, effort
    return (winning if value > 0 and payoffs.outcome > 0 else NO_ACTION), False, effort


@kernel
def ensure_edge(tree: Tree, work: Workspace, evaluator: Evaluator, action: int) -> None:
    """Give the solver's action an edge of the complete root with the prior 1.

    If it has none, it replaces the last edge.
    """
    begin, end = tree.nodes[ROOT]["begin"], tree.nodes[ROOT]["begin"] + tree.nodes[ROOT]["count"]
    for edge in range(begin, end):
        if tree.edges[edge]["action"] == action:
            tree.edges[edge]["prior"] = 1.0
            return
    tree.edges[end - 1]["action"], tree.edges[end - 1]["prior"] = action, 1.0
    for k in range(expand(tree.states, ROOT, evaluator.weights, work.expansion)):
        if signed(work.expansion.actions[k]) == action:
            write_expected(tree.edges[end - 1]["values"], work.expansion, k, evaluator.payoffs)


@kernel
def solve_root(
    tree: Tree, work: Workspace, evaluator: Evaluator, best: int, budget: int, solver: Solver
) -> int:
    """Solve the edges of a complete root within a budget, the edge of the action ``best`` first.

    The budget of each edge is ``budget`` quilts, that of all edges ``_EDGE_BUDGETS`` times as many. Return
    the number of quilts evaluated.
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
    copy_record(game, 0, tree.states, ROOT)
    apply(game, 0, tree.edges[edge]["action"])
    is_solved, value, effort = False, 0, 0
    if not is_over(game, 0):
        is_solved, value, _ = solve(game, 0, budget, solver, False)
        effort = int(solver.buffers.evaluations[0])
        if not is_solved:
            return effort
    child = add_node(tree)
    tree.edges[edge]["child"] = child
    copy_record(tree.states, child, game, 0)
    if is_solved:
        share, win = margin_of(value) / 2, 1.0 if value > 0 else 0.0
        write_result(tree.nodes[child]["values"], evaluator.payoffs, share, -share, win)
        tree.nodes[child]["player"] = game[0]["current_player"]
    else:
        finish(tree, evaluator.payoffs, child)
    work.path.nodes[0], work.path.edges[0] = ROOT, edge
    count_visit(tree, ROOT, edge, 1)
    back_up(tree, work.path, 1, RULE)
    return effort
