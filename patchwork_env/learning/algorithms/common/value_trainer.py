"""What runs of temporal-difference learning have in common, whatever the game."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections import deque
from collections.abc import Mapping
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from patchwork_env.agents.compiled.vectors import Floats
from patchwork_env.learning.algorithms.common.descent import Descent
from patchwork_env.learning.algorithms.common.parts import joined
from patchwork_env.learning.algorithms.common.tensors import (
    arrays_of_tensors,
    names_of_parameters,
    prefixed,
    restore_optimizer,
    tensors_of_arrays,
    tensors_of_optimizer,
    with_prefix,
)
from patchwork_env.learning.algorithms.common.trainer import TrainerState
from patchwork_env.learning.algorithms.common.value_config import TdLearning, ValueRun
from patchwork_env.learning.algorithms.common.value_games import Divisible, SharedValueGames
from patchwork_env.learning.distributed.sharing import SharingTrainer

_Positions = TypeVar("_Positions", bound=Any)
_Played = TypeVar("_Played", bound=Any, covariant=True)


class Play(Divisible, Protocol[_Played]):
    """Plays the games of an iteration."""

    def play(
        self, weights: Any, progress: float, random: np.random.Generator
    ) -> tuple[_Played, dict[str, float]]:
        """Positions with targets, and statistics, among them the ``turns`` of all games."""


class ValueTrainer(SharingTrainer, Generic[_Positions]):
    """Plays by a compiled value, and learns it from the last games.

    Args:
        config: Of the run.
        settings: Its section for the algorithm.
        self_play: Plays the games.
        learner: Learns from them.
        average: The weights that play, by name.
        empty: No positions at all.
    """

    def __init__(
        self,
        config: ValueRun,
        settings: TdLearning,
        self_play: Play[_Positions],
        learner: Descent[_Positions],
        average: Mapping[str, Floats],
        empty: _Positions,
    ) -> None:
        super().__init__(config)
        self._settings, self._games, self._descent = settings, self_play, learner
        self._average, self._empty = average, empty
        self.window: deque[_Positions] = deque(maxlen=settings.window)
        self._turns = 0

    @property
    @abstractmethod
    def weights(self) -> Any:
        """What plays: the average of the weights that learn."""

    @property
    def steps_per_iteration(self) -> int:
        """Turns of the games of the last iteration."""
        return self._turns

    @property
    def updates(self) -> int:
        """Steps of learning in an iteration."""
        return self._settings.gradient_steps

    def _iterate(self) -> dict[str, float]:
        """Some games, and the learning from the window."""
        began = time.perf_counter()
        positions, statistics = self._play()
        self._turns = int(statistics.pop("turns"))
        self._play_ahead(self._turns)
        self.window.append(positions)
        played = time.perf_counter()
        losses = self._descent.update(joined(self.window), self.updates, self.progress, self.random)
        learned = time.perf_counter()
        return (
            {f"games/{name}": value for name, value in statistics.items()}
            | {f"losses/{name}": value for name, value in losses.items()}
            | {
                "time/share_of_time_collecting": (played - began) / (learned - began),
                "time/games_per_second": self._settings.games / (learned - began),
            }
            | self._metrics_of_workers(self._turns)
        )

    def _play_here(self) -> tuple[_Positions, dict[str, float]]:
        return self._games.play(self.weights, self.progress, self.random)

    def shared_games(self) -> SharedValueGames:
        """See :meth:`SharingTrainer.shared_games`."""
        return SharedValueGames(self._games, self._settings.games, self._average)

    def state(self) -> TrainerState:
        """See :meth:`Trainer.state`."""
        module, optimizer = self._descent.module, self._descent.optimizer
        tensors = prefixed("network", module.state_dict()) | prefixed(
            "optimizer", tensors_of_optimizer(optimizer, names_of_parameters(module))
        )
        tensors |= prefixed("average", tensors_of_arrays(self._average))
        for number, positions in enumerate(self.window):
            tensors |= prefixed(f"positions.{number}", tensors_of_arrays(positions._asdict()))
        values = {"random": self.random.bit_generator.state, "positions": len(self.window)}
        values["updates"] = self._descent.updates
        return self._with_flight(TrainerState(values, tensors))

    def restore(self, state: TrainerState) -> None:
        """See :meth:`Trainer.restore`."""
        values, tensors = state
        module = self._descent.module
        module.load_state_dict(with_prefix("network", tensors))
        optimizer = with_prefix("optimizer", tensors)
        restore_optimizer(self._descent.optimizer, names_of_parameters(module), optimizer)
        for name, array in arrays_of_tensors(with_prefix("average", tensors), self._average).items():
            self._average[name][:] = array
        self._descent.updates = values["updates"]
        self.window.clear()
        for number in range(values["positions"]):
            arrays = arrays_of_tensors(with_prefix(f"positions.{number}", tensors), self._empty._asdict())
            self.window.append(type(self._empty)(**arrays))
        self.random.bit_generator.state = values["random"]
        self._restore_flight(state)
