"""The trainer of temporal-difference learning: plays whole games and learns from the last ones."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from patchwork_env.agents import Agent
from patchwork_env.agents.compiled import aligned_records, arrays_of, write_weights
from patchwork_env.core.checks import seed_streams
from patchwork_env.core.random import Streams
from patchwork_env.games import part_of
from patchwork_env.learning.algorithms.common.gradients import ThreadPool
from patchwork_env.learning.algorithms.common.trainer import Arrays, State
from patchwork_env.learning.algorithms.common.workers import (
    IterationWork,
    RemoteTrainer,
    Statistics,
    concatenated,
)
from patchwork_env.learning.algorithms.td.config import ValueRun
from patchwork_env.learning.algorithms.td.learner import Played, Positions, ValueGame, ValueLearner


class TdTrainer(RemoteTrainer):
    """Trains the compiled value of a game by greedy self-play."""

    config: ValueRun

    def __init__(self, config: ValueRun) -> None:
        super().__init__(config)
        self.game = new_game(config)
        self.no_examples = self.game.no_positions
        self._threads = ThreadPool(config.threads)
        self.learner = ValueLearner(self.game.new_module(), config.learning, self._threads)

    def play_here(self) -> tuple[Positions, Statistics]:
        streams = seed_streams(self.random.integers(2**64, dtype=np.uint64), self.config.learning.games)
        play = partial(self.game.play, self.learner.average, self.progress)
        return self.combine(self._threads.map(play, self._threads.split(streams)))

    @staticmethod
    def play_job(work: IterationWork, job: Streams) -> Played:
        """Play a game from each random stream of a job, as a run without workers does."""
        game = new_game(work.config)
        record = aligned_records(game.weights)
        for name, array in work.weights.items():
            record[name] = array
        return game.play(record, work.progress, job)

    def weights(self) -> Arrays:
        return {name: array.copy() for name, array in arrays_of(self.learner.average).items()}

    def jobs(self, seed: np.uint64, size: int) -> list[Streams]:
        streams = seed_streams(seed, self.config.learning.games)
        return [streams[begin : begin + size] for begin in range(0, len(streams), size)]

    def combine(self, results: Sequence[Played]) -> tuple[Positions, Statistics]:
        finals, lengths = (
            np.concatenate([getattr(result, name) for result in results]) for name in ("finals", "lengths")
        )
        statistics: Statistics = part_of(self.config.game, "figures").statistics_of_games(finals)
        if len(lengths):
            statistics["turns_per_game"] = float(lengths.mean())
        statistics["turns"] = float(sum(result.turns for result in results))
        return concatenated(result.examples for result in results), statistics

    def check_examples(self, examples: Positions) -> None:
        states, targets = examples
        if len(states) != len(targets):
            raise ValueError(f"there are {len(states)} positions and targets for {len(targets)}")

    def agent(self) -> Agent:
        """Return the agent that plays the best action by the trained value, without further search."""
        return self.game.agent(self.learner.trained, f"step {self.steps}")

    def write_policy(self, folder: Path) -> None:
        write_weights(folder, self.config.game, self.learner.trained, self.policy_info())

    def state_dict(self) -> State:
        return super().state_dict() | {"learner": self.learner.state_dict()}

    def load_state_dict(self, state: State) -> None:
        super().load_state_dict(state)
        self.learner.load_state_dict(state["learner"])


def new_game(config: ValueRun) -> ValueGame:
    """Return the game that a run plays and learns; only its own modules are imported."""
    game: ValueGame = part_of(config.game, "value")(config)
    return game
