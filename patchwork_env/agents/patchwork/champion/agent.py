"""Agents that play by a learned value, without a search (:class:`ValueAgent`) or with one.

:class:`ChampionAgent` is the strongest agent of this library; :mod:`.search` has its tree. It also analyses
positions.
"""

from __future__ import annotations

from _thread import start_new_thread
from collections.abc import Iterator, Mapping
from queue import SimpleQueue
from time import perf_counter, sleep
from typing import NamedTuple

import numpy as np

from patchwork_env.agents.analysis import Line
from patchwork_env.agents.base import Actions, BatchAgent, serialized
from patchwork_env.agents.checkpoints import Checkpoint
from patchwork_env.agents.options import AIMS, MOST_NODES, check_budget, spec_of
from patchwork_env.agents.patchwork.champion.proofs import (
    ensure_edge,
    solve_root,
    solved_action,
    solved_ending,
)
from patchwork_env.agents.patchwork.champion.search import (
    NO_LIMIT,
    NODE_EFFORT,
    SHOWN,
    WIDTH,
    Evaluator,
    Workspace,
    grow,
    line_of,
    line_of_forced,
    new_workspace,
    rank_edges,
)
from patchwork_env.agents.patchwork.endings.solver import new_solver
from patchwork_env.agents.patchwork.placements import NO_ACTION, only_action
from patchwork_env.agents.patchwork.value.expansion import (
    FOR_MARGIN,
    FOR_SCORE,
    LIKELY,
    TO_WIN,
    TO_WIN_RICHLY,
    Expansion,
    Payoffs,
    action_utility,
    best_action,
    expand,
    expand_likely,
    new_expansion,
)
from patchwork_env.agents.patchwork.value.network import Quantized, Weights, quantized, read_value
from patchwork_env.agents.patchwork.value.quilt_cache import forget
from patchwork_env.core.compile import kernel
from patchwork_env.games import PATCHWORK
from patchwork_env.patchwork.game import Game
from patchwork_env.patchwork.state import STATE, States
from patchwork_env.patchwork.symmetry import NUM_SYMMETRIES, turn_actions, turn_quilts
from patchwork_env.search.best_first import best_edge, is_solved, new_tree
from patchwork_env.search.tree import ROOT

LEVELS: Mapping[str, int] = {"instant": 35_000, "fast": 220_000, "strong": 4_400_000, "analysis": 23_000_000}
"""Named budgets in units of effort, about one evaluation each; a million units take 0.2 to 0.4 seconds."""


# --- searches -----------------------------------------------------------------------------------------------


_BLOCK = 128
"""The number of simulations of a thread between two reads of the clock: about a millisecond."""
_WAIT = 2e-5
"""The seconds that a thread sleeps while it waits for others."""
FIRST_EFFORT = LEVELS["instant"]
"""The effort before the first lines of an analysis; it doubles after each attempt to solve the ending."""
_MOST_AT_ONCE = 500_000
"""The maximum effort between two results of an analysis: 0.1 to 0.3 seconds."""
SOLVER_SHARE = 3
"""The effort of the search per quilt that the solver may evaluate for each of its two questions."""


class Limits(NamedTuple):
    """The limits of a search, which ends when it reaches the first one."""

    simulations: int
    effort: int
    to_solve: int  # quilts that the solver may evaluate for each of its two questions
    seconds: float | None


class Search:
    """Searches one position after another, with one tree that is used again.

    The tree has room for the simulations that ``limits`` allows. Several threads grow it together. After an
    interrupt it is unusable (:attr:`is_abandoned`), since other threads may still write to it for a moment.
    """

    def __init__(self, evaluator: Evaluator, limits: Limits, threads: int, calibrate: bool) -> None:
        self.evaluator, self.limits, self._calibrate = evaluator, limits, calibrate
        self.tree = new_tree(limits.simulations + 1, WIDTH, STATE)
        self.work, self.solver = new_workspace(), new_solver()
        effort, lock, stop = self.work.effort, self.work.lock, self.work.stop
        self._others = [
            new_workspace()._replace(effort=effort, lock=lock, stop=stop) for _ in range(threads - 1)
        ]
        self._ranked = np.empty(WIDTH, np.int64)
        if limits.seconds is not None:
            self.compile()

    def compile(self) -> None:
        """Compile or load all kernels of a search, before its time begins."""
        state = Game(seed=0).state
        only_action(state, 0, self.work.expansion.legal_set)
        for solve in solved_ending, solved_action:
            solve(state, 0, self.evaluator.payoffs, 1, self.solver)
        self._begin(state, 0)
        self._put_solved(self._best(), 0, is_exact=True)
        rank_edges(self.tree, NO_ACTION, self._ranked)

    def choose(self, states: States, i: int) -> int:
        """Return the action to play."""
        began, payoffs = perf_counter(), self.evaluator.payoffs
        forced = only_action(states, i, self.work.expansion.legal_set)
        if forced != NO_ACTION:
            return int(forced)
        solved, _, spent = solved_ending(states, i, payoffs, self.limits.to_solve, self.solver)
        if solved != NO_ACTION:
            return int(solved)
        self._begin(states, i)
        self._spend(self.limits.effort - spent, began, shown=0)
        return self._best()

    def lines(self, game: Game) -> list[Line]:
        """Return the lines of a game after a search with the whole budget."""
        began = perf_counter()
        self._begin(game.state, 0)
        self._solve(game, self.limits.to_solve)
        self._spend(self.limits.effort, began, shown=SHOWN)
        return self._lines(game)

    def deepen(self, game: Game) -> Iterator[list[Line]]:
        """Yield the lines of a game as the effort increases."""
        began, reached, is_done = perf_counter(), FIRST_EFFORT, False
        self._begin(game.state, 0)
        while not is_done:
            self._solve(game, reached // SOLVER_SHARE)
            end = min(reached, self.limits.effort)
            first = int(self.work.effort[0]) + _MOST_AT_ONCE
            for effort in (*range(first, end, _MOST_AT_ONCE), end):
                yield self._lines_after(game, effort)
                is_done = self._is_done(perf_counter() - began)
                if is_done:
                    break
            reached *= 2
        if self._solve(game, self.limits.to_solve):
            yield self._lines_after(game, _MOST_AT_ONCE)

    def _begin(self, states: States, i: int) -> None:
        """Make a game that is not over the root of the tree."""
        self.tree.states[ROOT], self.work.effort[0] = states[i], 0
        self._solved, self._is_won, self._tried = NO_ACTION, False, 0  # by the solver
        for work in self._others:
            forget(work.expansion.quilts)
        grow(self.tree, self.work, self.evaluator, 0, NO_LIMIT, False, 0)  # completes the root

    @property
    def is_abandoned(self) -> bool:
        """True after an interrupt: the tree cannot be used again."""
        return bool(self.work.stop[0])

    @property
    def _added(self) -> int:
        """The number of simulations of the present tree."""
        return int(self.tree.nodes[ROOT]["visits"])

    def _grow(self, simulations: int, effort: int, *, may_stop: bool = False, shown: int = 0) -> None:
        """Grow the tree up to a total number of simulations or a total effort."""
        done = SimpleQueue[None]()

        def grow_by(work: Workspace) -> None:
            while grow(self.tree, work, self.evaluator, simulations, effort, may_stop, shown):
                sleep(_WAIT)
            done.put(None)

        try:
            for work in self._others:
                start_new_thread(grow_by, (work,))  # interrupts can damage the locks of an executor
            grow_by(self.work)
            for _ in (self.work, *self._others):
                done.get()
        except BaseException:  # such as Ctrl-C
            self.work.stop[0] = 1
            raise

    def _spend(self, effort: int, began: float, *, shown: int) -> None:
        """Spend an effort, or the seconds of the limits since ``began`` if they have any.

        With ``shown=0`` the search may stop as soon as the move to play is decided.
        """
        if self.limits.seconds is None:
            self._grow(self.limits.simulations, effort, may_stop=shown == 0, shown=shown)
            return
        wanted = 0
        while wanted == 0 or (self._added >= wanted and perf_counter() < began + self.limits.seconds):
            wanted = self._added + _BLOCK * (len(self._others) + 1)
            self._grow(wanted, NO_LIMIT, shown=shown)

    def _best(self) -> int:
        return int(self.tree.edges[best_edge(self.tree, ROOT)]["action"])

    def _is_done(self, seconds: float) -> bool:
        """Whether a limit is reached after this number of seconds, or the root is solved."""
        limits = self.limits
        is_spent = self.work.effort[0] >= limits.effort or self._added >= limits.simulations
        is_late = limits.seconds is not None and seconds >= limits.seconds
        return is_spent or is_late or bool(is_solved(self.tree, ROOT))

    def _solve(self, game: Game, quilts: int) -> bool:
        """Try to solve an ending with a budget of quilts; after a new result, restart the tree with it.

        Return whether there was one.
        """
        quilts = min(quilts, self.limits.to_solve)
        if quilts <= self._tried or is_solved(self.tree, ROOT):
            return False
        self._tried = quilts
        payoffs = self.evaluator.payoffs
        solved, is_exact, _ = solved_ending(self.tree.states, ROOT, payoffs, quilts, self.solver)
        if solved == NO_ACTION or (solved == self._solved and not is_exact):
            return False
        self._begin(game.state, 0)
        self._solved, self._is_won, self._tried = solved, not is_exact, quilts
        self._put_solved(solved, quilts, is_exact=is_exact)
        return True

    def _put_solved(self, action: int, quilts: int, *, is_exact: bool) -> None:
        """Add an edge for the solver's action to the root; if the action is exact, solve all edges."""
        ensure_edge(self.tree, self.work, self.evaluator, action)
        if is_exact:
            solve_root(self.tree, self.work, self.evaluator, action, quilts, self.solver)

    def _lines_after(self, game: Game, effort: int) -> list[Line]:
        """Grow the tree up to a total effort, and return the lines."""
        self._grow(self.limits.simulations, effort, shown=SHOWN)
        return self._lines(game)

    def _lines(self, game: Game) -> list[Line]:
        """Return the lines of the actions that the search considered, in the order of :func:`rank_edges`.

        An action that wins by the solver's proof has the probability 1, whatever the search found below it.
        """
        if len(game.legal_actions()) == 1:
            return [line_of_forced(self.tree, game, self._calibrate)]
        edges = self._ranked[: rank_edges(self.tree, self._solved, self._ranked)].tolist()
        first, *others = [line_of(self.tree, game, edge, self._calibrate) for edge in edges]
        if self._is_won:
            first = first._replace(win=1.0, margin=max(first.margin, 0.0))
        return [first._replace(certain=True), *others]


# --- the agents ---------------------------------------------------------------------------------------------


DEFAULT_LEVEL, DEFAULT_AIM = "instant", "win"
_PAYOFFS = dict(zip(AIMS, (TO_WIN, TO_WIN_RICHLY, FOR_MARGIN, FOR_SCORE), strict=True))
_CALIBRATED = "champion"
"""The shipped checkpoint to whose games the calibration was fitted."""
_SOLVED_PER_NODE, _SOLVED_PER_SECOND = 20, 500_000
"""The budget in quilts of each of the solver's two questions; it evaluates three million per second."""


class ValueAgent(BatchAgent):
    """Plays the action whose successor has the highest utility. The weights are copied."""

    games = (PATCHWORK,)

    def __init__(self, weights: Weights, payoffs: Payoffs, name: str = "value") -> None:
        self.name = name
        self._weights, self._payoffs = quantized(weights), payoffs

    def _new_workspace(self) -> Expansion:
        return new_expansion()

    def act_batch(self, states: States) -> Actions:
        self.check_states(states)
        actions = np.empty(len(states), np.int64)
        _choose_by_value(states, self._weights, self._payoffs, self.workspace(), actions)
        return actions


@kernel
def _choose_by_value(
    states: States, weights: Quantized, payoffs: Payoffs, expansion: Expansion, actions: Actions
) -> None:
    for i in range(len(states)):
        count = expand_likely(states, i, LIKELY, weights, expansion)
        actions[i] = expansion.actions[best_action(expansion, count, payoffs)]


class ChampionAgent(BatchAgent):
    """Searches every move with a learned value.

    Except with ``seconds``, a search ends early when the rest of its budget cannot change the move.

    Args:
        weights: The weights of the value, which are copied.
        payoffs: The payoffs of the agent.
        name: The name of the agent in tables and messages.
        level: The budget of a move, one of ``LEVELS``; ``"instant"`` if no budget is given.
        nodes: Another budget: the maximum number of positions whose successors are evaluated for a move.
        seconds: Another budget: the maximum seconds of a move, which may take a few milliseconds more.
        threads: The number of threads that search a position together. With several, the result also depends
            on their timing.
        calibrate: True if lines have calibrated probabilities to win. The calibration is valid for the
            shipped champion when it plays to win; see :func:`.search.calibrated`.
    """

    games = (PATCHWORK,)

    def __init__(
        self,
        weights: Weights,
        payoffs: Payoffs,
        name: str = "champion",
        *,
        level: str | None = None,
        nodes: int | None = None,
        seconds: float | None = None,
        threads: int = 1,
        calibrate: bool = False,
    ) -> None:
        self.name = name
        self.limits = limits_of(level, nodes, seconds)
        self.threads = threads
        self._evaluator, self._calibrate = Evaluator(quantized(weights), payoffs), calibrate

    def _new_workspace(self) -> Search:
        return Search(self._evaluator, self.limits, self.threads, self._calibrate)

    def workspace(self) -> Search:
        """Return the search; after an interrupt, a new one."""
        if self._workspace is not None and self._workspace.is_abandoned:
            self._workspace = None
        search: Search = super().workspace()
        return search

    def act_batch(self, states: States) -> Actions:
        """See :meth:`Agent.act_batch`; the budget is per game."""
        self.check_states(states)
        search, states = self.workspace(), np.ascontiguousarray(states)
        return np.array([search.choose(states, i) for i in range(len(states))], np.int64)

    @serialized
    def search(self, game: Game) -> list[Line]:
        """Analyse a game with the whole budget; return a line per action considered, the one to play first.

        In an ending that it can solve, it also solves the positions after the moves, within a budget.
        """
        self.check_states(game.state)
        return self.workspace().lines(game)

    def deepen(self, game: Game) -> Iterator[list[Line]]:
        """Yield the lines of a game repeatedly while the search of :meth:`search` grows.

        The first lines come after a few milliseconds, later ones several times per second. Each analysis has
        its own tree, so it can be paused or dropped.
        """
        self.check_states(game.state)
        return self._new_workspace().deepen(game.clone())

    def evaluate_moves(self, game: Game) -> list[Line]:
        """Return a line for every legal action by the learned value alone, the highest utility first.

        Probabilities are not calibrated, because the calibration was fitted to searches.
        """
        self.check_states(game.state)
        expansion = new_expansion()
        count = expand(game.state, 0, self._evaluator.weights, expansion)
        order = sorted(range(count), key=lambda k: -action_utility(self._evaluator.payoffs, expansion, k))
        lines = []
        for k in order:
            action, after = int(expansion.actions[k]), game.clone()
            after.play(action)
            margin = float(expansion.owns[k] - expansion.others[k])
            win, is_exact = float(expansion.wins[k]), after.is_over
            lines.append(Line(action, 0, margin, win, is_exact, (action,), is_exact))
        return lines

    def symmetric_moves(self, game: Game) -> dict[int, list[int]]:
        """See :class:`~patchwork_env.agents.analysis.Analyst`."""
        actions = game.legal_actions().astype(np.int64)
        images, none = [actions], np.zeros(1, np.int64)
        for symmetry in range(1, NUM_SYMMETRIES):
            turned, own = game.state.copy(), np.array([symmetry])
            turn_quilts(turned, own, none)
            if turned.tobytes() == game.state.tobytes():
                images.append(turn_actions(game.state, np.array([len(actions)]), actions, own))
        orbits = np.stack(images, axis=1).tolist()
        return {action: sorted(set(orbit)) for action, orbit in zip(actions.tolist(), orbits, strict=True)}


def limits_of(level: str | None, nodes: int | None, seconds: float | None) -> Limits:
    """Return the limits of a search with at most one budget. Creating the root is not a simulation."""
    if seconds is not None:
        return Limits(MOST_NODES - 1, NO_LIMIT, int(seconds * _SOLVED_PER_SECOND), seconds)
    if nodes is not None:
        return Limits(nodes - 1, NO_LIMIT, nodes * _SOLVED_PER_NODE, None)
    effort = LEVELS[level or DEFAULT_LEVEL]
    return Limits(min(effort // NODE_EFFORT, MOST_NODES) - 1, effort, effort // SOLVER_SHARE, None)


def load(
    checkpoint: Checkpoint,
    seed: int | None = None,
    *,
    level: str | None = None,
    nodes: int | None = None,
    seconds: float | None = None,
    threads: int | None = None,
    aim: str | None = None,
) -> BatchAgent:
    """Return the agent of a value's checkpoint. It searches if it has options or is shipped.

    ``aim`` is one of :data:`~patchwork_env.agents.options.AIMS`, by default ``"win"``. For the other options
    see :class:`ChampionAgent`, for errors :func:`~patchwork_env.agents.load`.
    """
    payoffs = _PAYOFFS[aim or DEFAULT_AIM]
    budget = check_budget(level=level, nodes=nodes, seconds=seconds)
    weights = read_value(checkpoint)
    aim_in_name = None if aim == DEFAULT_AIM else aim
    name = spec_of(checkpoint.name, **budget, threads=threads, aim=aim_in_name)
    if budget or threads is not None or aim is not None or checkpoint.is_shipped:
        calibrate = checkpoint.is_shipped and checkpoint.name == _CALIBRATED and payoffs == TO_WIN
        return ChampionAgent(weights, payoffs, name, **budget, threads=threads or 1, calibrate=calibrate)
    return ValueAgent(weights, payoffs, name)
