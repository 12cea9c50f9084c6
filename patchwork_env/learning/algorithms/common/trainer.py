"""The interface of all algorithms: a trainer that takes steps, plays, and can be saved and restored."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from patchwork_env.agents import Agent
from patchwork_env.core.checks import as_integer, check_between
from patchwork_env.core.names import short_repr
from patchwork_env.errors import ConfigError
from patchwork_env.learning.config import RewardedRun, RunConfig, trainer_class

State = dict[str, Any]  # nested dictionaries of tensors and JSON values; names contain no slash
Arrays = Mapping[str, npt.NDArray[Any]]

MAX_EXACT_INT = 2**53  # up to here, a float represents every integer exactly


class Trainer(ABC):
    """One training run in memory; ``steps`` are turns of all games.

    All randomness comes from ``config.seed``: on a CPU two trainers with the same configuration and number of
    threads are equal to the bit, even if one of them was saved and restored.
    """

    def __init__(self, config: RunConfig) -> None:
        self.config = config
        self.device = usable_device(config.device)
        self.steps = 0
        self.iteration = 0
        self.seconds = 0.0
        self.steps_per_iteration = 0

    @property
    def is_done(self) -> bool:
        """True if the run has reached its number of steps."""
        return self.steps >= self.config.total_steps

    @property
    def progress(self) -> float:
        """The fraction of the run that is done, for schedules."""
        return min(1.0, self.steps / self.config.total_steps)

    def workers(self) -> AbstractContextManager[None]:
        """Return a context in which the workers of a cluster, if there are any, play the games."""
        return nullcontext()

    @abstractmethod
    def step(self) -> dict[str, float]:
        """Play and learn for one iteration; return metrics by name."""

    def _count_iteration(self, turns: int, began: float, collected: float) -> dict[str, float]:
        """Count an iteration of ``turns``, from the times before and after its games; return its speed."""
        seconds = time.perf_counter() - began
        self.steps += turns
        self.iteration += 1
        self.seconds += seconds
        self.steps_per_iteration = turns
        return {
            "time/steps_per_second": turns / seconds,
            "time/share_of_time_collecting": (collected - began) / seconds,
        }

    @abstractmethod
    def agent(self) -> Agent:
        """Return the agent that evaluations play now."""

    @property
    def options(self) -> str:
        """The options after a checkpoint in a spec with which it plays as in evaluations."""
        return ""

    @abstractmethod
    def write_policy(self, folder: Path) -> None:
        """Write a policy, which :func:`patchwork_env.agents.load` reads, into an existing folder."""

    def write_final(self, folder: Path) -> None:
        """Write the results of the run, by default a policy, into an existing folder."""
        self.write_policy(folder)

    def state_dict(self) -> State:
        """Return the state to resume from; its tensors may share memory with the trainer."""
        return {"steps": self.steps, "iteration": self.iteration, "seconds": self.seconds}

    def load_state_dict(self, state: State) -> None:
        """Continue from a state, which may come from a file.

        A state that does not fit raises a KeyError, TypeError, ValueError or RuntimeError; the trainer cannot
        be used after that.
        """
        self.steps = as_integer(state["steps"], "steps")
        self.iteration = check_between(state["iteration"], 0, self.steps, "iteration")
        self.seconds = seconds = state["seconds"]
        if type(seconds) not in (int, float) or seconds < 0 or (seconds == 0) != (self.steps == 0):
            raise ValueError(f"seconds is {short_repr(seconds)}; allowed are numbers above 0")

    def policy_info(self) -> dict[str, Any]:
        """Return the facts about the training that are stored with a policy."""
        info = {
            "algorithm": self.config.algorithm,
            "steps": self.steps,
            "iteration": self.iteration,
            "seconds": round(self.seconds, 3),
        }
        if self.options:
            info["options"] = self.options
        if isinstance(self.config, RewardedRun):
            info["reward"] = self.config.reward.model_dump()
        return info


def prefixed(group: str, metrics: Mapping[str, float]) -> dict[str, float]:
    """Return metrics under their names in curves and reports: ``group/name``."""
    return {f"{group}/{name}": value for name, value in metrics.items()}


def make_trainer(config: RunConfig) -> Trainer:
    """Return the trainer of a configuration; ConfigError if PyTorch cannot use the device."""
    trainer: Trainer = trainer_class(config)(config)
    return trainer


def usable_device(name: str) -> str:
    """Return the name of a device, with ``auto`` resolved; ConfigError if PyTorch cannot use it."""
    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.zeros(1, device=name).item()
    except (RuntimeError, AssertionError) as error:  # PyTorch asserts that it was built with the device
        reason = str(error).partition("\n")[0]
        raise ConfigError(f"device is {name!r}, which PyTorch cannot use here: {reason}") from None
    return name


# --- states, as a file of JSON and one of tensors -----------------------------------------------------------


def split(state: State) -> tuple[State, dict[str, Tensor]]:
    """Divide a state into values for JSON and tensors by their paths, as in ``network/trunk.weight``."""
    values: State = {}
    tensors: dict[str, Tensor] = {}
    for name, value in state.items():
        if isinstance(value, Tensor):
            tensors[name] = value
        elif isinstance(value, dict):
            values[name], inner = split(value)
            tensors |= {f"{name}/{path}": tensor for path, tensor in inner.items()}
        else:
            values[name] = value
    return values, tensors


def join(values: State, tensors: Mapping[str, Tensor]) -> State:
    """Put tensors back into values; KeyError or TypeError if one has no place there."""
    for path, tensor in tensors.items():
        *outer, name = path.split("/")
        place = values
        for key in outer:
            place = place[key]
        place[name] = tensor
    return values


def as_tensors(arrays: Arrays) -> dict[str, Tensor]:
    """Return arrays as tensors that share their memory; records, which PyTorch does not know, as bytes."""
    return {
        name: torch.from_numpy(array.view(np.uint8) if array.dtype.names else array)
        for name, array in arrays.items()
    }


def as_arrays(tensors: Mapping[str, Tensor]) -> dict[str, npt.NDArray[Any]]:
    """Return tensors on the CPU as arrays that share their memory."""
    return {name: tensor.numpy() for name, tensor in tensors.items()}


def optimizer_state(optimizer: torch.optim.Optimizer) -> State:
    """Return the state of each parameter of an Adam optimizer, by the parameter's number."""
    return {str(number): dict(kept) for number, kept in optimizer.state_dict()["state"].items()}


def load_optimizer_state(optimizer: torch.optim.Optimizer, state: State) -> None:
    """Load an :func:`optimizer_state` into an optimizer, which keeps its rates and other settings."""
    own = {int(number): {name: t.clone() for name, t in kept.items()} for number, kept in state.items()}
    optimizer.load_state_dict({"state": own, "param_groups": optimizer.state_dict()["param_groups"]})
