"""The agent that searches: UCT whose leaves are played out."""

from __future__ import annotations

from functools import partial
from time import perf_counter
from typing import NamedTuple

import numpy as np

from patchwork_env.agents.base import Actions
from patchwork_env.agents.patchwork.endgame import NO_ACTION, Solver, new_solver, solve
from patchwork_env.agents.patchwork.mcts.simulation import Workspace, new_workspace, simulate
from patchwork_env.agents.uct import UctAgent
from patchwork_env.core.checks import seed_streams
from patchwork_env.core.compile import kernel
from patchwork_env.core.random import Streams
from patchwork_env.games import PATCHWORK
from patchwork_env.patchwork.components import LAST_SPACE
from patchwork_env.patchwork.engine import NUM_MAPS, legal, nth_legal
from patchwork_env.patchwork.game import Game
from patchwork_env.patchwork.state import STATE, States
from patchwork_env.search.reuse import TreeMemory
from patchwork_env.search.tree import NOTHING, ROOT, Tree
from patchwork_env.search.uct import Rule, copy_subtree, most_visited, new_tree, start_tree

MOST_NODES = 1 << 18
"""The most nodes of a tree, and of all trees together that are kept for later moves. A node with its edges
takes up to 400 bytes. Once a tree is full, simulations go on from its leaves."""
EDGES_PER_NODE = 12
RULE = Rule(exploration=0.7, first=2.0, factor=0.25, exponent=0.4)
_ENDING = 24
"""The most spaces that both players have left together in a position that the solver tries."""
_SOLVED_PER_SECOND, _SOLVED_PER_SIMULATION = 300_000, 20
"""The quilts that the solver may look at for each of its two questions: about a tenth of the time of a
move."""


class MctsAgent(UctAgent):
    """Searches every move with a budget of simulations or of time: UCT with playouts and a solver."""

    games = (PATCHWORK,)
    spec = "mcts"
    block = 100  # about a millisecond

    _stream: Streams
    _memory: TreeMemory

    def act_batch(self, states: States) -> Actions:
        """See :meth:`Agent.act_batch`; the budget is that of each game."""
        self.check_states(states)
        stream, memory = self._stream.copy(), self._memory.copy()
        actions = [self._act(states[i : i + 1], stream, memory) for i in range(len(states))]
        self.__dict__.update(_stream=stream, _memory=memory)  # together, whatever interrupts the call
        return np.array(actions, np.int64)

    def reseed(self, seed: int | None = None) -> None:
        """Starts the random numbers anew and forgets all games."""
        self.__dict__.update(_stream=seed_streams(seed), _memory=TreeMemory(MOST_NODES))

    def _new_workspace(self) -> _Buffers:
        return _new_buffers()

    def _act(self, state: States, stream: Streams, memory: TreeMemory) -> int:
        action = int(_forced_action(state))
        if action != NOTHING:
            return action
        tree, part, work, solver = self.workspace()
        began = perf_counter()
        action = _solved_action(state, self._budget_to_solve(), solver)
        if action != NO_ACTION:
            return action
        if not memory.recall(state, tree):
            start_tree(tree, state, 0)
        self._spend(partial(simulate, tree, work, RULE, stream), began)
        edge = tree.edges[most_visited(tree, ROOT)]
        if edge["child"] != NOTHING:
            copy_subtree(tree, edge["child"], part)
            memory.keep(part)
        return int(edge["action"])

    def _budget_to_solve(self) -> int:
        """The budget of each question for the solver, in quilts to look at, from the budget of a move."""
        if self.seconds is None:
            return _SOLVED_PER_SIMULATION * self.simulations
        return int(_SOLVED_PER_SECOND * self.seconds)


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
