"""Averages of weights over a run, with polynomial decay (Shamir and Zhang 2013)."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor


def add_to_average(
    average: Iterable[Tensor], newest: Iterable[Tensor], share: float, power: float | None
) -> None:
    """Add the newest weights, from a ``share`` of all steps so far, to the average, in place.

    A step counts in proportion to its number to a ``power``; with None the newest weights alone count.
    """
    weight = 1.0 if power is None else 1 - (1 - share) ** (power + 1)
    own, new = ([tensor.detach() for tensor in tensors] for tensors in (average, newest))
    torch._foreach_lerp_(own, new, weight)
