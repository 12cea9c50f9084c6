"""Batched self-play for every game: many games in one compiled call, on one thread or several."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt
from numba import config

from patchwork_env.core.batches import (
    SCORE,
    deal_all,
    final_reward,
    first_finished,
    first_illegal,
    loop,
)
from patchwork_env.core.checks import check_actions, check_at_least_one, check_flag, check_seed, seed_streams
from patchwork_env.core.compile import kernel, template
from patchwork_env.core.cores import usable_cores
from patchwork_env.core.game import BaseGame, Rules
from patchwork_env.core.intrinsics import Counters
from patchwork_env.core.kernels import Kernels, States
from patchwork_env.core.random import Streams, random_below
from patchwork_env.core.tensors import Observation
from patchwork_env.core.threads import (
    Team,
    begin_phase,
    claim_chunk,
    finish_chunk,
    phase_of,
    spin_for_work,
    wait_for_members,
)
from patchwork_env.envs.options import check_num_envs, check_rewards, check_saved, complete
from patchwork_env.errors import IllegalActionError

_CHUNK = 32  # how many games a thread of several claims at a time
_CHECK, _STEP = 0, 1
_AS_LONG_AS_IT_TAKES = 1 << 62
_OWN_OPTIONS = ("num_envs", "seed", "rewards", "masks", "observations", "threads")

game = cast(Kernels, None)  # each game's kernels take its place


class BatchArrays(NamedTuple):
    """What a batch of ``n`` games consists of, as its kernels take it."""

    states: States  # ``(n,)`` games, none of them over
    streams: Streams  # ``(n,)``, for new games
    sampling_streams: Streams  # ``(n,)``, for ``random_actions``
    sampled_from: Streams  # ``(n,)``, these streams as they were before the last draw
    actions: npt.NDArray[np.int64]  # int64 ``(n,)``, of the current step
    beginning: States  # ``(1,)``, how games begin; see ``SetUp``
    chance: int  # what chance decides at the beginning; see ``SetUp``
    reward_kind: int  # ``OUTCOME``, ``MARGIN`` or ``SCORE``
    rewards: npt.NDArray[np.float32]  # ``(n, players)``
    terminations: npt.NDArray[np.bool_]  # ``(n,)``
    final_scores: npt.NDArray[np.int16]  # ``(n, max_players)``
    counts: npt.NDArray[np.int16]  # ``(n,)``
    random_actions: npt.NDArray[np.int64]  # ``(n,)``
    masks: npt.NDArray[np.int8]  # ``(n, num_actions)``, or of length 0 to leave them out
    observations: Observation  # ``(n, layout.size)``, or of length 0 to leave them out
    legal_sets: npt.NDArray[np.uint64]  # room for a legal set for each chunk of games


class SelfPlayBatch:
    """Plays ``num_envs`` games of any rules at once, each step with one action of every current player.

    Where a game ends, the next one starts in the same step. All outputs are arrays that are allocated once
    and overwritten by every ``reset`` and ``step``; copy what must last. Game ``i`` depends on the seed, on
    ``i`` and on its own actions alone: the number of games and of threads changes nothing.

    Attributes:
        states: ``(n,)`` state records.
        observations: float32 ``(n, layout.size)``, from the view of the current player.
        masks: int8 ``(n, num_actions)``, 1 for the legal actions.
        counts: int16 ``(n,)``, number of legal actions.
        random_actions: int64 ``(n,)``, a uniformly random legal action for every game.
        rewards: float32 ``(n, players)``, what each player got in the last step.
        terminations: bool ``(n,)``, which games ended in the last step.
        truncations: bool ``(n,)``, always False: no game is broken off.
        final_scores: int16 ``(n, max_players)``, the scores of games that ended; other rows keep old values.

    Args:
        rules: The rules of the game.
        num_envs: The number of games, at least 1.
        seed: The seed of the games, ``0 ... 2**64 - 1``; None for fresh random games.
        rewards: The kind of rewards: ``"outcome"``, ``"margin"`` or ``"score"``; None for the outcome with
            several players, for the score with one.
        masks: Whether to write masks; if not, ``masks`` has no rows.
        observations: Whether to write observations; if not, ``observations`` has no rows.
        threads: The number of threads that share the work; None, or more than there are cores, is one per
            core. Several threads are faster from some hundred games on, and only on idle cores.
        options: Options of the game.

    Raises:
        ValueError: An option is unknown or its value not allowed.
    """

    def __init__(
        self,
        rules: Rules,
        num_envs: int,
        *,
        seed: int | None = None,
        rewards: str | None = None,
        masks: bool = True,
        observations: bool = True,
        threads: int | None = 1,
        **options: Any,
    ) -> None:
        self._rules = rules
        n = self.num_envs = check_num_envs(num_envs)
        defaults = {**rules.options, **rules.batch_options}
        self._options = complete(options, defaults, _OWN_OPTIONS, type(self).__name__)
        beginning, chance, players = rules.set_up(self._options, {})
        self.threads = _available_threads(threads)
        chunks = -(-n // _CHUNK) if self.threads > 1 else 1
        self._arrays = arrays = BatchArrays(
            states=rules.empty_states(n),
            streams=np.zeros(n, np.uint64),
            sampling_streams=np.zeros(n, np.uint64),
            sampled_from=np.zeros(n, np.uint64),
            actions=np.zeros(n, np.int64),
            beginning=beginning,
            chance=chance,
            reward_kind=check_rewards(rewards, players),
            rewards=np.zeros((n, players), np.float32),
            terminations=np.zeros(n, np.bool_),
            final_scores=np.zeros((n, rules.kernels.max_players), np.int16),
            counts=np.zeros(n, np.int16),
            random_actions=np.zeros(n, np.int64),
            masks=np.zeros((n if check_flag(masks, "masks") else 0, rules.num_actions), np.int8),
            observations=np.zeros(
                (n if check_flag(observations, "observations") else 0, rules.layout.size), np.float32
            ),
            legal_sets=np.zeros((chunks, *rules.kernels.legal_shape), np.uint64),
        )
        self.states, self.observations, self.masks = arrays.states, arrays.observations, arrays.masks
        self.counts, self.random_actions = arrays.counts, arrays.random_actions
        self.rewards, self.terminations = arrays.rewards, arrays.terminations
        self.final_scores, self.truncations = arrays.final_scores, np.zeros(n, np.bool_)
        self._team: Team | None = None
        self.reset(seed)

    @property
    def options(self) -> MappingProxyType[str, Any]:
        """The options of the game, with their defaults."""
        return MappingProxyType(self._options)

    @property
    def current_players(self) -> npt.NDArray[np.uint8]:
        """Who is to move in each game, uint8 ``(n,)``; a view of ``states``."""
        return self.states["current_player"]

    def games(self) -> list[BaseGame]:
        """Copies of all games."""
        return [self._rules.game.unchecked(self.states, i) for i in range(self.num_envs)]

    def reset(self, seed: int | None = None) -> None:
        """Starts new games everywhere, with new random streams."""
        streams = seed_streams(check_seed(seed), self.num_envs)
        states, sampling_streams = self._rules.empty_states(self.num_envs), ~streams
        loop(deal_all, self._rules)(states, streams, self._arrays.beginning, self._arrays.chance)
        loop(replace_games, self._rules)(self._arrays, states, streams, sampling_streams)

    def step(self, actions: npt.ArrayLike) -> None:
        """Plays one action in every game.

        Args:
            actions: Integers ``(n,)``.

        Raises:
            IllegalActionError: An action is not legal; the message names the first such game. No game is
                changed.
            ValueError: The actions have another shape or type.
        """
        self._arrays.actions[:] = check_actions(actions, self.num_envs)
        if self._team is None:
            self._team = self._new_team()
        illegal = int(self._team.work())
        if illegal >= 0:
            raise IllegalActionError(
                f"action {self._arrays.actions[illegal]} of game {illegal} is not legal; "
                f"its mask allows {self.counts[illegal]} actions. No game was changed"
            )

    def save(self) -> dict[str, npt.NDArray[Any]]:
        """Copies of all that the games depend on, state records and random streams, for :meth:`restore`."""
        return {
            "states": self.states.view(np.uint8).copy(),
            "streams": self._arrays.streams.copy(),
            "sampling_streams": self._arrays.sampled_from.copy(),
        }

    def restore(self, saved: dict[str, npt.NDArray[Any]]) -> None:
        """Continues from what :meth:`save` returned, exactly as the saved games would have.

        Arrays that do not fit, or that hold what no running game reaches, are a ValueError; nothing has
        changed then.
        """
        saved = check_saved(saved, self.save())
        names = ("states", "streams", "sampling_streams")
        states, streams, sampling_streams = (saved[name].copy() for name in names)
        states = self._checked(states.view(self.states.dtype))
        loop(replace_games, self._rules)(self._arrays, states, streams, sampling_streams)

    def _checked(self, states: States) -> States:
        """States from outside, after all checks that kernels rely on: they do not check bounds themselves."""
        self._rules.game.check_states(states)
        players = [self._rules.kernels.num_players(states, i) for i in range(len(states))]
        if set(players) != {self.rewards.shape[1]}:
            raise ValueError(
                f"the saved games have {sorted(set(players))} players; this environment needs games of "
                f"{self.rewards.shape[1]}"
            )
        finished = loop(first_finished, self._rules)(states)
        if finished >= 0:
            raise ValueError(f"the saved game {finished} is over; games of a batch never are")
        return states

    def __getstate__(self) -> dict[str, Any]:
        """What copies and pickles hold: all but the threads, which stay with the original."""
        return {**self.__dict__, "_team": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """A copy or pickle: what is not a result is checked, or follows from the options once more."""
        self.__dict__.update(state)
        self._checked(self.states)
        self._arrays.sampling_streams[:] = self._arrays.sampled_from
        loop(write_outputs, self._rules)(self._arrays)

    def _new_team(self) -> Team:
        chunks = len(self._arrays.legal_sets)
        lead, assist = loop(step_games, self._rules), loop(assist_step, self._rules)
        return Team(self.threads, chunks, lead, assist, (self._arrays, np.zeros(chunks, np.int64)))


def _available_threads(threads: int | None) -> int:
    number = usable_cores() if threads is None else check_at_least_one(threads, "threads")
    return 1 if config.DISABLE_JIT else min(number, usable_cores())


# --- kernels, in each of which no interrupt divides the games of a batch -----------------------------------


@template
def play_games(batch: BatchArrays) -> None:
    """Plays ``batch.actions``, which are legal, and starts a new game where one ends."""
    states, rewards, kind = batch.states, batch.rewards, batch.reward_kind
    for i in range(len(states)):
        if batch.terminations[i] or kind == SCORE:  # of the last step: otherwise there are only zeros
            for one in range(rewards.shape[1]):
                rewards[i, one] = 0
        if kind == SCORE:
            player = states[i]["current_player"]
            before = game.score(states, i, player)
            game.apply(states, i, batch.actions[i])
            rewards[i, player] = game.score(states, i, player) - before
        else:  # a path of its own, which is measurably faster without the scores
            game.apply(states, i, batch.actions[i])
        batch.terminations[i] = game.is_over(states, i)
        if batch.terminations[i]:
            if kind != SCORE:
                for one in range(rewards.shape[1]):
                    rewards[i, one] = final_reward(states, i, one, kind)
            for one in range(batch.final_scores.shape[1]):
                batch.final_scores[i, one] = game.score(states, i, one)
            game.deal(states, i, batch.streams, batch.beginning, batch.chance)


@template
def write_outputs(batch: BatchArrays) -> None:
    """Writes what players see of all games and may do in them, and draws random actions."""
    states, legal_set = batch.states, batch.legal_sets[0]
    for i in range(len(states)):
        batch.sampled_from[i] = batch.sampling_streams[i]
        count = game.legal(states, i, legal_set)
        batch.counts[i] = count
        if len(batch.masks) > 0:
            game.write_mask(states, i, legal_set, count, batch.masks[i])
        batch.random_actions[i] = game.nth_legal(legal_set, random_below(batch.sampling_streams, i, count))
    if len(batch.observations) > 0:
        for i in range(len(states)):
            game.write_observation(states, i, states[i]["current_player"], batch.observations[i])


@template(allocates=True)
def replace_games(batch: BatchArrays, states: States, streams: Streams, sampling_streams: Streams) -> None:
    """Replaces games and random streams by new ones, in which nothing has happened yet."""
    batch.states[:] = states
    batch.streams[:] = streams
    batch.sampling_streams[:] = sampling_streams
    batch.rewards[:] = 0
    batch.terminations[:] = False
    write_outputs(batch)


@template
def step_games(counters: Counters, batch: BatchArrays, illegal: npt.NDArray[np.int64]) -> int:
    """Steps all games and returns -1; with an illegal action returns its game and changes nothing.

    ``illegal`` has room for a number for every chunk of games.
    """
    begin_phase(counters, _CHECK)
    work_on_chunks(counters, True, batch, illegal)
    wait_for_members(counters, _AS_LONG_AS_IT_TAKES)
    for chunk in range(len(illegal)):
        if illegal[chunk] >= 0:
            return chunk * _chunk_size(batch) + int(illegal[chunk])
    begin_phase(counters, _STEP)
    work_on_chunks(counters, True, batch, illegal)
    return -1


@template
def assist_step(counters: Counters, batch: BatchArrays, illegal: npt.NDArray[np.int64]) -> None:
    """What the other threads do while they are awake."""
    while spin_for_work(counters):
        work_on_chunks(counters, False, batch, illegal)


@template
def work_on_chunks(
    counters: Counters, leads: bool, batch: BatchArrays, illegal: npt.NDArray[np.int64]
) -> None:
    """Checks or steps chunk after chunk of the games, as long as there is one that no thread has claimed."""
    chunk, size = claim_chunk(counters, leads), _chunk_size(batch)
    while chunk >= 0:
        own = slice(chunk * size, (chunk + 1) * size)
        if phase_of(counters) == _CHECK:
            illegal[chunk] = first_illegal(batch.states[own], batch.actions[own])
        else:
            part = BatchArrays(
                batch.states[own],
                batch.streams[own],
                batch.sampling_streams[own],
                batch.sampled_from[own],
                batch.actions[own],
                batch.beginning,
                batch.chance,
                batch.reward_kind,
                batch.rewards[own],
                batch.terminations[own],
                batch.final_scores[own],
                batch.counts[own],
                batch.random_actions[own],
                batch.masks[own],
                batch.observations[own],
                batch.legal_sets[chunk : chunk + 1],
            )
            play_games(part)
            write_outputs(part)
        finish_chunk(counters)
        chunk = claim_chunk(counters, leads)


@kernel
def _chunk_size(batch: BatchArrays) -> int:
    return -(-len(batch.states) // len(batch.legal_sets))
