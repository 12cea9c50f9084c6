"""Patchwork as a Gymnasium vector environment: many games of one learner against an opponent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from patchwork_env.agents import Agent, as_agent
from patchwork_env.envs.vector import Flags, Infos, add_info, as_int64, check_seeds, refuse
from patchwork_env.errors import OpponentError
from patchwork_env.games import PATCHWORK
from patchwork_env.patchwork import engine, spaces, turns
from patchwork_env.patchwork.actions import NUM_ACTIONS
from patchwork_env.patchwork.components import NUM_PLAYERS
from patchwork_env.patchwork.dealer import AS_USUAL, Dealer, Seats, SetUp, check_set_up
from patchwork_env.patchwork.game import Game
from patchwork_env.patchwork.gym_env import ILLEGAL_ACTION, ILLEGAL_REWARD, Opponent, opponent_seed
from patchwork_env.patchwork.observation import OBSERVATION_SIZE, as_dict
from patchwork_env.patchwork.options import check_at_least_one, check_one_of
from patchwork_env.patchwork.state import States, empty_states


class PatchworkVectorEnv(VectorEnv[Any, npt.NDArray[np.int64], npt.NDArray[Any]]):
    """``num_envs`` games of a learner against an opponent; all rules run compiled, over the whole batch.

    >>> import gymnasium
    >>> envs = gymnasium.make_vec("patchwork_env:Patchwork-v0", num_envs=64, opponent="greedy")
    >>> observations, infos = envs.reset(seed=7)
    >>> actions = infos["action_mask"].argmax(axis=1)
    >>> observations, rewards, terminations, truncations, infos = envs.step(actions)

    Each game is that of a :class:`~patchwork_env.patchwork.gym_env.PatchworkEnv`, with the same spaces,
    rewards and infos, and all is laid out as in Gymnasium's own vector environments. The opponent sees all
    games in which it is to move at once, through :meth:`Agent.act_batch`.

    A game that ends is followed by the next in the same step (``AutoresetMode.SAME_STEP``): the observation
    and ``action_mask`` are then those of the new game, and ``infos["final_obs"]`` and ``infos["final_info"]``
    hold what the single environment returned at the end.

    With the seed ``s``, game ``i`` begins like a single environment with the seed ``s + i``, and against an
    opponent that uses no random numbers it goes on like it, whatever the number of games.

    Args:
        num_envs: Number of games, at least 1.
        opponent: See :class:`~patchwork_env.patchwork.gym_env.PatchworkEnv`; as all of the following.
        seat: 0, 1, ``"alternate"`` or ``"random"``.
        illegal_action: ``"terminate"``, or ``"raise"``, which leaves all games as they are.
        rewards: ``"outcome"`` or ``"margin"``.
        observation: ``"flat"`` or ``"dict"``.
        special_patches: ``"revised"`` or ``"2014"``.
        first_player: 0, 1 or ``"random"``.
        copy: Whether observations and ``action_mask`` are fresh arrays; otherwise the next call overwrites
            them.

    Raises:
        ValueError: An option is not of these.
        FileNotFoundError: The opponent's path is no checkpoint.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012  # as Gymnasium declares it
        "autoreset_mode": AutoresetMode.SAME_STEP,
        "render_modes": [],
    }

    def __init__(
        self,
        num_envs: int = 1,
        opponent: Opponent = "random",
        *,
        seat: int | str = "alternate",
        illegal_action: str = "terminate",
        rewards: str = "outcome",
        observation: str = "flat",
        special_patches: str = "revised",
        first_player: int | str = 0,
        copy: bool = True,
    ) -> None:
        self.num_envs = check_at_least_one(num_envs, "num_envs")
        self._named = spaces.check_layout(observation)
        self._margin = check_one_of(rewards, turns.REWARDS, "rewards") == "margin"
        self._raises = check_one_of(illegal_action, ILLEGAL_ACTION, "illegal_action") == "raise"
        self._copy = check_one_of(copy, (False, True), "copy")
        self._dealer = Dealer(self.num_envs, special_patches, first_player)
        self._seats = Seats(self.num_envs, seat)
        self._opponent = as_agent(opponent, game=PATCHWORK)
        self.single_observation_space = spaces.observation_space(self._named)
        self.single_action_space = spaces.action_space()
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._all_games = np.arange(self.num_envs)
        self._states: States | None = None
        self._learners = np.zeros(self.num_envs, np.int64)
        self._observations = np.zeros((self.num_envs, OBSERVATION_SIZE), np.float32)
        self._masks = np.zeros((self.num_envs, NUM_ACTIONS), np.int8)

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> tuple[Any, Infos]:
        """Begins all games and lets the opponent play until it is the learner's turn in each.

        Args:
            seed: Starts the random numbers of game ``i`` anew with ``seed + i`` or ``seed[i]``, and those of
                the opponent. None, for all or for one game, goes on with them.
            options: For these games: ``circle``, all 33 patch indices clockwise from the neutral token with
                the 1x2 patch (0) last; ``first_player``: 0, 1 or ``"random"``.

        Returns:
            Observations and infos.

        Raises:
            ValueError: The seed or an option is not of these; nothing has changed.
            OpponentError: The opponent's action is not legal.
        """
        set_up = check_set_up(options)
        self._reseed(check_seeds(seed, self.num_envs))
        states, learners = empty_states(self.num_envs), self._learners.copy()
        self._deal(states, learners, self._all_games, set_up)
        return self._show(states, learners, {})

    def step(self, actions: npt.ArrayLike) -> tuple[Any, npt.NDArray[np.float64], Flags, Flags, Infos]:
        """Plays the learner's action in every game, then the opponent's; where a game ends, begins the next.

        Args:
            actions: Integers ``(num_envs,)``.

        Returns:
            Observations, rewards, terminations, truncations (all False) and infos.

        Raises:
            IllegalActionError: An action is not in ``Discrete(2026)``, or with ``illegal_action="raise"`` not
                legal; names the first such game. No game has changed.
            ValueError: The actions have another shape or type. No game has changed.
            OpponentError: The opponent's action is not legal. No game has changed.
            ResetNeeded: There was no :meth:`reset` yet.
        """
        states, learners = self._require_states().copy(), self._learners.copy()
        checked, legal = self._check_actions(states, actions)
        turns.play_listed(states, np.flatnonzero(legal), checked[legal])
        self._let_opponent_play(states, learners)
        over = _listed(turns.list_over, states)
        rewards = np.where(legal, 0.0, ILLEGAL_REWARD)
        scores = np.zeros((self.num_envs, NUM_PLAYERS), np.int16)
        turns.write_results(states, over, learners, self._margin, rewards, scores)
        terminations = ~legal
        terminations[over] = True
        infos: Infos = {}
        if terminations.any():
            infos = self._final_infos(states, learners, terminations)
            add_info(infos["final_info"], "scores", scores, terminations & legal)
            add_info(infos["final_info"], "illegal_action", np.where(legal, 0, checked), ~legal)
            self._deal(states, learners, np.flatnonzero(terminations))
        observations, infos = self._show(states, learners, infos)
        return observations, rewards, terminations, np.zeros(self.num_envs, np.bool_), infos

    def action_masks(self) -> npt.NDArray[np.int8]:
        """1 for the learner's legal actions, int8, shape ``(num_envs, 2026)``."""
        self._require_states()
        return self._masks.copy() if self._copy else self._masks

    def games(self) -> list[Game]:
        """Copies of all games."""
        states = self._require_states()
        return [Game.from_state(states, i) for i in range(self.num_envs)]

    @property
    def opponent(self) -> Agent:
        """Who plays against the learner."""
        return self._opponent

    # --- playing ------------------------------------------------------------------------------------------

    def _deal(
        self, states: States, learners: turns.Games, games: turns.Games, set_up: SetUp = AS_USUAL
    ) -> None:
        """Begins the listed games anew and brings them to the learner's turn."""
        self._dealer.deal(states, games, set_up)
        self._seats.assign(learners, games)
        self._let_opponent_play(states, learners)

    def _let_opponent_play(self, states: States, learners: turns.Games) -> None:
        """Plays the opponent's moves until every game is over or at the learner's turn."""
        while True:
            games = _listed(turns.list_waiting, states, learners)
            if not len(games):
                return
            batch = states[games]
            actions = np.asarray(self._opponent.act_batch(batch), np.int64)
            illegal = engine.first_illegal(batch, actions)
            if illegal >= 0:
                raise OpponentError(
                    f"opponent {self._opponent.name!r}: action {actions[illegal]} "
                    f"is not legal in game {games[illegal]}"
                )
            turns.play_listed(states, games, actions)

    def _show(self, states: States, learners: turns.Games, infos: Infos) -> tuple[Any, Infos]:
        """Makes ``states`` the present ones and returns what the learner sees, with ``infos`` completed."""
        self._states, self._learners = states, learners
        turns.write_views(states, self._all_games, learners, self._masks, self._observations)
        everywhere = np.ones(self.num_envs, np.bool_)
        add_info(infos, "action_mask", self.action_masks(), everywhere)
        add_info(infos, "seat", learners.copy(), everywhere)
        observations = self._observations.copy() if self._copy else self._observations
        return as_dict(observations) if self._named else observations, infos

    def _final_infos(self, states: States, learners: turns.Games, ended: Flags) -> Infos:
        """What the single environments of the games that have ``ended`` show of their last states."""
        vectors = np.empty((self.num_envs, OBSERVATION_SIZE), np.float32)
        masks = np.zeros((self.num_envs, NUM_ACTIONS), np.int8)
        games = np.flatnonzero(ended)
        turns.write_views(states, games, learners, masks, vectors)
        observations = np.full(self.num_envs, None, object)
        for game in games:
            vector = vectors[game].copy()
            observations[game] = as_dict(vector) if self._named else vector
        infos: Infos = {}
        add_info(infos, "final_obs", observations, ended)
        add_info(infos, "final_info", {}, ended)
        add_info(infos["final_info"], "action_mask", masks, ended)
        add_info(infos["final_info"], "seat", np.where(ended, learners, 0), ended)
        return infos

    # --- checks -------------------------------------------------------------------------------------------

    def _check_actions(self, states: States, actions: npt.ArrayLike) -> tuple[npt.NDArray[np.int64], Flags]:
        """The actions, and which of them are legal."""
        array = as_int64(actions, self.num_envs)
        legal = np.empty(self.num_envs, np.bool_)
        turns.check_actions(states, array, legal)
        refuse(array, ~legal if self._raises else (array < 0) | (array >= NUM_ACTIONS))
        return array, legal

    def _reseed(self, seeds: list[int | None]) -> None:
        given = {game: seed for game, seed in enumerate(seeds) if seed is not None}
        for game, seed in given.items():
            self._dealer.reseed(game, seed)
            self._seats.reseed(game, seed)
        if given:
            self._opponent.reseed(opponent_seed(next(iter(given.values()))))

    def _require_states(self) -> States:
        if self._states is None:
            raise ResetNeeded("no game is on: call reset()")
        return self._states


def _listed(kernel: Any, states: States, *args: Any) -> turns.Games:
    """The games that a kernel lists."""
    games = np.empty(len(states), np.int64)
    return games[: kernel(states, *args, games)]
