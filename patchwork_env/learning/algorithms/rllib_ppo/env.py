"""Both games as multi-agent environments of RLlib."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from ray.rllib.env.multi_agent_env import MultiAgentEnv

from patchwork_env import nmbr9_v0, patchwork_v0
from patchwork_env.core.game import BaseGame
from patchwork_env.envs.aec import GameAECEnv, MaskedObservation
from patchwork_env.games import PATCHWORK
from patchwork_env.learning.algorithms.rllib_ppo.rewards import final_rewards
from patchwork_env.learning.config import Reward

ALL = "__all__"
_Steps = tuple[
    dict[str, MaskedObservation],
    dict[str, float],
    dict[str, bool],
    dict[str, bool],
    dict[str, dict[str, Any]],
]


class GameEnv(MultiAgentEnv):
    """A game of Patchwork, or one of NMBR 9 for 1-4 players, in which they move as the rules say.

    **Agents**: ``player_0`` and so on. Only the player to move gets an observation, and only this player
    acts: in Patchwork the one who is behind, several times in a row.

    **Observations and actions**: those of the PettingZoo environments: ``{"observation": float32 vector,
    "action_mask": int8}``. When the game ends all players get a last observation, with a mask of zeros.

    **Rewards**: see ``final_rewards``, at the end of the game and for every
    player, whoever made the last move; in NMBR 9 also ``points`` for every point, at once.

    A game that meets the edge of the table of NMBR 9 is truncated, without further rewards.

    Args:
        config: ``game``; ``reward``, a section of the configuration as a dictionary; ``points``, what a point
            of NMBR 9 is worth; ``players`` of NMBR 9; ``special_patches`` of Patchwork.

    Attributes:
        salt: Enters into every seed, so that a run that goes on plays other games than at its beginning.
        finished: The last game, when it is over; None before the first one.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        super().__init__()
        self._reward = Reward(**config["reward"])
        self._points = float(config["points"])
        self._turns = _turns(config)
        self.salt = 0
        self.finished: BaseGame | None = None
        self.possible_agents = list(self._turns.possible_agents)
        self.agents = list(self.possible_agents)
        self.observation_spaces = self._turns.observation_spaces
        self.action_spaces = self._turns.action_spaces

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[dict[str, MaskedObservation], dict[str, dict[str, Any]]]:
        """Begins a game.

        Args:
            seed: Starts the random games anew; None goes on with them.
            options: As of the PettingZoo environment, such as ``circle`` or ``deck``.

        Returns:
            The observation of the player to move, and no information.
        """
        if seed is not None:
            seed = int(np.random.SeedSequence([seed, self.salt]).generate_state(1, np.uint64)[0])
        self._turns.reset(seed=seed, options=dict(options) if options else None)
        return self._observe(self._turns.agent_selection), {}

    def step(self, action_dict: Mapping[str, Any]) -> _Steps:
        """Plays the action of the player to move.

        Raises:
            IllegalActionError: It is not legal; nothing has changed.
            ValueError: There is not exactly one action, that of the player to move.
        """
        player = self._turns.agent_selection
        if set(action_dict) != {player}:
            raise ValueError(f"there are actions of {sorted(action_dict)}; it is the turn of {player} alone")
        self._turns.step(int(action_dict[player]))
        over, is_cut_off = any(self._turns.terminations.values()), any(self._turns.truncations.values())
        rewards = {player: self._points * self._turns.rewards[player]}
        if over:
            self.finished = self._turns.game
            finals = final_rewards(self._reward, self.finished)
            rewards = {
                agent: rewards.get(agent, 0.0) + final
                for agent, final in zip(self.possible_agents, finals, strict=True)
            }
        to_observe = self.possible_agents if over or is_cut_off else [self._turns.agent_selection]
        return (
            self._observe(*to_observe),
            rewards,
            dict.fromkeys((*self.possible_agents, ALL), over),
            dict.fromkeys((*self.possible_agents, ALL), is_cut_off),
            {},
        )

    @property
    def game(self) -> BaseGame:
        """A copy of the game that is on."""
        game: BaseGame = self._turns.game
        return game

    def _observe(self, *agents: str) -> dict[str, MaskedObservation]:
        return {agent: self._turns.observe(agent) for agent in agents}


def _turns(config: Mapping[str, Any]) -> GameAECEnv:
    """The PettingZoo environment; its rewards are the points gained, and 0 in Patchwork until the end."""
    if config["game"] == PATCHWORK:
        return patchwork_v0.raw_env(special_patches=config["special_patches"], first_player="random")
    return nmbr9_v0.raw_env(players=config["players"], rewards="score")
