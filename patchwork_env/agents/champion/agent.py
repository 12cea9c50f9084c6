"""An agent that searches with a learned value."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter

import numpy as np

from patchwork_env._compile import kernel
from patchwork_env.agents.base import Actions, BatchAgent, check_running
from patchwork_env.agents.champion.levels import DEFAULT_LEVEL, LEVELS, MOST_NODES, check_budget
from patchwork_env.agents.champion.lines import Line, lines_of
from patchwork_env.agents.champion.simulation import (
    NODE_EFFORT,
    WIDTH,
    Budget,
    Mind,
    Workspace,
    new_workspace,
    plant,
    simulate,
)
from patchwork_env.agents.value.choice import Payoffs, payoffs_of
from patchwork_env.agents.value.files import read_value
from patchwork_env.agents.value.network import Weights
from patchwork_env.patchwork.engine import NUM_MAPS, legal, nth_legal
from patchwork_env.patchwork.game import Game
from patchwork_env.patchwork.state import STATE, States
from patchwork_env.search.best_first import NOTHING, ROOT, Rule, Tree, most_visited, new_tree

_RULE = Rule(exploration=0.3, temperature=0.1, greed=0.5)
_LIKELY = 16
_NO_LIMIT = 2**40
_BLOCK = Budget(16, _NO_LIMIT)
"""Between two looks at the clock."""


class ChampionAgent(BatchAgent):
    """Searches every move with a learned value; see :mod:`patchwork_env.agents.champion`.

    A search ends early when more of it would not change the move any more.

    Args:
        weights: Of the value; what happens to them later changes how the agent plays.
        payoffs: What the agent is after.
        name: What tables and messages call the agent.
        level: Budget of a move, one of :data:`~patchwork_env.agents.champion.levels.LEVELS`; without any
            budget ``"instant"``.
        nodes: Instead, the most positions of a move whose successors are evaluated.
        seconds: Instead, the most time of a move; it may take a few milliseconds more.
        rule: How the tree of a search grows.
        likely: See :class:`~patchwork_env.agents.champion.simulation.Mind`.

    Raises:
        ValueError: A budget is not of these, or there is more than one.
    """

    def __init__(
        self,
        weights: Weights,
        payoffs: Payoffs,
        name: str = "champion",
        *,
        level: str | None = None,
        nodes: int | None = None,
        seconds: float | None = None,
        rule: Rule = _RULE,
        likely: int = _LIKELY,
    ) -> None:
        self.name = name
        check_budget(level, nodes, seconds)
        self.seconds = seconds
        self.budget = _budget(level, nodes, seconds)
        self._mind = Mind(weights, payoffs, rule, likely)
        self._tree = new_tree(self.budget.simulations + 1, WIDTH, STATE)
        self._work = new_workspace()

    def act_batch(self, states: States) -> Actions:
        """See :meth:`Agent.act_batch`; the budget is that of each game."""
        check_running(states)
        states = np.ascontiguousarray(states)
        actions = np.empty(len(states), np.int64)
        if self.seconds is None:
            _choose_all(states, self._tree, self._work, self._mind, self.budget, actions)
        else:
            for i in range(len(states)):
                actions[i] = self._choose_in_time(states, i)
        return actions

    def search(self, game: Game) -> list[Line]:
        """What the agent thinks of a game with its whole budget, without ending early.

        Returns:
            A line for every action that the search considers, the one that it would play first.

        Raises:
            ValueError: The game is over.
        """
        check_running(game.state)
        plant(self._tree, self._work, self._mind, game.state, 0)
        self._grow()
        return lines_of(self._tree, game)

    def _choose_in_time(self, states: States, i: int) -> int:
        forced = int(_forced_action(states, i))
        if forced != NOTHING:
            return forced
        plant(self._tree, self._work, self._mind, states, i)
        self._grow()
        return int(self._tree.edges[most_visited(self._tree, ROOT)]["action"])

    def _grow(self) -> None:
        """Spends the budget of a move."""
        if self.seconds is None:
            simulate(self._tree, self._work, self._mind, self.budget, False)
            return
        end, added = perf_counter() + self.seconds, _BLOCK.simulations
        while perf_counter() < end and added == _BLOCK.simulations:
            added = simulate(self._tree, self._work, self._mind, _BLOCK, False)


def load(
    path: str | Path, *, level: str | None = None, nodes: int | None = None, seconds: float | None = None
) -> ChampionAgent:
    """The agent that searches with the value of a checkpoint folder, after the payoffs of its training.

    Raises:
        FileNotFoundError: There is no checkpoint.
        ValueError: It is damaged, of another game, version or kind of policy, or the budget is not one.
    """
    weights, info = read_value(Path(path))
    name = Path(path).name + _suffix(level, nodes, seconds)
    payoffs = payoffs_of(info, str(path))
    return ChampionAgent(weights, payoffs, name, level=level, nodes=nodes, seconds=seconds)


def _budget(level: str | None, nodes: int | None, seconds: float | None) -> Budget:
    """The budget of a search; the root is a node without a simulation."""
    if seconds is not None:
        return Budget(MOST_NODES - 1, _NO_LIMIT)
    if nodes is not None:
        return Budget(nodes - 1, _NO_LIMIT)
    effort = LEVELS[level or DEFAULT_LEVEL]
    return Budget(min(effort // NODE_EFFORT, MOST_NODES) - 1, effort)


def _suffix(level: str | None, nodes: int | None, seconds: float | None) -> str:
    """The budget in a spec."""
    if seconds is not None:
        return f":seconds={seconds:g}"
    if nodes is not None:
        return f":nodes={nodes}"
    return f":{level}" if level else ""


@kernel
def _forced_action(states: States, i: int) -> int:
    """The only legal action of a game, or ``NOTHING`` if there is a choice."""
    anchors = np.empty((2, NUM_MAPS), np.uint64)
    return nth_legal(anchors, 0) if legal(states, i, anchors) == 1 else NOTHING


@kernel
def _choose_all(
    states: States, tree: Tree, work: Workspace, mind: Mind, budget: Budget, actions: Actions
) -> None:
    for i in range(len(states)):
        actions[i] = _forced_action(states, i)
        if actions[i] == NOTHING:
            plant(tree, work, mind, states, i)
            simulate(tree, work, mind, budget, True)
            actions[i] = tree.edges[most_visited(tree, ROOT)]["action"]
