"""What every algorithm is to a run: something that iterates, plays, and can be saved and restored."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torch import Tensor

from patchwork_env.agents import Agent
from patchwork_env.learning.algorithms.common.state import StatePart, TrainerState
from patchwork_env.learning.config import RewardedRun, RunConfig, trainer_class


class Trainer(ABC):
    """One training run in memory.

    All randomness comes from ``config.seed``: on a CPU two trainers with one configuration and one number of
    threads are equal to the bit, also if one of them was saved and restored.

    Attributes:
        config: The configuration of the run.
        steps: Turns played so far, over all games.
        iteration: Iterations so far.
        seconds: Time spent on them.
    """

    def __init__(self, config: RunConfig) -> None:
        self.config = config
        self.steps = 0
        self.iteration = 0
        self.seconds = 0.0

    @property
    def is_done(self) -> bool:
        """Whether the run has its steps."""
        return self.steps >= self.config.total_steps

    @property
    def progress(self) -> float:
        """Fraction of the run that is over, for schedules."""
        return min(1.0, self.steps / self.config.total_steps)

    def iterate(self) -> dict[str, float]:
        """Plays and learns for a while; returns metrics by name."""
        began = time.perf_counter()
        metrics = self._iterate()
        seconds = time.perf_counter() - began
        self.steps += self.steps_per_iteration
        self.iteration += 1
        self.seconds += seconds
        return metrics | {"time/steps_per_second": self.steps_per_iteration / seconds}

    @property
    @abstractmethod
    def steps_per_iteration(self) -> int:
        """Turns of all games in one iteration."""

    @abstractmethod
    def _iterate(self) -> dict[str, float]:
        """One iteration; the counters still say what was before it."""

    @abstractmethod
    def agent(self) -> Agent:
        """Plays as the run is evaluated at present."""

    @abstractmethod
    def write_policy(self, folder: Path) -> None:
        """Writes a policy that :func:`patchwork_env.agents.load` plays, as files in an existing folder."""

    def write_final(self, folder: Path) -> None:
        """Writes what the end of the run leaves, as files in an existing folder: a policy, by default."""
        self.write_policy(folder)

    @abstractmethod
    def _state_parts(self) -> Sequence[StatePart]:
        """What the state of the trainer consists of, apart from the counters."""

    def state(self) -> TrainerState:
        """What :meth:`restore` needs, apart from the counters."""
        values: dict[str, Any] = {}
        tensors: dict[str, Tensor] = {}
        for part in self._state_parts():
            part_values, part_tensors = part.save()
            values |= part_values
            tensors |= part_tensors
        return TrainerState(values, tensors)

    def restore(self, state: TrainerState) -> None:
        """Goes on from the state of a trainer with the same configuration.

        Raises:
            KeyError, TypeError, ValueError, RuntimeError: The state does not fit; the trainer is of no use
                any more.
        """
        for part in self._state_parts():
            part.restore(state)

    def close(self) -> None:
        """Lets go of what the trainer holds outside of this process, after which it is of no use."""
        return

    def policy_info(self) -> dict[str, Any]:
        """What a policy's files remember of its making."""
        info = {
            "algorithm": self.config.algorithm,
            "steps": self.steps,
            "iteration": self.iteration,
            "seconds": round(self.seconds, 3),
        }
        if isinstance(self.config, RewardedRun):
            info["reward"] = self.config.reward.model_dump()
        return info


def make_trainer(config: RunConfig) -> Trainer:
    """The trainer of the configuration's game and algorithm."""
    trainer: Trainer = trainer_class(config)(config)
    return trainer
