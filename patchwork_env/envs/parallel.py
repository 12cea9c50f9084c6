"""The PettingZoo environment whose agents act at the same time, for any game that allows it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pettingzoo.utils.env import ParallelEnv
from pettingzoo.utils.env_logger import EnvLogger

from patchwork_env.core.game import BaseGame
from patchwork_env.core.kernels import copy_of
from patchwork_env.core.names import short_repr
from patchwork_env.core.rules import Rules
from patchwork_env.envs.aec import NO_GAME, PettingZooGame
from patchwork_env.envs.options import ILLEGAL_REWARD
from patchwork_env.envs.spaces import MaskedObservation
from patchwork_env.errors import IllegalActionError

Rewards = dict[str, float]
Flags = dict[str, bool]


class GameParallelEnv(PettingZooGame, ParallelEnv[str, MaskedObservation, Any]):
    """One game of any rules whose players act at the same time.

    Spaces, rewards, options and the game are those of :class:`~patchwork_env.envs.aec.GameAECEnv`. Every
    agent's mask holds its legal actions in every step, until the game is over. ValueError if a value is
    not allowed, or the players do not act at the same time.
    """

    def __init__(self, rules: Rules, render_mode: str | None = None, **options: Any) -> None:
        if not rules.is_simultaneous:
            raise ValueError(f"the players of {rules.title} do not act at the same time")
        super().__init__(rules, render_mode, **options)

    def reset(
        self, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[dict[str, MaskedObservation], dict[str, dict[str, Any]]]:
        """Begin a game; return observations and infos of all agents."""
        agents = list(self.possible_agents)
        self._begin(self._deal(seed, options), agents)
        return self._observations(), {agent: {} for agent in agents}

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
        agents = self.agents
        if not agents:
            raise RuntimeError(NO_GAME)
        game = self.game
        chosen = {agent: self._action_of(agent, actions) for agent in agents}
        illegal = [agent for agent, action in chosen.items() if not self._is_legal(game, agent, action)]
        if illegal and self._raises:
            raise IllegalActionError(
                f"action {chosen[illegal[0]]} of {illegal[0]} is not legal; nothing was changed"
            )
        rewards = dict.fromkeys(agents, 0.0) | dict.fromkeys(illegal, ILLEGAL_REWARD)
        if illegal:
            EnvLogger.warn_on_illegal_move()
        else:
            for action in chosen.values():
                for player, reward in self._play(game, action).items():
                    rewards[agents[player]] += reward
        has_ended = bool(illegal) or game.is_over
        self._begin(game, [] if has_ended else agents)
        terminations, truncations = dict.fromkeys(agents, has_ended), dict.fromkeys(agents, bool(illegal))
        return self._observations(), rewards, terminations, truncations, {agent: {} for agent in agents}

    def _begin(self, game: BaseGame, agents: list[str]) -> None:
        self._change({"_game": game, "agents": agents})
        if self.render_mode == "human":
            self.render()

    def _observations(self) -> dict[str, MaskedObservation]:
        game = self._require_game()
        return {agent: self._view(_turn_of(game, player), player) for agent, player in self._players.items()}

    def _action_of(self, agent: str, actions: Mapping[str, Any]) -> int:
        if not isinstance(actions, Mapping) or agent not in actions:
            raise IllegalActionError(f"there is no action of {agent} in {short_repr(actions)}")
        return self._require_action(actions[agent])

    def _is_legal(self, game: BaseGame, agent: str, action: int) -> bool:
        return self._rules.kernels.is_legal(_turn_of(game, self._players[agent]).state, 0, action)


def _turn_of(game: BaseGame, player: int) -> BaseGame:
    """Return the same game with another player to move; all players have acted equally often in it."""
    states = copy_of(game.state)
    states["current_player"] = player if not game.is_over else 0
    return type(game).unchecked(states)
