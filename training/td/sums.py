"""Sums of the rows of a table as an operation of PyTorch, with gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from patchwork_env._compile import kernel
from patchwork_env.agents.value.vectors import Floats, Rows

Counts = npt.NDArray[np.int64]


class SumOfRows(torch.autograd.Function):
    """For each ``i`` the sum of the rows ``rows[i, : counts[i]]`` of a table, ``(n, width)``."""

    @staticmethod
    def forward(ctx: Any, table: Tensor, rows: Rows, counts: Counts) -> Tensor:
        ctx.rows, ctx.counts, ctx.shape = rows, counts, table.shape
        sums = np.zeros((len(rows), table.shape[1]), np.float32)
        _gather(table.detach().numpy(), rows, counts, sums)
        return torch.from_numpy(sums)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        table = np.zeros(ctx.shape, np.float32)
        _scatter(gradients[0].contiguous().numpy(), ctx.rows, ctx.counts, table)
        return torch.from_numpy(table), None, None


@kernel
def _gather(table: Floats, rows: Rows, counts: Counts, sums: Floats) -> None:
    for i in range(len(rows)):
        for k in range(counts[i]):
            for column in range(table.shape[1]):
                sums[i, column] += table[rows[i, k], column]


@kernel
def _scatter(sums: Floats, rows: Rows, counts: Counts, table: Floats) -> None:
    for i in range(len(rows)):
        for k in range(counts[i]):
            row = rows[i, k]
            for column in range(table.shape[1]):
                table[row, column] += sums[i, column]
