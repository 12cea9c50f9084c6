"""The memory of the module of Patchwork; importing this allocates it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from patchwork_env.agents.compiled import aligned_records
from patchwork_env.agents.partner import Candidates
from patchwork_env.agents.patchwork.champion.search import WIDTH, Evaluator, Workspace, new_workspace
from patchwork_env.agents.patchwork.endings.solver import Solver, new_solver
from patchwork_env.agents.patchwork.greedy import GreedyBuffers, new_greedy_buffers
from patchwork_env.agents.patchwork.people.levels import new_candidates
from patchwork_env.agents.patchwork.value.expansion import TO_WIN, Expansion, new_expansion
from patchwork_env.agents.patchwork.value.network import QUANTIZED
from patchwork_env.core.random import Streams
from patchwork_env.patchwork import engine
from patchwork_env.patchwork.state import STATE, States, empty_states
from patchwork_env.search.best_first import new_tree
from patchwork_env.search.tree import Tree
from tools.site.memory import Block, memory_in

LEVELS_IN_MEMORY = ("instant", "fast")
"""The levels of the champion whose tree fits in the memory."""
MOST_NODES = 70_000
"""The capacity of the tree, more than any of these levels needs."""
_FIGURES = 6


class Memory(NamedTuple):
    """The memory of the module.

    Attributes:
        states: The game.
        streams: The random stream of the player who draws.
        legal_set: The legal set.
        actions: int16, legal actions, or those of a line.
        chosen: int64 ``(1,)``, the action of an agent.
        greedy: The buffers of greedy play.
        candidates: The moves that a level considers.
        figures: float64 ``(WIDTH, 6)``, for each line its action, visits, margin, probability to win, whether
            these are exact, and whether they are certain.
        exact: uint8 ``(1,)``, whether the solver's action is the best.
        ranked: int64 ``(WIDTH,)``, the edges of the root, the best one first.
        successor: The game after some moves.
        expansion: The successors of the game, judged by the value alone.
        tree: The tree of searches.
        work: The workspace of searches.
        solver: The solver of endings.
        evaluator: The weights and the payoffs of the champion.
    """

    states: States
    streams: Streams
    legal_set: Any
    actions: Any
    chosen: Any
    greedy: GreedyBuffers
    candidates: Candidates
    figures: Any
    exact: Any
    ranked: Any
    successor: States
    expansion: Expansion
    tree: Tree
    work: Workspace
    solver: Solver
    evaluator: Evaluator


BLOCK = Block(
    "patchwork",
    Memory(
        empty_states(1),
        np.zeros(1, np.uint64),
        np.zeros((2, engine.NUM_MAPS), np.uint64),
        np.zeros(engine.MAX_LEGAL_ACTIONS, np.int16),
        np.zeros(1, np.int64),
        new_greedy_buffers(),
        new_candidates(),
        np.zeros((WIDTH, _FIGURES)),
        np.zeros(1, np.uint8),
        np.zeros(WIDTH, np.int64),
        empty_states(1),
        new_expansion(),
        new_tree(MOST_NODES, WIDTH, STATE),
        new_workspace(),
        new_solver(),
        Evaluator(aligned_records(QUANTIZED), TO_WIN),
    ),
)
memory: Any = memory_in(BLOCK)
