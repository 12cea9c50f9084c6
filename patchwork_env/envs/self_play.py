"""Batched self-play for every game: many games in one compiled call."""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from patchwork_env.core.batches import (
    SCORE,
    deal_listed,
    first_finished,
    first_not_allowed,
    loop,
    write_all_rewards,
)
from patchwork_env.core.checks import check_actions, check_flag, check_seed, seed_streams
from patchwork_env.core.compile import template
from patchwork_env.core.game import BaseGame
from patchwork_env.core.kernels import Kernels, States
from patchwork_env.core.random import Streams, random_below
from patchwork_env.core.rules import Rules
from patchwork_env.core.tensors import Observation
from patchwork_env.envs.options import check_num_envs, check_rewards, check_saved, complete
from patchwork_env.errors import IllegalActionError

game = cast(Kernels, None)  # each game's kernels take its place


class BatchArrays(NamedTuple):
    """The arrays of a batch of ``n`` games, which its kernels take."""

    states: States  # ``(n,)`` games, none of them over
    streams: Streams  # ``(n,)``, for new games
    sampling_streams: Streams  # ``(n,)``, for ``random_actions``
    sampled_from: Streams  # ``(n,)``, ``sampling_streams`` before the last draw
    actions: npt.NDArray[np.int64]  # int64 ``(n,)``, of the current step
    initial_state: States  # ``(1,)``, see ``SetUp``
    flags: int  # see ``SetUp``
    reward_kind: int  # ``OUTCOME``, ``MARGIN`` or ``SCORE``
    rewards: npt.NDArray[np.float32]  # ``(n, players)``
    terminations: npt.NDArray[np.bool_]  # ``(n,)``
    final_scores: npt.NDArray[np.int16]  # ``(n, players)``
    counts: npt.NDArray[np.int16]  # ``(n,)``
    random_actions: npt.NDArray[np.int64]  # ``(n,)``
    masks: npt.NDArray[np.int8]  # ``(n, num_actions)``, or of length 0 to leave them out
    observations: Observation  # ``(n, layout.size)``, or of length 0 to leave them out
    legal_sets: npt.NDArray[np.uint64]  # ``(n, *legal_shape)``
    used: npt.NDArray[np.uint64]  # ``(n, mask_words)``, the parts of the masks that may hold ones


class SelfPlayBatch:
    """Plays ``num_envs`` games of any rules at once, each step with one action of every current player.

    Where a game ends, the next one starts in the same step. Every ``reset`` and ``step`` overwrites the same
    output arrays. Copy what you keep, and do not write into them, since steps write only the changed entries
    of masks. Game ``i`` depends only on the seed, on ``i`` and on its own actions. A step releases the
    interpreter lock, so several threads can each step a batch at the same time.

    Attributes:
        states: ``(n,)`` state records.
        observations: float32 ``(n, layout.size)``, from the view of the current player.
        masks: int8 ``(n, num_actions)``, 1 for the legal actions.
        counts: int16 ``(n,)``, number of legal actions.
        random_actions: int64 ``(n,)``, a uniformly random legal action for every game.
        rewards: float32 ``(n, players)``, the rewards of all players in the last step.
        terminations: bool ``(n,)``, True for games that ended in the last step.
        truncations: bool ``(n,)``, always False.
        final_scores: int16 ``(n, players)``, the scores of games that ended; other rows keep old values.

    Args:
        rules: The rules of the game.
        num_envs: The number of games, at least 1.
        seed: The seed of the games, ``0 ... 2**64 - 1``; None for fresh random games.
        rewards: As in :class:`~patchwork_env.envs.single.GameEnv`.
        masks, observations: Whether to write these arrays; otherwise they have no rows.
        options: Options of the game.

    UnknownOptionError for an unknown option, ValueError for a value that is not allowed.
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
        **options: Any,
    ) -> None:
        self._rules = rules
        n = self.num_envs = check_num_envs(num_envs)
        initial_state, flags, players = rules.set_up(complete(options, rules.options, type(self)), {})
        self._arrays = arrays = BatchArrays(
            states=rules.empty_states(n),
            streams=np.zeros(n, np.uint64),
            sampling_streams=np.zeros(n, np.uint64),
            sampled_from=np.zeros(n, np.uint64),
            actions=np.zeros(n, np.int64),
            initial_state=initial_state,
            flags=flags,
            reward_kind=check_rewards(rewards, players),
            rewards=np.zeros((n, players), np.float32),
            terminations=np.zeros(n, np.bool_),
            final_scores=np.zeros((n, players), np.int16),
            counts=np.zeros(n, np.int16),
            random_actions=np.zeros(n, np.int64),
            masks=np.zeros((n if check_flag(masks, "masks") else 0, rules.num_actions), np.int8),
            observations=np.zeros(
                (n if check_flag(observations, "observations") else 0, rules.layout.size), np.float32
            ),
            legal_sets=np.zeros((n, *rules.kernels.legal_shape), np.uint64),
            used=np.zeros((n, rules.kernels.mask_words), np.uint64),
        )
        self.states, self.observations, self.masks = arrays.states, arrays.observations, arrays.masks
        self.counts, self.random_actions = arrays.counts, arrays.random_actions
        self.rewards, self.terminations = arrays.rewards, arrays.terminations
        self.final_scores, self.truncations = arrays.final_scores, np.zeros(n, np.bool_)
        self.reset(seed)

    @property
    def current_players(self) -> npt.NDArray[np.uint8]:
        """The current player of each game, uint8 ``(n,)``; a view of ``states``."""
        return self.states["current_player"]

    def games(self) -> list[BaseGame]:
        """Return copies of all games."""
        return [self._rules.game.unchecked(self.states, i) for i in range(self.num_envs)]

    def reset(self, seed: int | None = None) -> None:
        """Start new games and random streams; ``seed`` is as in the constructor."""
        streams = seed_streams(check_seed(seed), self.num_envs)
        states, sampling_streams = self._rules.empty_states(self.num_envs), ~streams
        games, initial_state, flags = np.arange(self.num_envs), self._arrays.initial_state, self._arrays.flags
        loop(deal_listed, self._rules)(states, games, streams, initial_state, flags)
        loop(replace_games, self._rules)(self._arrays, states, streams, sampling_streams)

    def step(self, actions: npt.ArrayLike) -> None:
        """Play one action in every game; ``actions`` are integers ``(n,)``.

        If one is illegal, or outside the action space, an IllegalActionError names the first such game, and
        no game is changed. ValueError if the actions have another shape or type.
        """
        arrays = self._arrays
        arrays.actions[:] = check_actions(actions, self.num_envs)
        illegal = loop(first_not_allowed, self._rules)(arrays.legal_sets, arrays.actions)
        if illegal >= 0:
            raise IllegalActionError(
                f"action {arrays.actions[illegal]} of game {illegal} is not legal; "
                f"its mask allows {self.counts[illegal]} actions. No game was changed"
            )
        loop(play_games, self._rules)(arrays)

    def save(self) -> dict[str, npt.NDArray[Any]]:
        """Return copies of the state records and random streams, for :meth:`restore`."""
        return {
            "states": self.states.view(np.uint8).copy(),
            "streams": self._arrays.streams.copy(),
            "sampling_streams": self._arrays.sampled_from.copy(),
        }

    def restore(self, saved: dict[str, npt.NDArray[Any]]) -> None:
        """Continue the games of :meth:`save` exactly as they would have gone on.

        ValueError, without a change, if arrays do not fit or hold states that no running game can reach.
        """
        checked = check_saved(saved, self.save(), self._rules, self.rewards.shape[1])
        finished = loop(first_finished, self._rules)(checked["states"])
        if finished >= 0:
            raise ValueError(f"the saved game {finished} is over; games of a batch never are")
        arrays = (checked[name] for name in ("states", "streams", "sampling_streams"))
        loop(replace_games, self._rules)(self._arrays, *arrays)


# --- kernels: each changes all games of a batch; an interrupt waits for its end -----------------------------


@template
def play_games(batch: BatchArrays) -> None:
    """Play ``batch.actions``, which are legal, start a new game where one ends, and write all outputs."""
    states, kind = batch.states, batch.reward_kind
    for i in range(len(states)):
        player, had_ended = states[i]["current_player"], batch.terminations[i]
        before = game.score(states, i, player) if kind == SCORE else 0
        game.apply(states, i, batch.actions[i])
        batch.terminations[i] = game.is_over(states, i)
        if kind == SCORE or had_ended or batch.terminations[i]:  # else all rewards are 0, as before
            write_all_rewards(states, i, player, kind, before, batch.rewards[i])
        if batch.terminations[i]:
            for one in range(batch.final_scores.shape[1]):
                batch.final_scores[i, one] = game.score(states, i, one)
            game.deal(states, i, batch.streams, batch.initial_state, batch.flags)
    write_outputs(batch)


@template
def write_outputs(batch: BatchArrays) -> None:
    """Write masks, observations and counts of all games, and draw random actions."""
    states = batch.states
    for i in range(len(states)):
        batch.sampled_from[i] = batch.sampling_streams[i]
        legal_set = batch.legal_sets[i]
        count = game.legal(states, i, legal_set)
        batch.counts[i] = count
        if len(batch.masks) > 0:
            game.update_mask(states, i, legal_set, count, batch.masks[i], batch.used[i])
        batch.random_actions[i] = game.nth_legal(legal_set, random_below(batch.sampling_streams, i, count))
    if len(batch.observations) > 0:
        for i in range(len(states)):
            game.write_observation(states, i, states[i]["current_player"], batch.observations[i])


@template(allocates=True)
def replace_games(batch: BatchArrays, states: States, streams: Streams, sampling_streams: Streams) -> None:
    """Replace games and random streams, clear rewards and ends, and write all outputs."""
    batch.states[:] = states
    batch.streams[:] = streams
    batch.sampling_streams[:] = sampling_streams
    batch.rewards[:] = 0
    batch.terminations[:] = False
    write_outputs(batch)
