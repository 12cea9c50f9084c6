"""Learning a compiled value: its network as a PyTorch module, and steps down the gradient."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from patchwork_env.agents.compiled import arrays_of
from patchwork_env.core.checks import check_between
from patchwork_env.core.compile import kernel
from patchwork_env.core.intrinsics import Floats, Rows, rows_adder
from patchwork_env.core.kernels import States
from patchwork_env.learning.algorithms.common.gradients import ThreadPool, compute_gradient, means
from patchwork_env.learning.algorithms.common.state import (
    MOST,
    State,
    as_tensors,
    load_optimizer_state,
    optimizer_state,
)
from patchwork_env.learning.algorithms.td.config import TdLearning

Counts = npt.NDArray[np.int64]
_ONE_THREAD = ThreadPool()
"""Two threads would hand each other gradients of whole tables, which takes as long as computing them."""


class Positions(NamedTuple):
    """Positions to learn from.

    Attributes:
        states: ``(n,)`` records.
        targets: float32 ``(n,)`` or ``(n, outputs)``, what the value of the player to move is to be.
    """

    states: States
    targets: Floats


class ValueModule(nn.Module, ABC):
    """The network of a compiled value as a PyTorch module, with a parameter for each array of its weights.

    Module and record share their memory, so that a step of the optimizer changes what plays.

    Attributes:
        tables: The names of the weights that are tables, of which the network looks up rows.
        weights: The record of the weights.
    """

    tables: ClassVar[Collection[str]]

    def __init__(self, weights: Any) -> None:
        super().__init__()
        self.weights = weights
        for name, array in arrays_of(weights).items():
            self.register_parameter(name, nn.Parameter(torch.from_numpy(array)))

    @abstractmethod
    def losses(self, samples: Positions) -> dict[str, Tensor]:
        """The ``loss`` of some positions, its terms and diagnostics: means over the positions."""


class ValueLearner:
    """Brings a value closer to its targets, by steps of Adam.

    Self-play has the average over the last steps (Polyak and Juditsky 1992), which lacks most of the noise of
    single minibatches. The trained value can be an average over the whole run, with polynomial decay (Shamir
    and Zhang 2013), which lacks more of the noise, but would be too old to learn from its games.

    Attributes:
        module: The network that learns.
        average: The moving average of the weights, a record.
        trained: The weights of the trained value, a record.
        steps: The number of steps taken so far.
        optimizer: The optimizer that takes the steps.
    """

    def __init__(self, module: ValueModule, config: TdLearning) -> None:
        self.module, self._config = module, config
        self.average, self.trained = module.weights.copy(), module.weights.copy()
        self._average, self._trained = (as_tensors(arrays_of(own)) for own in (self.average, self.trained))
        self.steps = 0
        names = [name for name, _ in module.named_parameters()]
        self._factors = [config.table_rate if name in module.tables else 1.0 for name in names]
        groups = [{"params": [parameter]} for parameter in module.parameters()]
        self.optimizer = torch.optim.Adam(groups, lr=config.learning_rate.start, fused=True)

    def update(
        self, positions: Positions, steps: int, progress: float, random: np.random.Generator
    ) -> dict[str, float]:
        """Takes steps on random minibatches of positions with targets; returns mean losses and diagnostics.

        ``progress`` is the fraction of the run that is over, for the schedules.

        Raises:
            DivergenceError: The loss or its gradient is not finite.
        """
        config, number = self._config, len(positions.states)
        size = min(config.minibatch_size, number)
        losses, batch_of = partial(self._losses, positions), partial(_batch_of, positions)
        rate = config.learning_rate.at(progress)
        metrics = []
        for _ in range(steps):
            warm = rate * min(1, (self.steps + 1) / config.warmup)
            for group, factor in zip(self.optimizer.param_groups, self._factors, strict=True):
                group["lr"] = factor * warm
            samples = random.integers(number, size=size)
            metrics.append(
                compute_gradient(
                    self.optimizer, losses, batch_of, samples, _ONE_THREAD, config.max_gradient_norm
                )
            )
            self.optimizer.step()
            self._add_to_average()
        self._add_to_trained(steps)
        return means(metrics)

    def _losses(self, positions: Positions, samples: npt.NDArray[np.int64]) -> dict[str, Tensor]:
        return self.module.losses(Positions(positions.states[samples], positions.targets[samples]))

    def _add_to_average(self) -> None:
        """Adds the present weights to the average: over all steps at first, later over the last ones."""
        self.steps += 1
        share = max(1 - self._config.ema_decay, 1 / self.steps)
        weights = [parameter.detach() for parameter in self.module.parameters()]
        torch._foreach_lerp_(list(self._average.values()), weights, share)

    def _add_to_trained(self, steps: int) -> None:
        """Adds the average to the weights of the trained value, for the last ``steps`` steps."""
        power = self._config.averaging_power
        share = 1.0 if power is None else 1 - (1 - steps / self.steps) ** (power + 1)
        torch._foreach_lerp_(list(self._trained.values()), list(self._average.values()), share)

    def state_dict(self) -> State:
        """The weights, their averages, and the optimizer."""
        return {
            "network": self.module.state_dict(),
            "optimizer": optimizer_state(self.optimizer),
            "average": self._average,
            "trained": self._trained,
            "updates": self.steps,
        }

    def load_state_dict(self, state: State) -> None:
        """Goes on from a :meth:`state_dict`.

        Raises:
            KeyError, TypeError, ValueError, RuntimeError: The state does not fit.
        """
        self.module.load_state_dict(state["network"])
        load_optimizer_state(self.optimizer, state["optimizer"])
        for name, own in (("average", self._average), ("trained", self._trained)):
            for key, tensor in own.items():
                tensor.copy_(state[name][key])
        self.steps = check_between(state["updates"], 0, MOST, "updates")


def _batch_of(positions: Positions, samples: npt.NDArray[np.int64]) -> dict[str, npt.NDArray[Any]]:
    return {"states": positions.states[samples], "targets": positions.targets[samples]}


# --- sums of rows -----------------------------------------------------------------------------------------


class SumOfRows(torch.autograd.Function):
    """The sum of the rows ``rows[i, : counts[i]]`` of a table for each ``i``, float32 ``(n, width)``."""

    @staticmethod
    def forward(ctx: Any, table: Tensor, rows: Rows, counts: Counts) -> Tensor:
        """The sums."""
        ctx.rows, ctx.counts, ctx.shape = rows, counts, table.shape
        sums = np.zeros((len(rows), table.shape[1]), np.float32)
        _GATHERS[table.shape[1]](table.detach().numpy(), rows, counts, sums)
        return torch.from_numpy(sums)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        """The gradient of the table."""
        table = np.zeros(ctx.shape, np.float32)
        _scatter(gradients[0].contiguous().numpy(), ctx.rows, ctx.counts, table)
        return torch.from_numpy(table), None, None


_add_32, _add_64, _add_128 = rows_adder(32), rows_adder(64), rows_adder(128)


@kernel
def _gather_32(table: Floats, rows: Rows, counts: Counts, sums: Floats) -> None:
    for i in range(len(rows)):
        _add_32(sums[i], table, rows[i], counts[i])


@kernel
def _gather_64(table: Floats, rows: Rows, counts: Counts, sums: Floats) -> None:
    for i in range(len(rows)):
        _add_64(sums[i], table, rows[i], counts[i])


@kernel
def _gather_128(table: Floats, rows: Rows, counts: Counts, sums: Floats) -> None:
    for i in range(len(rows)):
        _add_128(sums[i], table, rows[i], counts[i])


_GATHERS: dict[int, Callable[[Floats, Rows, Counts, Floats], None]] = {
    32: _gather_32,
    64: _gather_64,
    128: _gather_128,
}
"""Kernels by the width of the table: a loop for any width would be several times slower."""


@kernel
def _scatter(sums: Floats, rows: Rows, counts: Counts, table: Floats) -> None:
    for i in range(len(rows)):
        for k in range(counts[i]):
            row = rows[i, k]
            for column in range(table.shape[1]):
                table[row, column] += sums[i, column]
