"""The spaces of the environments: what observations and masks may hold, and which actions there are."""

from __future__ import annotations

import numpy as np

from patchwork_env.core.tensors import Observation
from patchwork_env.envs.spaces import LAYOUTS, GameSpaces, check_layout
from patchwork_env.patchwork.actions import NUM_ACTIONS
from patchwork_env.patchwork.observation import BUTTONS_FEATURE, LAYOUT, MAX_BUTTONS

__all__ = [
    "LAYOUTS",
    "SPACES",
    "action_space",
    "check_layout",
    "flat_space",
    "mask_space",
    "masked_space",
    "observation_space",
]


def _upper_bounds() -> Observation:
    bounds = np.ones(LAYOUT.size, np.float32)
    LAYOUT.as_dict(bounds)["players"][:, BUTTONS_FEATURE] = MAX_BUTTONS
    return bounds


SPACES = GameSpaces(NUM_ACTIONS, LAYOUT, _upper_bounds())
action_space = SPACES.action_space
mask_space = SPACES.mask_space
flat_space = SPACES.flat_space
observation_space = SPACES.observation_space
masked_space = SPACES.masked_space
