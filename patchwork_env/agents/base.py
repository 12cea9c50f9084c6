"""What an agent is: anything that chooses a legal action."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import SupportsIndex

import numpy as np
import numpy.typing as npt

from patchwork_env._compile import kernel
from patchwork_env.patchwork.engine import is_over
from patchwork_env.patchwork.game import Game
from patchwork_env.patchwork.options import as_integer
from patchwork_env.patchwork.state import States

Actions = npt.NDArray[np.int64]
"""Array of actions, shape ``(n,)``."""


class Agent(ABC):
    """Chooses an action for the current player of a game.

    Attributes:
        name: What tables and messages call the agent.
    """

    name: str

    @abstractmethod
    def act(self, game: Game) -> int:
        """A legal action for ``game.current_player``; the game is left as it was.

        Raises:
            ValueError: The game is over.
        """

    def act_batch(self, states: States) -> Actions:
        """Legal actions for many games, as :meth:`act` would choose them one after the other.

        Args:
            states: Records ``(n,)``, which are left as they were; see :mod:`~patchwork_env.patchwork.state`.

        Returns:
            int64 ``(n,)``.

        Raises:
            ValueError: A game is over.
        """
        check_running(states)
        return np.array([self.act(Game.from_state(states, i)) for i in range(len(states))], np.int64)

    def reseed(self, seed: int | None = None) -> None:
        """Starts the agent's random numbers anew, freshly for None; agents that use none need not have it."""
        return

    def __repr__(self) -> str:
        return f"<agent {self.name}>"


class BatchAgent(Agent):
    """An agent that handles many games in one call, and a single one as a batch of one."""

    def act(self, game: Game) -> int:
        """See :meth:`Agent.act`."""
        return int(self.act_batch(game.state)[0])

    @abstractmethod
    def act_batch(self, states: States) -> Actions:
        """See :meth:`Agent.act_batch`."""


class CallableAgent(Agent):
    """Makes an agent of any function from a game to an action.

    The function gets a copy of the game, so it may play on it.

    Args:
        function: Called with a :class:`Game`, returns an action, an integer of any type.
        name: What tables and messages call the agent; the function's own name by default.
    """

    def __init__(self, function: Callable[[Game], SupportsIndex], name: str | None = None) -> None:
        self.name = name or str(getattr(function, "__name__", type(function).__name__))
        self._function = function

    def act(self, game: Game) -> int:
        """The function's action; not checked for being legal, which is for the game to do."""
        check_running(game.state)
        return as_integer(self._function(game.clone()), f"the action of agent {self.name!r}")


def check_running(states: States) -> None:
    """Raises ValueError if one of the games is over."""
    finished = int(_first_finished(states))
    if finished >= 0:
        which = f"game {finished} of the batch" if len(states) > 1 else "the game"
        raise ValueError(f"{which} is over; an agent acts only in games that go on")


@kernel
def _first_finished(states: States) -> int:
    """Index of the first game that is over, or -1."""
    for i in range(len(states)):
        if is_over(states, i):
            return i
    return -1
