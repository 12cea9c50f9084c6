"""The spaces of environments: what observations and masks may hold, and which actions there are."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.spaces import Box, Dict, Discrete

from patchwork_env.core.game import Rules

MaskedObservation = dict[str, Any]
"""``{"observation": vector or named tensors, "action_mask": mask}``."""


class GameSpaces:
    """The spaces of one game: ``GameSpaces(rules)``."""

    def __init__(self, rules: Rules) -> None:
        self._num_actions = rules.num_actions
        self._layout = rules.layout
        self._upper_bounds = rules.layout.upper_bounds

    def action_space(self) -> Discrete[np.int64]:
        """``Discrete(num_actions)``."""
        return Discrete(self._num_actions)

    def mask_space(self) -> Box:
        """int8 ``(num_actions,)``: 1 for the legal actions."""
        return Box(0, 1, (self._num_actions,), np.int8)

    def flat_space(self) -> Box:
        """float32 ``(layout.size,)``."""
        return Box(np.zeros_like(self._upper_bounds), self._upper_bounds, dtype=np.float32)

    def observation_space(self, named: bool) -> Box | Dict:
        """The space of observations, as one vector or as ``named`` tensors."""
        if not named:
            return self.flat_space()
        bounds = self._layout.as_dict(self._upper_bounds)
        return Dict(
            {name: Box(np.zeros_like(bound), bound, dtype=np.float32) for name, bound in bounds.items()}
        )

    def masked_space(self, named: bool) -> Dict:
        """The space of observations together with their ``action_mask``."""
        return Dict({"observation": self.observation_space(named), "action_mask": self.mask_space()})
