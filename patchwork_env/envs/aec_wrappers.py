"""PettingZoo's standard wrappers, as the environments of this package wear them: safe, and out of the way."""

from __future__ import annotations

from typing import Any

import numpy as np
from pettingzoo.utils.env import AECEnv
from pettingzoo.utils.env_logger import EnvLogger
from pettingzoo.utils.wrappers import AssertOutOfBoundsWrapper, OrderEnforcingWrapper, TerminateIllegalWrapper

from patchwork_env.core.names import short_repr
from patchwork_env.envs.spaces import MaskedObservation
from patchwork_env.errors import IllegalActionError

_OF_A_GAME = frozenset(
    ("agents", "agent_selection", "rewards", "_cumulative_rewards", "terminations", "truncations", "infos")
)
"""The attributes of an environment that change with every move."""


class TurnEnv(AECEnv[str, MaskedObservation, Any]):
    """What the wrappers ask an environment for beyond PettingZoo's interface."""

    @property
    def has_game(self) -> bool:
        """Whether a game is on, or one that is over is still shown."""
        raise NotImplementedError

    def is_illegal(self, action: int | None) -> bool:
        """Whether ``agent_selection`` is to move and the action, any integer, is not legal."""
        raise NotImplementedError

    def forfeit(self) -> None:
        """Ends the game for all because ``agent_selection`` chose an illegal action."""
        raise NotImplementedError


class TerminateIllegal(TerminateIllegalWrapper[str, MaskedObservation, Any]):
    """Ends the game at an illegal action, like PettingZoo's own, but remembers nothing, so is never torn.

    It judges an action by the game as it is now, which may have been set since the last observation.
    """

    env: TurnEnv

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begins a game."""
        self.env.reset(seed, options)

    def observe(self, agent: str) -> MaskedObservation | None:
        """What an agent sees."""
        return self.env.observe(agent)

    def step(self, action: int | None) -> None:
        """Plays an action, or ends the game at one that is not legal."""
        if self.env.is_illegal(action):
            EnvLogger.warn_on_illegal_move()
            self.env.forfeit()
        else:
            self.env.step(action)


class _OutOfSpaceError(IllegalActionError, AssertionError):
    """An action outside its space: the documented error, and the one of PettingZoo's wrapper as well."""


class AssertOutOfBounds(AssertOutOfBoundsWrapper[str, MaskedObservation, Any]):
    """Refuses actions outside their space, like PettingZoo's own, in words that name them."""

    env: TerminateIllegal

    def step(self, action: int | None) -> None:
        """Hands on an action of the action space, or the None of an agent whose game is over."""
        inner = self.env.env
        agent = inner.agent_selection
        space: Any = inner.action_spaces[agent]
        if not (space.contains(action) or (action is None and inner.terminations[agent])):
            raise _OutOfSpaceError(
                f"{short_repr(action)} is not in action space: "
                f"an action of {agent} is one of 0 to {space.n - 1}"
            )
        self.env.step(action)


class OrderEnforcing(OrderEnforcingWrapper[str, MaskedObservation, Any]):
    """Enforces the order of calls like PettingZoo's own, and asks the environment whether there is a game.

    A flag beside the environment would be wrong after an interrupt during the first :meth:`reset`. What is
    in order goes straight to the environment, since every wrapper on the way takes as long as a move; all
    else takes PettingZoo's way, so that its errors and warnings are PettingZoo's.
    """

    def __init__(self, env: AssertOutOfBounds) -> None:
        self._game_env = env.env.env
        super().__init__(env)

    @property
    def _has_reset(self) -> bool:
        return self._game_env.has_game

    @_has_reset.setter
    def _has_reset(self, value: bool) -> None:
        """PettingZoo's wrapper sets it, too early."""

    def __getattr__(self, name: str) -> Any:
        """An attribute of the environment; those that a game gives are refused before there is one."""
        if name in _OF_A_GAME and self._has_reset:
            return getattr(self._game_env, name)
        return super().__getattr__(name)

    def step(self, action: Any) -> None:
        """Plays an action, any integer of the action space; an illegal one ends the game."""
        game_env, is_played = self._game_env, False
        is_plain = type(action) is int or type(action) is np.int64
        if is_plain and game_env.has_game and game_env.agents:
            self._has_updated = True
            try:
                game_env.step(action)
                is_played = True
            except IllegalActionError:
                pass  # nothing has changed, and the other wrappers say what follows
        if not is_played:
            super().step(action)

    def observe(self, agent: str) -> MaskedObservation | None:
        """What an agent sees, in fresh arrays, whether it is to move or not."""
        return self._game_env.observe(agent) if self._has_reset else super().observe(agent)

    def last(
        self, observe: bool = True
    ) -> tuple[MaskedObservation | None, float, bool, bool, dict[str, Any]]:
        """Observation, cumulative reward, terminated, truncated and info of ``agent_selection``."""
        return self._game_env.last(observe) if self._has_reset else super().last(observe)

    def __str__(self) -> str:
        """The name of the environment, as PettingZoo's wrapper has it."""
        return str(self.unwrapped)
