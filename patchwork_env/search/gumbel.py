"""Gumbel search of many games at once.

The algorithm is that of "Policy improvement by planning with Gumbel" (Danihelka, Guez, Schrittwieser and
Silver, ICLR 2022), with planning at all nodes: actions of the root are drawn without replacement by Gumbel
noise and tried by Sequential Halving; below the root, actions are selected deterministically such that visits
follow the improved policy, ``softmax(log prior + sigma(completed Q))``, where unvisited actions have the
mixed value of appendix D as Q-value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from patchwork_env.core.checks import as_number, check_at_least_one
from patchwork_env.search import gumbel_tree as tree
from patchwork_env.search.gumbel_tree import Scale, SearchResult
from patchwork_env.search.tree import as_blocks

States = npt.NDArray[np.void]  # records of games, shape ``(n,)``


class Dynamics(Protocol):
    """The rules of a game of two players, as far as a search needs them; payoffs add up to 0."""

    def step(self, states: States, actions: npt.NDArray[np.int64]) -> None:
        """Play a legal action in every game, in place, and then all moves that have no alternative."""

    def finished(self, states: States) -> npt.NDArray[np.bool_]:
        """Return a mask of the games that are over, bool ``(n,)``."""

    def players(self, states: States) -> npt.NDArray[np.int64]:
        """Return the players to move, 0 or 1, int64 ``(n,)``; for games that are over, any of the two."""

    def returns(self, states: States) -> npt.NDArray[np.float32]:
        """Return the payoffs of player 0 in finished games, float32 ``(n,)``; player 1 gets the negative."""


class Evaluation(NamedTuple):
    """The policy and the values of ``n`` states, none of which is over, with ``total`` legal actions."""

    counts: npt.NDArray[np.int64]  # (n,), the legal actions of each state, at least 1
    actions: npt.NDArray[np.int64]  # (total,), the legal actions, state by state
    log_probabilities: npt.NDArray[np.float32]  # (total,), of the actions by the policy
    values: npt.NDArray[np.float32]  # (n,), the expected payoff of the player to move


Evaluate = Callable[[States], Evaluation]  # evaluates states, none of which is over


class GumbelSearch:
    """Searches batches of games of one kind; the workspace is kept from one search to the next.

    The transformation of Q-values is ``sigma(q) = (50 + visits of the most visited child) * c_scale *
    q / value_range``. Searches in several threads need an object each.

    Args:
        dynamics: The rules of the game.
        simulations: The number of simulations per game, at least 1.
        max_considered: The most actions of the root that are tried, at least 1.
        c_scale: The weight of the search's values against the prior, above 0.
        value_range: The highest possible payoff minus the lowest, above 0.
        gumbel_scale: The factor of the noise at the root; with 0 the search is deterministic.
    """

    def __init__(
        self,
        dynamics: Dynamics,
        simulations: int = 32,
        max_considered: int = 16,
        *,
        c_scale: float = 1.0,
        value_range: float = 2.0,
        gumbel_scale: float = 1.0,
    ) -> None:
        self.dynamics = dynamics
        self.simulations = check_at_least_one(simulations, "simulations")
        self.max_considered = check_at_least_one(max_considered, "max_considered")
        self.gumbel_scale = as_number(gumbel_scale, "gumbel_scale", least=0)
        self._scale = Scale(
            as_number(c_scale, "c_scale", above=0), as_number(value_range, "value_range", above=0)
        )
        numbers = range(1, self.max_considered + 1)
        self._visits_by_actions = np.stack([considered_visits(n, self.simulations) for n in numbers])
        self._workspace: _Workspace | None = None

    def run(
        self, states: States, evaluate: Evaluate, random: np.random.Generator | None = None
    ) -> SearchResult:
        """Search from every state; finished states and those with a single action are not searched.

        Each other state gets exactly ``simulations`` simulations, one in each round, with a single call of
        ``evaluate`` per round for all states. The noise, from ``random``, is drawn game by game, so that a
        search of the games one by one has the same results if the evaluations are the same.

        The states are records ``(n,)``, which are left as they were. ValueError if ``random`` is None and
        ``gumbel_scale`` above 0, or an evaluation is malformed.
        """
        if random is None and self.gumbel_scale > 0:
            raise ValueError(f"random is None; with gumbel_scale {self.gumbel_scale} it must be a generator")
        states = np.ascontiguousarray(states)
        if self._workspace is None or not self._workspace.has_room_for(states):
            self._workspace = _Workspace(states, self.simulations + 1, self.max_considered)
        work = self._workspace.reset(len(states))
        finished = self.dynamics.finished(states)
        tree.set_up_roots(work.trees, finished)
        roots = np.arange(len(states)) * work.capacity
        actions = self._expand(work, roots, states, finished, evaluate)
        noise = np.zeros(len(actions))
        if random is not None and self.gumbel_scale > 0:
            noise = self.gumbel_scale * random.gumbel(size=len(actions))
        tree.choose_candidates(work.trees, noise)
        if work.trees.sizes.any():
            for simulation in range(self.simulations):
                self._simulate(work, simulation, evaluate)
        return self._summarize(work, finished, actions)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for copies and pickles, without the workspace."""
        return {**self.__dict__, "_workspace": None}

    def _simulate(self, work: _Workspace, simulation: int, evaluate: Evaluate) -> None:
        added = tree.select_leaves(work.trees, self._visits_by_actions, simulation, self._scale, work.leaves)
        if added == 0:  # all ended in finished games
            return
        leaves, parents, actions = (array[:added] for array in work.leaves)
        states = work.states[parents].view(work.state_type)
        self.dynamics.step(states, actions)
        self._expand(work, leaves, states, self.dynamics.finished(states), evaluate)

    def _expand(
        self,
        work: _Workspace,
        leaves: npt.NDArray[np.int64],
        states: States,
        finished: npt.NDArray[np.bool_],
        evaluate: Evaluate,
    ) -> npt.NDArray[np.int64]:
        """Store and evaluate the states of new nodes; return all their legal actions."""
        work.states[leaves] = blocks = as_blocks(states)
        payoffs, running = _NO_PAYOFFS, states
        if finished.any():
            payoffs = self.dynamics.returns(blocks[finished].view(states.dtype))
            running = blocks[~finished].view(states.dtype)
        evaluation = evaluate(running) if len(running) else _NOTHING
        evaluation = Evaluation(*map(np.ascontiguousarray, evaluation, _TYPES))
        begin = work.add_edges(evaluation, len(running))
        players, counts, values = self.dynamics.players(states), evaluation.counts, evaluation.values
        tree.expand(work.trees.nodes, leaves, finished, players, payoffs, begin, counts, values)
        return evaluation.actions

    def _summarize(
        self, work: _Workspace, finished: npt.NDArray[np.bool_], actions: npt.NDArray[np.int64]
    ) -> SearchResult:
        n, total = len(finished), len(actions)
        result = SearchResult(
            counts=np.zeros(n, np.int64),
            actions=actions.copy(),
            policy=np.empty(total, np.float32),
            visits=np.empty(total, np.int32),
            chosen=np.full(n, -1, np.int64),
            values=np.empty(n, np.float32),
        )
        tree.summarize(work.trees, self._scale, finished, result)
        return result


_NO_PAYOFFS = np.empty(0, np.float32)
_TYPES = (np.int64, np.int64, np.float32, np.float32)  # of the arrays of an evaluation, as kernels take them
_NOTHING: Any = (np.empty(0),) * len(_TYPES)


class _Workspace:
    """The memory of searches: trees of ``capacity`` nodes each, for batches up to some size."""

    _EDGES_AT_FIRST = 64  # edges per node at first; the arrays grow if more are needed

    def __init__(self, states: States, capacity: int, max_considered: int) -> None:
        n = len(states)
        self.capacity = capacity
        self.state_type = states.dtype
        room = self._EDGES_AT_FIRST * n * min(capacity, 64)
        self._all = self.trees = tree.Trees(
            np.zeros(n * capacity, tree.NODE),
            tree.Edges(np.empty(room, np.int32), np.empty(room, np.float32)),
            np.zeros(n, np.int64),
            np.zeros((n, max_considered), tree.CANDIDATE),
        )
        self.states = as_blocks(np.empty(n * capacity, states.dtype))
        self.leaves = tree.Leaves(*(np.zeros(n, np.int64) for _ in tree.Leaves._fields))

    def has_room_for(self, states: States) -> bool:
        return len(states) <= len(self._all.sizes) and states.dtype == self.state_type

    def reset(self, n: int) -> _Workspace:
        nodes, edges, sizes, candidates = self._all
        self.trees = tree.Trees(nodes[: n * self.capacity], edges, sizes[:n], candidates[:n])
        self._edges_used = 0
        return self

    def add_edges(self, evaluation: Evaluation, states: int) -> int:
        """Add the legal actions of new nodes, in larger arrays if needed; return the index of the first."""
        edges, begin = self.trees.edges, self._edges_used
        room, end = len(edges.actions), begin + len(evaluation.actions)
        if end > room:
            more = (0, max(end, room + room // 2) - begin)
            edges = tree.Edges(np.pad(edges.actions[:begin], more), np.pad(edges.log_priors[:begin], more))
            self._all, self.trees = (trees._replace(edges=edges) for trees in (self._all, self.trees))
        if len(evaluation.counts) != states or not tree.add_edges(edges, begin, *evaluation):
            raise ValueError(_what_is_wrong(evaluation, states))
        self._edges_used = end
        return begin


def _what_is_wrong(evaluation: Evaluation, states: int) -> str:
    lengths = ", ".join(f"{len(array)} {name}" for name, array in evaluation._asdict().items())
    return (
        f"the evaluation of {states} states has {lengths}, and its counts add up to "
        f"{evaluation.counts.sum()}; it must have a count of at least 1 and a finite value for each state, "
        "and as many actions and log-probabilities, which are numbers, as its counts add up to"
    )


# --- Sequential Halving: how simulations are shared among the actions of the root ---------------------------
#
# After Karnin, Koren and Somekh, "Almost Optimal Exploration in Multi-Armed Bandits" (2013), in the form in
# which Danihelka et al. and mctx use it: in every phase all remaining actions are visited equally often, and
# the better half of them remains for the next phase.


def considered_visits(actions: int, simulations: int) -> npt.NDArray[np.int32]:
    """Return the visits before each simulation of the action that it takes, int32 ``(simulations,)``.

    Among the considered actions with that many visits, the search takes the one with the highest score.
    """
    if actions == 1:
        return np.arange(simulations, dtype=np.int32)
    phases = (actions - 1).bit_length()  # log2, rounded up
    visits: list[int] = []
    rounds_done, considered = 0, actions
    while len(visits) < simulations:
        for _ in range(max(1, simulations // (phases * considered))):
            visits += [rounds_done] * considered
            rounds_done += 1
        considered = max(2, considered // 2)
    return np.array(visits[:simulations], np.int32)
