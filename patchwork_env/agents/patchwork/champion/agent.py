"""An agent that searches with a learned value."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from patchwork_env.agents.analysis import Line
from patchwork_env.agents.base import Actions, BatchAgent, serialized
from patchwork_env.agents.checkpoints import is_shipped
from patchwork_env.agents.patchwork.champion.deepening import Deepening, Limits
from patchwork_env.agents.patchwork.champion.endings import (
    ensure_edge,
    solve_root,
    solved_action,
    solved_ending,
)
from patchwork_env.agents.patchwork.champion.levels import (
    DEFAULT_AIM,
    DEFAULT_LEVEL,
    LEVELS,
    MOST_NODES,
    check_budget,
)
from patchwork_env.agents.patchwork.champion.lines import alike_actions, lines_of, lines_of_value
from patchwork_env.agents.patchwork.champion.simulation import (
    LIKELY_BELOW_ROOT,
    NO_LIMIT,
    NODE_EFFORT,
    RULE,
    WIDTH,
    Budget,
    Settings,
    Workspace,
    grow,
    new_workspace,
    reset_search,
)
from patchwork_env.agents.patchwork.endgame import NO_ACTION, Solver, new_solver
from patchwork_env.agents.patchwork.value import agent as value_agent
from patchwork_env.agents.patchwork.value.agent import read_value
from patchwork_env.agents.patchwork.value.choice import FOR_MARGIN, FOR_SCORE, TO_WIN, TO_WIN_RICHLY, Payoffs
from patchwork_env.agents.patchwork.value.network import Weights
from patchwork_env.agents.specs import spec_of
from patchwork_env.core.checks import check_one_of
from patchwork_env.core.compile import kernel
from patchwork_env.games import PATCHWORK
from patchwork_env.patchwork.engine import legal, nth_legal
from patchwork_env.patchwork.game import Game
from patchwork_env.patchwork.state import STATE, States
from patchwork_env.search.best_first import Rule, best_edge, new_tree
from patchwork_env.search.tree import ROOT, Tree

_NOTHING, _BLOCK = Budget(0, NO_LIMIT), Budget(16, NO_LIMIT)
"""The budget that only completes the root, and the one that is spent between two looks at the clock."""
_SOLVED_PER_NODE, _SOLVED_PER_SECOND = 20, 500_000
"""The quilts that the solver may look at for each of its two questions; it looks at three million in a
second."""

_PAYOFFS = {"win": TO_WIN, "rich": TO_WIN_RICHLY, "margin": FOR_MARGIN, "score": FOR_SCORE}


class ChampionAgent(BatchAgent):
    """Searches every move with a learned value; see :mod:`patchwork_env.agents.patchwork.champion`.

    A search ends early when the rest of its budget cannot change the move any more.

    Args:
        weights: The weights of the value, which are not copied: later changes change how the agent plays.
        payoffs: The payoffs of the agent.
        name: The name of the agent in tables and messages.
        level: The budget of a move, one of ``LEVELS``; ``"instant"`` if no budget is given.
        nodes: Instead, the most positions of a move whose successors are evaluated.
        seconds: Instead, the most seconds of a move; it may take a few milliseconds more.
        rule: The rule by which the tree of a search grows.
        likely: About how many placements of a patch are evaluated below the root.

    Raises:
        ValueError: A budget is not allowed, or more than one is given.
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
        rule: Rule = RULE,
        likely: int = LIKELY_BELOW_ROOT,
    ) -> None:
        self.name = name
        check_budget(level, nodes, seconds)
        self.seconds = seconds
        self.budget, self._to_solve = _budget(level, nodes, seconds)
        self._settings = Settings(weights, payoffs, rule, likely)

    def _new_workspace(self) -> _Buffers:
        """The buffers of searches; with a budget of time, all that searches need is compiled beforehand."""
        tree = new_tree(self.budget.simulations + 1, WIDTH, STATE)
        buffers = _Buffers(tree, new_workspace(), new_solver())
        if self.seconds is not None:
            _compile(buffers, self._settings)
        return buffers

    def act_batch(self, states: States) -> Actions:
        """See :meth:`Agent.act_batch`; the budget is that of each game."""
        self.check_states(states)
        states = np.ascontiguousarray(states)
        return np.array([self._choose(states, i) for i in range(len(states))], np.int64)

    @serialized
    def search(self, game: Game) -> list[Line]:
        """Analyses a game with the whole budget; a line for every action considered, the one to play first.

        In an ending that it can solve, it also solves the positions after the moves, as far as that is quick.

        Raises:
            ValueError: The game is over.
        """
        self.check_states(game.state)
        tree, work, solver = self.workspace()
        began = perf_counter()
        reset_search(tree, work, game.state, 0)
        self._grow(_NOTHING, may_stop=False)  # completes the root
        solved, is_exact = NO_ACTION, False
        if tree.nodes[ROOT]["count"] > 0:
            solved, is_exact, _ = solved_ending(
                tree.states, ROOT, self._settings.payoffs, self._to_solve, solver
            )
        if solved != NO_ACTION:
            ensure_edge(tree, work, self._settings, solved)
        if is_exact:
            solve_root(tree, work, self._settings, solved, self._to_solve, solver)
        self._spend(self.budget, began, may_stop=False)
        return lines_of(tree, game, solved)

    def deepen(self, game: Game) -> Iterator[list[Line]]:
        """Analyses a game as :meth:`search` does, and gives the lines again and again as the search goes on.

        The first ones come after a few milliseconds, the later ones several times a second. Each analysis has
        a memory of its own, so that it can wait as long as it likes, or be given up.

        Raises:
            ValueError: The game is over.
        """
        self.check_states(game.state)
        return iter(Deepening(game, self._settings, Limits(self.budget, self._to_solve, self.seconds)))

    @serialized
    def appraise(self, game: Game) -> list[Line]:
        """A line of one action for every legal action by the value alone, the highest utility first.

        Raises:
            ValueError: The game is over.
        """
        self.check_states(game.state)
        return lines_of_value(
            game, self._settings.weights, self._settings.payoffs, self.workspace().work.expansion
        )

    def alike(self, game: Game) -> dict[int, list[int]]:
        """See :class:`~patchwork_env.agents.analysis.Analyst`."""
        return alike_actions(game)

    def _choose(self, states: States, i: int) -> int:
        tree, work, solver = self.workspace()
        began = perf_counter()
        known, spent = only_action(states, i, work), 0
        if known == NO_ACTION:
            known, _, spent = solved_ending(states, i, self._settings.payoffs, self._to_solve, solver)
        if known != NO_ACTION:
            return int(known)
        reset_search(tree, work, states, i)
        self._spend(self.budget._replace(effort=self.budget.effort - spent), began, may_stop=True)
        return int(tree.edges[best_edge(tree, ROOT)]["action"])

    def _spend(self, budget: Budget, began: float, *, may_stop: bool) -> None:
        """Spends a budget on a tree that was reset, or instead the time of a move that began at ``began``."""
        if self.seconds is None:
            self._grow(budget, may_stop=may_stop)
            return
        end, added = began + self.seconds, self._grow(_BLOCK, may_stop=False)
        while perf_counter() < end and added == _BLOCK.simulations:
            added = self._grow(_BLOCK, may_stop=False)

    def _grow(self, budget: Budget, *, may_stop: bool) -> int:
        tree, work, _ = self.workspace()
        return int(grow(tree, work, self._settings, budget, may_stop))


class _Buffers(NamedTuple):
    """The memory of searches: the tree, the workspace of simulations and that of the solver."""

    tree: Tree
    work: Workspace
    solver: Solver


def _compile(buffers: _Buffers, settings: Settings) -> None:
    """Compiles, or loads, all that searches need, so that no search waits for it."""
    state, search = Game(seed=0).state, (buffers.tree, buffers.work, settings)
    only_action(state, 0, buffers.work)
    solved_action(state, 0, settings.payoffs, 1, buffers.solver)
    reset_search(buffers.tree, buffers.work, state, 0)
    grow(*search, _BLOCK, False)
    action = int(buffers.tree.edges[best_edge(buffers.tree, ROOT)]["action"])
    ensure_edge(*search, action)
    solve_root(*search, action, 0, buffers.solver)


def load_value(path: str | Path, seed: int | None = None, **options: Any) -> BatchAgent:
    """The agent of a value's checkpoint; it searches if there are options, and if it comes with the package.

    For errors see :func:`load`.
    """
    return load(path, **options) if options or is_shipped(path) else value_agent.load(path)


def load(
    path: str | Path,
    *,
    level: str | None = None,
    nodes: int | None = None,
    seconds: float | None = None,
    aim: str = DEFAULT_AIM,
) -> ChampionAgent:
    """The agent that searches with the value of a checkpoint; for the options see :class:`ChampionAgent`.

    ``aim`` is what it plays for, one of :data:`~patchwork_env.agents.patchwork.champion.levels.AIMS`.

    Raises:
        FileNotFoundError: There is no checkpoint.
        ValueError: It is damaged, of another game, version or kind of policy; or an option is not allowed.
    """
    check_one_of(aim, _PAYOFFS, "aim")
    weights, _ = read_value(Path(path))
    other_aim = None if aim == DEFAULT_AIM else aim
    name = spec_of(Path(path).name, level=level, nodes=nodes, seconds=seconds, aim=other_aim)
    return ChampionAgent(weights, _PAYOFFS[aim], name, level=level, nodes=nodes, seconds=seconds)


def _budget(level: str | None, nodes: int | None, seconds: float | None) -> tuple[Budget, int]:
    """The budget of a search, whose root takes no simulation, and that of each question for the solver."""
    if seconds is not None:
        return Budget(MOST_NODES - 1, NO_LIMIT), int(seconds * _SOLVED_PER_SECOND)
    if nodes is not None:
        return Budget(nodes - 1, NO_LIMIT), nodes * _SOLVED_PER_NODE
    effort = LEVELS[level or DEFAULT_LEVEL]
    return Budget(min(effort // NODE_EFFORT, MOST_NODES) - 1, effort), effort // 3


@kernel
def only_action(states: States, i: int, work: Workspace) -> int:
    """The only legal action of a game, or ``NO_ACTION`` if there are several."""
    anchors = work.expansion.anchors
    return nth_legal(anchors, 0) if legal(states, i, anchors) == 1 else NO_ACTION
