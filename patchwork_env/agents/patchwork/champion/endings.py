"""Endings are played exactly, or at least won, as soon as they can be solved within a part of the budget."""

from __future__ import annotations

from patchwork_env.agents.patchwork.champion.simulation import (
    Settings,
    Workspace,
    add_child,
    finish,
    write_prospects,
    write_result,
)
from patchwork_env.agents.patchwork.endgame import NO_ACTION, Solver, margin_of, solve
from patchwork_env.agents.patchwork.value.choice import Payoffs
from patchwork_env.agents.patchwork.value.expansion import expand
from patchwork_env.agents.patchwork.value.features import signed
from patchwork_env.core.compile import kernel
from patchwork_env.patchwork.components import LAST_SPACE
from patchwork_env.patchwork.engine import apply, is_over
from patchwork_env.patchwork.state import States
from patchwork_env.search.best_first import back_up
from patchwork_env.search.tree import ROOT, Tree, is_full

_MOST_SPACES = 24
"""That both players have left together, for a position that is worth trying to solve."""
_EDGE_BUDGETS = 3
"""How many times the budget of one edge all edges of a root have together."""


@kernel
def solved_action(
    states: States, i: int, payoffs: Payoffs, budget: int, solver: Solver
) -> tuple[int, bool, int]:
    """What a solver knows of a position.

    Who wins is found out with much less effort than by how much, so that is asked first. In an ending that is
    lost by a margin unknown, a search may still find what the opponent overlooks.

    Args:
        states: Records.
        i: The index of the record; it is not over.
        payoffs: What the player is after; a solver knows pure opponents only.
        budget: The budget of each of the two questions, in quilts to survey.
        solver: Room.

    Returns:
        The best action or else one that surely wins, or ``NO_ACTION``; whether it is the best; and how many
        quilts were surveyed.
    """
    position = states[i]["position"]
    left = 2 * LAST_SPACE - signed(position[0]) - signed(position[1])
    if left > _MOST_SPACES or payoffs.denial != 1:
        return NO_ACTION, False, 0
    is_solved, value, winning = solve(states, i, budget, solver, True)
    surveys = solver.bench.surveys[0]
    if not is_solved:
        return NO_ACTION, False, surveys
    is_solved, _, best = solve(states, i, budget, solver, False)
    surveys += solver.bench.surveys[0]
    if is_solved:
        return best, True, surveys
    return (winning if value > 0 and payoffs.outcome > 0 else NO_ACTION), False, surveys


@kernel
def ensure_edge(tree: Tree, work: Workspace, settings: Settings, action: int) -> None:
    """Gives the root, which is complete, an edge for an action if it has none, in place of the last one."""
    begin, end = tree.nodes[ROOT]["begin"], tree.nodes[ROOT]["begin"] + tree.nodes[ROOT]["count"]
    for edge in range(begin, end):
        if tree.edges[edge]["action"] == action:
            return
    tree.edges[end - 1]["action"] = action
    for k in range(expand(tree.states, ROOT, settings.weights, work.expansion)):
        if signed(work.expansion.actions[k]) == action:
            write_prospects(tree.edges[end - 1]["values"], work.expansion, k, settings.payoffs)


@kernel
def solve_root(
    tree: Tree, work: Workspace, settings: Settings, best: int, budget: int, solver: Solver
) -> int:
    """Solves the edges of a root that is an ending, as far as the budget allows.

    Args:
        tree: Its root is complete and has a choice.
        work: Room.
        settings: What the search thinks with.
        best: The action whose edge comes first.
        budget: The budget of each edge, in quilts to survey; all together have ``_EDGE_BUDGETS`` times as
            much.
        solver: Solves the endings.

    Returns:
        How many quilts were surveyed.
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
    """Solves an edge if it can; returns how many quilts were surveyed."""
    game = work.expansion.successor
    game[0] = tree.states[ROOT]
    apply(game, 0, tree.edges[edge]["action"])
    is_solved, value, surveys = False, 0, 0
    if not is_over(game, 0):
        is_solved, value, _ = solve(game, 0, budget, solver, False)
        surveys = int(solver.bench.surveys[0])
        if not is_solved:
            return surveys
    child = add_child(tree, ROOT, edge)
    if is_solved:
        player = signed(game[0]["current_player"])
        share, win = margin_of(value) / 2, 1.0 if value > 0 else 0.0
        write_result(tree.nodes[child]["values"], settings.payoffs, share, -share, win)
        tree.nodes[child]["player"] = player
    else:
        finish(tree, settings.payoffs, child)
    work.path.nodes[0], work.path.edges[0] = ROOT, edge
    back_up(tree, work.path, 1, settings.rule)
    return surveys
