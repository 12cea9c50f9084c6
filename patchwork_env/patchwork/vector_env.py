"""Batched self-play: many games in one compiled call."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import config

from patchwork_env.core.compile import kernel
from patchwork_env.core.threads import (
    Board,
    Team,
    begin,
    claim_chunk,
    finish_chunk,
    look_out_for_work,
    phase_of,
    usable_cores,
    wait_for_members,
)
from patchwork_env.envs.self_play import BaseSelfPlay
from patchwork_env.patchwork import engine
from patchwork_env.patchwork.actions import NUM_ACTIONS
from patchwork_env.patchwork.components import NUM_PLAYERS, VARIANTS
from patchwork_env.patchwork.engine import describe_games, first_illegal, play_games
from patchwork_env.patchwork.game import Game
from patchwork_env.patchwork.observation import OBSERVATION_SIZE, Observation, write_observations
from patchwork_env.patchwork.options import (
    check_at_least_one,
    check_first_player,
    check_variant,
)
from patchwork_env.patchwork.state import States, empty_states

_CHUNK = 32
"""Games that a thread takes on at once."""
_CHECK, _STEP = 0, 1
_AS_LONG_AS_IT_TAKES = 1 << 62


class SelfPlayVectorEnv(BaseSelfPlay):
    """Plays ``num_envs`` games at once, each ``step`` with one action of the current player of every game.

    Where a game ends, the next one starts in the same step. All outputs are arrays that are allocated once
    and overwritten by every ``reset`` and ``step``; copy what must last. Game ``i`` depends on the seed, on
    ``i`` and on its own actions alone: the number of games and of threads changes nothing.

    >>> env = SelfPlayVectorEnv(4, seed=1)
    >>> for _ in range(100):
    ...     env.step(env.random_actions)
    >>> env.masks.shape
    (4, 2026)

    Attributes:
        states: ``(n,)`` state records; see :mod:`~patchwork_env.patchwork.state`.
        observations: float32 ``(n, OBSERVATION_SIZE)``, from the view of the current player.
        masks: int8 ``(n, 2026)``, 1 for the legal actions.
        counts: int16 ``(n,)``, number of legal actions.
        random_actions: int64 ``(n,)``, a uniformly random legal action for every game.
        winners: int8 ``(n,)``, the winner 0 or 1 of a game that ended in the last step, else -1.
        final_scores: int16 ``(n, 2)``, the scores of games that ended; other rows keep old values.

    Args:
        num_envs: Number of games, at least 1.
        seed: ``0 ... 2**64 - 1``; None for fresh random games.
        special_patches: Print of the time track, ``"revised"`` or ``"2014"``.
        first_player: Of every game: 0, 1 or ``"random"``.
        masks: Whether to write masks; without, ``masks`` has no rows.
        observations: Whether to write observations; without, ``observations`` has no rows.
        threads: Threads that share the work, at most one per core; None for all cores. They pay from some
            hundred games on, and only on cores that have nothing else to do.
    """

    def __init__(
        self,
        num_envs: int,
        *,
        seed: int | None = None,
        special_patches: str = "revised",
        first_player: int | str = "random",
        masks: bool = True,
        observations: bool = True,
        threads: int | None = 1,
    ) -> None:
        super().__init__(
            empty_states(check_at_least_one(num_envs, "num_envs")),
            NUM_ACTIONS,
            OBSERVATION_SIZE,
            masks=masks,
            observations=observations,
        )
        self.threads = _available_threads(threads)
        self.special_patches = VARIANTS[check_variant(special_patches)]
        self._first_player = check_first_player(first_player)
        self.winners = np.full(self.num_envs, -1, np.int8)
        self.final_scores = np.zeros((self.num_envs, NUM_PLAYERS), np.int16)
        self._team: Team | None = None
        self.reset(seed)

    def games(self) -> list[Game]:
        """Copies of all games."""
        return [Game.from_state(self.states, i) for i in range(self.num_envs)]

    def __getstate__(self) -> dict[str, Any]:
        """For copies and pickles: threads stay with the original."""
        return {**self.__dict__, "_team": None}

    def _restart(self) -> None:
        variant = check_variant(self.special_patches)
        engine.restart_games(self.states, self._streams, variant, self._first_player)

    def _forget_results(self) -> None:
        self.winners[:] = -1

    def _step(self) -> int:
        if self.threads > 1:
            return self._step_together()
        illegal = int(first_illegal(self.states, self._actions))
        if illegal < 0:
            play_games(*self._play_arguments())
            self._describe()
        return illegal

    def _step_together(self) -> int:
        """:meth:`_step` by several threads."""
        if self._team is None:
            chunks = -(-self.num_envs // _CHUNK)
            illegal = np.zeros(chunks, np.int64)
            batch = (*self._play_arguments(), *self._describe_arguments(), self.observations)
            arguments = (illegal, self._sampled_from, *batch)
            self._team = Team(self.threads, chunks, _lead_step, _assist_step, arguments)
        return int(self._team.work())

    def _describe(self) -> None:
        self._sampled_from[:] = self._sampling_streams
        describe_games(self.states, *self._describe_arguments())
        if len(self.observations):
            write_observations(self.states, self.observations)

    def _play_arguments(self) -> tuple[Any, ...]:
        games = (self.states, self._streams, self._actions, self._first_player)
        return (*games, self.winners, self.final_scores)

    def _describe_arguments(self) -> tuple[Any, ...]:
        return self._sampling_streams, self.counts, self.masks, self.random_actions


def _available_threads(threads: int | None) -> int:
    number = usable_cores() if threads is None else check_at_least_one(threads, "threads")
    return 1 if config.DISABLE_JIT else min(number, usable_cores())


# --- one step of all games, by several threads --------------------------------------------------------------


@kernel(allocates=True)
def _work_on_chunks(
    board: Board,
    leads: bool,
    illegal: npt.NDArray[np.int64],
    sampled_from: npt.NDArray[np.uint64],
    states: States,
    streams: npt.NDArray[np.uint64],
    actions: npt.NDArray[np.int64],
    first_player: int,
    winners: npt.NDArray[np.int8],
    final_scores: npt.NDArray[np.int16],
    sampling_streams: npt.NDArray[np.uint64],
    counts: npt.NDArray[np.int16],
    masks: npt.NDArray[np.int8],
    samples: npt.NDArray[np.int64],
    observations: Observation,
) -> None:
    """Checks or steps chunk after chunk of the games, while there are any that nobody else has begun."""
    chunk = claim_chunk(board, leads)
    while chunk >= 0:
        own = slice(chunk * _CHUNK, (chunk + 1) * _CHUNK)
        if phase_of(board) == _CHECK:
            illegal[chunk] = first_illegal(states[own], actions[own])
        else:
            play_games(states[own], streams[own], actions[own], first_player, winners[own], final_scores[own])
            sampled_from[own] = sampling_streams[own]
            describe_games(states[own], sampling_streams[own], counts[own], masks[own], samples[own])
            if len(observations) > 0:
                write_observations(states[own], observations[own])
        finish_chunk(board)
        chunk = claim_chunk(board, leads)


@kernel
def _lead_step(board: Board, illegal: npt.NDArray[np.int64], *batch: Any) -> int:
    """One step of all games, or, changing nothing, the first game whose action is illegal; else -1."""
    _work_on_chunks(board, True, illegal, *batch)
    wait_for_members(board, _AS_LONG_AS_IT_TAKES)
    for chunk in range(len(illegal)):
        if illegal[chunk] >= 0:
            return chunk * _CHUNK + int(illegal[chunk])
    begin(board, _STEP)
    _work_on_chunks(board, True, illegal, *batch)
    return -1


@kernel
def _assist_step(board: Board, *batch: Any) -> None:
    """What the other threads do while they are awake."""
    while look_out_for_work(board):
        _work_on_chunks(board, False, *batch)
