"""Agents that choose from what environments show: observations and masks of many games at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from patchwork_env.agents.base import Actions, BatchAgent
from patchwork_env.core.batches import loop, write_views
from patchwork_env.core.checks import check_answer
from patchwork_env.core.names import short_repr
from patchwork_env.core.rules import States
from patchwork_env.core.tensors import Observation
from patchwork_env.games import PATCHWORK, rules_of

Masks = npt.NDArray[np.int8]


class ObservingAgent(BatchAgent):
    """Plays what a function chooses from observations and masks, as networks of one's own read them.

    >>> from patchwork_env.agents import ObservingAgent
    >>> from patchwork_env.patchwork import Game
    >>> agent = ObservingAgent(lambda observations, masks: masks.argmax(axis=1), "first action")
    >>> agent.act(Game(seed=7)) == int(Game(seed=7).legal_actions()[0])
    True

    The function is asked anew for every batch of games: a function that asks a network follows its weights.

    Args:
        choose: The function: observations, float32 ``(n, size)``, of the players to move, and masks, int8
            ``(n, num_actions)``, to legal actions, integers ``(n,)``.
        name: The name of the agent in tables and messages; that of the function by default.
        game: The name of the game.

    Raises:
        ValueError: It is no function, or there is no such game.
    """

    def __init__(
        self, choose: Callable[[Observation, Masks], Any], name: str | None = None, game: str = PATCHWORK
    ) -> None:
        if not callable(choose) or isinstance(choose, type):
            raise ValueError(f"{short_repr(choose)} is no function from observations and masks to actions")
        if not isinstance(name, str | None):
            raise ValueError(f"the name of an agent must be text, not {short_repr(name)}")
        self.name = name or str(getattr(choose, "__name__", type(choose).__name__))
        self.games = (rules_of(game).name,)
        self._choose = choose

    def act_batch(self, states: States) -> Actions:
        """The function's actions, int64 ``(n,)``; whether they are legal is for the games to check.

        Raises:
            IllegalActionError: The function did not answer with one integer for each game.
        """
        self.check_states(states)
        return np.array(check_answer(self._choose(*views_of(states)), len(states)), np.int64)


def views_of(states: States) -> tuple[Observation, Masks]:
    """What the players to move see and may do: observations float32 and masks int8, a row for each state."""
    rules, count = rules_of(states), len(states)
    observations = np.empty((count, rules.layout.size), np.float32)
    masks = np.empty((count, rules.num_actions), np.int8)
    players = states["current_player"].astype(np.int64)
    loop(write_views, rules)(states, np.arange(count), players, masks, observations)
    return observations, masks
