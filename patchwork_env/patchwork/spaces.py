"""The spaces of the environments: what observations and masks may hold, and which actions there are."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.spaces import Box, Dict, Discrete

from patchwork_env.patchwork.actions import NUM_ACTIONS
from patchwork_env.patchwork.observation import (
    BUTTONS_FEATURE,
    MAX_BUTTONS,
    OBSERVATION_SIZE,
    SHAPES,
    Observation,
    as_dict,
)
from patchwork_env.patchwork.options import check_one_of

LAYOUTS = ("flat", "dict")
"""How an observation may be laid out: one vector, or named tensors of the same content."""


def check_layout(observation: Any) -> bool:
    """Whether observations are laid out as named tensors.

    Raises:
        ValueError: It is none of :data:`LAYOUTS`.
    """
    return bool(check_one_of(observation, LAYOUTS, "observation") == "dict")


def action_space() -> Discrete[np.int64]:
    """``Discrete(2026)``; see :mod:`~patchwork_env.patchwork.actions`."""
    return Discrete(NUM_ACTIONS)


def mask_space() -> Box:
    """int8 ``(2026,)``: 1 for the legal actions."""
    return Box(0, 1, (NUM_ACTIONS,), np.int8)


def flat_space() -> Box:
    """float32 ``(OBSERVATION_SIZE,)``, ranges as in :mod:`~patchwork_env.patchwork.observation`."""
    return Box(np.zeros(OBSERVATION_SIZE, np.float32), _upper_bounds(), dtype=np.float32)


def observation_space(named: bool) -> Box | Dict:
    """The space of observations, as one vector or as ``named`` tensors."""
    if not named:
        return flat_space()
    bounds = as_dict(_upper_bounds())
    return Dict(
        {name: Box(np.zeros(SHAPES[name], np.float32), bounds[name], dtype=np.float32) for name in SHAPES}
    )


def masked_space(named: bool) -> Dict:
    """The space of observations together with their ``action_mask``."""
    return Dict({"observation": observation_space(named), "action_mask": mask_space()})


def _upper_bounds() -> Observation:
    bounds = np.ones(OBSERVATION_SIZE, np.float32)
    as_dict(bounds)["players"][:, BUTTONS_FEATURE] = MAX_BUTTONS
    return bounds
