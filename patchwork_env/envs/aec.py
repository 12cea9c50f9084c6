"""What the PettingZoo environments of both games have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt
from gymnasium import logger
from gymnasium.spaces import Space
from pettingzoo.utils.env import AECEnv
from pettingzoo.utils.wrappers import AssertOutOfBoundsWrapper, OrderEnforcingWrapper, TerminateIllegalWrapper

from patchwork_env.core.game import BaseGame
from patchwork_env.core.tensors import Layout, Observation
from patchwork_env.envs.spaces import GameSpaces
from patchwork_env.errors import TableEdgeError

ILLEGAL_REWARD = -1
IGNORED_RESET_OPTIONS = ("options",)  # what PettingZoo's api_test passes to see whether options are taken

MaskedObservation = dict[str, Any]
"""``{"observation": vector or named tensors, "action_mask": mask}``."""
_Game = TypeVar("_Game", bound=BaseGame)


def wrap(env: AECEnv[str, MaskedObservation, Any]) -> AECEnv[str, MaskedObservation, Any]:
    """An environment in PettingZoo's standard wrappers: an illegal action ends the game, with reward -1."""
    wrapped = _TerminateIllegal(env, illegal_reward=ILLEGAL_REWARD)
    return OrderEnforcingWrapper(AssertOutOfBoundsWrapper(wrapped))


class BaseAECEnv(AECEnv[str, MaskedObservation, Any], Generic[_Game]):
    """One game, in which the agents move as its rules say.

    Args:
        agents: Names of the players.
        spaces: Of the game.
        layout: Of its observations.
        named: Whether observations are laid out as named tensors.
        render_mode: Checked by the subclass.
    """

    def __init__(
        self,
        agents: Sequence[str],
        spaces: GameSpaces,
        layout: Layout,
        *,
        named: bool,
        render_mode: str | None,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._layout = layout
        self._named = named
        self._game: _Game | None = None
        self.render_mode = render_mode
        self.possible_agents = list(agents)
        self.agents: list[str] = []
        self._players = {agent: player for player, agent in enumerate(agents)}
        self.observation_spaces = {agent: spaces.masked_space(named) for agent in agents}
        self.action_spaces = {agent: spaces.action_space() for agent in agents}
        self.state_space = spaces.flat_space()

    def observation_space(self, agent: str) -> Space[MaskedObservation]:
        """The space of an agent's observations, the same object at every call."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Space[Any]:
        """The space of an agent's actions, the same object at every call."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: Mapping[str, Any] | None = None) -> None:
        """Begins a game.

        Args:
            seed: ``0 ... 2**64 - 1``: starts the random games anew, with that of ``Game(seed)``; None goes on
                with them.
            options: For this game; the class says which there are.

        Raises:
            ValueError: The seed or an option is not of these; the game that is on stays as it is.
        """
        self._begin(self._deal(seed, options))

    def step(self, action: int | None) -> None:
        """Plays an action of ``agent_selection``; None takes away an agent whose game is over.

        Raises:
            IllegalActionError: The action is not legal; nothing has changed.
            ValueError: An agent whose game is over was given an action.
            RuntimeError: No agent is left, or there was no :meth:`reset` yet.
        """
        if not self.agents:
            raise RuntimeError("no game is on: call reset()")
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        game, is_cut_off = self._require_game(), False
        try:
            rewards = self.play(game, action)  # type: ignore[arg-type]
        except TableEdgeError:
            rewards, is_cut_off = {}, True
        self._clear_rewards()
        self._cumulative_rewards[agent] = 0.0
        self._reward(rewards)
        if is_cut_off:
            self.truncations = dict.fromkeys(self.agents, True)
        elif game.is_over:
            self.terminations = dict.fromkeys(self.agents, True)
        else:
            self.agent_selection = self.possible_agents[game.current_player]
        if self.render_mode == "human":
            self.render()

    def observe(self, agent: str) -> MaskedObservation:
        """What an agent sees, in fresh arrays, whether it is to move or not.

        Raises:
            ValueError: There is no such agent.
            RuntimeError: There was no :meth:`reset` yet.
        """
        player = self._players.get(agent)
        if player is None:
            raise ValueError(f"there is no agent {agent!r}; there are {', '.join(self.possible_agents)}")
        return self.observation_of(self._require_game(), player)

    def observation_of(self, game: _Game, player: int) -> MaskedObservation:
        """What a player of any game sees, in fresh arrays."""
        vector, mask = self._view(game, player)
        return {"observation": self._layout.as_dict(vector) if self._named else vector, "action_mask": mask}

    def state(self) -> Observation:
        """What ``player_0`` sees: float32 ``(OBSERVATION_SIZE,)``, within ``state_space``."""
        return self._view(self._require_game(), 0)[0]

    @property
    def game(self) -> _Game:
        """A copy of the game that is on.

        Setting it makes the environment go on with a copy of the given game, which may be at its end. All
        agents are there then, and nothing of the earlier game counts any more.

        Raises:
            TypeError: It was set to something else than a :class:`Game`.
            RuntimeError: There was no :meth:`reset` yet.
        """
        return self._require_game().clone()

    @game.setter
    def game(self, game: _Game) -> None:
        self._check_game(game)
        self._begin(game.clone())

    def render(self) -> Any:
        """The game as text (``"ansi"``), as uint8 ``(height, width, 3)`` (``"rgb_array"``) or in a window.

        Raises:
            MissingExtraError: A library of the extra ``render`` is not installed.
            RuntimeError: There was no :meth:`reset` yet.
        """
        if self.render_mode is None:
            logger.warn(
                "render() shows nothing without a render_mode; give one when you make the environment"
            )
            return None
        return self._show(self._require_game())

    def _begin(self, game: _Game) -> None:
        self._game = game
        self.agents = list(self.possible_agents)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, game.is_over)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        self.agent_selection = self.possible_agents[game.current_player]
        self._skip_agent_selection = None  # type: ignore[assignment]
        if game.is_over:
            self._reward(self._final_rewards(game))
        if self.render_mode == "human":
            self.render()

    def _reward(self, rewards: Mapping[int, float]) -> None:
        for player, reward in rewards.items():
            self.rewards[self.possible_agents[player]] = reward
        self._accumulate_rewards()

    def play(self, game: _Game, action: int) -> Mapping[int, float]:
        """Plays an action in any game and returns the players' rewards; an illegal one changes nothing."""
        game.play(action)
        return self._final_rewards(game) if game.is_over else {}

    def _require_game(self) -> _Game:
        if self._game is None:
            raise RuntimeError("no game is on: call reset()")
        return self._game

    @abstractmethod
    def _deal(self, seed: int | None, options: Mapping[str, Any] | None) -> _Game:
        """A new game; see :meth:`reset`."""

    @abstractmethod
    def _check_game(self, game: _Game) -> None:
        """Raises an error if a game cannot be played here."""

    @abstractmethod
    def _final_rewards(self, game: _Game) -> Mapping[int, float]:
        """The players' rewards for the end of a game."""

    @abstractmethod
    def _view(self, game: _Game, player: int) -> tuple[Observation, npt.NDArray[np.int8]]:
        """A player's observation and mask, in fresh arrays."""

    @abstractmethod
    def _show(self, game: _Game) -> Any:
        """A drawing of the game in the render mode."""


class _TerminateIllegal(TerminateIllegalWrapper[str, MaskedObservation, Any]):
    """Judges an action by the game as it is now, which may have been set since the last observation."""

    def step(self, action: int | None) -> None:
        self._prev_obs = None
        super().step(action)
