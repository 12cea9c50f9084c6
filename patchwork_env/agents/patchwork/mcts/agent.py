"""The agent that searches: UCT whose leaves are played out."""

from __future__ import annotations

from time import perf_counter
from typing import NamedTuple

import numpy as np

from patchwork_env.agents.base import Actions, BatchAgent
from patchwork_env.agents.budgets import check_budget, spec_of
from patchwork_env.agents.patchwork.endgame import NO_ACTION, Solver, new_solver, solve
from patchwork_env.agents.patchwork.mcts.simulation import Workspace, new_workspace, simulate
from patchwork_env.core.checks import seed_streams
from patchwork_env.core.compile import kernel
from patchwork_env.games import PATCHWORK
from patchwork_env.patchwork.components import LAST_SPACE
from patchwork_env.patchwork.engine import NUM_MAPS, legal, nth_legal
from patchwork_env.patchwork.game import Game
from patchwork_env.patchwork.state import STATE, States
from patchwork_env.search.reuse import TreeMemory
from patchwork_env.search.tree import NOTHING, ROOT, Tree
from patchwork_env.search.uct import Rule, copy_subtree, most_visited, new_tree, start_tree

DEFAULT_SIMULATIONS = 400
MOST_NODES = 1 << 18
"""The most nodes of a tree, and of all trees together that are kept for later moves. A node with its edges
takes up to 400 bytes. Once a tree is full, simulations go on from its leaves."""
EDGES_PER_NODE = 12
RULE = Rule(exploration=0.7, first=2.0, factor=0.25, exponent=0.4)
_BLOCK = 100
"""The number of simulations between two looks at the clock, which take about a millisecond."""
_ENDING = 24
"""The most spaces that both players have left together in a position that the solver tries."""
_SOLVED_PER_SECOND, _SOLVED_PER_SIMULATION = 300_000, 20
"""The quilts that the solver may look at for each of its two questions: about a tenth of the time of a
move."""


class MctsAgent(BatchAgent):
    """Searches every move with a budget of simulations or of time: UCT with playouts and a solver.

    For the arguments see :class:`~patchwork_env.agents.uct.UctAgent`.

    Raises:
        ValueError: An argument is not allowed, or both budgets are given.
    """

    games = (PATCHWORK,)

    def __init__(
        self, seed: int | None = None, *, simulations: int | None = None, seconds: float | None = None
    ) -> None:
        check_budget(simulations=simulations, seconds=seconds)
        self.simulations, self.seconds = simulations, seconds
        self.name = spec_of("mcts", simulations=simulations, seconds=seconds)
        self._memory = TreeMemory(MOST_NODES)
        self.reseed(seed)

    def act_batch(self, states: States) -> Actions:
        """See :meth:`Agent.act_batch`; the budget is that of each game."""
        self.check_states(states)
        return np.array([self._act(states[i : i + 1]) for i in range(len(states))], np.int64)

    def reseed(self, seed: int | None = None) -> None:
        """Starts the random numbers anew and forgets all games."""
        self._stream = seed_streams(seed)
        self._memory.forget()

    def _new_workspace(self) -> _Buffers:
        return _new_buffers()

    def _act(self, state: States) -> int:
        action = int(_forced_action(state))
        if action != NOTHING:
            return action
        buffers: _Buffers = self.workspace()
        began = perf_counter()
        action = _solved_action(state, self._budget_to_solve(), buffers.solver)
        if action != NO_ACTION:
            return action
        tree = buffers.tree
        if not self._memory.recall(state, tree):
            start_tree(tree, state, 0)
        self._search(tree, buffers.work, began)
        edge = tree.edges[most_visited(tree, ROOT)]
        if edge["child"] != NOTHING:
            copy_subtree(tree, edge["child"], buffers.part)
            self._memory.keep(buffers.part)
        return int(edge["action"])

    def _budget_to_solve(self) -> int:
        """The budget of each question for the solver, in quilts to look at, from the budget of a move."""
        if self.seconds is None:
            return _SOLVED_PER_SIMULATION * (self.simulations or DEFAULT_SIMULATIONS)
        return int(_SOLVED_PER_SECOND * self.seconds)

    def _search(self, tree: Tree, work: Workspace, began: float) -> None:
        """Spends the budget of a move that began at the time given."""
        if self.seconds is None:
            self._simulate(tree, work, self.simulations or DEFAULT_SIMULATIONS)
            return
        self._simulate(tree, work, _BLOCK)
        while perf_counter() < began + self.seconds:
            self._simulate(tree, work, _BLOCK)

    def _simulate(self, tree: Tree, work: Workspace, simulations: int) -> None:
        simulate(tree, work, RULE, self._stream, simulations)


class _Buffers(NamedTuple):
    """The memory of searches; the operating system provides it as trees grow.

    Attributes:
        tree: The tree that is searched.
        part: The subtree that is kept for the next move.
        work: The workspace of simulations.
        solver: The workspace of the solver of endings.
    """

    tree: Tree
    part: Tree
    work: Workspace
    solver: Solver


def _new_buffers() -> _Buffers:
    """The memory of searches; compiles all that searches need, so that no move waits for it."""
    tree, part = (new_tree(MOST_NODES, EDGES_PER_NODE * MOST_NODES, STATE) for _ in range(2))
    buffers = _Buffers(tree, part, new_workspace(), new_solver())
    state, stream = Game(seed=0).state, seed_streams(0)
    start_tree(tree, state, 0)
    simulate(tree, buffers.work, RULE, stream, 1)
    copy_subtree(tree, ROOT, part)
    solve(state, 0, 1, buffers.solver, False)
    return buffers


@kernel(allocates=True)
def _forced_action(states: States) -> int:
    """The only legal action of record 0, or ``NOTHING`` if there is a choice."""
    anchors = np.empty((2, NUM_MAPS), np.uint64)
    return nth_legal(anchors, 0) if legal(states, 0, anchors) == 1 else NOTHING


def _solved_action(state: States, budget: int, solver: Solver) -> int:
    """The best action of an ending that can be solved, or else one that surely wins, or ``NO_ACTION``.

    An ending that is known to be lost, but not by how much, is left to the search: the opponent may err.
    """
    if 2 * LAST_SPACE - int(state["position"].sum()) > _ENDING:
        return NO_ACTION
    for only_outcome in (False, True):
        is_solved, value, action = solve(state, 0, budget, solver, only_outcome)
        if is_solved and (value > 0 or not only_outcome):
            return int(action)
    return NO_ACTION
