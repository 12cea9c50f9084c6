"""Batches of games for Stable-Baselines3: one learner in each game, against any agents."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import VecEnv

from patchwork_env.agents import Agent, as_agents
from patchwork_env.core import batches
from patchwork_env.core.batches import OUTCOME, SCORE, Games, list_games, loop
from patchwork_env.core.checks import as_number, check_seed
from patchwork_env.core.game import BaseGame
from patchwork_env.core.kernels import States
from patchwork_env.core.tensors import Observation
from patchwork_env.envs.learner_batch import LearnerBatch, refuse
from patchwork_env.envs.opponents import opponents_of
from patchwork_env.envs.options import check_num_envs, check_rewards, check_saved, complete
from patchwork_env.envs.spaces import GameSpaces
from patchwork_env.games import PATCHWORK, rules_of
from patchwork_env.integrations.sb3.policy import NEEDS_MASKS
from patchwork_env.learning.algorithms.common.advantages import combine_reward
from patchwork_env.learning.config import Reward

Indices = None | int | Iterable[int]
Info = dict[str, Any]


class _Step(NamedTuple):
    """The results of a step, an entry for each game."""

    rewards: npt.NDArray[np.float32]
    ends: npt.NDArray[np.bool_]
    infos: list[Info]


class SelfPlayVecEnv(VecEnv):
    """A compiled batch of games for an algorithm of Stable-Baselines3, with one learner in each game.

    >>> from sb3_contrib import MaskablePPO
    >>> env = SelfPlayVecEnv(64, opponent=["random", "greedy"], seed=1)
    >>> model = MaskablePPO("MlpPolicy", env, n_steps=64)

    The learner has player number 0 in game 0, 1 in game 1, 0 in game 2 and so on. Every step is a
    decision of the learner: the opponents' moves and all turns with a single legal action are part of it.
    Spaces are those of the game's Gymnasium environment. Rewards for the end of a game come with the
    learner's last step, even if another player ended it.

    **Info**: empty until a game ends. Then ``terminal_observation``; ``episode`` like SB3's ``Monitor``,
    where ``l`` are the learner's decisions; ``scores``, first the learner's; ``game``, at its last position;
    against opponents ``is_success``, whether the learner won, and ``opponent``, the opponent's number.

    Args:
        num_envs: The number of games, at least 1.
        opponent: The agent that plays for all others, or a list of agents, see
            :func:`patchwork_env.agents.as_agent`.
        opponent_shares: The relative shares of the games for several opponents; None shares the games evenly.
        game: ``"patchwork"`` or ``"nmbr9"``.
        seed: The seed of the games, ``0 ... 2**64 - 1``; None for fresh random games. A model with a seed
            calls :meth:`seed` with its own.
        rewards: ``"outcome"``, ``"margin"`` or ``"score"`` as in all environments, or a ``Reward`` with the
            weights of outcome and margin; None for the outcome, or for the score of a single player.
        reward_scale: The factor of all rewards, above 0; 0.02 is good for ``"score"``.
        options: Options of the game, such as ``special_patches="2014"`` or ``players=2``.

    Attributes:
        first_opponents: The opponents of the constructor.

    Raises:
        ValueError, UnknownOptionError, FileNotFoundError: A value is not allowed, or there is no such
            option or opponent.
        ResetNeeded: From steps, :meth:`games` and :meth:`save`, before the first :meth:`reset` and after an
            interrupt or an error of an opponent in the middle of a step, until :meth:`reset` or
            :meth:`restore`; ``model.set_env(env)`` lets a model begin new games.
    """

    def __init__(
        self,
        num_envs: int,
        opponent: Any = None,
        *,
        opponent_shares: Sequence[float] | None = None,
        game: str = PATCHWORK,
        seed: int | None = None,
        rewards: str | Reward | None = None,
        reward_scale: float = 1.0,
        **options: Any,
    ) -> None:
        self.rules = rules = rules_of(game)
        completed = complete(options, rules.options, type(self))
        self.num_players = rules.set_up(completed, {}).players
        self._weights = rewards if isinstance(rewards, Reward) else None
        if self._weights is not None and self.num_players == 1:
            raise ValueError("rewards weigh outcome and margin, which need 2 players; one player has 'score'")
        kind = OUTCOME if isinstance(rewards, Reward) else check_rewards(rewards, self.num_players)
        self._scale = as_number(reward_scale, "reward_scale", above=0)
        check_num_envs(num_envs)
        if self.num_players > 1:
            opponent = as_agents("random" if opponent is None else opponent, game=rules.name)
        opponents = opponents_of(opponent, num_envs, self.num_players, opponent_shares)
        self._batch = LearnerBatch(
            rules, num_envs, completed, opponents=opponents, reward_kind=kind, skips_forced=True
        )
        self._batch.seats[:] = np.arange(num_envs) % self.num_players
        if seed is not None:
            self._batch.reseed_all(check_seed(seed))
        self.first_opponents = self.opponents
        self._returns = np.zeros(num_envs)
        self._observations = np.zeros((num_envs, rules.layout.size), np.float32)
        self._masks = np.zeros((num_envs, rules.num_actions), np.int8)
        self._created = time.time()
        spaces = GameSpaces(rules)
        super().__init__(num_envs, spaces.flat_space(), spaces.action_space())

    @property
    def states(self) -> States:
        """The records of the games, ``(num_envs,)``."""
        return self._batch.states

    @property
    def seats(self) -> Games:
        """The learner's player number in each game, int64 ``(num_envs,)``."""
        return self._batch.seats

    @property
    def turns(self) -> int:
        """The number of turns played so far in all games, by all players, forced ones included."""
        return self._batch.turns

    @property
    def opponents(self) -> list[Agent]:
        """The agents that play against the learner."""
        opponents = self._batch.opponents
        return [] if opponents is None else cast(list[Agent], list(opponents.agents))

    @property
    def opponent_numbers(self) -> Games:
        """The number of the opponent in each game, int64 ``(num_envs,)``."""
        opponents = self._batch.opponents
        return np.zeros(self.num_envs, np.int64) if opponents is None else opponents.numbers.copy()

    def set_opponents(
        self,
        opponents: Any,
        shares: Sequence[float] | None = None,
        *,
        numbers: npt.NDArray[np.integer[Any]] | None = None,
        at_once: bool = False,
    ) -> None:
        """Change the opponents, an agent or a list as in the constructor.

        For arguments and errors see :meth:`patchwork_env.envs.opponents.Opponents.change`.
        """
        agents = as_agents(opponents, game=self.rules.name)
        self._batch.change_opponents(agents, numbers, shares=shares, at_once=at_once)

    # --- Stable-Baselines3 --------------------------------------------------------------------------------

    def reset(self) -> Observation:
        """Begin all games, after :meth:`seed` with new random numbers; options are a ValueError."""
        if any(self._options):
            raise ValueError(f"the options of the games are {self._options}; they take none")
        seed = None if self._seeds[0] is None else check_seed(self._seeds[0])
        with self._batch.changing():
            if seed is not None:
                self._batch.reseed_all(seed)
            self._batch.begin(self._batch.all_games)
            self._returns[:] = 0
        self._reset_seeds()
        return self._observe()

    def step_async(self, actions: npt.NDArray[np.int64]) -> None:
        """Take the learner's actions, integers ``(num_envs,)``.

        If one is illegal or outside the action space, an IllegalActionError names the first such game.
        ValueError for another shape or type. After an error no game has changed.
        """
        self._actions, legal = self._batch.legality(actions)
        refuse(self._actions, ~legal, f". Perhaps the algorithm reads no masks: {NEEDS_MASKS}")

    def step_wait(self) -> tuple[Observation, npt.NDArray[np.float32], npt.NDArray[np.bool_], list[Info]]:
        """Play the actions and all further turns, up to the learner's next decision in every game.

        After the OpponentError of an opponent that fails, the environment needs a :meth:`reset`.
        """
        batch, games = self._batch, self.num_envs
        step = _Step(np.zeros(games, np.float32), np.zeros(games, np.bool_), [{} for _ in range(games)])
        with batch.changing():
            batch.play(batch.all_games, self._actions)
            batch.play_on(partial(self._finish, step))
            if batch.reward_kind == SCORE:
                self._reward(step, np.flatnonzero(~step.ends))
        return self._observe(), step.rewards, step.ends, step.infos

    def close(self) -> None:
        """Do nothing."""

    def get_attr(self, attr_name: str, indices: Indices = None) -> list[Any]:
        """Return the ``render_mode``, ``action_masks`` or ``seat`` of some environments."""
        attributes: dict[str, Sequence[Any]] = {
            "render_mode": [None] * self.num_envs,
            "action_masks": list(self._masks),
            "seat": self.seats.tolist(),
        }
        if attr_name not in attributes:
            raise AttributeError(f"there is no attribute {attr_name!r}; there are {', '.join(attributes)}")
        return [attributes[attr_name][env] for env in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Indices = None) -> None:
        """Raise AttributeError: there are no attributes to set."""
        raise AttributeError(f"there is no attribute {attr_name!r} that could be set")

    def env_method(self, method_name: str, *args: Any, indices: Indices = None, **kwargs: Any) -> list[Any]:
        """Return ``action_masks`` of some environments, int8 ``(num_actions,)``; steps overwrite them."""
        if method_name != "action_masks":
            raise AttributeError(f"there is no method {method_name!r}; there is 'action_masks'")
        return [self._masks[env] for env in self._get_indices(indices)]

    def env_is_wrapped(self, wrapper_class: type, indices: Indices = None) -> list[bool]:
        """Return True for ``Monitor``, whose entries the infos have, and False for other wrappers."""
        return [issubclass(wrapper_class, Monitor) for _ in self._get_indices(indices)]

    # --- further methods ----------------------------------------------------------------------------------

    def action_masks(self) -> npt.NDArray[np.int8]:
        """Return the learners' legal actions, int8 ``(num_envs, num_actions)``; steps overwrite them."""
        return self._masks

    def games(self) -> list[BaseGame]:
        """Return copies of all games."""
        return self._batch.games()

    def save(self) -> dict[str, npt.NDArray[Any]]:
        """Return copies of states and random streams, without the opponents, for :meth:`restore`."""
        self._batch.require_ready()
        return self._arrays()

    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {
            "states": self.states.view(np.uint8).copy(),
            "streams": self._batch.dealer.streams.copy(),
            "lengths": self._batch.decisions.copy(),
            "returns": self._returns.copy(),
        }

    def restore(self, saved: dict[str, npt.NDArray[Any]]) -> Observation:
        """Continue from the arrays of :meth:`save` with the present opponents; return the observations.

        ValueError, without a change, unless each game is at a decision of the learner.
        """
        saved = check_saved(saved, self._arrays(), self.rules, self.num_players)
        states = saved["states"]
        over = list_games(batches.list_over, self.rules, states)
        wrong = [*over, *list_games(batches.list_waiting, self.rules, states, self.seats)]
        if wrong:
            raise ValueError(f"in the saved game {wrong[0]} it is not the learner's turn")
        with self._batch.changing():
            self.states[:] = states
            self._batch.dealer.streams[:] = saved["streams"]
            self._batch.decisions[:] = saved["lengths"]
            self._returns[:] = saved["returns"]
        return self._observe()

    # --- playing ------------------------------------------------------------------------------------------

    def _finish(self, step: _Step, over: Games) -> Games:
        """Write the results of games that are over; all of them begin anew."""
        decisions, numbers = self._batch.decisions, self.opponent_numbers
        ended = over[decisions[over] > 0]  # a game may be over before the learner's first decision
        rules, states, seats = self.rules, self.states, self.seats
        outcomes = np.zeros(self.num_envs)
        scores = np.zeros((self.num_envs, self.num_players), np.int16)
        if self.num_players > 1:
            loop(batches.write_rewards, rules)(states, ended, seats, OUTCOME, seats, outcomes)
        loop(batches.write_scores, rules)(states, ended, seats, scores)
        loop(batches.write_views, rules)(states, ended, seats, self._masks, self._observations)
        if self._weights is None:
            self._reward(step, ended)
        else:
            margins = scores[ended, 0] - scores[ended, 1:].max(1)
            self._add_rewards(step, ended, combine_reward(self._weights, outcomes[ended], margins))
        step.ends[ended] = True
        for game in ended:
            seconds = round(time.time() - self._created, 6)
            step.infos[game] = {
                "terminal_observation": self._observations[game].copy(),
                "episode": {"r": float(self._returns[game]), "l": int(decisions[game]), "t": seconds},
                "scores": scores[game].copy(),
                "game": rules.game.unchecked(states, game),
            }
            if self.num_players > 1:
                step.infos[game] |= {"is_success": bool(outcomes[game] > 0), "opponent": int(numbers[game])}
        self._returns[over] = 0
        return over

    def _reward(self, step: _Step, games: Games) -> None:
        """Write the rewards of some games for a step."""
        rewards = np.zeros(self.num_envs)
        self._batch.write_rewards(games, rewards)
        self._add_rewards(step, games, rewards[games])

    def _add_rewards(self, step: _Step, games: Games, rewards: npt.NDArray[Any]) -> None:
        step.rewards[games] = self._scale * rewards
        self._returns[games] += step.rewards[games]

    def _observe(self) -> Observation:
        """Write masks and observations; return a copy of the observations, since SB3 keeps the last ones."""
        batch = self._batch
        loop(batches.write_views, self.rules)(
            batch.states, batch.all_games, batch.seats, self._masks, self._observations
        )
        return self._observations.copy()
