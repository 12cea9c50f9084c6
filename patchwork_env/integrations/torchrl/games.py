"""The batches of games behind the environment: those of the package, with games that begin when asked to.

The batches of the package begin the next game in the step in which one ends. TorchRL wants the end of a game
first, and asks for the next one itself: so a :class:`Turn` tells how the ended games looked at their ends,
while the batch already holds the next ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env.core.batches import (
    Actions,
    Games,
    Masks,
    deal_listed,
    first_illegal,
    loop,
    play_listed,
    write_current_observations,
)
from patchwork_env.core.checks import check_seed
from patchwork_env.core.game import Rules
from patchwork_env.core.kernels import States
from patchwork_env.core.tensors import Observation
from patchwork_env.envs.opponents import Opponent
from patchwork_env.envs.self_play import SHARED, BatchArrays, SelfPlayBatch, play_games, write_outputs
from patchwork_env.envs.vector import GameVectorEnv
from patchwork_env.errors import IllegalActionError

Flags = npt.NDArray[np.bool_]


class Turn(NamedTuple):
    """What one step of ``n`` games brought."""

    rewards: npt.NDArray[np.float32]  # ``(n,)``, of whoever acted
    of_players: npt.NDArray[np.float32] | None  # ``(n, players)``; None if only the learner is rewarded
    terminations: Flags  # ``(n,)``
    ended: Games  # ``(k,)``, the games that have ended
    last_observations: Observation  # ``(k, layout.size)``, what was seen at their ends
    last_players: npt.NDArray[np.int64]  # ``(k,)``, by whom


class SelfPlayGames(SelfPlayBatch):
    """A batch in which each step is a move of whoever is to move."""

    rewards_all = True

    def __init__(self, rules: Rules, num_envs: int, **options: Any) -> None:
        super().__init__(rules, num_envs, **options)
        self.rules, self.num_players = rules, self.rewards.shape[1]
        self._before = self.states.copy()

    @property
    def players(self) -> npt.NDArray[np.uint8]:
        """Who is to move in each game."""
        return self.current_players

    def seed(self, seed: int | None) -> None:
        """Begins all games anew."""
        self.reset(seed)

    def begin(self, games: Games) -> None:
        """Begins some games anew, with the random numbers that come next."""
        arrays = self._arrays
        loop(deal_listed, self.rules)(self.states, games, arrays.streams, arrays.initial_state, arrays.flags)
        part = self._arrays.part(games)
        loop(write_outputs, self.rules)(part)
        self._take_back(games, part)

    def turn(self, actions: Actions, staying: Flags) -> Turn:
        """Plays ``actions``, ``(n,)``, in all games but those that are ``staying`` as they are."""
        movers = self.current_players.astype(np.int64)
        np.copyto(self._before.view(np.uint8), self.states.view(np.uint8))
        if staying.any():
            self._step_listed(np.flatnonzero(~staying), actions)
        else:
            self.step(actions)
        ended = np.flatnonzero(self.terminations)
        last = self._ends(ended, actions)
        rewards = self.rewards.copy()
        of_movers = rewards[np.arange(self.num_envs), movers]
        return Turn(of_movers, rewards, self.terminations.copy(), ended, *last)

    def _ends(self, ended: Games, actions: Actions) -> tuple[Observation, npt.NDArray[np.int64]]:
        """What was seen at the ends of games, and by whom."""
        states = self._before[ended]
        observations = np.empty((len(ended), self.rules.layout.size), np.float32)
        loop(play_listed, self.rules)(states, np.arange(len(ended)), actions[ended])
        loop(write_current_observations, self.rules)(states, observations)
        return observations, states["current_player"].astype(np.int64)

    def _step_listed(self, games: Games, actions: Actions) -> None:
        """:meth:`step` for some games; to all others nothing happens."""
        part = self._arrays.part(games)
        part.actions[:] = actions[games]
        illegal = loop(first_illegal, self.rules)(part.states, part.actions)
        if illegal >= 0:
            raise IllegalActionError(
                f"action {part.actions[illegal]} of game {games[illegal]} is not legal; no game was changed"
            )
        loop(play_games, self.rules)(part)
        self.rewards[:], self.terminations[:] = 0, False
        self._take_back(games, part)

    def _take_back(self, games: Games, part: BatchArrays) -> None:
        """Replaces some games by those of a part."""
        for name in set(BatchArrays._fields) - set(SHARED):
            getattr(self._arrays, name)[games] = getattr(part, name)


class OpponentGames(GameVectorEnv):
    """A batch in which each step is a decision of the learner, against others."""

    rewards_all = False

    def __init__(
        self,
        rules: Rules,
        num_envs: int,
        opponents: Sequence[Opponent],
        seed: int | None,
        **options: Any,
    ) -> None:
        super().__init__(rules, num_envs, opponents, illegal_action="raise", copy=False, **options)
        self.rules, self.num_players = rules, self._players
        self.seed(seed)

    @property
    def states(self) -> States:
        """The records of all games."""
        return self._require_states()

    @property
    def observations(self) -> Observation:
        """What the learner sees of all games."""
        return self._observations

    @property
    def masks(self) -> Masks:
        """The learner's legal actions."""
        return self._masks

    @property
    def players(self) -> npt.NDArray[np.int64]:
        """The learner's player number in each game."""
        return self._learners

    def seed(self, seed: int | None) -> None:
        """Begins all games anew."""
        self.reset(seed=check_seed(seed) % (2**64 - self.num_envs))

    def begin(self, games: Games) -> None:
        """Begins some games anew, with the random numbers that come next."""
        chosen = np.zeros(self.num_envs, np.bool_)
        chosen[games] = True
        self.reset(options={"reset_mask": chosen})

    def turn(self, actions: Actions, staying: Flags) -> Turn:
        """Plays ``actions``, ``(n,)``, in all games but those that are ``staying`` as they are."""
        learners = self._learners.copy()
        _, rewards, terminations, _, infos = self._step(actions, idle=staying)
        ended = np.flatnonzero(terminations)
        observations = np.empty((len(ended), self.rules.layout.size), np.float32)
        for k, game in enumerate(ended):
            observations[k] = infos["final_obs"][game]
        return Turn(rewards.astype(np.float32), None, terminations, ended, observations, learners[ended])


Batch = SelfPlayGames | OpponentGames
