"""The spaces of the environments: what observations and masks may hold, and which actions there are."""

from __future__ import annotations

from patchwork_env.envs.spaces import LAYOUTS, GameSpaces, check_layout
from patchwork_env.patchwork.rules import RULES

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


SPACES = GameSpaces(RULES)
action_space = SPACES.action_space
mask_space = SPACES.mask_space
flat_space = SPACES.flat_space
observation_space = SPACES.observation_space
masked_space = SPACES.masked_space
