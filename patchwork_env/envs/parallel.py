"""The PettingZoo environment of any game whose players act at the same time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gymnasium.spaces import Space
from pettingzoo.utils.env import ParallelEnv

from patchwork_env.core.game import BaseGame
from patchwork_env.core.kernels import copy_of
from patchwork_env.core.names import short_repr
from patchwork_env.core.rules import Rules
from patchwork_env.envs.aec import GameAECEnv
from patchwork_env.envs.options import ILLEGAL_REWARD
from patchwork_env.envs.spaces import MaskedObservation
from patchwork_env.errors import IllegalActionError

Rewards = dict[str, float]
Flags = dict[str, bool]


class GameParallelEnv(ParallelEnv[str, MaskedObservation, Any]):
    """One game of any rules whose players act at the same time.

    Spaces, rewards, options and the game are those of :class:`~patchwork_env.envs.aec.GameAECEnv`. Every
    agent's mask holds its legal actions in every step, until the game is over. ValueError if a value is
    not allowed, or the players do not act at the same time.
    """

    metadata: dict[str, Any] = GameAECEnv.metadata

    def __init__(self, rules: Rules, render_mode: str | None = None, **options: Any) -> None:
        if not rules.is_simultaneous:
            raise ValueError(f"the players of {rules.title} do not act at the same time")
        self._aec = GameAECEnv(rules, render_mode, **options)
        self._rules = rules
        self.metadata = self._aec.metadata
        self.render_mode = render_mode
        self.possible_agents = list(self._aec.possible_agents)
        self.observation_spaces = self._aec.observation_spaces
        self.action_spaces = self._aec.action_spaces
        self.state_space = self._aec.state_space

    @property
    def agents(self) -> list[str]:  # type: ignore[override]  # computed from the game
        """All agents while a game is on, else none."""
        aec = self._aec
        return [agent for agent in aec.agents if not aec.terminations[agent]]

    def observation_space(self, agent: str) -> Space[MaskedObservation]:
        """Return the space of an agent's observations, the same object at every call."""
        return self._aec.observation_space(agent)

    def action_space(self, agent: str) -> Space[Any]:
        """Return the space of an agent's actions, the same object at every call."""
        return self._aec.action_space(agent)

    def reset(
        self, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[dict[str, MaskedObservation], dict[str, dict[str, Any]]]:
        """Begin a game; return observations and infos of all agents."""
        self._aec.reset(seed, options)
        return self._observations(), {agent: {} for agent in self.agents}

    def step(
        self, actions: Mapping[str, Any]
    ) -> tuple[dict[str, MaskedObservation], Rewards, Flags, Flags, dict[str, dict[str, Any]]]:
        """Play one action of every agent.

        An illegal action raises an error or, with ``illegal_action="terminate"``, ends the game for all, with
        -1 for its agent. A missing one, or one outside the action space, always raises. Errors change
        nothing.

        Returns observations, rewards, terminations, truncations and infos of all agents. IllegalActionError
        for what raises, RuntimeError if no game is on.
        """
        agents, aec = self.agents, self._aec
        if not agents:
            raise RuntimeError("no game is on: call reset()")
        rewards, game = dict.fromkeys(agents, 0.0), aec.game
        chosen = {agent: self._require_action(agent, actions) for agent in agents}
        illegal = [agent for agent, action in chosen.items() if not self._is_legal(game, agent, action)]
        if illegal and aec.raises:
            raise IllegalActionError(
                f"action {chosen[illegal[0]]} of {illegal[0]} is not legal; nothing was changed"
            )
        if illegal:
            aec.forfeit(illegal)
            rewards |= dict.fromkeys(illegal, ILLEGAL_REWARD)
        else:
            for action in chosen.values():
                for player, reward in aec.play(game, action).items():
                    rewards[agents[player]] += reward
            aec.begin(game)
        infos: dict[str, dict[str, Any]] = {agent: {} for agent in agents}
        return self._observations(), rewards, dict(aec.terminations), dict(aec.truncations), infos

    def state(self) -> Any:
        """Return the view of ``player_0``: float32 ``(OBSERVATION_SIZE,)``, within ``state_space``."""
        return self._aec.state()

    @property
    def game(self) -> BaseGame:
        """A copy of the game that is on."""
        return self._aec.game

    def render(self) -> Any:
        """Return the game as text, as pixels or in a window, as the render mode says."""
        return self._aec.render()

    def close(self) -> None:
        """Close the window if there is one."""
        self._aec.close()

    def _observations(self) -> dict[str, MaskedObservation]:
        game = self._aec.game
        return {
            agent: self._aec._observation(_turn_of(game, player), player)
            for player, agent in enumerate(self.possible_agents)
        }

    def _require_action(self, agent: str, actions: Mapping[str, Any]) -> int:
        if not isinstance(actions, Mapping) or agent not in actions:
            raise IllegalActionError(f"there is no action of {agent} in {short_repr(actions)}")
        return self._aec.require_action(actions[agent])

    def _is_legal(self, game: BaseGame, agent: str, action: int) -> bool:
        state = _turn_of(game, self.possible_agents.index(agent)).state
        return self._rules.kernels.is_legal(state, 0, action)


def _turn_of(game: BaseGame, player: int) -> BaseGame:
    """Return the same game with another player to move; all players have acted equally often in it."""
    states = copy_of(game.state)
    states["current_player"] = player if not game.is_over else 0
    return type(game).unchecked(states)
