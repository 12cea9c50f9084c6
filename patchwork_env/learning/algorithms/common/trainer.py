"""What a run sees of every algorithm: a trainer that iterates, plays, and can be saved and restored."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from torch import Tensor

from patchwork_env import agents
from patchwork_env.agents import Agent
from patchwork_env.learning.algorithms.common.state import StatePart, TrainerState
from patchwork_env.learning.config import RewardedRun, RunConfig, trainer_class


class Trainer(ABC):
    """One training run in memory.

    All randomness comes from ``config.seed``: on a CPU two trainers with the same configuration and number of
    threads are equal to the bit, also if one of them was saved and restored.

    Attributes:
        config: The configuration of the run.
        steps: The number of turns so far, over all games.
        iteration: The number of iterations so far.
        seconds: How long these iterations took, in seconds.
    """

    def __init__(self, config: RunConfig) -> None:
        self.config = config
        self.steps = 0
        self.iteration = 0
        self.seconds = 0.0

    @property
    def is_done(self) -> bool:
        """Whether the run has reached its number of steps."""
        return self.steps >= self.config.total_steps

    @property
    def progress(self) -> float:
        """The fraction of the run that is over, for schedules."""
        return min(1.0, self.steps / self.config.total_steps)

    def iterate(self) -> dict[str, float]:
        """Plays and learns for one iteration; returns metrics by name."""
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
        """The number of turns of all games in one iteration."""

    @abstractmethod
    def _iterate(self) -> dict[str, float]:
        """Does one iteration; the counters still stand as before it."""

    @abstractmethod
    def agent(self) -> Agent:
        """The agent that evaluations of the run at present ask."""

    def stored_agent(self, folder: Path) -> Agent:
        """The agent that evaluations of the run ask for a policy that :meth:`write_policy` wrote."""
        return agents.load(folder)

    @abstractmethod
    def write_policy(self, folder: Path) -> None:
        """Writes a policy that :func:`patchwork_env.agents.load` plays, as files in an existing folder."""

    def write_final(self, folder: Path) -> None:
        """Writes the results of the run, by default a policy, as files in an existing folder."""
        self.write_policy(folder)

    @abstractmethod
    def _state_parts(self) -> Sequence[StatePart]:
        """The parts of the trainer's state, apart from the counters."""

    def state(self) -> TrainerState:
        """The state of the trainer, apart from the counters, for :meth:`restore`."""
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
            KeyError, TypeError, ValueError, RuntimeError: The state does not fit; the trainer cannot be used
                any more.
        """
        for part in self._state_parts():
            part.restore(state)

    def close(self) -> None:
        """Gives up what the trainer holds outside this process; it cannot be used any more."""
        return

    def policy_info(self) -> dict[str, Any]:
        """What the files of a policy tell about its training."""
        info = {
            "algorithm": self.config.algorithm,
            "steps": self.steps,
            "iteration": self.iteration,
            "seconds": round(self.seconds, 3),
        }
        if isinstance(self.config, RewardedRun):
            info["reward"] = self.config.reward.model_dump()
        return info


def grouped(group: str, metrics: Mapping[str, float]) -> dict[str, float]:
    """Metrics under their names in curves and reports: ``group/name``."""
    return {f"{group}/{name}": value for name, value in metrics.items()}


def make_trainer(config: RunConfig) -> Trainer:
    """The trainer of the configuration's game and algorithm."""
    trainer: Trainer = trainer_class(config)(config)
    return trainer
