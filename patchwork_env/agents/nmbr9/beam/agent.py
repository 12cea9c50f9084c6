"""An agent of NMBR 9 for games whose tiles to come are known: it plans the whole game and plays the plan."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path
from typing import Any

from patchwork_env.agents.base import Agent, record_of
from patchwork_env.agents.nmbr9.beam.planner import MOST_WIDTH, Budget, plan
from patchwork_env.agents.nmbr9.beam.stacks import Stack, action_of, alone, stack_of
from patchwork_env.agents.nmbr9.value.agent import read_value
from patchwork_env.agents.nmbr9.value.network import Weights
from patchwork_env.agents.specs import check_checkpoint, checkpoint_path, spec_of
from patchwork_env.core.checks import check_between, check_seed
from patchwork_env.core.game import BaseGame
from patchwork_env.games import NMBR9
from patchwork_env.nmbr9.actions import choose_action
from patchwork_env.nmbr9.state import FREE, NO_DIGIT, UNKNOWN, States

DEFAULT_WIDTH = 1000
MOST_PLANS = 4096
"""The number of plans that are remembered, those used last."""
SHIPPED_VALUE = "nmbr9_champion"
"""The value of tables, unless a spec names another checkpoint."""


class BeamAgent(Agent):
    """Plans the rest of a game when it first meets it, and plays the plan as long as the game follows it.

    Other players' tables do not matter: it maximizes its own points.

    Args:
        weights: The weights of the value of tables; see :mod:`patchwork_env.agents.nmbr9.value`.
        name: The name of the agent in tables and messages.
        width: The width of the search of a plan, 1 to 999,999; see
            :mod:`~patchwork_env.agents.nmbr9.beam.planner`.
        seconds: Instead, the seconds of a plan; the moves that follow it take no time.
        seed: The seed of the noise of searches, ``0 ... 2**64 - 1``; None for 0.

    Raises:
        ValueError: Not exactly one of ``width`` and ``seconds`` is given, or the one given is not allowed.
    """

    games = (NMBR9,)

    _seed: int
    _plans: OrderedDict[tuple[object, ...], Stack]

    def __init__(
        self,
        weights: Weights,
        name: str = "beam",
        *,
        width: int | None = None,
        seconds: float | None = None,
        seed: int | None = None,
    ) -> None:
        if (width is None) == (seconds is None):
            raise ValueError(f"width is {width} and seconds is {seconds}; give exactly one of them")
        if width is not None:
            check_between(width, 1, MOST_WIDTH, "width")
        if seconds is not None and not seconds > 0:
            raise ValueError(f"seconds is {seconds}; it must be above 0")
        self.name = name
        self._weights = weights
        self._budget = Budget(width, seconds)
        self.reseed(seed)

    def reseed(self, seed: int | None = None) -> None:
        """See :meth:`Agent.reseed`; plans are forgotten."""
        check_seed(seed)
        self.__dict__.update(_seed=seed or 0, _plans=OrderedDict())  # together, whatever interrupts the call

    def act(self, game: BaseGame) -> int:
        """See :meth:`Agent.act`.

        Raises:
            ValueError: The order of the deck is not known.
        """
        states = record_of(game)
        self.check_states(states)
        if states[0]["order"] == UNKNOWN:
            raise ValueError(
                f"agent {self.name!r} needs to know the tiles to come: the order must be 'known' or 'free'; "
                "'nmbr9_champion' plays unknown decks"
            )
        root = alone(states, 0)
        stack = self._stack(states, root)
        tile = stack[int(root[0]["round"])]
        if states[0]["order"] == FREE and not self._is_chosen(states):
            return choose_action(tile.digit)
        return action_of(tile, root, stack[0])

    def _is_chosen(self, states: States) -> bool:
        return bool(states[0]["chosen"][states[0]["current_player"]] != NO_DIGIT)

    def _stack(self, states: States, root: States) -> Stack:
        """The remembered plan of a game if it has been followed so far, or a new one."""
        is_free, is_chosen = bool(states[0]["order"] == FREE), self._is_chosen(states)
        deck = states[0]["deck"][: states[0]["num_cards"]].tobytes()
        key = (is_free, int(states[0]["num_rounds"]), deck)
        stack, placed = self._plans.get(key, ()), int(root[0]["round"])
        followed = bool(stack) and stack[:placed] == stack_of(root)
        if not followed or (is_chosen and stack[placed].digit != root[0]["deck"][placed]):
            stack = plan(root, is_free, is_chosen, self._budget, self._weights, self._seed).stack
        self._plans[key] = stack
        self._plans.move_to_end(key)
        while len(self._plans) > MOST_PLANS:
            self._plans.popitem(last=False)
        return stack


def from_spec(seed: int | None, value: str = SHIPPED_VALUE, **budget: Any) -> BeamAgent:
    """The agent of a spec; ``value`` names the checkpoint of its value, or is its path; see :func:`load`."""
    path = checkpoint_path(value)
    check_checkpoint(path)
    return load(path, seed, **budget)


def load(
    path: str | Path, seed: int | None = None, *, width: int | None = None, seconds: float | None = None
) -> BeamAgent:
    """The agent with the value of a checkpoint folder; for the options see :class:`BeamAgent`.

    The width is ``DEFAULT_WIDTH`` if no budget is given.

    Raises:
        FileNotFoundError: There is no checkpoint.
        ValueError: It is damaged or of another kind, or the budget is not allowed.
    """
    weights, _ = read_value(Path(path))
    name = spec_of("beam", width=width, seconds=seconds)
    if width is None and seconds is None:
        width = DEFAULT_WIDTH
    return BeamAgent(weights, name, width=width, seconds=seconds, seed=seed)
