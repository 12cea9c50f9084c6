"""Learning a compiled value: the interface of a game, the network in PyTorch, and optimizer steps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from patchwork_env.agents import Agent
from patchwork_env.agents.compiled import arrays_of
from patchwork_env.agents.layers import rows_adder
from patchwork_env.core.checks import check_between
from patchwork_env.core.compile import kernel
from patchwork_env.core.intrinsics import Floats, Rows
from patchwork_env.core.kernels import States
from patchwork_env.core.random import Streams
from patchwork_env.learning.algorithms.common.gradients import (
    ThreadPool,
    add_to_average,
    compute_gradient,
    means,
)
from patchwork_env.learning.algorithms.common.trainer import (
    MAX_EXACT_INT,
    State,
    as_tensors,
    load_optimizer_state,
    optimizer_state,
)
from patchwork_env.learning.algorithms.td.config import TdLearning

Counts = npt.NDArray[np.int64]
STEPS = 1 << 30  # random numbers below 1 are multiples of `1 / STEPS`


class Positions(NamedTuple):
    """Positions to learn from, and the target values of their players to move."""

    states: States  # (n,)
    targets: Floats  # (n,) or (n, outputs)


class Played(NamedTuple):
    """Finished games; ``finals`` and ``lengths`` leave out games with scripted players."""

    examples: Positions
    finals: States  # (k,)
    lengths: npt.NDArray[np.int64]  # (k,), numbers of turns
    turns: int  # of all games


class ValueGame(ABC):
    """The interface of a game for learning its value; what is played depends only on the random streams."""

    weights: ClassVar[np.dtype[np.void]]
    no_positions: ClassVar[Positions]

    @abstractmethod
    def new_module(self) -> ValueModule:
        """Return the network that learns, with random weights from the seed of the run."""

    @abstractmethod
    def agent(self, weights: Any, name: str) -> Agent:
        """Return the agent that plays by a record of weights, without further search."""

    @abstractmethod
    def play(self, weights: Any, progress: float, streams: Streams) -> Played:
        """Play a game from each random stream by a record of weights; ``progress`` is for schedules."""


class ValueModule(nn.Module, ABC):
    """The network of a compiled value as a PyTorch module, with a parameter for each array of its weights.

    The module shares memory with the record ``weights``, so that optimizer steps change the value that plays.
    ``tables`` names the weights whose rows the network looks up.
    """

    tables: ClassVar[Collection[str]]

    def __init__(self, weights: Any) -> None:
        super().__init__()
        self.weights = weights
        for name, array in arrays_of(weights).items():
            self.register_parameter(name, nn.Parameter(torch.from_numpy(array)))

    @abstractmethod
    def losses(self, samples: Positions) -> dict[str, Tensor]:
        """Return the ``loss`` of some positions, its terms and diagnostics: means over the positions."""


class ValueLearner:
    """Fits a value to its targets by steps of Adam.

    Self-play uses the ``average`` over the last steps (Polyak and Juditsky 1992), which has less noise from
    minibatches. The ``trained`` value can be an average over the whole run, which plays no training games.
    """

    def __init__(self, module: ValueModule, config: TdLearning, threads: ThreadPool) -> None:
        self.module, self._config, self._threads = module, config, threads
        self.average, self.trained = module.weights.copy(), module.weights.copy()
        self._average, self._trained = (as_tensors(arrays_of(own)) for own in (self.average, self.trained))
        self.steps = 0
        parameters = dict(module.named_parameters())
        tables = [parameters.pop(name) for name in module.tables]
        groups = [{"params": tables}, {"params": list(parameters.values())}]
        self.optimizer = torch.optim.Adam(groups, lr=config.learning_rate.start, fused=True)

    def update(self, positions: Positions, progress: float, random: np.random.Generator) -> dict[str, float]:
        """Take steps on random minibatches of positions; return mean losses and diagnostics."""
        config, number = self._config, len(positions.states)
        size = min(config.minibatch_size, number)

        def losses(samples: npt.NDArray[np.int64]) -> dict[str, Tensor]:
            return self.module.losses(Positions(positions.states[samples], positions.targets[samples]))

        rate, metrics = config.learning_rate.at(progress), []
        for _ in range(config.gradient_steps):
            warm = rate * min(1, (self.steps + 1) / config.warmup)
            tables, others = self.optimizer.param_groups
            tables["lr"], others["lr"] = config.table_rate * warm, warm
            samples = random.integers(number, size=size)
            metrics.append(
                compute_gradient(self.optimizer, losses, samples, self._threads, config.max_gradient_norm)
            )
            self.optimizer.step()
            self.steps += 1
            self._add_to_average()
        self._add_to_trained()
        return means(metrics)

    def _add_to_average(self) -> None:
        """Update the average: at first the mean of all steps, later an exponential moving average."""
        share = max(1 - self._config.ema_decay, 1 / self.steps)
        weights = [parameter.detach() for parameter in self.module.parameters()]
        torch._foreach_lerp_(list(self._average.values()), weights, share)

    def _add_to_trained(self) -> None:
        """Update the trained value with the average, weighted by the steps of an iteration."""
        share, power = self._config.gradient_steps / self.steps, self._config.averaging_power
        add_to_average(self._trained.values(), self._average.values(), share, power)

    def state_dict(self) -> State:
        return {
            "network": self.module.state_dict(),
            "optimizer": optimizer_state(self.optimizer),
            "average": self._average,
            "trained": self._trained,
            "updates": self.steps,
        }

    def load_state_dict(self, state: State) -> None:
        self.module.load_state_dict(state["network"])
        load_optimizer_state(self.optimizer, state["optimizer"])
        for name, own in (("average", self._average), ("trained", self._trained)):
            for key, tensor in own.items():
                tensor.copy_(state[name][key])
        self.steps = check_between(state["updates"], 0, MAX_EXACT_INT, "updates")


class EmbeddingSum(torch.autograd.Function):
    """The sum of the rows ``rows[i, : counts[i]]`` of a table for each ``i``, float32 ``(n, width)``."""

    @staticmethod
    def forward(ctx: Any, table: Tensor, rows: Rows, counts: Counts) -> Tensor:
        ctx.rows, ctx.counts, ctx.shape = rows, counts, table.shape
        sums = np.zeros((len(rows), table.shape[1]), np.float32)
        _gather(table.detach().numpy(), rows, counts, sums)
        return torch.from_numpy(sums)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        table = torch.zeros(ctx.shape)
        _scatter(gradients[0].contiguous().numpy(), ctx.rows, ctx.counts, table.numpy())
        return table, None, None


_add_32, _add_64, _add_128 = rows_adder(32), rows_adder(64), rows_adder(128)


@kernel
def _add_rows(out: Floats, table: Floats, rows: Rows, count: int) -> None:
    """Add rows of a table; a loop for any width would be several times slower."""
    if table.shape[1] == 32:
        _add_32(out, table, rows, count)
    elif table.shape[1] == 64:
        _add_64(out, table, rows, count)
    else:
        _add_128(out, table, rows, count)


@kernel
def _gather(table: Floats, rows: Rows, counts: Counts, sums: Floats) -> None:
    for i in range(len(rows)):
        _add_rows(sums[i], table, rows[i], counts[i])


@kernel(allocates=True)
def _scatter(sums: Floats, rows: Rows, counts: Counts, table: Floats) -> None:
    indices = np.arange(len(rows), dtype=np.int32)
    for i in range(len(rows)):
        for k in range(counts[i]):
            _add_rows(table[rows[i, k]], sums, indices[i:], 1)
