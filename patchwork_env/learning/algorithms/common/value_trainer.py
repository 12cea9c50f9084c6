"""Temporal-difference learning of a compiled value, whatever the game."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections import deque
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from patchwork_env.agents.compiled.files import write_weights
from patchwork_env.core.checks import check_between
from patchwork_env.games import rules_of
from patchwork_env.learning.algorithms.common.batches import concatenated
from patchwork_env.learning.algorithms.common.remote_trainer import RemoteTrainer
from patchwork_env.learning.algorithms.common.state import (
    MOST,
    State,
    as_tensors,
    load_optimizer_state,
    load_window,
    optimizer_state,
    window_state,
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

    def write_policy(self, folder: Path) -> None:
        """See :meth:`Trainer.write_policy`."""
        write_weights(folder, self.config.game, self.weights, self.policy_info())

    def step(self) -> dict[str, float]:
        """Plays the games of an iteration and learns from the window; see :meth:`Trainer.step`."""
        settings, began = self.settings, time.perf_counter()
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

    def _play_here(self) -> tuple[_Positions, dict[str, float]]:
        return self.self_play.play(self.learner.average, self.progress, self.random)

    def _check(self, positions: _Positions) -> None:
        """Raises ValueError for positions from outside that cannot be learned from."""
        states, targets = positions
        rules_of(self.config.game).game.check_states(states)
        check_targets(states, targets)

    def state_dict(self) -> State:
        """See :meth:`Trainer.state_dict`."""
        learner = self.learner
        return super().state_dict() | {
            "network": learner.module.state_dict(),
            "optimizer": optimizer_state(learner.optimizer),
            "average": as_tensors(learner.average_arrays),
            "trained": as_tensors(learner.trained_arrays),
            "window": window_state(self.window),
            "updates": learner.steps,
        }

    def load_state_dict(self, state: State) -> None:
        """See :meth:`Trainer.load_state_dict`."""
        super().load_state_dict(state)
        learner = self.learner
        learner.module.load_state_dict(state["network"])
        load_optimizer_state(learner.optimizer, state["optimizer"])
        for name, arrays in (("average", learner.average_arrays), ("trained", learner.trained_arrays)):
            for key, array in arrays.items():
                array[:] = state[name][key].numpy()
        load_window(self.window, state["window"], self.no_positions, self._check)
        learner.steps = check_between(state["updates"], 0, MOST, "updates")
