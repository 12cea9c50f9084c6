"""The environment that a dataset names: with it, what was learned from the dataset plays on."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import gymnasium
from gymnasium.envs.registration import EnvSpec, WrapperSpec
from gymnasium.spaces import Dict
from gymnasium.utils import RecordConstructorArgs

from patchwork_env.core.rules import Rules
from patchwork_env.envs.spaces import GameSpaces

_ENTRY_POINT = "patchwork_env.integrations.minari:MaskedObservation"
"""Where datasets find the wrapper; it stands in their files, and must not change."""


class MaskedObservation(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Shows ``{"observation": …, "action_mask": …}``, as the turn-based environments and datasets do.

    >>> import gymnasium
    >>> env = MaskedObservation(gymnasium.make("patchwork_env:Patchwork-v0", opponent="random"))
    >>> observation, info = env.reset(seed=7)
    >>> sorted(observation)
    ['action_mask', 'observation']

    Args:
        env: A Gymnasium environment of one of the games.
    """

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        RecordConstructorArgs.__init__(self)
        gymnasium.Wrapper.__init__(self, env)
        mask = GameSpaces(env.unwrapped._rules).mask_space()  # type: ignore[attr-defined]
        self.observation_space = Dict({"observation": env.observation_space, "action_mask": mask})

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Any]:
        """Begins a game; see :class:`~patchwork_env.envs.single.GameEnv`."""
        observation, info = self.env.reset(seed=seed, options=options)
        return _masked(observation, info), info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Plays an action; see :class:`~patchwork_env.envs.single.GameEnv`."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        return _masked(observation, info), reward, terminated, truncated, info


def _masked(observation: Any, info: Mapping[str, Any]) -> dict[str, Any]:
    return {"observation": observation, "action_mask": info["action_mask"]}


def environment_of(
    rules: Rules, options: Mapping[str, Any], rewards: str, opponent: str | None
) -> EnvSpec | None:
    """The specification of the environment in which a learner meets what a player of the dataset met.

    Args:
        rules: The rules of the game.
        options: All options of the game, by name.
        rewards: The kind of rewards, by name.
        opponent: The spec of the opponent; None if there is none.

    Returns:
        The specification, whose environment has the dataset's spaces; None for games that have no name among
        the environments of Gymnasium.
    """
    name = f"{rules.name.capitalize()}-v0"
    if name not in gymnasium.registry:
        return None
    spec = copy.deepcopy(gymnasium.spec(name))
    spec.kwargs = {**options, "rewards": rewards}
    if opponent is not None:
        spec.kwargs["opponent"] = opponent
    spec.additional_wrappers = (WrapperSpec(MaskedObservation.__name__, _ENTRY_POINT, {}),)
    return spec
