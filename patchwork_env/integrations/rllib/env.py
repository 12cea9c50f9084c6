"""Both games as a multi-agent environment of RLlib."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from ray.rllib.env.multi_agent_env import MultiAgentEnv

from patchwork_env import nmbr9_v0, patchwork_v0
from patchwork_env.core.game import BaseGame
from patchwork_env.envs.aec import GameAECEnv
from patchwork_env.envs.options import complete
from patchwork_env.envs.spaces import MaskedObservation
from patchwork_env.games import PATCHWORK, rules_of
from patchwork_env.learning.algorithms.common.advantages import combine_reward
from patchwork_env.learning.config import Reward

LEAGUE_FRACTION = "league_fraction"
"""The setting with the fraction of the games against past selves."""
_ALL = "__all__"
_SETTINGS: dict[str, Any] = {
    "game": PATCHWORK,
    "reward": {},
    "points": None,
    "players": 2,
    "special_patches": "revised",
    LEAGUE_FRACTION: 0.0,
}
"""The defaults of all settings; points of None depend on the number of players."""
_Steps = tuple[
    dict[str, MaskedObservation],
    dict[str, float],
    dict[str, bool],
    dict[str, bool],
    dict[str, dict[str, Any]],
]


class GameMultiAgentEnv(MultiAgentEnv):
    """A game of Patchwork, or of NMBR 9 for 1-4 players, who move as the rules say.

    **Agents**: ``player_0`` and so on. Only the player to move gets an observation, and only this player
    acts: in Patchwork the one who is behind on the time track, who may move several times in a row.

    **Observations and actions**: those of the PettingZoo environments: ``{"observation": float32 vector,
    "action_mask": int8}``. When the game ends all players get a last observation, with a mask of zeros.

    **Rewards**: those of :func:`final_rewards` at the end of the game, for every player, whoever made the
    last move; in NMBR 9 also ``points`` for every point, at once.

    Args:
        config: The settings by name, each with a default: ``game``, ``"patchwork"``; ``reward``, keys of that
            section of configurations; ``points``, the reward of a point of NMBR 9, 1 for who plays alone and
            else 0; ``players``, the number of players of NMBR 9, 2; ``special_patches``, the print of the
            time track of Patchwork, ``"revised"``; ``league_fraction``, which is for the league of runs.

    Raises:
        ValueError: A value is not allowed.
        UnknownOptionError: There is no such setting.

    Attributes:
        salt: A number that is mixed into every seed, so that a resumed run plays other games than at its
            beginning.
        finished: The last game that is over; None before the first one.
    """

    def __init__(self, config: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        settings = complete(config or {}, _SETTINGS, (), "the env_config of GameMultiAgentEnv")
        self._aec: GameAECEnv
        if rules_of(settings["game"]).name == PATCHWORK:  # its rewards are 0 until the end
            track = settings["special_patches"]
            self._aec = patchwork_v0.raw_env(special_patches=track, first_player="random")
        else:  # its rewards are the points gained
            self._aec = nmbr9_v0.raw_env(players=settings["players"], rewards="score")
        self._reward = Reward(**settings["reward"])
        points = settings["points"]
        self._points = float(len(self._aec.possible_agents) == 1 if points is None else points)
        self.salt = 0
        self.finished: BaseGame | None = None
        self.possible_agents = list(self._aec.possible_agents)
        self.agents = list(self.possible_agents)
        self.observation_spaces = self._aec.observation_spaces
        self.action_spaces = self._aec.action_spaces

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[dict[str, MaskedObservation], dict[str, dict[str, Any]]]:
        """Begins a game; returns the observation of the player to move, by agent, and empty infos.

        The random games start anew from ``seed``, or go on with None. The options are those of the PettingZoo
        environment's ``reset``, such as ``circle`` or ``deck``.
        """
        if seed is not None:
            seed = int(np.random.SeedSequence([seed, self.salt]).generate_state(1, np.uint64)[0])
        self._aec.reset(seed=seed, options=dict(options) if options else None)
        return self._observe(self._aec.agent_selection), {}

    def step(self, action_dict: Mapping[str, Any]) -> _Steps:
        """Plays the action of the player to move.

        Raises:
            IllegalActionError: The action is not legal; nothing has changed.
            ValueError: There is not exactly one action, that of the player to move.
        """
        player = self._aec.agent_selection
        if set(action_dict) != {player}:
            raise ValueError(f"there are actions of {sorted(action_dict)}; it is the turn of {player} alone")
        self._aec.step(action_dict[player])
        over = any(self._aec.terminations.values())
        rewards = {player: self._points * self._aec.rewards[player]}
        if over:
            self.finished = self._aec.game
            finals = final_rewards(self._reward, self.finished)
            rewards = {
                agent: rewards.get(agent, 0.0) + final
                for agent, final in zip(self.possible_agents, finals, strict=True)
            }
        to_observe = self.possible_agents if over else [self._aec.agent_selection]
        return (
            self._observe(*to_observe),
            rewards,
            dict.fromkeys((*self.possible_agents, _ALL), over),
            dict.fromkeys((*self.possible_agents, _ALL), False),
            {},
        )

    @property
    def game(self) -> BaseGame:
        """A copy of the game that is on."""
        game: BaseGame = self._aec.game
        return game

    def _observe(self, *agents: str) -> dict[str, MaskedObservation]:
        return {agent: self._aec.observe(agent) for agent in agents}


def final_rewards(reward: Reward, game: BaseGame) -> list[float]:
    """The rewards of all players for a game that is over.

    They are ``reward.outcome`` times the outcome as the environments define it (1 for a sole winner,
    ``-1 / (n - 1)`` for each of the others), plus ``reward.margin`` times the difference to the best of the
    others, divided by ``margin_scale`` and clipped to -1 ... 1. A single player can neither win nor lose, and
    gets 0.
    """
    scores = game.scores()
    players = range(len(scores))
    if len(players) == 1:
        return [0.0]
    outcomes = [game.rules.kernels.outcome(game.state, 0, player) for player in players]
    margins = [score - max(scores[:player] + scores[player + 1 :]) for player, score in enumerate(scores)]
    rewards: list[float] = combine_reward(reward, np.array(outcomes, float), np.array(margins)).tolist()
    return rewards
