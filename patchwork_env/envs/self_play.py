"""Batched self-play for every game: many games in one compiled call, on one thread or several."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, cast

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
    write_current_observations,
)
from patchwork_env.core.checks import check_at_least_one, check_flag, check_seed, seed_streams
from patchwork_env.core.compile import template
from patchwork_env.core.game import BaseGame, Rules
from patchwork_env.core.kernels import Kernels, States
from patchwork_env.core.random import Streams, random_below
from patchwork_env.core.tensors import Observation
from patchwork_env.core.threads import (
    Counters,
    Team,
    begin,
    claim_chunk,
    finish_chunk,
    look_out_for_work,
    phase_of,
    usable_cores,
    wait_for_members,
)
from patchwork_env.envs.options import check_batch, check_num_envs, check_rewards, check_saved, complete
from patchwork_env.errors import IllegalActionError

_CHUNK = 32
"""How many games a thread claims at a time."""
_CHECK, _STEP = 0, 1
_AS_LONG_AS_IT_TAKES = 1 << 62
_OWN_OPTIONS = ("num_envs", "seed", "rewards", "masks", "observations", "threads")

game = cast(Kernels, None)  # each game's kernels take its place


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
        self._set_up = rules.set_up(self._options, {})
        self._kind = check_rewards(rewards, self._set_up.players)
        self.threads = _available_threads(threads)
        self.states = rules.empty_states(n)
        self.masks = np.zeros((n if check_flag(masks, "masks") else 0, rules.num_actions), np.int8)
        self.observations: Observation = np.zeros(
            (n if check_flag(observations, "observations") else 0, rules.layout.size), np.float32
        )
        self.counts = np.zeros(n, np.int16)
        self.random_actions = np.zeros(n, np.int64)
        self.rewards = np.zeros((n, self._set_up.players), np.float32)
        self.terminations = np.zeros(n, np.bool_)
        self.truncations = np.zeros(n, np.bool_)
        self.final_scores = np.zeros((n, rules.kernels.max_players), np.int16)
        self._actions = np.zeros(n, np.int64)
        self._streams = np.zeros(n, np.uint64)
        self._sampling_streams = np.zeros(n, np.uint64)
        self._sampled_from = np.zeros(n, np.uint64)  # the streams before the last draw
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
        beginning, chance, _ = self._set_up
        loop(deal_all, self._rules)(states, streams, beginning, chance)
        self._take_over(states, streams, sampling_streams)

    def step(self, actions: npt.ArrayLike) -> None:
        """Plays one action in every game.

        Args:
            actions: Integers ``(n,)``.

        Raises:
            IllegalActionError: An action is not legal; the message names the first such game. No game is
                changed.
            ValueError: The actions have another shape or type.
        """
        self._actions[:] = check_batch(actions, self.num_envs)
        illegal = self._step_together() if self.threads > 1 else self._step_alone()
        if illegal >= 0:
            raise IllegalActionError(
                f"action {self._actions[illegal]} of game {illegal} is not legal; "
                f"its mask allows {self.counts[illegal]} actions. No game was changed"
            )

    def save(self) -> dict[str, npt.NDArray[Any]]:
        """Copies of all that the games depend on, state records and random streams, for :meth:`restore`."""
        return {
            "states": self.states.view(np.uint8).copy(),
            "streams": self._streams.copy(),
            "sampling_streams": self._sampled_from.copy(),
        }

    def restore(self, saved: dict[str, npt.NDArray[Any]]) -> None:
        """Continues from what :meth:`save` returned, exactly as the saved games would have.

        Raises:
            ValueError: An array is missing or is for another number of games, or a state is not one that a
                running game with this number of players can reach. Nothing has changed.
        """
        saved = check_saved(saved, self.save())
        names = ("states", "streams", "sampling_streams")
        states, streams, sampling_streams = (saved[name].copy() for name in names)
        self._take_over(self._checked(states.view(self.states.dtype)), streams, sampling_streams)

    def _checked(self, states: States) -> States:
        """States from outside, after all checks that kernels rely on: they do not check bounds themselves."""
        self._rules.game.check_states(states)
        players = [self._rules.kernels.num_players(states, i) for i in range(len(states))]
        if set(players) != {self._set_up.players}:
            raise ValueError(
                f"the saved games have {sorted(set(players))} players; this environment needs games of "
                f"{self._set_up.players}"
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
        self._set_up = self._rules.set_up(self._options, {})
        self._checked(self.states)
        self._sampling_streams[:] = self._sampled_from
        loop(show_games, self._rules)(self.states, *self._show_arguments())

    def _take_over(self, states: States, streams: Streams, sampling_streams: Streams) -> None:
        """Goes on with other games, in which nothing has happened yet."""
        own = (self._streams, self.rewards, self.terminations, self.states, *self._show_arguments())
        loop(take_over, self._rules)(states, streams, sampling_streams, *own)

    def _step_alone(self) -> int:
        """Steps all games and returns -1; with an illegal action returns its game and changes nothing."""
        return int(loop(step_games, self._rules)(*self._play_arguments(), *self._show_arguments()))

    def _step_together(self) -> int:
        """Does what :meth:`_step_alone` does, with several threads."""
        if self._team is None:
            chunks = -(-self.num_envs // _CHUNK)
            illegal = np.zeros(chunks, np.int64)
            arguments = (illegal, *self._play_arguments(), *self._show_arguments())
            lead, assist = loop(lead_step, self._rules), loop(assist_step, self._rules)
            self._team = Team(self.threads, chunks, lead, assist, arguments)
        return int(self._team.work())

    def _play_arguments(self) -> tuple[Any, ...]:
        beginning, chance, _ = self._set_up
        results = (self.rewards, self.terminations, self.final_scores)
        return (self.states, self._streams, self._actions, beginning, chance, self._kind, *results)

    def _show_arguments(self) -> tuple[Any, ...]:
        described = (self.counts, self.masks, self.random_actions)
        return (self._sampled_from, self._sampling_streams, *described, self.observations)


def _available_threads(threads: int | None) -> int:
    number = usable_cores() if threads is None else check_at_least_one(threads, "threads")
    return 1 if config.DISABLE_JIT else min(number, usable_cores())


# --- one step of all games ----------------------------------------------------------------------------------


@template
def play_games(
    states: States,
    streams: Streams,
    actions: npt.NDArray[np.int64],
    beginning: States,
    chance: int,
    kind: int,
    rewards: npt.NDArray[np.float32],
    terminations: npt.NDArray[np.bool_],
    final_scores: npt.NDArray[np.int16],
) -> None:
    """Plays one legal action in every game and starts a new game where one ends.

    Args:
        states: ``(n,)`` games, none of them over.
        streams: ``(n,)`` random streams for new games.
        actions: ``(n,)`` legal actions.
        beginning: ``(1,)`` record of how games begin; see ``SetUp``.
        chance: What chance decides at the beginning; see ``SetUp``.
        kind: The kind of rewards: ``OUTCOME``, ``MARGIN`` or ``SCORE``.
        rewards: ``(n, players)``, receives the rewards; before, it holds those of the last step, or zeros.
        terminations: ``(n,)``, receives which games ended; before, it holds which did in the last step.
        final_scores: ``(n, max_players)``, receives the scores where a game ended.
    """
    for i in range(len(states)):
        if terminations[i] or kind == SCORE:  # of the last step: otherwise there are only zeros
            for one in range(rewards.shape[1]):
                rewards[i, one] = 0
        if kind == SCORE:
            player = states[i]["current_player"]
            before = game.score(states, i, player)
            game.apply(states, i, actions[i])
            rewards[i, player] = game.score(states, i, player) - before
        else:  # a path of its own, which is measurably faster without the scores
            game.apply(states, i, actions[i])
        terminations[i] = game.is_over(states, i)
        if terminations[i]:
            if kind != SCORE:
                for one in range(rewards.shape[1]):
                    rewards[i, one] = final_reward(states, i, one, kind)
            for one in range(final_scores.shape[1]):
                final_scores[i, one] = game.score(states, i, one)
            game.deal(states, i, streams, beginning, chance)


@template(allocates=True)
def describe_games(
    states: States,
    streams: Streams,
    counts: npt.NDArray[np.int16],
    masks: npt.NDArray[np.int8],
    samples: npt.NDArray[np.int64],
) -> None:
    """Writes the legal actions of every game.

    Args:
        states: ``(n,)`` games.
        streams: ``(n,)`` random streams for ``samples``.
        counts: ``(n,)``, receives the number of legal actions.
        masks: ``(n, num_actions)``, receives the masks; of length 0 to leave them out.
        samples: ``(n,)``, receives a uniformly random legal action; of length 0 to leave them out.
    """
    legal_set = np.empty(game.legal_shape, np.uint64)
    for i in range(len(states)):
        counts[i] = game.legal(states, i, legal_set)
        if len(masks) > 0:
            game.write_mask(states, i, legal_set, counts[i], masks[i])
        if len(samples) > 0:
            samples[i] = game.nth_legal(legal_set, random_below(streams, i, counts[i]))


@template(allocates=True)
def show_games(
    states: States,
    sampled_from: Streams,
    sampling_streams: Streams,
    counts: npt.NDArray[np.int16],
    masks: npt.NDArray[np.int8],
    samples: npt.NDArray[np.int64],
    observations: Observation,
) -> None:
    """Writes what players see of all games and may do in them; see :func:`describe_games`.

    Args:
        states: ``(n,)`` games.
        sampled_from: ``(n,)``, receives the random streams as they are before the draws.
        sampling_streams: ``(n,)`` random streams for ``samples``.
        counts: See :func:`describe_games`.
        masks: See :func:`describe_games`.
        samples: See :func:`describe_games`.
        observations: ``(n, layout.size)``, receives the observations; of length 0 to leave them out.
    """
    sampled_from[:] = sampling_streams
    describe_games(states, sampling_streams, counts, masks, samples)
    if len(observations) > 0:
        write_current_observations(states, observations)


# --- all of a call in one kernel, which no interrupt divides ------------------------------------------------


@template(allocates=True)
def step_games(
    states: States,
    streams: Streams,
    actions: npt.NDArray[np.int64],
    beginning: States,
    chance: int,
    kind: int,
    rewards: npt.NDArray[np.float32],
    terminations: npt.NDArray[np.bool_],
    final_scores: npt.NDArray[np.int16],
    *shown: Any,
) -> int:
    """Steps all games and returns -1; with an illegal action returns its game and changes nothing.

    The arguments are those of :func:`play_games`, but for actions of any kind, and those of
    :func:`show_games`.
    """
    illegal = int(first_illegal(states, actions))
    if illegal < 0:
        play_games(states, streams, actions, beginning, chance, kind, rewards, terminations, final_scores)
        show_games(states, *shown)
    return illegal


@template(allocates=True)
def take_over(
    new_states: States,
    new_streams: Streams,
    new_sampling_streams: Streams,
    streams: Streams,
    rewards: npt.NDArray[np.float32],
    terminations: npt.NDArray[np.bool_],
    states: States,
    sampled_from: Streams,
    sampling_streams: Streams,
    *shown: Any,
) -> None:
    """Replaces games and random streams by new ones, in which nothing has happened yet, and shows them."""
    states[:] = new_states
    streams[:] = new_streams
    sampling_streams[:] = new_sampling_streams
    rewards[:] = 0
    terminations[:] = False
    show_games(states, sampled_from, sampling_streams, *shown)


# --- the same by several threads ----------------------------------------------------------------------------


@template(allocates=True)
def work_on_chunks(
    counters: Counters,
    leads: bool,
    illegal: npt.NDArray[np.int64],
    states: States,
    streams: Streams,
    actions: npt.NDArray[np.int64],
    beginning: States,
    chance: int,
    kind: int,
    rewards: npt.NDArray[np.float32],
    terminations: npt.NDArray[np.bool_],
    final_scores: npt.NDArray[np.int16],
    sampled_from: Streams,
    sampling_streams: Streams,
    counts: npt.NDArray[np.int16],
    masks: npt.NDArray[np.int8],
    samples: npt.NDArray[np.int64],
    observations: Observation,
) -> None:
    """Checks or steps chunk after chunk of the games, as long as there is one that no thread has claimed."""
    chunk = claim_chunk(counters, leads)
    while chunk >= 0:
        own = slice(chunk * _CHUNK, (chunk + 1) * _CHUNK)
        if phase_of(counters) == _CHECK:
            illegal[chunk] = first_illegal(states[own], actions[own])
        else:
            play_games(
                states[own],
                streams[own],
                actions[own],
                beginning,
                chance,
                kind,
                rewards[own],
                terminations[own],
                final_scores[own],
            )
            show_games(
                states[own],
                sampled_from[own],
                sampling_streams[own],
                counts[own],
                masks[own],
                samples[own],
                observations[own],
            )
        finish_chunk(counters)
        chunk = claim_chunk(counters, leads)


@template
def lead_step(counters: Counters, illegal: npt.NDArray[np.int64], *batch: Any) -> int:
    """Steps all games and returns -1; with an illegal action returns its game and changes nothing."""
    begin(counters, _CHECK)
    work_on_chunks(counters, True, illegal, *batch)
    wait_for_members(counters, _AS_LONG_AS_IT_TAKES)
    for chunk in range(len(illegal)):
        if illegal[chunk] >= 0:
            return chunk * _CHUNK + int(illegal[chunk])
    begin(counters, _STEP)
    work_on_chunks(counters, True, illegal, *batch)
    return -1


@template
def assist_step(counters: Counters, *batch: Any) -> None:
    """What the other threads do while they are awake."""
    while look_out_for_work(counters):
        work_on_chunks(counters, False, *batch)
