"""Sums of the rows of a table as an operation of PyTorch, with gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from patchwork_env.agents.compiled.vectors import Floats, Rows, rows_adder
from patchwork_env.core.compile import kernel

Counts = npt.NDArray[np.int64]


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


_GATHERS = {32: _gather_32, 64: _gather_64, 128: _gather_128}
"""Kernels by the width of the table: a loop for any width would be several times slower."""


@kernel
def _scatter(sums: Floats, rows: Rows, counts: Counts, table: Floats) -> None:
    for i in range(len(rows)):
        for k in range(counts[i]):
            row = rows[i, k]
            for column in range(table.shape[1]):
                table[row, column] += sums[i, column]
