"""The agent ``mcts``: UCT with playouts, and a solver of endings.

Every simulation descends the tree, adds a node, plays the game to its end by greedy play with noise
(:mod:`~patchwork_env.agents.patchwork.greedy`) and backs up the result.

A node considers its actions in the order of a value in buttons. The value of a purchase is that of
the patch in greedy play, minus a price per joint that is lost compared with the best placement of the same
patch. Advancing has the value 0. Advancing and the best placement of each patch come first.
"""

from __future__ import annotations

from functools import partial
from time import perf_counter
from types import ModuleType
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env.agents.base import Actions
from patchwork_env.agents.patchwork import placements
from patchwork_env.agents.patchwork.champion.proofs import solved_action, solved_ending
from patchwork_env.agents.patchwork.endings.solver import Solver, new_solver
from patchwork_env.agents.patchwork.greedy import GreedyBuffers, new_greedy_buffers, patch_value, play_out
from patchwork_env.agents.patchwork.value.expansion import TO_WIN
from patchwork_env.agents.patchwork.value.features import signed
from patchwork_env.agents.uct import UctAgent
from patchwork_env.core.checks import seed_streams
from patchwork_env.core.compile import kernel, specialize
from patchwork_env.core.random import Streams
from patchwork_env.games import PATCHWORK
from patchwork_env.patchwork.actions import ADVANCE
from patchwork_env.patchwork.components import NUM_OFFERED, NUM_PLAYERS
from patchwork_env.patchwork.engine import MAX_TURNS, NUM_MAPS, LegalSet, apply, is_over, legal, outcome
from patchwork_env.patchwork.game import Game
from patchwork_env.patchwork.state import STATE, States, empty_states
from patchwork_env.search import uct
from patchwork_env.search.tree import NOTHING, ROOT, Path, Tree, new_path
from patchwork_env.search.uct import Rule, TreeMemory, copy_subtree, most_visited, new_tree, start_tree

MOST_NODES = 1 << 18
"""The maximum number of nodes of a tree, and of all trees kept for later moves. A node with its edges takes
up to 400 bytes. In a full tree, simulations continue from its leaves."""
EDGES_PER_NODE = 12
RULE = Rule(exploration=0.7, first=2.0, factor=0.25, exponent=0.4)
_SOLVED_PER_SECOND, _SOLVED_PER_SIMULATION = 300_000, 20
"""The budget in quilts of each of the solver's two questions: about a tenth of the time of a move."""
MARGIN_SHARE = 0.2
"""The share of the score difference in the value of a game's end, 0-1; the outcome has the rest."""
_FULL_LEAD = 50.0  # points; a larger lead has the same value
MOST_CANDIDATES = 32
_PRICE_OF_A_JOINT = 1.0
_AHEAD = 1000.0  # added to the value of the actions that come first


class MctsAgent(UctAgent):
    """Searches every move with a budget of simulations or of time: UCT with playouts and a solver."""

    games = (PATCHWORK,)
    spec = "mcts"
    block = 100  # about a millisecond

    _stream: Streams
    _memory: TreeMemory

    def act_batch(self, states: States) -> Actions:
        self.check_states(states)
        stream, memory = self._stream.copy(), self._memory.copy()
        actions = [self._act(states[i : i + 1], stream, memory) for i in range(len(states))]
        self.__dict__.update(_stream=stream, _memory=memory)  # in one step, in case of an interrupt
        return np.array(actions, np.int64)

    def reseed(self, seed: int | None = None) -> None:
        self.__dict__.update(_stream=seed_streams(seed), _memory=TreeMemory(MOST_NODES))

    def _new_workspace(self) -> tuple[Tree, Tree, Workspace, Solver]:
        """Return a tree to search, a tree for the kept part, a workspace and a solver.

        Compile all kernels of a search, before the time of a move begins.
        """
        tree, part = (new_tree(MOST_NODES, EDGES_PER_NODE * MOST_NODES, STATE) for _ in range(2))
        work, solver = new_workspace(), new_solver()
        state, stream = Game(seed=0).state, seed_streams(0)
        placements.only_action(state, 0, work.legal_set)
        start_tree(tree, state, 0)
        simulate(tree, work, RULE, stream, 1)
        copy_subtree(tree, ROOT, part)
        solved_action(state, 0, TO_WIN, 1, solver)
        return tree, part, work, solver

    def _act(self, state: States, stream: Streams, memory: TreeMemory) -> int:
        tree, part, work, solver = self.workspace()
        began = perf_counter()
        action = int(placements.only_action(state, 0, work.legal_set))
        if action == placements.NO_ACTION:
            quilts = _SOLVED_PER_SIMULATION * self.simulations
            if self.seconds:
                quilts = int(_SOLVED_PER_SECOND * self.seconds)
            action, _, _ = solved_ending(state, 0, TO_WIN, quilts, solver)
        if action != placements.NO_ACTION:
            return action
        if not memory.recall(state, tree):
            start_tree(tree, state, 0)
        self._spend(partial(simulate, tree, work, RULE, stream), began)
        edge = tree.edges[most_visited(tree, ROOT)]
        if edge["child"] != NOTHING:
            copy_subtree(tree, edge["child"], part)
            memory.keep(part)
        return int(edge["action"])


class Workspace(NamedTuple):
    """The buffers of simulations; see :class:`patchwork_env.search.uct.Workspace`."""

    state: States
    actions: npt.NDArray[np.int64]  # (MOST_CANDIDATES,)
    values: npt.NDArray[np.float64]
    path: Path
    estimates: npt.NDArray[np.float64]  # (MOST_CANDIDATES,), the values of the actions, in buttons
    legal_set: LegalSet
    listed: npt.NDArray[np.int16]  # advancing and the likely placements, ascending
    joints: npt.NDArray[np.int64]  # the joints left after each of them
    playout: GreedyBuffers


def new_workspace() -> Workspace:
    """Return a workspace for one thread."""
    most_listed = 1 + NUM_OFFERED * MOST_CANDIDATES
    return Workspace(
        empty_states(1),
        np.empty(MOST_CANDIDATES, np.int64),
        np.empty(NUM_PLAYERS),
        new_path(MAX_TURNS),
        np.empty(MOST_CANDIDATES),
        np.empty((2, NUM_MAPS), np.uint64),
        np.empty(most_listed, np.int16),
        np.empty(most_listed, np.int64),
        new_greedy_buffers(),
    )


# --- the actions that a node considers ----------------------------------------------------------------------


@kernel
def list_candidates(states: States, i: int, work: Workspace, streams: Streams) -> int:
    """List the best actions of a game that is not over, best first; return their number."""
    legal(states, i, work.legal_set)
    ranking = work.playout.ranking
    listed = placements.list_likely(states, i, MOST_CANDIDATES, work.legal_set, ranking, work.listed)
    count = begin = 0
    while begin < listed:
        end = placements.end_of_kind(work.listed, begin, listed)
        count = _add_kind(states, i, begin, end, work, count)
        begin = end
    return count


@kernel
def _add_kind(states: States, i: int, begin: int, end: int, work: Workspace, count: int) -> int:
    """Add the listed actions ``begin ... end - 1``, all of one kind; return the number of candidates."""
    kind, value = placements.kind_of(signed(work.listed[begin])), 0.0
    if kind == 0:
        return placements.insert(work.actions, work.estimates, count, ADVANCE, _AHEAD)
    if kind <= NUM_OFFERED:
        value = patch_value(states, i, states[i]["circle"][kind - 1])
    best, most_joints = begin, -1
    for k in range(begin, end):
        work.joints[k] = placements.joints_left(states, i, signed(work.listed[k]))
        if work.joints[k] > most_joints:
            best, most_joints = k, work.joints[k]
    for k in range(begin, end):
        lost, ahead = most_joints - work.joints[k], _AHEAD if k == best else 0.0
        estimate = ahead + value - _PRICE_OF_A_JOINT * lost
        count = placements.insert(work.actions, work.estimates, count, signed(work.listed[k]), estimate)
    return count


# --- simulations --------------------------------------------------------------------------------------------


@kernel(inline=True)
def _play_out(work: Workspace, streams: Streams) -> None:
    play_out(work.state, 0, work.playout, streams, 0)
    value = value_of(work.state, 0)
    work.values[0], work.values[1] = value, -value


@kernel
def value_of(states: States, i: int) -> float:
    """Return the value of the end of a game for player 0, from -1 to 1."""
    margin = placements.clipped_margin(states, i, _FULL_LEAD, 1.0)
    return (1.0 - MARGIN_SHARE) * outcome(states, i, 0) + MARGIN_SHARE * margin


_game = ModuleType("patchwork_mcts")
_game.__dict__.update(apply=apply, is_over=is_over, list_actions=list_candidates, play_out=_play_out)
simulate = specialize(uct.simulate, _game)
