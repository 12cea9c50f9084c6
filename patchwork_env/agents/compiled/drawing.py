"""Drawing among values, for exploration."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from patchwork_env.core.compile import kernel
from patchwork_env.core.random import Streams, random_below

_STEPS = 1 << 30


@kernel
def draw_by_softmax(
    values: npt.NDArray[np.floating[Any]], temperature: float, streams: Streams, i: int
) -> int:
    """An index drawn with probabilities in proportion to ``exp(value / temperature)``, by stream ``i``."""
    best = 0
    for k in range(len(values)):
        if values[k] > values[best]:
            best = k
    most, total = values[best], 0.0
    for k in range(len(values)):
        total += math.exp((values[k] - most) / temperature)
    rest = total * random_below(streams, i, _STEPS) / _STEPS
    for k in range(len(values)):
        rest -= math.exp((values[k] - most) / temperature)
        if rest < 0:
            return k
    return best
