"""The agents that play by a learned value: at a glance, or with a search of every move.

The search is the champion, the strongest way to play that this library knows; :mod:`.search` has the tree.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from patchwork_env.agents.analysis import Line
from patchwork_env.agents.base import Actions, BatchAgent, serialized
from patchwork_env.agents.checkpoints import is_shipped
from patchwork_env.agents.patchwork import AIMS
from patchwork_env.agents.patchwork.analysis import Limits, Search
from patchwork_env.agents.patchwork.expansion import (
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
from patchwork_env.agents.patchwork.search import LEVELS, NO_LIMIT, NODE_EFFORT, Settings
from patchwork_env.agents.patchwork.value import Weights, read_value
from patchwork_env.agents.specs import FEWEST_NODES, MOST_NODES, check_budget, spec_of
from patchwork_env.core.checks import check_between, check_one_of
from patchwork_env.core.compile import kernel
from patchwork_env.games import PATCHWORK
from patchwork_env.patchwork.game import Game
from patchwork_env.patchwork.state import States
from patchwork_env.patchwork.symmetry import NUM_SYMMETRIES, turn_actions, turn_quilts

DEFAULT_LEVEL, DEFAULT_AIM = "instant", "win"
_PAYOFFS = dict(zip(AIMS, (TO_WIN, TO_WIN_RICHLY, FOR_MARGIN, FOR_SCORE), strict=True))
_SOLVED_PER_NODE, _SOLVED_PER_SECOND = 20, 500_000
"""The quilts that the solver may look at for each of its two questions; it looks at three million in a
second."""


class ValueAgent(BatchAgent):
    """Plays the action with the highest utility, without looking further ahead.

    The weights are not copied: later changes change how the agent plays.
    """

    games = (PATCHWORK,)

    def __init__(self, weights: Weights, payoffs: Payoffs, name: str = "value") -> None:
        self.name = name
        self._weights, self._payoffs = weights, payoffs

    def _new_workspace(self) -> Expansion:
        return new_expansion()

    def act_batch(self, states: States) -> Actions:
        """See :meth:`Agent.act_batch`."""
        self.check_states(states)
        actions = np.empty(len(states), np.int64)
        _choose_at_a_glance(states, self._weights, self._payoffs, self.workspace(), actions)
        return actions


@kernel
def _choose_at_a_glance(
    states: States, weights: Weights, payoffs: Payoffs, expansion: Expansion, actions: Actions
) -> None:
    for i in range(len(states)):
        count = expand_likely(states, i, LIKELY, weights, expansion)
        actions[i] = expansion.actions[best_action(expansion, count, payoffs)]


class ChampionAgent(BatchAgent):
    """Searches every move with a learned value.

    A search ends early when the rest of its budget cannot change the move any more.

    Args:
        weights: The weights of the value, which are not copied: later changes change how the agent plays.
        payoffs: The payoffs of the agent.
        name: The name of the agent in tables and messages.
        level: The budget of a move, one of ``LEVELS``; ``"instant"`` if no budget is given.
        nodes: Instead, the most positions of a move whose successors are evaluated.
        seconds: Instead, the most seconds of a move; it may take a few milliseconds more.

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
    ) -> None:
        self.name = name
        self.limits = limits_of(level, nodes, seconds)
        self._settings = Settings(weights, payoffs)

    def _new_workspace(self) -> Search:
        search = Search(self._settings, self.limits)
        if self.limits.seconds is not None:
            search.compile()
        return search

    def act_batch(self, states: States) -> Actions:
        """See :meth:`Agent.act_batch`; the budget is that of each game."""
        self.check_states(states)
        search, states = self.workspace(), np.ascontiguousarray(states)
        return np.array([search.choose(states, i) for i in range(len(states))], np.int64)

    @serialized
    def search(self, game: Game) -> list[Line]:
        """Analyses a game with the whole budget; a line for every action considered, the one to play first.

        In an ending that it can solve, it also solves the positions after the moves, as far as that is quick.

        Raises:
            ValueError: The game is over.
        """
        self.check_states(game.state)
        lines: list[Line] = self.workspace().lines(game)
        return lines

    def deepen(self, game: Game) -> Iterator[list[Line]]:
        """Analyses a game as :meth:`search` does, and gives the lines again and again as the search goes on.

        The first ones come after a few milliseconds, the later ones several times a second. Each analysis has
        a memory of its own, so that it can wait as long as it likes, or be given up.

        Raises:
            ValueError: The game is over.
        """
        self.check_states(game.state)
        return Search(self._settings, self.limits).deepen(game.clone())

    def evaluate_moves(self, game: Game) -> list[Line]:
        """A line of one action for every legal action by the value alone, the highest utility first.

        Raises:
            ValueError: The game is over.
        """
        self.check_states(game.state)
        expansion = new_expansion()
        count = expand(game.state, 0, self._settings.weights, expansion)
        order = sorted(range(count), key=lambda k: -action_utility(self._settings.payoffs, expansion, k))
        return [_line_of_value(game, expansion, k) for k in order]

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


def _line_of_value(game: Game, expansion: Expansion, k: int) -> Line:
    action, after = int(expansion.actions[k]), game.clone()
    after.play(action)
    margin, win = float(expansion.owns[k] - expansion.others[k]), float(expansion.wins[k])
    return Line(action, 0, margin, win, after.is_over, (action,))


def limits_of(level: str | None, nodes: int | None, seconds: float | None) -> Limits:
    """The limits of searches with a budget, of which at most one is given; the root takes no simulation."""
    check_budget(level=level, nodes=nodes, seconds=seconds)
    if seconds is not None:
        return Limits(MOST_NODES - 1, NO_LIMIT, int(seconds * _SOLVED_PER_SECOND), seconds)
    if nodes is not None:
        check_between(nodes, FEWEST_NODES, MOST_NODES, "nodes")
        return Limits(nodes - 1, NO_LIMIT, nodes * _SOLVED_PER_NODE, None)
    effort = LEVELS[check_one_of(level or DEFAULT_LEVEL, LEVELS, "level")]
    return Limits(min(effort // NODE_EFFORT, MOST_NODES) - 1, effort, effort // 3, None)


def load(
    path: str | Path,
    seed: int | None = None,
    *,
    level: str | None = None,
    nodes: int | None = None,
    seconds: float | None = None,
    aim: str | None = None,
) -> BatchAgent:
    """The agent of a value's checkpoint; it searches if there are options, or it comes with the package.

    ``aim`` is what it plays for, one of :data:`~patchwork_env.agents.patchwork.AIMS`, ``"win"`` by default;
    for the budgets see :class:`ChampionAgent`.

    Raises:
        FileNotFoundError: There is no checkpoint.
        ValueError: It is damaged, of another game, version or kind of policy; or an option is not allowed.
    """
    payoffs = _PAYOFFS[check_one_of(DEFAULT_AIM if aim is None else aim, AIMS, "aim")]
    budget = check_budget(level=level, nodes=nodes, seconds=seconds)
    weights, _ = read_value(Path(path))
    name = spec_of(Path(path).name, **budget, aim=None if aim == DEFAULT_AIM else aim)
    if budget or aim is not None or is_shipped(path):
        return ChampionAgent(weights, payoffs, name, **budget)
    return ValueAgent(weights, payoffs, name)
