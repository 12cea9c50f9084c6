"""An agent for every game: UCT with random playouts, which needs only the rules.

The value of the end of a game is mostly its outcome, and to a small part its points: the difference to the
best score of the others, or the player's own points in games for one. Random games from the position scale
the points.

Hidden information is drawn several times. Each possibility is searched in its own tree, and the visits of
the actions are added up (determinization; Ginsberg 2001, Whitehouse et al. 2011).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from time import perf_counter
from types import ModuleType
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from patchwork_env.agents.base import Actions, DrawingAgent
from patchwork_env.agents.options import check_budget, spec_of
from patchwork_env.core.batches import loop
from patchwork_env.core.compile import specialize, template
from patchwork_env.core.intrinsics import copy_record
from patchwork_env.core.kernels import Kernels, LegalSet, States
from patchwork_env.core.random import Streams, random_below
from patchwork_env.core.rules import Rules
from patchwork_env.games import rules_of
from patchwork_env.search import uct
from patchwork_env.search.tree import ROOT, Path, Tree, new_path
from patchwork_env.search.uct import Rule, add_edges, new_tree, start_tree

DEFAULT_SIMULATIONS = 400
RULE = Rule(exploration=0.7, first=4.0, factor=1.0, exponent=0.5)
MARGIN_SHARE = 0.2
"""The share of points in the value of a game's end, in games of several players; the outcome has the rest."""
_MOST_NODES, _EDGES_PER_NODE, _MOST_EDGES, _LONGEST_PATH = 1 << 16, 16, 256, 1024
_POSSIBILITIES = 8  # the number of draws of hidden information
_SAMPLES, _DEVIATIONS = 16, 3.0
"""The number of random games that scale points, and the number of standard deviations with the value 1."""
game = cast(Kernels, None)  # replaced by each game's kernels


class Workspace(NamedTuple):
    """The memory of searches in one game; see :class:`patchwork_env.search.uct.Workspace`."""

    state: States
    actions: npt.NDArray[np.int64]  # (edges,)
    values: npt.NDArray[np.float64]  # (max_players,)
    path: Path
    tree: Tree
    root: States  # (1,), the position to search from, with hidden information drawn at random
    legal_set: LegalSet
    listed: npt.NDArray[np.int16]  # (max_legal_actions,), the legal actions as a list
    scale: npt.NDArray[np.float64]  # (2,), the points of the value 0, and the points per unit of value


class UctAgent(DrawingAgent):
    """Searches every move with a budget of simulations, by default ``DEFAULT_SIMULATIONS``, or of time."""

    spec: ClassVar[str] = "uct"
    block: ClassVar[int] = 20  # the number of simulations between two reads of the clock

    def __init__(
        self, seed: int | None = None, *, simulations: int | None = None, seconds: float | None = None
    ) -> None:
        check_budget(simulations=simulations, seconds=seconds)
        self.seconds, self.simulations = seconds, simulations or DEFAULT_SIMULATIONS
        self.name = spec_of(self.spec, simulations=simulations, seconds=seconds)
        super().__init__(seed)

    def _choose(self, states: States, stream: Streams, actions: Actions) -> None:
        for i in range(len(states)):
            actions[i] = self._search(rules_of(states), states[i : i + 1], stream)

    def _new_workspace(self) -> Any:
        return {}  # a Workspace for each game played so far

    def _search(self, rules: Rules, state: States, stream: Streams) -> int:
        work, kernels = self._work(rules), _kernels(rules)
        work.root[0], before = state[0], stream.copy()
        kernels.determinize(work.root, 0, stream)
        parts = _POSSIBILITIES if (stream != before).any() else 1  # the position may hide nothing
        count = int(kernels.list_actions(work.root, 0, work, stream))
        if count == 1:
            return int(work.actions[0])
        actions = work.actions[:count].copy()
        kernels.measure_scale(work, stream, _SAMPLES)
        simulate = partial(kernels.simulate, work.tree, work, RULE)
        if self.seconds:  # compile before the time of the move begins
            _plant(state, actions, work, kernels, stream.copy())
            simulate(stream.copy(), 1)
        visits, values = np.zeros(count, np.int64), np.zeros(count)
        began = perf_counter()
        for part in range(parts):
            _plant(state, actions, work, kernels, stream)
            self._spend(partial(simulate, stream), began, part, parts)
            visits += work.tree.edges["visits"][:count]
            values += work.tree.edges["value_sum"][:count]
        return int(actions[np.lexsort((values, visits))[-1]])

    def _work(self, rules: Rules) -> Workspace:
        workspaces: dict[str, Workspace] = self.workspace()
        if rules.name not in workspaces:
            workspaces[rules.name] = _new_work(rules, _MOST_NODES if self.seconds else self.simulations + 1)
        return workspaces[rules.name]

    def _spend(self, simulate: Callable[[int], object], began: float, part: int = 0, parts: int = 1) -> None:
        """Spend one of ``parts`` equal parts of a move's budget; ``began`` is when the move began."""
        if self.seconds is None:
            simulate(self.simulations // parts + (part < self.simulations % parts))
            return
        simulate(self.block)
        while perf_counter() < began + self.seconds * (part + 1) / parts:
            simulate(self.block)


def _new_work(rules: Rules, nodes: int) -> Workspace:
    width = RULE.first + RULE.factor * nodes**RULE.exponent + 1
    edges = int(min(width, rules.max_legal_actions, _MOST_EDGES))
    return Workspace(
        rules.empty_states(1),
        np.empty(edges, np.int64),
        np.zeros(rules.kernels.max_players),
        new_path(_LONGEST_PATH),
        new_tree(nodes, edges + min(edges, _EDGES_PER_NODE) * nodes, rules.dtype),
        rules.empty_states(1),
        np.empty(rules.kernels.legal_shape, np.uint64),
        np.empty(rules.max_legal_actions, np.int16),
        np.array([0.0, 1.0]),
    )


def _plant(
    state: States, actions: npt.NDArray[np.int64], work: Workspace, kernels: ModuleType, stream: Streams
) -> None:
    """Begin a tree with these actions, for one draw of hidden information."""
    work.root[0] = state[0]
    kernels.determinize(work.root, 0, stream)
    start_tree(work.tree, work.root, 0)
    add_edges(work.tree, ROOT, int(state[0]["current_player"]), actions, len(actions))


# --- kernels ----------------------------------------------------------------------------------------------


@cache
def _kernels(rules: Rules) -> ModuleType:
    kernels = ModuleType(f"{rules.name}_uct")
    kernels.__dict__.update(
        apply=rules.kernels.apply,
        is_over=rules.kernels.is_over,
        determinize=rules.kernels.determinize,
        list_actions=loop(list_actions, rules),
        play_out=loop(play_out, rules),
        measure_scale=loop(measure_scale, rules),
    )
    kernels.__dict__["simulate"] = specialize(uct.simulate, kernels)
    return kernels


@template
def list_actions(states: States, i: int, work: Workspace, streams: Streams) -> int:
    """Write legal actions in random order to ``work.actions`` until it is full; return their number."""
    count = game.legal(states, i, work.legal_set)
    game.write_actions(work.legal_set, work.listed)
    number = min(count, len(work.actions))
    for k in range(number):
        other = k + random_below(streams, 0, count - k)
        work.actions[k] = work.listed[other]
        work.listed[other] = work.listed[k]
    return number


@template
def play_out(work: Workspace, streams: Streams) -> None:
    """Play ``work.state`` to its end at random; write each player's value to ``work.values``."""
    _play_randomly(work, streams)
    players = game.num_players(work.state, 0)
    for player in range(players):
        points = (_points(work.state, player) - work.scale[0]) / work.scale[1]
        value = min(max(points, -1.0), 1.0)
        if players > 1:
            outcome = game.outcome(work.state, 0, player)
            value = (1.0 - MARGIN_SHARE) * outcome + MARGIN_SHARE * value
        work.values[player] = value


@template
def measure_scale(work: Workspace, streams: Streams, samples: int) -> None:
    """Set the scale of points by random games from ``work.root``."""
    total, squares = 0.0, 0.0
    player = work.root[0]["current_player"]
    for _ in range(samples):
        copy_record(work.state, 0, work.root, 0)
        _play_randomly(work, streams)
        points = _points(work.state, player)
        total += points
        squares += points * points
    alone = game.num_players(work.root, 0) == 1
    mean = total / samples
    center = mean if alone else 0.0  # with several players, points are differences around 0
    spread = squares / samples - center * (2.0 * mean - center)
    work.scale[0], work.scale[1] = center, _DEVIATIONS * np.sqrt(max(spread, 1.0))


@template
def _play_randomly(work: Workspace, streams: Streams) -> None:
    while not game.is_over(work.state, 0):
        count = game.legal(work.state, 0, work.legal_set)
        game.apply(work.state, 0, game.nth_legal(work.legal_set, random_below(streams, 0, count)))


@template
def _points(states: States, player: int) -> float:
    """Return a player's score, minus the best one of the others if there are any."""
    rival, players = -np.inf, game.num_players(states, 0)
    for other in range(players):
        if other != player:
            rival = max(rival, float(game.score(states, 0, other)))
    own = float(game.score(states, 0, player))
    return own - rival if players > 1 else own
