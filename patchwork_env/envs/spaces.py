"""The spaces of observations, masks and actions."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from gymnasium.spaces import Box, Dict, Discrete

from patchwork_env.core.rules import Rules
from patchwork_env.core.tensors import Observation

MaskedObservation = dict[str, Any]  # ``{"observation": vector or named tensors, "action_mask": mask}``


class GameSpaces(NamedTuple):
    """The spaces of one game: ``GameSpaces(rules)``."""

    rules: Rules

    def action_space(self) -> Discrete[np.int64]:
        """Return ``Discrete(num_actions)``."""
        return Discrete(self.rules.num_actions)

    def flat_space(self) -> Box:
        """Return the space of observations as one vector, float32 ``(layout.size,)``."""
        return _box(self.rules.layout.upper_bounds)

    def observation_space(self, named: bool) -> Box | Dict:
        """Return the space of observations, as one vector or as ``named`` tensors."""
        if not named:
            return self.flat_space()
        layout = self.rules.layout
        return Dict({name: _box(bounds) for name, bounds in layout.as_dict(layout.upper_bounds).items()})

    def masked_space(self, named: bool) -> Dict:
        """Return the space of observations with an ``action_mask``, int8 ``(num_actions,)``."""
        mask = Box(0, 1, (self.rules.num_actions,), np.int8)
        return Dict({"observation": self.observation_space(named), "action_mask": mask})


def _box(upper_bounds: Observation) -> Box:
    return Box(np.zeros_like(upper_bounds), upper_bounds, dtype=np.float32)
