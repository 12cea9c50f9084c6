"""NMBR 9 as a PettingZoo environment in which all players act at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium.spaces import Space
from pettingzoo.utils.env import ParallelEnv

from patchwork_env.core.checks import check_action
from patchwork_env.envs.aec import MaskedObservation
from patchwork_env.errors import IllegalActionError, TableEdgeError
from patchwork_env.nmbr9 import engine
from patchwork_env.nmbr9.actions import NUM_ACTIONS
from patchwork_env.nmbr9.aec_env import Nmbr9AECEnv
from patchwork_env.nmbr9.game import Game

Rewards = dict[str, float]
Flags = dict[str, bool]


class Nmbr9ParallelEnv(ParallelEnv[str, MaskedObservation, Any]):
    """NMBR 9 for 1-4 players who act at the same time, as they do at a real table.

    >>> from patchwork_env import nmbr9_v0
    >>> env = nmbr9_v0.parallel_env(players=3)
    >>> observations, infos = env.reset(seed=7)
    >>> while env.agents:
    ...     masks = {agent: seen["action_mask"] for agent, seen in observations.items()}
    ...     actions = {agent: env.action_space(agent).sample(masks[agent]) for agent in env.agents}
    ...     observations, rewards, terminations, truncations, infos = env.step(actions)

    Spaces, rewards, truncation and options are those of :class:`~patchwork_env.nmbr9.aec_env.Nmbr9AECEnv`,
    and so is the game. Every agent's mask holds its legal actions in every step, until the game is over.

    Args:
        render_mode: ``"human"``, ``"ansi"``, ``"rgb_array"`` or None.
        options: The other options of :class:`~patchwork_env.nmbr9.aec_env.Nmbr9AECEnv`.

    Raises:
        ValueError: An option is not allowed.
    """

    metadata: dict[str, Any] = Nmbr9AECEnv.metadata

    def __init__(self, render_mode: str | None = None, **options: Any) -> None:
        self._turns = Nmbr9AECEnv(render_mode, **options)
        self.render_mode = render_mode
        self.possible_agents = list(self._turns.possible_agents)
        self.agents: list[str] = []
        self.observation_spaces = self._turns.observation_spaces
        self.action_spaces = self._turns.action_spaces

    def observation_space(self, agent: str) -> Space[MaskedObservation]:
        """The space of an agent's observations, the same object at every call."""
        return self._turns.observation_space(agent)

    def action_space(self, agent: str) -> Space[Any]:
        """The space of an agent's actions, the same object at every call."""
        return self._turns.action_space(agent)

    def reset(
        self, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[dict[str, MaskedObservation], dict[str, dict[str, Any]]]:
        """Begins a game; see :meth:`Nmbr9AECEnv.reset`.

        Returns:
            Observations and infos of all agents.
        """
        self._turns.reset(seed, options)
        self.agents = list(self.possible_agents)
        return self._observations(), {agent: {} for agent in self.agents}

    def step(
        self, actions: Mapping[str, Any]
    ) -> tuple[dict[str, MaskedObservation], Rewards, Flags, Flags, dict[str, dict[str, Any]]]:
        """Plays one action of every agent.

        Args:
            actions: The action of each of :attr:`agents`.

        Returns:
            Observations, rewards, terminations, truncations and infos of all agents.

        Raises:
            IllegalActionError: An action is not legal or missing; nothing has changed.
            RuntimeError: No game is on.
        """
        if not self.agents:
            raise RuntimeError("no game is on: call reset()")
        agents, game = self.agents, self._turns.game
        chosen = [self._check(game, player, agent, actions) for player, agent in enumerate(agents)]
        rewards = dict.fromkeys(agents, 0.0)
        is_cut_off = False
        try:
            for action in chosen:
                for player, reward in self._turns.play(game, action).items():
                    rewards[agents[player]] += reward
        except TableEdgeError:
            rewards, is_cut_off = dict.fromkeys(agents, 0.0), True
        else:
            self._turns.game = game
        if game.is_over or is_cut_off:
            self.agents = []
        return (
            self._observations(),
            rewards,
            dict.fromkeys(agents, game.is_over),
            dict.fromkeys(agents, is_cut_off),
            {agent: {} for agent in agents},
        )

    def state(self) -> Any:
        """What ``player_0`` sees: float32 ``(OBSERVATION_SIZE,)``."""
        return self._turns.state()

    @property
    def game(self) -> Game:
        """A copy of the game that is on.

        Raises:
            RuntimeError: There was no :meth:`reset` yet.
        """
        return self._turns.game

    def render(self) -> Any:
        """See :meth:`Nmbr9AECEnv.render`."""
        return self._turns.render()

    def close(self) -> None:
        """Closes the window if there is one."""
        self._turns.close()

    def _observations(self) -> dict[str, MaskedObservation]:
        game = self._turns.game
        return {
            agent: self._turns.observation_of(_turn_of(game, player), player)
            for player, agent in enumerate(self.possible_agents)
        }

    def _check(self, game: Game, player: int, agent: str, actions: Mapping[str, Any]) -> int:
        """The agent's action, which is legal."""
        if agent not in actions:
            raise IllegalActionError(f"there is no action of {agent}; there are {', '.join(actions)}")
        action = check_action(actions[agent], NUM_ACTIONS)
        if not engine.is_legal(_turn_of(game, player).state, 0, action):
            raise IllegalActionError(f"action {action} of {agent} is not legal; nothing was changed")
        return action


def _turn_of(game: Game, player: int) -> Game:
    """The same game, all having acted equally often, with another player to move."""
    states = game.state.copy()
    states["current_player"] = player if not game.is_over else 0
    return Game.from_state(np.asarray(states))
