"""The agent that searches with playouts: UCT whose leaves are played out, and a solver of endings.

Every simulation goes down the tree, adds a node, plays the game to its end by greedy play with noise
(:mod:`~patchwork_env.agents.patchwork.greedy`) and counts the outcome on the way back. The search is that of
:mod:`patchwork_env.search.uct`.

A node comes to consider its actions in the order of a value in buttons. The value of a purchase is that of
the patch for greedy play, less a price for every joint that its placement leaves fewer than the best
placement of the same patch; the value of advancing is 0. Advancing and the best placement of each patch come
before all others.
"""

from __future__ import annotations

from functools import partial
from time import perf_counter
from types import ModuleType
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env.agents.base import Actions
from patchwork_env.agents.patchwork.dynamics import NO_ACTION, only_action
from patchwork_env.agents.patchwork.endgame import Solver, new_solver, solve
from patchwork_env.agents.patchwork.features import signed
from patchwork_env.agents.patchwork.greedy import GreedyBuffers, new_greedy_buffers, patch_value, play_out
from patchwork_env.agents.patchwork.placements import (
    Ranking,
    end_of_kind,
    joints_left,
    kind_of,
    list_likely,
    new_ranking,
)
from patchwork_env.agents.uct import UctAgent
from patchwork_env.core.checks import seed_streams
from patchwork_env.core.compile import kernel, specialize
from patchwork_env.core.random import Streams
from patchwork_env.games import PATCHWORK
from patchwork_env.patchwork.actions import ADVANCE
from patchwork_env.patchwork.components import LAST_SPACE, NUM_OFFERED, NUM_PLAYERS
from patchwork_env.patchwork.engine import (
    MAX_TURNS,
    NUM_MAPS,
    LegalSet,
    apply,
    is_over,
    legal,
    score,
    winner,
)
from patchwork_env.patchwork.game import Game
from patchwork_env.patchwork.state import STATE, States, empty_states
from patchwork_env.search import uct
from patchwork_env.search.tree import NOTHING, ROOT, Path, Tree, new_path
from patchwork_env.search.uct import Rule, TreeMemory, copy_subtree, most_visited, new_tree, start_tree

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
MARGIN_SHARE = 0.2
"""The share of the difference of the scores in the value of a game's end, 0-1; the outcome has the rest."""
_MARGIN_SCALE = 50.0
MOST_CANDIDATES = 32
_PRICE_OF_A_JOINT = 1.0
_AHEAD = 1000.0
"""Added to the value of actions that come before all others."""


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
        tree, part, work, solver = self.workspace()
        began = perf_counter()
        action = int(only_action(state, 0, work.candidates.anchors))
        if action == NO_ACTION:
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


# --- the actions that a node considers ----------------------------------------------------------------------


class CandidateBuffers(NamedTuple):
    """The buffers of :func:`list_candidates`.

    Attributes:
        actions: int64 ``(MOST_CANDIDATES,)``, receives the actions, best first.
        values: float64 ``(MOST_CANDIDATES,)``, the values of the actions, in buttons.
        anchors: The legal set.
        ranking: The buffer in which placements are ranked.
        listed: int16, advancing and the placements that come into question, ascending.
        joints: int64, the joints that these placements leave.
    """

    actions: npt.NDArray[np.int64]
    values: npt.NDArray[np.float64]
    anchors: LegalSet
    ranking: Ranking
    listed: npt.NDArray[np.int16]
    joints: npt.NDArray[np.int64]


def new_candidate_buffers() -> CandidateBuffers:
    """Buffers for :func:`list_candidates`."""
    most_listed = 1 + NUM_OFFERED * MOST_CANDIDATES
    return CandidateBuffers(
        np.empty(MOST_CANDIDATES, np.int64),
        np.empty(MOST_CANDIDATES, np.float64),
        np.empty((2, NUM_MAPS), np.uint64),
        new_ranking(),
        np.empty(most_listed, np.int16),
        np.empty(most_listed, np.int64),
    )


@kernel
def list_candidates(states: States, i: int, out: CandidateBuffers) -> int:
    """Lists the best actions of a game that is not over, best first, and returns their number."""
    legal(states, i, out.anchors)
    listed = list_likely(states, i, MOST_CANDIDATES, out.anchors, out.ranking, out.listed)
    count = begin = 0
    while begin < listed:
        end = end_of_kind(out.listed, begin, listed)
        count = _add_kind(states, i, begin, end, out, count)
        begin = end
    return count


@kernel
def _add_kind(states: States, i: int, begin: int, end: int, out: CandidateBuffers, count: int) -> int:
    """Adds the listed actions ``begin ... end - 1``, all of one kind; returns the number of candidates."""
    kind, value = kind_of(signed(out.listed[begin])), 0.0
    if kind == 0:
        return _insert(out, count, ADVANCE, _AHEAD)
    if kind <= NUM_OFFERED:
        value = patch_value(states, i, states[i]["circle"][kind - 1])
    best, most_joints = begin, -1
    for k in range(begin, end):
        out.joints[k] = joints_left(states, i, signed(out.listed[k]))
        if out.joints[k] > most_joints:
            best, most_joints = k, out.joints[k]
    for k in range(begin, end):
        lost, ahead = most_joints - out.joints[k], _AHEAD if k == best else 0.0
        count = _insert(out, count, signed(out.listed[k]), ahead + value - _PRICE_OF_A_JOINT * lost)
    return count


@kernel
def _insert(out: CandidateBuffers, count: int, action: int, value: float) -> int:
    """Inserts an action by its value, if it is among the best; returns the new number of candidates."""
    if count == len(out.actions):
        if value <= out.values[count - 1]:
            return count
        count -= 1
    k = count
    while k > 0 and value > out.values[k - 1]:
        out.actions[k], out.values[k] = out.actions[k - 1], out.values[k - 1]
        k -= 1
    out.actions[k], out.values[k] = action, value
    return count + 1


# --- simulations --------------------------------------------------------------------------------------------


class Workspace(NamedTuple):
    """What simulations need besides the tree; see :class:`patchwork_env.search.uct.Workspace`.

    Attributes:
        state: One record, in which games are played out.
        actions: int64, the actions of a node, the same array as in ``candidates``.
        values: float64 ``(2,)``, the value of the end of a game for each player.
        path: The path of the current simulation.
        candidates: The buffers in which the actions of a node are listed.
        playout: The buffers of playouts.
    """

    state: States
    actions: npt.NDArray[np.int64]
    values: npt.NDArray[np.float64]
    path: Path
    candidates: CandidateBuffers
    playout: GreedyBuffers


def new_workspace() -> Workspace:
    """A workspace for simulations of any game."""
    candidates, values = new_candidate_buffers(), np.empty(NUM_PLAYERS)
    path, playout = new_path(MAX_TURNS), new_greedy_buffers()
    return Workspace(empty_states(1), candidates.actions, values, path, candidates, playout)


@kernel(inline=True)
def _list_actions(states: States, i: int, work: Workspace, streams: Streams) -> int:
    return list_candidates(states, i, work.candidates)


@kernel(inline=True)
def _play_out(work: Workspace, streams: Streams) -> None:
    play_out(work.state, 0, work.playout, streams, 0)
    value = value_of(work.state, 0)
    work.values[0], work.values[1] = value, -value


@kernel
def value_of(states: States, i: int) -> float:
    """The value of the end of a game for player 0, from -1 to 1."""
    outcome = 1.0 if winner(states, i) == 0 else -1.0
    margin = (score(states, i, 0) - score(states, i, 1)) / _MARGIN_SCALE
    return (1.0 - MARGIN_SHARE) * outcome + MARGIN_SHARE * min(max(margin, -1.0), 1.0)


def _game() -> ModuleType:
    """The kernels of Patchwork that simulations are compiled for."""
    game = ModuleType("patchwork_mcts")
    game.apply, game.is_over = apply, is_over  # type: ignore[attr-defined]
    game.list_actions, game.play_out = _list_actions, _play_out  # type: ignore[attr-defined]
    return game


simulate = specialize(uct.simulate, _game())
