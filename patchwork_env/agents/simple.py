"""Agents that need no search and no weights: random and greedy play, and functions of one's own."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, SupportsIndex

import numpy as np
import numpy.typing as npt

from patchwork_env.agents.base import Actions, Agent, BatchAgent, DrawingAgent, check_running, record_of
from patchwork_env.core.batches import loop, sample_actions, write_views
from patchwork_env.core.checks import as_action, check_actions
from patchwork_env.core.game import BaseGame
from patchwork_env.core.kernels import States
from patchwork_env.core.names import short_repr
from patchwork_env.core.random import Streams
from patchwork_env.core.tensors import Observation
from patchwork_env.games import NMBR9, PATCHWORK, rules_of

Masks = npt.NDArray[np.int8]


class RandomAgent(DrawingAgent):
    """Plays each legal action of any game with the same probability."""

    name = "random"

    def _choose(self, states: States, stream: Streams, actions: Actions) -> None:
        loop(sample_actions, rules_of(states))(states, stream, actions)


class GreedyAgent(BatchAgent):
    """Plays what looks best now, as the module ``greedy`` of a game's agents says, without looking ahead."""

    name = "greedy"
    games = (PATCHWORK, NMBR9)

    def __init__(self, seed: int | None = None) -> None:
        """Its choices need no random numbers; the seed is that of all agents."""

    def act_batch(self, states: States) -> Actions:
        game = self.check_states(states)
        actions = np.empty(len(states), np.int64)
        import_module(f"patchwork_env.agents.{game}.greedy").choose_actions(states, actions)
        return actions


class CallableAgent(Agent):
    """Makes an agent of any function from a game to an action.

    The function gets a copy of the game, so it may play on it.

    Args:
        function: The function, called with a ``Game``; it returns an action, an integer of any type.
        name: The name of the agent in tables and messages; the function's own name by default.
    """

    def __init__(self, function: Callable[[Any], SupportsIndex], name: str | None = None) -> None:
        if not callable(function):
            raise ValueError(f"{short_repr(function)} is no function from a game to an action")
        self.name = _name_of(function, name)
        self._function = function

    def act(self, game: BaseGame) -> int:
        """The function's action; whether it is legal is for the game to check."""
        check_running(record_of(game))
        return as_action(self._function(game.clone()), f"the action of agent {self.name!r}")


class ObservingAgent(BatchAgent):
    """Plays what a function chooses from observations and masks, as networks of one's own read them.

    >>> from patchwork_env.agents import ObservingAgent
    >>> from patchwork_env.patchwork import Game
    >>> agent = ObservingAgent(lambda observations, masks: masks.argmax(axis=1), "first action")
    >>> agent.act(Game(seed=7)) == int(Game(seed=7).legal_actions()[0])
    True

    Args:
        choose: The function, called for every batch of games: observations, float32 ``(n, size)``, of the
            players to move, and masks, int8 ``(n, num_actions)``, to legal actions, integers ``(n,)``.
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
        self.name = _name_of(choose, name)
        self.games = (rules_of(game).name,)
        self._choose = choose

    def act_batch(self, states: States) -> Actions:
        """The function's actions, int64 ``(n,)``; whether they are legal is for the games to check."""
        self.check_states(states)
        return check_actions(self._choose(*views_of(states)), len(states))


def views_of(states: States) -> tuple[Observation, Masks]:
    """The observations, float32, and masks, int8, of the players to move, a row for each state."""
    rules, count = rules_of(states), len(states)
    observations = np.empty((count, rules.layout.size), np.float32)
    masks = np.empty((count, rules.num_actions), np.int8)
    players = states["current_player"].astype(np.int64)
    loop(write_views, rules)(states, np.arange(count), players, masks, observations)
    return observations, masks


def _name_of(function: Callable[..., Any], name: str | None) -> str:
    if not isinstance(name, str | None):
        raise ValueError(f"the name of an agent must be text, not {short_repr(name)}")
    return name or str(getattr(function, "__name__", type(function).__name__))
