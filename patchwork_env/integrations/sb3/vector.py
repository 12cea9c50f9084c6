"""Vector environments of Gymnasium as environments of Stable-Baselines3."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode, VectorEnv
from stable_baselines3.common.vec_env import VecEnv

from patchwork_env.core.names import short_repr
from patchwork_env.integrations.sb3.vec_env import MaskedVecEnv

Info = dict[str, Any]
_MASK = "action_mask"


def as_vec_env(envs: VectorEnv[Any, Any, Any]) -> VecEnv:
    """The environments of ``gymnasium.make_vec`` for an algorithm of Stable-Baselines3, with action masks.

    >>> import gymnasium
    >>> envs = gymnasium.make_vec("patchwork_env:Patchwork-v0", num_envs=64, opponent="greedy")
    >>> as_vec_env(envs).reset().shape
    (64, 307)

    ``VecMonitor`` of Stable-Baselines3 adds the returns and lengths of episodes. :class:`SelfPlayVecEnv` is
    faster, and the one for self-play.

    Args:
        envs: Environments that begin the next episode in the step in which one ends, and whose infos hold
            ``action_mask``, as those of this package.

    Raises:
        ValueError: The environments begin episodes in another step.
    """
    mode = envs.metadata.get("autoreset_mode")
    if mode != AutoresetMode.SAME_STEP:
        raise ValueError(
            f"the environments have autoreset_mode {short_repr(mode)}; "
            "it must be AutoresetMode.SAME_STEP, as "
            "with vectorization_mode='vector_entry_point'"
        )
    return _VecEnvOfGymnasium(envs)


class _VecEnvOfGymnasium(MaskedVecEnv):
    def __init__(self, envs: VectorEnv[Any, Any, Any]) -> None:
        self._envs = envs
        self._masks = np.zeros((envs.num_envs, 0), np.int8)
        self._actions: npt.NDArray[Any] = np.zeros(envs.num_envs, np.int64)
        super().__init__(envs.num_envs, envs.single_observation_space, envs.single_action_space)

    def reset(self) -> Any:
        """Begins all episodes, after ``seed`` with new random numbers."""
        observations, infos = self._envs.reset(seed=self._seeds[0], options=self._options[0] or None)
        self._reset_seeds()
        self._reset_options()
        self._masks = infos[_MASK]
        return _copied(observations)

    def step_async(self, actions: npt.NDArray[Any]) -> None:
        """Takes the actions."""
        self._actions = actions

    def step_wait(self) -> tuple[Any, npt.NDArray[np.float32], npt.NDArray[np.bool_], list[Info]]:
        """Plays the actions."""
        observations, rewards, terminations, truncations, infos = self._envs.step(self._actions)
        self._masks = infos[_MASK]
        ends = terminations | truncations
        told: list[Info] = [{} for _ in range(self.num_envs)]
        for env in np.flatnonzero(ends).tolist():
            told[env] = _info_of_end(infos, env)
            told[env]["TimeLimit.truncated"] = bool(truncations[env] and not terminations[env])
        return _copied(observations), rewards.astype(np.float32), ends, told

    def close(self) -> None:
        """Closes the environments."""
        self._envs.close()

    def _attributes(self) -> dict[str, list[Any]]:
        """``action_masks`` and ``render_mode`` of all environments."""
        return {**super()._attributes(), "render_mode": [self._envs.render_mode] * len(self._masks)}


def _info_of_end(infos: Info, env: int) -> Info:
    """What is told of an environment whose episode ended: its last observation and its final info."""
    final = infos["final_info"]
    info = {key: final[key][env] for key in final if not key.startswith("_") and final[f"_{key}"][env]}
    return info | {"terminal_observation": infos["final_obs"][env]}


def _copied(observations: Any) -> Any:
    """Observations that the next step does not overwrite."""
    if isinstance(observations, dict):
        return {name: array.copy() for name, array in observations.items()}
    return observations.copy()
