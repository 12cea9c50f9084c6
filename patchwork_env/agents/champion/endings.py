"""Endings are played exactly as soon as they can be solved within a part of the budget."""

from __future__ import annotations

from patchwork_env._compile import kernel
from patchwork_env.agents.champion.simulation import Mind, Workspace, add_child, settle_finished, write_result
from patchwork_env.agents.value.features import signed
from patchwork_env.patchwork.components import LAST_SPACE
from patchwork_env.patchwork.endgame import NO_ACTION, Solver, margin_of, solve
from patchwork_env.patchwork.engine import apply, is_over
from patchwork_env.patchwork.state import States
from patchwork_env.search.best_first import ROOT, Tree, back_up, is_full

_MOST_SPACES = 20
"""That both players have left together, for a position that is worth trying to solve."""


@kernel
def solved_action(states: States, i: int, positions: int, solver: Solver) -> int:
    """The best action of an ending, or ``NO_ACTION`` if it cannot be solved with so many positions."""
    position = states[i]["position"]
    if 2 * LAST_SPACE - signed(position[0]) - signed(position[1]) > _MOST_SPACES:
        return NO_ACTION
    return int(solve(states, i, positions, solver, False)[2])


@kernel
def settle_root(tree: Tree, work: Workspace, mind: Mind, best: int, positions: int, solver: Solver) -> None:
    """Settles the edges of a root that is an ending, as far as what follows can be solved.

    Args:
        tree: Its root is complete and has a choice.
        work: Room.
        mind: What the search thinks with.
        best: The best action; if it has no edge, it takes the place of the least promising one.
        positions: The most to look at, for each edge.
        solver: Solves the endings.
    """
    begin, count = tree.nodes[ROOT]["begin"], tree.nodes[ROOT]["count"]
    has_best = False
    for edge in range(begin, begin + count):
        has_best |= tree.edges[edge]["action"] == best
    if not has_best:
        tree.edges[begin + count - 1]["action"] = best
    for edge in range(begin, begin + count):
        if is_full(tree):
            return
        _settle_edge(tree, work, mind, edge, positions, solver)


@kernel
def _settle_edge(tree: Tree, work: Workspace, mind: Mind, edge: int, positions: int, solver: Solver) -> None:
    game = work.expansion.successor
    game[0] = tree.states[ROOT]
    apply(game, 0, tree.edges[edge]["action"])
    is_solved, value = False, 0
    if not is_over(game, 0):
        is_solved, value, _ = solve(game, 0, positions, solver, False)
        if not is_solved:
            return
    child = add_child(tree, ROOT, edge)
    if is_solved:
        player = signed(game[0]["current_player"])
        share, win = margin_of(value) / 2, 1.0 if value > 0 else 0.0
        write_result(tree.nodes[child]["values"], mind.payoffs, share, -share, win)
        tree.nodes[child]["player"] = player
    else:
        settle_finished(tree, mind.payoffs, child)
    work.nodes[0], work.edges[0] = ROOT, edge
    back_up(tree, work.nodes, work.edges, 1, mind.rule)
