"""Temporal-difference learning of a compiled value, whatever the game."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from patchwork_env.agents.compiled.files import write_weights
from patchwork_env.games import rules_of
from patchwork_env.learning.algorithms.common.batches import concatenated
from patchwork_env.learning.algorithms.common.remote_trainer import RemoteTrainer
from patchwork_env.learning.algorithms.common.state import (
    StatePart,
    averages_part,
    count_part,
    module_part,
    optimizer_part,
    window_part,
)
from patchwork_env.learning.algorithms.common.threads import ThreadPool
from patchwork_env.learning.algorithms.common.trainer import grouped
from patchwork_env.learning.algorithms.common.value_config import TdLearning, ValueRun
from patchwork_env.learning.algorithms.common.value_learner import ValueLearner, ValueModule
from patchwork_env.learning.algorithms.common.value_self_play import (
    RemoteValueGames,
    ValuePlayer,
    ValueSelfPlay,
    check_targets,
)

_Positions = TypeVar("_Positions", bound=Any)


class ValueTrainer(RemoteTrainer, Generic[_Positions]):
    """Plays by a compiled value, and learns the value from the last games.

    Attributes:
        self_play: What plays the games.
        learner: What learns from them.
        window: The positions of the last iterations, oldest first.
        no_positions: A batch of no positions, with the types of the arrays of a batch.
    """

    config: ValueRun
    no_positions: ClassVar[Any]

    def __init__(self, config: ValueRun) -> None:
        super().__init__(config)
        settings = self.settings
        self.self_play = self.new_self_play(config, ThreadPool(config.threads))
        self.learner: ValueLearner[_Positions] = ValueLearner(self.new_module(config), settings)
        self.window: deque[_Positions] = deque(maxlen=settings.window)
        self._turns = 0

    # --- what each game defines ----------------------------------------------------------------------------

    @classmethod
    @abstractmethod
    def new_self_play(cls, config: Any, threads: ThreadPool) -> ValueSelfPlay[Any, Any, _Positions]:
        """What plays the games of a run."""

    @classmethod
    @abstractmethod
    def new_module(cls, config: Any) -> ValueModule[_Positions]:
        """The network that learns, with random weights from the seed of the run."""

    # ------------------------------------------------------------------------------------------------------

    @classmethod
    def player(cls, config: Any) -> ValuePlayer:
        """See :meth:`RemoteTrainer.player`."""
        return ValuePlayer(cls.new_self_play(config, ThreadPool()), cls.new_module(config).weights)

    def remote_games(self) -> RemoteValueGames:
        """See :meth:`RemoteTrainer.remote_games`."""
        return RemoteValueGames(self.self_play, self.settings.games, self.learner.average_arrays)

    @property
    def settings(self) -> TdLearning:
        """The section of the configuration that is named like the algorithm."""
        section: TdLearning = getattr(self.config, self.config.algorithm)
        return section

    @property
    def weights(self) -> Any:
        """The weights of the trained value, an average of those that learn."""
        return self.learner.trained

    @property
    def steps_per_iteration(self) -> int:
        """The turns of all games of the last iteration."""
        return self._turns

    def write_policy(self, folder: Path) -> None:
        """See :meth:`Trainer.write_policy`."""
        write_weights(folder, self.config.game, self.weights, self.policy_info())

    def _iterate(self) -> dict[str, float]:
        """Plays the games of an iteration and learns from the window."""
        settings, began = self.settings, time.perf_counter()
        positions, statistics = self._play()
        self._turns = int(statistics.pop("turns"))
        self._play_ahead(self._turns)
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
            | self._metrics_of_workers(self._turns)
        )

    def _play_here(self) -> tuple[_Positions, dict[str, float]]:
        return self.self_play.play(self.learner.average, self.progress, self.random)

    def _check(self, positions: _Positions) -> None:
        """Raises ValueError for positions from outside that cannot be learned from."""
        states, targets = positions
        rules_of(self.config.game).game.check_states(states)
        check_targets(states, targets)

    def _state_parts(self) -> Sequence[StatePart]:
        learner = self.learner
        return [
            module_part("network", learner.module),
            optimizer_part("optimizer", learner.optimizer, learner.module),
            averages_part("average", learner.average_arrays),
            averages_part("trained", learner.trained_arrays, earlier="average"),
            window_part("positions", "positions", self.window, self.no_positions, self._check),
            count_part("updates", learner, "steps"),
            *super()._state_parts(),
        ]
