"""The league: past selves that the learner keeps playing against."""

from __future__ import annotations

import copy
from collections import deque

import numpy as np

from patchwork_env.agents.network import PatchworkNetwork


class Pool:
    """The last ``size`` snapshots of the learner.

    Attributes:
        snapshots: Frozen networks, oldest first.
    """

    def __init__(self, size: int) -> None:
        self.snapshots: deque[PatchworkNetwork] = deque(maxlen=size)

    def add(self, network: PatchworkNetwork) -> None:
        """Keeps a copy of the learner; the oldest snapshot goes if the pool is full."""
        self.snapshots.append(copy.deepcopy(network).eval().requires_grad_(False))

    def draw(self, random: np.random.Generator) -> PatchworkNetwork | None:
        """A uniformly random snapshot; None if there is none yet."""
        return self.snapshots[random.integers(len(self.snapshots))] if self.snapshots else None
