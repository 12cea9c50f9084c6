"""Batched play: many games in one compiled call."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from patchwork_env.core.checks import check_at_least_one
from patchwork_env.envs.self_play import BaseSelfPlay
from patchwork_env.nmbr9 import turns
from patchwork_env.nmbr9.actions import NUM_ACTIONS
from patchwork_env.nmbr9.components import COPIES, MAX_PLAYERS, NUM_DIGITS
from patchwork_env.nmbr9.game import Game
from patchwork_env.nmbr9.observation import OBSERVATION_SIZE, write_observations
from patchwork_env.nmbr9.options import Variant, beginning
from patchwork_env.nmbr9.state import empty_states


class SelfPlayVectorEnv(BaseSelfPlay):
    """Plays ``num_envs`` games at once, each ``step`` with one action of the current player of every game.

    Where a game ends, the next one starts in the same step. All outputs are arrays that are allocated once
    and overwritten by every ``reset`` and ``step``; copy what must last. Game ``i`` depends on the seed, on
    ``i`` and on its own actions alone: the number of games changes nothing.

    >>> env = SelfPlayVectorEnv(4, seed=1)
    >>> for _ in range(100):
    ...     env.step(env.random_actions)
    >>> env.masks.shape
    (4, 16394)

    Attributes:
        states: ``(n,)`` state records; see :mod:`~patchwork_env.nmbr9.state`.
        observations: float32 ``(n, OBSERVATION_SIZE)``, from the view of the current player.
        masks: int8 ``(n, 16394)``, 1 for the legal actions.
        counts: int16 ``(n,)``, number of legal actions.
        random_actions: int64 ``(n,)``, a uniformly random legal action for every game.
        gains: int16 ``(n,)``, points that the player who moved in the last step gained by it.
        endings: int8 ``(n,)``, what became of each game in the last step: 0 it goes on, 1 it ended, 2 it was
            cut off because its tiles would have met the edge of the table; that action was not played.
        final_scores: int16 ``(n, 4)``, the scores of games that ended or were cut off; other rows keep old
            values.

    Args:
        num_envs: Number of games, at least 1.
        seed: ``0 ... 2**64 - 1``; None for fresh random games.
        players: Of every game, 1-4.
        deck: The deck of every game, instead of random ones.
        order: ``"unknown"``, ``"known"`` or ``"free"``.
        max_digit: The highest digit.
        copies: Cards of each digit.
        deck_size: Tiles that each player places.
        masks: Whether to write masks; without, ``masks`` has no rows.
        observations: Whether to write observations; without, ``observations`` has no rows.

    Raises:
        ValueError: An option is not of these.
    """

    def __init__(
        self,
        num_envs: int,
        *,
        seed: int | None = None,
        players: int = 1,
        deck: Iterable[int] | None = None,
        order: str = "unknown",
        max_digit: int = NUM_DIGITS - 1,
        copies: int = COPIES,
        deck_size: int | None = None,
        masks: bool = True,
        observations: bool = True,
    ) -> None:
        super().__init__(
            empty_states(check_at_least_one(num_envs, "num_envs")),
            NUM_ACTIONS,
            OBSERVATION_SIZE,
            masks=masks,
            observations=observations,
        )
        self._beginning = beginning(Variant(order, max_digit, copies, deck_size), players, deck)
        self._shuffled = deck is None
        self.gains = np.zeros(self.num_envs, np.int16)
        self.endings = np.zeros(self.num_envs, np.int8)
        self.final_scores = np.zeros((self.num_envs, MAX_PLAYERS), np.int16)
        self.reset(seed)

    def games(self) -> list[Game]:
        """Copies of all games."""
        return [Game.from_state(self.states, i) for i in range(self.num_envs)]

    def _restart(self) -> None:
        turns.restart_games(self.states, self._streams, self._beginning, self._shuffled)

    def _forget_results(self) -> None:
        self.gains[:] = 0
        self.endings[:] = turns.GOES_ON

    def _step(self) -> int:
        illegal = int(turns.first_illegal(self.states, self._actions))
        if illegal < 0:
            turns.play_games(
                self.states,
                self._streams,
                self._actions,
                self._beginning,
                self._shuffled,
                self.gains,
                self.endings,
                self.final_scores,
            )
            self._describe()
        return illegal

    def _describe(self) -> None:
        self._sampled_from[:] = self._sampling_streams
        outputs = (self.counts, self.masks, self.random_actions)
        turns.describe_games(self.states, self._sampling_streams, *outputs)
        if len(self.observations):
            write_observations(self.states, self.observations)
