"""Chance in what people do: whether something happens, and how wrong somebody is."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from patchwork_env.core.compile import kernel
from patchwork_env.core.random import Streams, random_below

_STEPS = 1 << 16


@kernel(inline=True)
def happens(chance: float, streams: Streams) -> bool:
    """Whether something of this chance happens; draws from ``streams[0]``."""
    return bool(random_below(streams, 0, _STEPS) < chance * _STEPS)


@kernel(inline=True)
def draw_error(streams: Streams) -> float:
    """A number with mean 0 and standard deviation 1, never beyond 3; draws from ``streams[0]``."""
    total = 0
    for _ in range(3):
        total += random_below(streams, 0, _STEPS)
    return 2 * (total / _STEPS - 1.5)


@kernel
def draw_errors(
    usual: float, lapses: float, lapse: float, errors: npt.NDArray[np.float64], streams: Streams
) -> None:
    """Draws how wrong somebody is about each of several things; from ``streams[0]``.

    The standard deviation is ``usual``, or in a share ``lapses`` of the calls ``lapse``.
    """
    deviation = lapse if happens(lapses, streams) else usual
    for k in range(len(errors)):
        errors[k] = deviation * draw_error(streams)
