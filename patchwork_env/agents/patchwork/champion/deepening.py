"""Analyses that get ever deeper while somebody looks on: one tree, which goes on growing."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter
from typing import NamedTuple

from patchwork_env.agents.analysis import Line
from patchwork_env.agents.patchwork.champion.endings import ensure_edge, solve_root, solved_ending
from patchwork_env.agents.patchwork.champion.levels import LEVELS
from patchwork_env.agents.patchwork.champion.lines import lines_of
from patchwork_env.agents.patchwork.champion.simulation import (
    NO_LIMIT,
    WIDTH,
    Budget,
    Settings,
    Workspace,
    grow,
    new_workspace,
    reset_search,
)
from patchwork_env.agents.patchwork.endgame import NO_ACTION, Solver, new_solver
from patchwork_env.patchwork.game import Game
from patchwork_env.patchwork.state import STATE
from patchwork_env.search.best_first import is_solved, new_tree
from patchwork_env.search.tree import ROOT, Tree, is_full

_FIRST_EFFORT = LEVELS["instant"]
"""The effort before the first results; it doubles from one attempt to solve an ending to the next."""
_MOST_AT_ONCE = 500_000
"""The most effort between two results: 0.1 to 0.3 seconds."""
_SOLVER_SHARE = 3
"""The solver may look at one quilt for each of its questions where the search spends this effort."""


class Limits(NamedTuple):
    """When an analysis ends, at the latest.

    Attributes:
        budget: The most simulations and the most effort.
        to_solve: The most quilts that the solver may look at for each of its questions.
        seconds: The most seconds; None for any.
    """

    budget: Budget
    to_solve: int
    seconds: float | None


class Deepening:
    """The search of one game, which grows step by step in memory of its own.

    Args:
        game: The game, which is not over; it is left as it was.
        settings: How the tree grows.
        limits: When it ends.
    """

    def __init__(self, game: Game, settings: Settings, limits: Limits) -> None:
        self._game, self._settings, self._limits = game.clone(), settings, limits
        self._tree: Tree = new_tree(limits.budget.simulations + 1, WIDTH, STATE)
        self._work: Workspace = new_workspace()
        self._solver: Solver = new_solver()
        self._solved = NO_ACTION
        self._added = self._tried = 0

    def __iter__(self) -> Iterator[list[Line]]:
        """The lines of the search, as :meth:`ChampionAgent.search` gives them, after ever more effort."""
        began, reached = perf_counter(), _FIRST_EFFORT
        self._restart()
        is_done = False
        while not is_done:
            self._solve(reached // _SOLVER_SHARE)
            for effort in _steps(self._spent, min(reached, self._limits.budget.effort)):
                self._grow(effort)
                yield self._lines()
                is_done = self._is_done(perf_counter() - began)
                if is_done:
                    break
            reached *= 2
        if self._solve(self._limits.to_solve):
            self._grow(_MOST_AT_ONCE)
            yield self._lines()

    @property
    def _spent(self) -> int:
        return int(self._work.effort[0])

    def _is_done(self, seconds: float) -> bool:
        """Whether the limits are reached after so many seconds, or nothing more can be found out."""
        budget, most_seconds, tree = self._limits.budget, self._limits.seconds, self._tree
        is_spent = self._spent >= budget.effort or self._added >= budget.simulations
        is_late = most_seconds is not None and seconds >= most_seconds
        return is_spent or is_late or bool(is_full(tree)) or bool(is_solved(tree, ROOT))

    def _restart(self) -> None:
        """Begins the tree anew, with a root that is complete."""
        self._added = 0
        reset_search(self._tree, self._work, self._game.state, 0)
        grow(self._tree, self._work, self._settings, Budget(0, NO_LIMIT), False)

    def _solve(self, quilts: int) -> bool:
        """Solves an ending as far as so many quilts allow.

        Returns whether that tells more than before; then the tree begins anew with it.
        """
        tree, work, settings = self._tree, self._work, self._settings
        quilts = min(quilts, self._limits.to_solve)
        if quilts <= self._tried or is_solved(tree, ROOT):
            return False
        self._tried = quilts
        solved, is_exact, _ = solved_ending(tree.states, ROOT, settings.payoffs, quilts, self._solver)
        if solved == NO_ACTION or (solved == self._solved and not is_exact):
            return False
        self._solved = solved
        self._restart()
        ensure_edge(tree, work, settings, solved)
        if is_exact:
            solve_root(tree, work, settings, solved, quilts, self._solver)
        return True

    def _grow(self, effort: int) -> None:
        """Lets the tree grow up to an effort."""
        left = self._limits.budget.simulations - self._added
        self._added += int(grow(self._tree, self._work, self._settings, Budget(left, effort), False))

    def _lines(self) -> list[Line]:
        return lines_of(self._tree, self._game, self._solved)


def _steps(spent: int, reached: int) -> list[int]:
    """The efforts on the way from one to another at which to show results."""
    steps = range(spent + _MOST_AT_ONCE, reached, _MOST_AT_ONCE)
    return [*steps, reached]
