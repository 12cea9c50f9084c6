"""The agent that searches: UCT whose leaves are played out."""

from __future__ import annotations

from time import perf_counter

import numpy as np

from patchwork_env._compile import kernel
from patchwork_env.agents.base import Actions, BatchAgent, check_running
from patchwork_env.agents.mcts.simulation import new_workspace, simulate
from patchwork_env.patchwork.engine import NUM_MAPS, legal, nth_legal
from patchwork_env.patchwork.options import seed_streams
from patchwork_env.patchwork.state import STATE, States
from patchwork_env.search.uct import NOTHING, ROOT, Rule, add_node, most_visited, new_tree

DEFAULT_SIMULATIONS = 400
_RULE = Rule(exploration=0.7, first=4.0, factor=1.0, exponent=0.4)
_MARGIN_SHARE = 0.2
_BLOCK = 100
"""Simulations between two looks at the clock, about a millisecond."""
_CAPACITY = 1 << 18
"""Nodes of a tree; once it is full, simulations go on from its leaves."""
_EDGES_PER_NODE = 12


class MctsAgent(BatchAgent):
    """Searches every move with a budget of simulations or of time; see :mod:`patchwork_env.agents.mcts`.

    Args:
        seed: Of its random numbers, ``0 ... 2**64 - 1``; None for fresh ones.
        simulations: Per move, at least 1; :data:`DEFAULT_SIMULATIONS` if there is no other budget.
        seconds: Per move, above 0, instead of simulations.

    Raises:
        ValueError: An argument is not of these, or both budgets are given.
    """

    def __init__(
        self, seed: int | None = None, *, simulations: int | None = None, seconds: float | None = None
    ) -> None:
        if simulations is not None and seconds is not None:
            raise ValueError(f"mcts has simulations={simulations} and seconds={seconds:g}; give one of them")
        if simulations is not None and simulations < 1:
            raise ValueError(f"simulations is {simulations}; it must be at least 1")
        if seconds is not None and not 0 < seconds < float("inf"):
            raise ValueError(f"seconds is {seconds}; it must be above 0 and finite")
        self.simulations, self.seconds = simulations, seconds
        self.name = _name(simulations, seconds)
        self._tree = new_tree(_CAPACITY, _EDGES_PER_NODE * _CAPACITY, STATE)
        self._work = new_workspace()
        self.reseed(seed)

    def act_batch(self, states: States) -> Actions:
        """See :meth:`Agent.act_batch`; the budget is that of each game."""
        check_running(states)
        return np.array([self._act(states[i : i + 1]) for i in range(len(states))], np.int64)

    def reseed(self, seed: int | None = None) -> None:
        """Starts the random numbers anew."""
        self._stream = seed_streams(seed)

    def _act(self, state: States) -> int:
        forced = int(_forced_action(state))
        if forced != NOTHING:
            return forced
        self._tree.sizes[:] = 0
        self._tree.states[add_node(self._tree)] = state[0]
        self._search()
        return int(self._tree.edges[most_visited(self._tree, ROOT)]["action"])

    def _search(self) -> None:
        """Spends the budget of a move."""
        if self.seconds is None:
            self._simulate(self.simulations or DEFAULT_SIMULATIONS)
            return
        end = perf_counter() + self.seconds
        while perf_counter() < end:
            self._simulate(_BLOCK)

    def _simulate(self, simulations: int) -> None:
        simulate(self._tree, self._work, _RULE, _MARGIN_SHARE, self._stream, simulations)


def _name(simulations: int | None, seconds: float | None) -> str:
    """The shortest spec of such an agent."""
    if seconds is not None:
        return f"mcts:seconds={seconds:g}"
    return "mcts" if simulations is None else f"mcts:simulations={simulations}"


@kernel
def _forced_action(states: States) -> int:
    """The only legal action of record 0, or ``NOTHING`` if there is a choice."""
    anchors = np.empty((2, NUM_MAPS), np.uint64)
    return nth_legal(anchors, 0) if legal(states, 0, anchors) == 1 else NOTHING
