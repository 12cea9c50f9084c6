"""The champion's searches as people see them: expected results, lines of play, and analyses that go on."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env.agents.analysis import Line
from patchwork_env.agents.patchwork.dynamics import NO_ACTION, only_action
from patchwork_env.agents.patchwork.endgame import new_solver
from patchwork_env.agents.patchwork.search import (
    LEVELS,
    NO_LIMIT,
    SCORE,
    WIDTH,
    WIN,
    Settings,
    ensure_edge,
    grow,
    new_workspace,
    rank_edges,
    reset_search,
    solve_root,
    solved_action,
    solved_ending,
)
from patchwork_env.patchwork.game import Game
from patchwork_env.patchwork.state import STATE, States
from patchwork_env.search.best_first import best_edge, is_solved, new_tree
from patchwork_env.search.tree import NOTHING, ROOT, Tree, is_full

_BLOCK = 16
"""The simulations between two looks at the clock."""
FIRST_EFFORT = LEVELS["instant"]
"""The effort before the first lines; it doubles from one attempt to solve an ending to the next."""
_MOST_AT_ONCE = 500_000
"""The most effort between two results: 0.1 to 0.3 seconds."""
SOLVER_SHARE = 3
"""The solver may look at one quilt for each of its questions where the search spends this effort."""


class Limits(NamedTuple):
    """When a search ends, at the latest."""

    simulations: int
    effort: int
    to_solve: int  # quilts that the solver may look at for each of its questions
    seconds: float | None  # None for any


class Search:
    """The memory of searches: a tree that grows from one position after the other.

    The tree has room for the simulations that ``limits`` allows.
    """

    def __init__(self, settings: Settings, limits: Limits) -> None:
        self.settings, self.limits = settings, limits
        self.tree = new_tree(limits.simulations + 1, WIDTH, STATE)
        self.work, self.solver = new_workspace(), new_solver()
        self._ranked = np.empty(WIDTH, np.int64)
        self._solved, self._is_won, self._tried, self._added = NO_ACTION, False, 0, 0

    def compile(self) -> None:
        """Compiles, or loads, all that searches need, so that no search waits for it."""
        state = Game(seed=0).state
        only_action(state, 0, self.work.expansion.anchors)
        solved_action(state, 0, self.settings.payoffs, 1, self.solver)
        self._begin(state, 0)
        self._grow(_BLOCK, NO_LIMIT)
        self._put_solved(self._best(), 0, is_exact=True)
        rank_edges(self.tree, NO_ACTION, self._ranked)

    def choose(self, states: States, i: int) -> int:
        """The action to play."""
        began, payoffs = perf_counter(), self.settings.payoffs
        known, spent = only_action(states, i, self.work.expansion.anchors), 0
        if known == NO_ACTION:
            known, _, spent = solved_ending(states, i, payoffs, self.limits.to_solve, self.solver)
        if known != NO_ACTION:
            return int(known)
        self._begin(states, i)
        self._spend(self.limits.effort - spent, began, may_stop=True)
        return self._best()

    def lines(self, game: Game) -> list[Line]:
        """The lines of a game with the whole budget."""
        began = perf_counter()
        self._begin_with_root(game)
        self._solve(game, self.limits.to_solve)
        self._spend(self.limits.effort, began, may_stop=False)
        return self._lines(game)

    def deepen(self, game: Game) -> Iterator[list[Line]]:
        """The lines of a game after ever more effort."""
        began, reached, is_done = perf_counter(), FIRST_EFFORT, False
        self._begin_with_root(game)
        while not is_done:
            self._solve(game, reached // SOLVER_SHARE)
            end = min(reached, self.limits.effort)
            for effort in (*range(self._spent + _MOST_AT_ONCE, end, _MOST_AT_ONCE), end):
                yield self._lines_after(game, effort)
                is_done = self._is_done(perf_counter() - began)
                if is_done:
                    break
            reached *= 2
        if self._solve(game, self.limits.to_solve):
            yield self._lines_after(game, _MOST_AT_ONCE)

    def _begin(self, states: States, i: int) -> None:
        """Begins with a position that is not over, whose root is not complete yet."""
        self._added = 0
        reset_search(self.tree, self.work, states, i)

    def _grow(self, simulations: int, effort: int, *, may_stop: bool = False) -> int:
        """Adds simulations, up to an effort in all; returns their number."""
        added = int(grow(self.tree, self.work, self.settings, simulations, effort, may_stop))
        self._added += added
        return added

    def _spend(self, effort: int, began: float, *, may_stop: bool) -> None:
        """Spends an effort, or instead the seconds of a search that began then."""
        if self.limits.seconds is None:
            self._grow(self.limits.simulations, effort, may_stop=may_stop)
            return
        added = self._grow(_BLOCK, NO_LIMIT)
        while perf_counter() < began + self.limits.seconds and added == _BLOCK:
            added = self._grow(_BLOCK, NO_LIMIT)

    def _best(self) -> int:
        return int(self.tree.edges[best_edge(self.tree, ROOT)]["action"])

    @property
    def _spent(self) -> int:
        return int(self.work.effort[0])

    def _is_done(self, seconds: float) -> bool:
        """Whether the limits are reached after so many seconds, or nothing more can be found out."""
        limits, tree = self.limits, self.tree
        is_spent = self._spent >= limits.effort or self._added >= limits.simulations
        is_late = limits.seconds is not None and seconds >= limits.seconds
        return is_spent or is_late or bool(is_full(tree)) or bool(is_solved(tree, ROOT))

    def _begin_with_root(self, game: Game) -> None:
        self._solved, self._is_won, self._tried = NO_ACTION, False, 0
        self._restart(game)

    def _restart(self, game: Game) -> None:
        """Begins the tree anew, with a root that is complete."""
        self._begin(game.state, 0)
        self._grow(0, NO_LIMIT)

    def _solve(self, game: Game, quilts: int) -> bool:
        """Solves an ending as far as so many quilts allow.

        Returns whether that tells more than before; then the tree begins anew with it.
        """
        quilts = min(quilts, self.limits.to_solve)
        if quilts <= self._tried or is_solved(self.tree, ROOT):
            return False
        self._tried = quilts
        payoffs = self.settings.payoffs
        solved, is_exact, _ = solved_ending(self.tree.states, ROOT, payoffs, quilts, self.solver)
        if solved == NO_ACTION or (solved == self._solved and not is_exact):
            return False
        self._solved, self._is_won = solved, not is_exact
        self._restart(game)
        self._put_solved(solved, quilts, is_exact=is_exact)
        return True

    def _put_solved(self, action: int, quilts: int, *, is_exact: bool) -> None:
        """Gives a complete root an edge for the solver's action, and solves its edges if that is the best."""
        ensure_edge(self.tree, self.work, self.settings, action)
        if is_exact:
            solve_root(self.tree, self.work, self.settings, action, quilts, self.solver)

    def _lines_after(self, game: Game, effort: int) -> list[Line]:
        """The lines when the tree has grown up to an effort."""
        self._grow(self.limits.simulations - self._added, effort)
        return self._lines(game)

    def _lines(self, game: Game) -> list[Line]:
        """The actions that the search considered, in the order of :func:`~.search.rank_edges`.

        An action that the solver knows to win is shown to win, whatever the search has found below it.
        """
        if len(game.legal_actions()) == 1:
            return [_line_of_forced(self.tree, game)]
        edges = self._ranked[: rank_edges(self.tree, self._solved, self._ranked)].tolist()
        lines = [_line_of(self.tree, game, edge) for edge in edges]
        if self._is_won:
            lines[0] = lines[0]._replace(win=1.0, margin=max(lines[0].margin, 0.0))
        return lines


# --- lines of play ------------------------------------------------------------------------------------------


def _line_of(tree: Tree, game: Game, edge: int) -> Line:
    record = tree.edges[edge]
    margin, win = _margin_and_win(record["values"])
    action, after = int(record["action"]), game.clone()
    after.play(action)
    variation = action, *_best_play(tree, after, int(record["child"]))
    return Line(action, int(record["visits"]), margin, win, bool(record["solved"]), variation)


def _margin_and_win(values: npt.NDArray[np.floating[Any]]) -> tuple[float, float]:
    return float(values[SCORE] - values[SCORE + 1]), float(values[WIN])


def _line_of_forced(tree: Tree, game: Game) -> Line:
    """The line of the only legal action; the root is the next position with a choice, or the end."""
    root = tree.nodes[ROOT]
    margin, win = _margin_and_win(root["values"])
    if int(root["player"]) != game.current_player:
        margin, win = -margin, 1 - win
    variation = _best_play(tree, game.clone(), ROOT)
    return Line(variation[0], int(root["visits"]), margin, win, bool(is_solved(tree, ROOT)), tuple(variation))


def _best_play(tree: Tree, game: Game, node: int) -> list[int]:
    """Plays the forced moves before a node and the best line below it; returns what it played."""
    actions = _play_forced(game)
    while node != NOTHING and tree.nodes[node]["count"] > 0:
        edge = tree.edges[best_edge(tree, node)]
        actions.append(int(edge["action"]))
        game.play(actions[-1])
        actions += _play_forced(game)
        node = int(edge["child"])
    return actions


def _play_forced(game: Game) -> list[int]:
    actions: list[int] = []
    while len(legal := game.legal_actions()) == 1:
        actions.append(int(legal[0]))
        game.play(actions[-1])
    return actions
