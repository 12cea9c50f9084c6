"""Both games as a multi-agent environment of RLlib."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ray.rllib.env.multi_agent_env import MultiAgentEnv

from patchwork_env.core.checks import as_number
from patchwork_env.core.game import BaseGame
from patchwork_env.envs.pettingzoo import GameAECEnv
from patchwork_env.envs.spaces import MaskedObservation
from patchwork_env.games import PATCHWORK, rules_of

_ALL = "__all__"
_Observations = dict[str, MaskedObservation]
_Infos = dict[str, dict[str, Any]]


class GameMultiAgentEnv(MultiAgentEnv):
    """A game of Patchwork, or of NMBR 9 for 1-4 players.

    **Agents**: ``player_0`` and so on. Only the player to move gets an observation, and only this player
    acts. In Patchwork a player may move several times in a row.

    **Observations and actions**: those of the PettingZoo environments: ``{"observation": float32 vector,
    "action_mask": int8}``. When the game ends all players get a last observation, with a mask of zeros.

    **Rewards**: those of the PettingZoo environments; at the end of the game every player gets one. With
    several players, the last info of each has the ``"outcome"``: 1 for a sole winner, ``-1 / (n - 1)`` for
    each of the others.

    The ``config`` has the ``game``, ``"patchwork"`` by default; ``reward_scale``, the factor of all
    rewards; and options of the PettingZoo environment, such as ``players``. Other keys are an
    UnknownOptionError, a TypeError.
    """

    def __init__(self, config: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        options = dict(config or {})
        rules = rules_of(options.pop("game", PATCHWORK))
        self._scale = as_number(options.pop("reward_scale", 1.0), "reward_scale", above=0)
        self._aec = GameAECEnv(rules, **options)
        self.possible_agents = list(self._aec.possible_agents)
        self.agents = list(self.possible_agents)
        self.observation_spaces = self._aec.observation_spaces
        self.action_spaces = self._aec.action_spaces

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[_Observations, _Infos]:
        """Begin a game; returns the observation of the player to move, by agent, and empty infos.

        Seed and options are those of the PettingZoo environment's ``reset``.
        """
        self._aec.reset(seed=seed, options=options)
        return self._observe([self._aec.agent_selection]), {}

    def step(
        self, action_dict: Mapping[str, Any]
    ) -> tuple[_Observations, dict[str, float], dict[str, bool], dict[str, bool], _Infos]:
        """Play the action of the player to move; actions of others are a ValueError.

        An illegal action raises an IllegalActionError or, with ``illegal_action="terminate"``, ends the game
        with -1. An action outside the action space always raises. After an error nothing has changed.
        """
        aec, player = self._aec, self._aec.agent_selection
        if set(action_dict) != {player}:
            raise ValueError(f"the actions are of {sorted(action_dict)}; it is the turn of {player} alone")
        aec.step(action_dict[player])
        over = aec.terminations[player]
        rewarded = self.possible_agents if over else [player]
        return (
            self._observe(self.possible_agents if over else [aec.agent_selection]),
            {agent: self._scale * aec.rewards[agent] for agent in rewarded},
            {**aec.terminations, _ALL: over},
            {**aec.truncations, _ALL: aec.truncations[player]},
            self._outcomes(aec.game) if over else {},
        )

    @property
    def game(self) -> BaseGame:
        """A copy of the current game."""
        game: BaseGame = self._aec.game
        return game

    def _observe(self, agents: list[str]) -> _Observations:
        return {agent: self._aec.observe(agent) for agent in agents}

    def _outcomes(self, game: BaseGame) -> _Infos:
        """Return the last infos; empty for a single player, and after an illegal action."""
        if len(self.possible_agents) == 1 or not game.is_over:
            return {}
        outcome = game.rules.kernels.outcome
        return {
            agent: {"outcome": float(outcome(game.state, 0, player))}
            for player, agent in enumerate(self.possible_agents)
        }
