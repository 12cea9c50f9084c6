"""Batches of games for Stable-Baselines3: one learner in each game, against any agents."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode, VectorEnv
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import VecEnv

from patchwork_env.agents import Agent, as_agents
from patchwork_env.core import batches
from patchwork_env.core.batches import MARGIN_SCALE, OUTCOME, SCORE, Games, list_games, loop
from patchwork_env.core.checks import as_number, check_actions, check_seed, seed_streams
from patchwork_env.core.game import BaseGame
from patchwork_env.core.names import short_repr
from patchwork_env.core.tensors import Observation
from patchwork_env.envs.opponents import Opponents
from patchwork_env.envs.options import check_num_envs, check_rewards, check_saved, check_seeds, complete
from patchwork_env.envs.spaces import GameSpaces
from patchwork_env.errors import IllegalActionError
from patchwork_env.games import PATCHWORK, rules_of
from patchwork_env.learning.algorithms.common.advantages import combine_reward
from patchwork_env.learning.config import Reward

Indices = None | int | Iterable[int]
Info = dict[str, Any]
_MASK = "action_mask"


class MaskedVecEnv(VecEnv):
    """Environments of one batch, with nothing but some attributes and the method ``action_masks``."""

    render_mode: str | None = None
    _masks: npt.NDArray[np.int8]

    def _attributes(self) -> dict[str, Sequence[Any]]:
        return {"render_mode": [self.render_mode] * len(self._masks), "action_masks": list(self._masks)}

    def get_attr(self, attr_name: str, indices: Indices = None) -> list[Any]:
        """The ``render_mode``, the ``action_masks`` or what else there is of some environments."""
        attributes = self._attributes()
        if attr_name not in attributes:
            raise AttributeError(f"there is no attribute {attr_name!r}; there are {', '.join(attributes)}")
        return [attributes[attr_name][env] for env in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Indices = None) -> None:
        """Raises AttributeError: there are no attributes to set."""
        raise AttributeError(f"there is no attribute {attr_name!r} that could be set")

    def env_method(self, method_name: str, *args: Any, indices: Indices = None, **kwargs: Any) -> list[Any]:
        """``action_masks`` of some environments, int8 ``(num_actions,)`` each; a step may overwrite them."""
        if method_name != "action_masks":
            raise AttributeError(f"there is no method {method_name!r}; there is 'action_masks'")
        return [self._masks[env] for env in self._get_indices(indices)]

    def env_is_wrapped(self, wrapper_class: type, indices: Indices = None) -> list[bool]:
        """False for all."""
        return [False for _ in self._get_indices(indices)]


class _Step(NamedTuple):
    """What a step brings, an entry for each game; ``scores`` are the learners' before it."""

    rewards: npt.NDArray[np.float32]
    ends: npt.NDArray[np.bool_]
    infos: list[Info]
    scores: npt.NDArray[np.int16]


class SelfPlayVecEnv(MaskedVecEnv):
    """``num_envs`` games for an algorithm of Stable-Baselines3; all rules run compiled, over the whole batch.

    >>> from sb3_contrib import MaskablePPO
    >>> env = SelfPlayVecEnv(64, opponent=["random", "greedy"], seed=1)
    >>> model = MaskablePPO("MlpPolicy", env, n_steps=64)

    The learner has player number 0 in game 0, 1 in game 1, 0 in game 2 and so on. In Patchwork chance decides
    who starts. Every step is a decision of the learner: the opponents' moves and all turns with a single
    legal action are part of it. Spaces are those of the game's Gymnasium environment. Rewards for the end of
    a game come with the learner's last step, no matter whose move ended it.

    **Info**: empty until a game ends. Then ``terminal_observation``; ``episode`` like SB3's ``Monitor``,
    where ``l`` are the learner's decisions; ``scores``, first the learner's; ``game``, at its last position;
    against opponents ``is_success``, whether the learner won, and ``opponent``, the opponent's number.

    Args:
        num_envs: The number of games, at least 1.
        opponent: Who plays for all others, see :func:`patchwork_env.agents.as_agent`, or a list of these.
        opponent_shares: The relative shares of the games for several opponents; None is evenly.
        game: ``"patchwork"`` or ``"nmbr9"``.
        seed: The seed of the games, ``0 ... 2**64 - 1``; None for fresh random games.
        rewards: ``"outcome"``, ``"margin"`` or ``"score"`` as in all environments, or the weights of outcome
            and margin, of which ``Reward`` has its own scale; None for the outcome, alone the score.
        reward_scale: What rewards are multiplied by, above 0; 0.02 is good for ``"score"``.
        options: Options of the game, such as ``special_patches="2014"`` or ``players=2``.

    Attributes:
        states: ``(num_envs,)`` records of the games.
        seats: int64 ``(num_envs,)``, the learner's player number in each game.
        first_opponents: The agents that the environment was made with.
        turns: The turns played so far in all games, by whoever moved, forced ones included.

    Raises:
        ValueError, UnknownOptionError, FileNotFoundError: A value is not allowed, or there is no such
            option or opponent.
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
        own = ("num_envs", "opponent", "opponent_shares", "game", "seed", "rewards", "reward_scale")
        self._set_up = rules.set_up(complete(options, rules.options, own, type(self).__name__), {})
        self.num_players = self._set_up.players
        self._weights = rewards if isinstance(rewards, Reward) else None
        if self._weights is not None and self.num_players == 1:
            raise ValueError("rewards weigh outcome and margin, which need 2 players; alone there is 'score'")
        self._kind = OUTCOME if isinstance(rewards, Reward) else check_rewards(rewards, self.num_players)
        self._scale = as_number(reward_scale, "reward_scale", above=0)
        self.states = rules.empty_states(check_num_envs(num_envs))
        self.seats = np.arange(num_envs) % self.num_players
        self._opponents: Opponents | None = None
        if self.num_players > 1:
            agents = as_agents("random" if opponent is None else opponent, game=rules.name)
            self._opponents = Opponents(num_envs, agents, shares=opponent_shares, players=self.num_players)
        elif opponent is not None:
            raise ValueError(f"opponent is {short_repr(opponent)}; a game for one player has none")
        self.first_opponents = self.opponents
        self._streams = seed_streams(seed, num_envs)
        self._reseed_opponents(seed)
        self._has_begun = False
        self.turns = 0
        self._lengths, self._returns = np.zeros(num_envs, np.int64), np.zeros(num_envs)
        self._actions = np.zeros(num_envs, np.int64)
        self._all_games = np.arange(num_envs)
        self._observations = np.zeros((num_envs, rules.layout.size), np.float32)
        self._masks = np.zeros((num_envs, rules.num_actions), np.int8)
        self._created = time.time()
        spaces = GameSpaces(rules)
        super().__init__(num_envs, spaces.flat_space(), spaces.action_space())

    @property
    def opponents(self) -> list[Agent]:
        """The agents that play against the learner."""
        return [] if self._opponents is None else cast(list[Agent], self._opponents.agents)

    @property
    def opponent_numbers(self) -> npt.NDArray[np.int64]:
        """The number of the opponent in each game, int64 ``(num_envs,)``."""
        return np.zeros(len(self.states), np.int64) if self._opponents is None else self._opponents.numbers

    def set_opponents(
        self,
        opponents: Sequence[Agent],
        numbers: npt.NDArray[np.integer[Any]] | None = None,
        *,
        at_once: bool = False,
    ) -> None:
        """Changes the opponents, or ValueError: see :meth:`patchwork_env.envs.opponents.Opponents.change`."""
        if self._opponents is None:
            raise ValueError(f"opponents are {short_repr(opponents)}; a game for one player has none")
        self._opponents.change(opponents, numbers, at_once=at_once or not self._has_begun)

    # --- Stable-Baselines3 --------------------------------------------------------------------------------

    def reset(self) -> Observation:
        """Begins all games, after :meth:`seed` with new random numbers; options are a ValueError."""
        if any(self._options):
            raise ValueError(f"the options of the games are {self._options}; they take none")
        with self._undone_by_errors():
            if self._seeds[0] is not None:
                for game, seed in enumerate(check_seeds(self._seeds[0], self.num_envs)):
                    self._streams[game : game + 1] = seed_streams(seed)
                self._reseed_opponents(self._seeds[0])
            self._begin(self._all_games)
            self._play_on(self._new_step())
        self._reset_seeds()
        self._has_begun = True
        return self._observe()

    def step_async(self, actions: npt.NDArray[np.int64]) -> None:
        """Takes the learner's actions, integers ``(num_envs,)``.

        If one is illegal or outside the action space, an IllegalActionError names the first such game, and
        no game is changed; so it is with actions of another shape or type.
        """
        self._actions[:] = check_actions(actions, self.num_envs)
        illegal = loop(batches.first_illegal, self.rules)(self.states, self._actions)
        if illegal >= 0:
            raise IllegalActionError(
                f"action {self._actions[illegal]} of game {illegal} is not legal; no game was changed"
            )

    def step_wait(self) -> tuple[Observation, npt.NDArray[np.float32], npt.NDArray[np.bool_], list[Info]]:
        """Plays the actions and what follows, up to the learner's next decision in every game.

        If an opponent fails, that is an OpponentError, and no game is changed.
        """
        step = self._new_step()
        with self._undone_by_errors():
            self._lengths += 1
            self._play(self._all_games, self._actions)
            self._play_on(step)
            if self._kind == SCORE:
                goes_on, gained = ~step.ends, self._scale * (self._own_scores() - step.scores)
                step.rewards[goes_on] = gained[goes_on]
                self._returns[goes_on] += step.rewards[goes_on]
        return self._observe(), step.rewards, step.ends, step.infos

    def close(self) -> None:
        """There is nothing to close."""

    def _attributes(self) -> dict[str, Sequence[Any]]:
        return {**super()._attributes(), "seat": self.seats.tolist()}

    def env_is_wrapped(self, wrapper_class: type, indices: Indices = None) -> list[bool]:
        """Whether the infos hold what a wrapper would add to them, as is so for ``Monitor``."""
        return [issubclass(wrapper_class, Monitor) for _ in self._get_indices(indices)]

    # --- beyond it ----------------------------------------------------------------------------------------

    def action_masks(self) -> npt.NDArray[np.int8]:
        """1 for the learner's legal actions, int8 ``(num_envs, num_actions)``; a step overwrites them."""
        return self._masks

    def games(self) -> list[BaseGame]:
        """Copies of all games."""
        return [self.rules.game.unchecked(self.states, i) for i in range(self.num_envs)]

    def save(self) -> dict[str, npt.NDArray[Any]]:
        """Copies of all that the games depend on, except the opponents, for :meth:`restore`."""
        return {
            "states": self.states.view(np.uint8).copy(),
            "streams": self._streams.copy(),
            "lengths": self._lengths.copy(),
            "returns": self._returns.copy(),
        }

    def restore(self, saved: dict[str, npt.NDArray[Any]]) -> Observation:
        """Continues from what :meth:`save` returned, or changes nothing; returns the observations.

        What is no such position of these games, with a decision of the learner in each, is a ValueError.
        """
        saved = check_saved(saved, self.save())
        states = self.rules.game.check_states(saved["states"].view(self.states.dtype))
        players = {self.rules.kernels.num_players(states, i) for i in range(len(states))}
        if players != {self.num_players}:
            raise ValueError(f"the saved games have {sorted(players)} players, not {self.num_players}")
        over = list_games(batches.list_over, self.rules, states)
        wrong = [*over, *list_games(batches.list_waiting, self.rules, states, self.seats)]
        if wrong:
            raise ValueError(f"in the saved game {wrong[0]} it is not the learner's turn")
        self.states[:] = states
        self._streams[:] = saved["streams"]
        self._lengths[:] = saved["lengths"]
        self._returns[:] = saved["returns"]
        return self._observe()

    # --- playing ------------------------------------------------------------------------------------------

    @contextmanager
    def _undone_by_errors(self) -> Iterator[None]:
        """Brings the games back to where they were if the block raises an error."""
        arrays = (self.states, self._streams, self._lengths, self._returns)
        before, turns = [array.copy() for array in arrays], self.turns
        opponents = self._opponents and self._opponents.copy()
        try:
            yield
        except BaseException:
            for array, values in zip(arrays, before, strict=True):
                array[:] = values
            self.turns, self._opponents = turns, opponents
            if self._has_begun:
                self._observe()
            raise

    def _new_step(self) -> _Step:
        games = self.num_envs
        infos: list[Info] = [{} for _ in range(games)]
        return _Step(np.zeros(games, np.float32), np.zeros(games, np.bool_), infos, self._own_scores())

    def _play(self, games: Games, actions: npt.NDArray[np.int64]) -> None:
        loop(batches.play_listed, self.rules)(self.states, games, actions)
        self.turns += len(games)

    def _play_on(self, step: _Step) -> None:
        """Plays up to the learner's next decision in every game; a new game follows where one ends."""
        while True:
            self.turns += loop(batches.play_forced, self.rules)(self.states)
            ended = list_games(batches.list_over, self.rules, self.states)
            if len(ended):
                self._finish(ended, step)
                self._begin(ended)
                continue
            waiting = list_games(batches.list_waiting, self.rules, self.states, self.seats)
            if not len(waiting):
                return
            assert self._opponents is not None
            self._play(waiting, self._opponents.answers(self.states.take(waiting), waiting))

    def _finish(self, ended: Games, step: _Step) -> None:
        outcomes = np.zeros(self.num_envs)
        scores = np.zeros((self.num_envs, self.num_players), np.int16)
        if self.num_players > 1:
            loop(batches.write_final_rewards, self.rules)(self.states, ended, self.seats, OUTCOME, outcomes)
        loop(batches.write_scores, self.rules)(self.states, ended, self.seats, scores)
        loop(batches.write_views, self.rules)(self.states, ended, self.seats, self._masks, self._observations)
        step.rewards[ended] = self._scale * self._worth(outcomes, scores, step.scores)[ended]
        step.ends[ended] = True
        self._returns[ended] += step.rewards[ended]
        for game in ended:
            seconds = round(time.time() - self._created, 6)
            step.infos[game] |= {
                "terminal_observation": self._observations[game].copy(),
                "episode": {"r": float(self._returns[game]), "l": int(self._lengths[game]), "t": seconds},
                "scores": scores[game].copy(),
                "game": self.rules.game.unchecked(self.states, game),
            }
            if self.num_players > 1:
                opponent = int(self.opponent_numbers[game])
                step.infos[game] |= {"is_success": bool(outcomes[game] > 0), "opponent": opponent}

    def _worth(
        self, outcomes: npt.NDArray[Any], scores: npt.NDArray[np.int16], before: npt.NDArray[np.int16]
    ) -> npt.NDArray[Any]:
        """Rewards ``(n,)`` for the ends of games; ``before`` are the learners' scores at the last step."""
        if self._kind == SCORE:
            return scores[:, 0] - before
        if self._kind == OUTCOME and self._weights is None:
            return outcomes
        margins = scores[:, 0] - scores[:, 1:].max(1)
        if self._weights is None:
            return margins / MARGIN_SCALE
        return combine_reward(self._weights, outcomes, margins)

    def _own_scores(self) -> npt.NDArray[np.int16]:
        scores = np.zeros((self.num_envs, 1), np.int16)
        loop(batches.write_scores, self.rules)(self.states, self._all_games, self.seats, scores)
        return scores[:, 0]

    def _begin(self, games: Games) -> None:
        initial_state, flags, _ = self._set_up
        loop(batches.deal_listed, self.rules)(self.states, games, self._streams, initial_state, flags)
        if self._opponents is not None:
            self._opponents.begin(games)
        self._lengths[games] = 0
        self._returns[games] = 0

    def _observe(self) -> Observation:
        """Writes masks and observations; returns a copy of these, as SB3 still needs those before."""
        loop(batches.write_views, self.rules)(
            self.states, self._all_games, self.seats, self._masks, self._observations
        )
        return self._observations.copy()

    def _reseed_opponents(self, seed: int | None) -> None:
        if seed is not None and self._opponents is not None:
            self._opponents.reseed(check_seed(seed))


# --- Gymnasium --------------------------------------------------------------------------------------------


def as_vec_env(envs: VectorEnv[Any, Any, Any]) -> VecEnv:
    """The environments of ``gymnasium.make_vec`` for an algorithm of Stable-Baselines3, with action masks.

    >>> import gymnasium
    >>> envs = gymnasium.make_vec("patchwork_env:Patchwork-v0", num_envs=64, opponent="greedy")
    >>> as_vec_env(envs).reset().shape
    (64, 307)

    The next episode must begin in the step in which one ends, else ValueError, and infos hold
    ``action_mask``, as in all batches here. :class:`SelfPlayVecEnv` is faster, and the one for self-play.
    """
    mode = envs.metadata.get("autoreset_mode")
    if mode != AutoresetMode.SAME_STEP:
        raise ValueError(
            f"the environments have autoreset_mode {short_repr(mode)}; it must be AutoresetMode.SAME_STEP, "
            "as with vectorization_mode='vector_entry_point'"
        )
    return _VecEnvOfGymnasium(envs)


class _VecEnvOfGymnasium(MaskedVecEnv):
    def __init__(self, envs: VectorEnv[Any, Any, Any]) -> None:
        self._envs = envs
        self.render_mode = envs.render_mode
        self._masks = np.zeros((envs.num_envs, 0), np.int8)
        self._actions: npt.NDArray[Any] = np.zeros(envs.num_envs, np.int64)
        super().__init__(envs.num_envs, envs.single_observation_space, envs.single_action_space)

    def reset(self) -> Any:
        observations, infos = self._envs.reset(seed=self._seeds[0], options=self._options[0] or None)
        self._reset_seeds()
        self._reset_options()
        self._masks = infos[_MASK]
        return _copied(observations)

    def step_async(self, actions: npt.NDArray[Any]) -> None:
        self._actions = actions

    def step_wait(self) -> tuple[Any, npt.NDArray[np.float32], npt.NDArray[np.bool_], list[Info]]:
        observations, rewards, terminations, truncations, infos = self._envs.step(self._actions)
        self._masks = infos[_MASK]
        ends = terminations | truncations
        own_infos: list[Info] = [{} for _ in range(self.num_envs)]
        for env in np.flatnonzero(ends).tolist():
            final = infos["final_info"]
            own_infos[env] = {
                key: final[key][env] for key in final if not key.startswith("_") and final[f"_{key}"][env]
            }
            own_infos[env]["terminal_observation"] = infos["final_obs"][env]
            own_infos[env]["TimeLimit.truncated"] = bool(truncations[env] and not terminations[env])
        return _copied(observations), rewards.astype(np.float32), ends, own_infos

    def close(self) -> None:
        self._envs.close()


def _copied(observations: Any) -> Any:
    """Observations that the next step does not overwrite."""
    if isinstance(observations, dict):
        return {name: array.copy() for name, array in observations.items()}
    return observations.copy()
