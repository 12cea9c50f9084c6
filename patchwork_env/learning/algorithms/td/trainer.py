"""A run of temporal-difference learning: whole games, then learning from the last ones."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from patchwork_env.agents import Agent
from patchwork_env.agents.compiled import aligned_record, arrays_of, write_weights
from patchwork_env.core.checks import seed_streams
from patchwork_env.core.random import Streams
from patchwork_env.learning.algorithms.common.gradients import ThreadPool
from patchwork_env.learning.algorithms.common.state import State, load_window, window_state
from patchwork_env.learning.algorithms.common.trainer import grouped
from patchwork_env.learning.algorithms.common.workers import (
    RemoteTrainer,
    Weights,
    check_like,
    concatenated,
    draw_seed,
)
from patchwork_env.learning.algorithms.td.config import TdConfig, ValueRun
from patchwork_env.learning.algorithms.td.learner import Positions, ValueLearner
from patchwork_env.learning.algorithms.td.rollout import Played, ValueGame


class TdTrainer(RemoteTrainer):
    """Trains the compiled value of a game by greedy self-play.

    Attributes:
        game: What the game plays and learns with.
        learner: What learns from the games.
        window: The positions of the last iterations, oldest first.
    """

    config: ValueRun

    def __init__(self, config: ValueRun) -> None:
        super().__init__(config)
        self.game = new_game(config)
        self.learner = ValueLearner(self.game.new_module(), config.learning)
        self.window: deque[Positions] = deque(maxlen=config.learning.window)
        self._threads = ThreadPool(config.threads)
        shares = self._shares(np.empty(config.learning.games, np.uint64))
        self._buffers = [self.game.new_buffers(len(share)) for share in shares]

    def step(self) -> dict[str, float]:
        """Plays the games of an iteration and learns from the window; see :meth:`Trainer.step`."""
        settings, began = self.config.learning, time.perf_counter()
        positions, statistics = self._play()
        turns = int(statistics.pop("turns"))
        self._play_ahead(turns)
        self.window.append(positions)
        played = time.perf_counter()
        losses = self.learner.update(
            concatenated(self.window), settings.gradient_steps, self.progress, self.random
        )
        learned = time.perf_counter()
        return (
            grouped("games", statistics)
            | grouped("losses", losses)
            | {
                "time/share_of_time_collecting": (played - began) / (learned - began),
                "time/games_per_second": settings.games / (learned - began),
            }
            | self._metrics_of_workers(turns)
            | self._count_iteration(turns, began)
        )

    def _play_here(self) -> tuple[Positions, dict[str, float]]:
        """Plays the games in this process; threads share them."""
        streams = seed_streams(draw_seed(self.random), self.config.learning.games)
        progress = self.progress

        def work(share: tuple[Any, Streams]) -> Played:
            return self.game.play_streams(self.learner.average, progress, share[1], share[0])

        shares = list(zip(self._buffers, self._shares(streams), strict=True))
        return self.game.combine(self._threads.map(work, shares))

    def _shares(self, streams: Streams) -> list[Streams]:
        """The games of each thread."""
        return [share for share in np.array_split(streams, self._threads.size) if len(share)]

    # --- games for workers, which are the same as without ------------------------------------------------

    @classmethod
    def play_job(cls, config: Any, weights: Weights, progress: float, job: Streams) -> Played:
        """See :meth:`RemoteTrainer.play_job`."""
        game = new_game(config)
        record = aligned_record(game.weights)
        for name, array in weights.items():
            record[name] = array
        return game.play_streams(record, progress, job)

    def weights(self) -> Weights:
        """See :meth:`RemoteTrainer.weights`."""
        return {name: array.copy() for name, array in arrays_of(self.learner.average).items()}

    def jobs(self, seed: np.uint64, size: int) -> list[Streams]:
        """The random streams of all games, ``size`` of them in a job."""
        streams = seed_streams(seed, self.config.learning.games)
        return [streams[begin : begin + size] for begin in range(0, len(streams), size)]

    def check_result(self, result: Any) -> None:
        """See :meth:`RemoteTrainer.check_result`."""
        check_like(result, self.game.nothing_played, self.game.rules.game)
        _check_targets(result.positions)

    def combine(self, results: Sequence[Any]) -> tuple[Positions, dict[str, float]]:
        """See :meth:`RemoteTrainer.combine`."""
        return self.game.combine(results)

    # --- playing and saving -------------------------------------------------------------------------------

    def agent(self) -> Agent:
        """Plays the best action by the trained value, without further search."""
        return self.game.agent(self.learner.trained, f"step {self.steps}")

    def write_policy(self, folder: Path) -> None:
        """See :meth:`Trainer.write_policy`."""
        write_weights(folder, self.config.game, self.learner.trained, self.policy_info())

    def state_dict(self) -> State:
        """See :meth:`Trainer.state_dict`."""
        return super().state_dict() | {
            "learner": self.learner.state_dict(),
            "window": window_state(self.window),
        }

    def load_state_dict(self, state: State) -> None:
        """See :meth:`Trainer.load_state_dict`."""
        super().load_state_dict(state)
        self.learner.load_state_dict(state["learner"])
        load_window(self.window, state["window"], self.game.nothing_played.positions, self._check)

    def _check(self, positions: Positions) -> None:
        """Raises ValueError for positions from outside that cannot be learned from."""
        self.game.rules.game.check_states(positions.states)
        _check_targets(positions)


def new_game(config: ValueRun) -> ValueGame:
    """What the game of a run plays and learns with; only the game's own modules are imported."""
    if isinstance(config, TdConfig):
        from patchwork_env.learning.algorithms.td.patchwork import PatchworkValue

        return PatchworkValue(config)
    from patchwork_env.learning.algorithms.td.nmbr9 import Nmbr9Value

    return Nmbr9Value(config)


def _check_targets(positions: Positions) -> None:
    """Raises ValueError unless there is a target for every position."""
    states, targets = positions
    if len(states) != len(targets):
        raise ValueError(f"there are {len(states)} positions and targets for {len(targets)}")
