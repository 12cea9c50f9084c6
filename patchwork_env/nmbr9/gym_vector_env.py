"""NMBR 9 alone, as a Gymnasium vector environment: many games at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from patchwork_env.core.checks import check_at_least_one, check_one_of
from patchwork_env.envs.vector import Flags, Infos, add_info, as_int64, check_seeds, refuse
from patchwork_env.nmbr9 import engine, spaces, turns
from patchwork_env.nmbr9.actions import NUM_ACTIONS
from patchwork_env.nmbr9.components import COPIES, NUM_DIGITS
from patchwork_env.nmbr9.dealer import Dealer
from patchwork_env.nmbr9.game import Game
from patchwork_env.nmbr9.gym_env import ILLEGAL_ACTION, ILLEGAL_REWARD
from patchwork_env.nmbr9.observation import OBSERVATION_SIZE, as_dict
from patchwork_env.nmbr9.options import Variant
from patchwork_env.nmbr9.state import States, empty_states


class Nmbr9VectorEnv(VectorEnv[Any, npt.NDArray[np.int64], npt.NDArray[Any]]):
    """``num_envs`` games of one player; all rules run compiled, over the whole batch.

    >>> import gymnasium
    >>> envs = gymnasium.make_vec("patchwork_env:Nmbr9-v0", num_envs=64)
    >>> observations, infos = envs.reset(seed=7)
    >>> actions = [np.flatnonzero(mask)[-1] for mask in infos["action_mask"]]
    >>> observations, rewards, terminations, truncations, infos = envs.step(actions)

    Each game is that of a :class:`~patchwork_env.nmbr9.gym_env.Nmbr9Env`, with the same spaces, rewards and
    infos, and all is laid out as in Gymnasium's own vector environments.

    A game that ends is followed by the next in the same step (``AutoresetMode.SAME_STEP``): the observation
    and ``action_mask`` are then those of the new game, and ``infos["final_obs"]`` and ``infos["final_info"]``
    hold what the single environment returned at the end.

    With the seed ``s``, game ``i`` is that of a single environment with the seed ``s + i``, whatever the
    number of games.

    Args:
        num_envs: Number of games, at least 1.
        illegal_action: ``"terminate"``, or ``"raise"``, which leaves all games as they are; see
            :class:`~patchwork_env.nmbr9.gym_env.Nmbr9Env`, as for all of the following.
        observation: ``"flat"`` or ``"dict"``.
        order: ``"unknown"``, ``"known"`` or ``"free"``.
        max_digit: The highest digit.
        copies: Cards of each digit.
        deck_size: Tiles to be placed.
        copy: Whether observations and ``action_mask`` are fresh arrays; otherwise the next call overwrites
            them.

    Raises:
        ValueError: An option is not of these.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012  # as Gymnasium declares it
        "autoreset_mode": AutoresetMode.SAME_STEP,
        "render_modes": [],
    }

    def __init__(
        self,
        num_envs: int = 1,
        *,
        illegal_action: str = "terminate",
        observation: str = "flat",
        order: str = "unknown",
        max_digit: int = NUM_DIGITS - 1,
        copies: int = COPIES,
        deck_size: int | None = None,
        copy: bool = True,
    ) -> None:
        self.num_envs = check_at_least_one(num_envs, "num_envs")
        self._named = spaces.check_layout(observation)
        self._raises = check_one_of(illegal_action, ILLEGAL_ACTION, "illegal_action") == "raise"
        self._copy = check_one_of(copy, (False, True), "copy")
        self._dealer = Dealer(self.num_envs, Variant(order, max_digit, copies, deck_size))
        self.single_observation_space = spaces.observation_space(self._named)
        self.single_action_space = spaces.action_space()
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._all_games = np.arange(self.num_envs)
        self._states: States | None = None
        self._observations = np.zeros((self.num_envs, OBSERVATION_SIZE), np.float32)
        self._masks = np.zeros((self.num_envs, NUM_ACTIONS), np.int8)

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> tuple[Any, Infos]:
        """Begins all games.

        Args:
            seed: Starts the random decks of game ``i`` anew with ``seed + i`` or ``seed[i]``. None, for all
            or
                for one game, goes on with them.
            options: For these games: ``deck``, the digits in the order in which they come.

        Returns:
            Observations and infos.

        Raises:
            ValueError: The seed or an option is not of these; nothing has changed.
        """
        set_up = self._dealer.check_set_up(options)
        for game, value in enumerate(check_seeds(seed, self.num_envs)):
            if value is not None:
                self._dealer.reseed(game, value)
        self._states = empty_states(self.num_envs)
        self._dealer.deal(self._states, self._all_games, set_up)
        return self._show(self._states, {})

    def step(self, actions: npt.ArrayLike) -> tuple[Any, npt.NDArray[np.float64], Flags, Flags, Infos]:
        """Plays an action in every game; where one ends, begins the next.

        Args:
            actions: Integers ``(num_envs,)``.

        Returns:
            Observations, rewards, terminations, truncations and infos.

        Raises:
            IllegalActionError: An action is not in ``Discrete(16394)``, or with ``illegal_action="raise"``
            not
                legal; names the first such game. No game has changed.
            ValueError: The actions have another shape or type. No game has changed.
            ResetNeeded: There was no :meth:`reset` yet.
        """
        states = self._require_states()
        checked = as_int64(actions, self.num_envs)
        legal = np.empty(self.num_envs, np.bool_)
        turns.check_actions(states, checked, legal)
        refuse(checked, ~legal if self._raises else (checked < 0) | (checked >= NUM_ACTIONS))
        rewards, endings = np.empty(self.num_envs), np.empty(self.num_envs, np.int8)
        turns.play_all(states, checked, legal, rewards, endings)
        rewards[~legal] = ILLEGAL_REWARD
        terminations, truncations = ~legal | (endings == turns.ENDED), endings == turns.CUT_OFF
        over = terminations | truncations
        infos: Infos = {}
        if over.any():
            infos = self._final_infos(states, over)
            scores = np.array([engine.score(states, game, 0) for game in range(self.num_envs)])
            add_info(infos["final_info"], "score", np.where(over & legal, scores, 0), over & legal)
            add_info(infos["final_info"], "illegal_action", np.where(legal, 0, checked), ~legal)
            self._dealer.deal(states, np.flatnonzero(over))
        observations, infos = self._show(states, infos)
        return observations, rewards, terminations, truncations, infos

    def action_masks(self) -> npt.NDArray[np.int8]:
        """1 for the legal actions, int8, shape ``(num_envs, 16394)``."""
        self._require_states()
        return self._masks.copy() if self._copy else self._masks

    def games(self) -> list[Game]:
        """Copies of all games."""
        states = self._require_states()
        return [Game.from_state(states, i) for i in range(self.num_envs)]

    def _show(self, states: States, infos: Infos) -> tuple[Any, Infos]:
        """What the players see, with ``infos`` completed."""
        turns.write_views(states, self._all_games, self._masks, self._observations)
        add_info(infos, "action_mask", self.action_masks(), np.ones(self.num_envs, np.bool_))
        observations = self._observations.copy() if self._copy else self._observations
        return as_dict(observations) if self._named else observations, infos

    def _final_infos(self, states: States, over: Flags) -> Infos:
        """What the single environments of the games that are ``over`` show of their last states."""
        vectors = np.empty((self.num_envs, OBSERVATION_SIZE), np.float32)
        masks = np.zeros((self.num_envs, NUM_ACTIONS), np.int8)
        turns.write_views(states, np.flatnonzero(over), masks, vectors)
        observations = np.full(self.num_envs, None, object)
        for game in np.flatnonzero(over):
            vector = vectors[game].copy()
            observations[game] = as_dict(vector) if self._named else vector
        infos: Infos = {}
        add_info(infos, "final_obs", observations, over)
        add_info(infos, "final_info", {}, over)
        add_info(infos["final_info"], "action_mask", masks, over)
        return infos

    def _require_states(self) -> States:
        if self._states is None:
            raise ResetNeeded("no game is on: call reset()")
        return self._states
