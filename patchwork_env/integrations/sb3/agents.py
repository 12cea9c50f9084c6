"""Models of MaskablePPO as agents that play their present weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from gymnasium import ObservationWrapper
from gymnasium.spaces import Dict
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.vec_env import (
    VecCheckNan,
    VecEnv,
    VecMonitor,
    VecNormalize,
    VecVideoRecorder,
)
from stable_baselines3.common.vec_env.base_vec_env import VecEnvWrapper
from torch import Tensor, nn

from patchwork_env.agents import ragged
from patchwork_env.agents.base import Actions, SamplingAgent
from patchwork_env.agents.networks import PolicyNetwork
from patchwork_env.agents.policy import PolicyAgent
from patchwork_env.agents.simple import views_of
from patchwork_env.core.kernels import States
from patchwork_env.core.names import short_repr
from patchwork_env.games import rules_of
from patchwork_env.integrations.sb3.policy import PatchworkPolicy, are_within, game_of

_KNOWN = (VecNormalize, VecMonitor, VecCheckNan, VecVideoRecorder)
"""The wrappers that leave observations alone, and the one that can be applied here."""


class Normalization:
    """What ``VecNormalize`` makes of observations, with its present statistics; copies keep theirs.

    Args:
        env: The ``VecNormalize``.
    """

    def __init__(self, env: VecNormalize) -> None:
        self._env = env

    @property
    def statistics(self) -> Any:
        """The ``RunningMeanStd`` of flat observations."""
        return self._env.obs_rms

    def __call__(self, seen: Any) -> Any:
        """Flat or named observations, changed."""
        return self._env.normalize_obs(seen)

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles lack the environment; those of ``VecNormalize`` could not be copied again."""
        env = VecNormalize.__new__(VecNormalize)
        env.__dict__.update(self._env.__dict__, venv=None, class_attributes={}, returns=None)
        return Normalization, (env,)


class MaskablePolicyAgent(SamplingAgent):
    """Plays the present weights of any policy of MaskablePPO, also while it learns.

    For the other arguments see :class:`~patchwork_env.agents.base.SamplingAgent`; unless it samples, it plays
    the most probable action.

    Args:
        policy: The policy, for flat observations or for named tensors.
        normalize: What the policy's observations go through, with its present statistics; or None.

    Raises:
        ValueError: The policy's spaces are those of no game.
    """

    def __init__(
        self,
        policy: MaskableActorCriticPolicy,
        name: str,
        normalize: Normalization | None = None,
        *,
        sample: bool = False,
        seed: int | None = None,
    ) -> None:
        super().__init__(name, sample, seed)
        self.policy, self.normalize = policy, normalize
        self._named = isinstance(policy.observation_space, Dict)
        self.games = (game_of(policy.observation_space, policy.action_space, self._named),)

    def __getstate__(self) -> dict[str, Any]:
        """The attributes, whose tensors can be copied."""
        forget_gradients(self.policy)
        return super().__getstate__()

    def act_batch(self, states: States) -> Actions:
        """A legal action for the current player of every game, int64 ``(n,)``."""
        self.check_states(states)
        observations, masks = views_of(states)
        seen: Any = rules_of(states).layout.as_dict(observations) if self._named else observations
        seen = seen if self.normalize is None else self.normalize(seen)
        self.policy.set_training_mode(False)
        with torch.no_grad():
            tensors: Any = self.policy.obs_to_tensor(seen)[0]
            distribution: Any = self.policy.get_distribution(tensors, action_masks=masks)
        if not self.sample:
            actions: Actions = distribution.mode().cpu().numpy()
            return actions
        rows, legal = np.nonzero(masks)
        log_probabilities = distribution.distribution.logits.cpu().numpy()[rows, legal]
        counts = np.bincount(rows, minlength=len(states))
        return legal[ragged.sample(counts, log_probabilities, self._random.random(len(states)))]


class NormalizedPolicy(nn.Module):
    """A policy of MaskablePPO, with what its flat observations go through."""

    def __init__(self, policy: MaskableActorCriticPolicy, normalize: Normalization) -> None:
        super().__init__()
        self.policy, self.normalize = policy, normalize

    def get_extra_state(self) -> Tensor:
        """Means and variances, float64 ``(2, size)``."""
        statistics = self.normalize.statistics
        return torch.from_numpy(np.stack([statistics.mean, statistics.var]))

    def set_extra_state(self, state: Any) -> None:
        """Takes over means and variances."""
        statistics = self.normalize.statistics
        statistics.mean, statistics.var = state.numpy().reshape(2, -1).copy()


def forget_gradients(policy: Any) -> None:
    """Makes a policy one that can be copied: its last distribution may be tied to gradients."""
    policy.action_dist.distribution = None


def normalization_of(model: Any) -> Normalization | None:
    """What changes the observations of a model, or of a :class:`NormalizedPolicy`; None if nothing does.

    Raises:
        ValueError: Something changes them that cannot be applied here.
    """
    if not isinstance(model, BaseAlgorithm):
        return model.normalize if isinstance(model, NormalizedPolicy) else None
    env, normalize = model.get_env(), model.get_vec_normalize_env()
    _check_wrappers(env)
    if env is not None and any(env.env_is_wrapped(ObservationWrapper)):
        raise ValueError(
            "an environment of the model is within an ObservationWrapper of Gymnasium, which agents cannot "
            "apply; VecNormalize of Stable-Baselines3 they can"
        )
    if isinstance(model.policy, PatchworkPolicy):  # it learns from no observations that were changed
        return None
    if normalize is not None:
        return Normalization(normalize) if normalize.norm_obs else None
    seen = model._last_obs
    if model._last_original_obs is not None and (
        seen is None or not are_within(model.observation_space, seen)
    ):
        raise ValueError(
            "the model learned behind VecNormalize, and its environment has none: "
            "MaskablePPO.load(path, env=VecNormalize.load(path_of_statistics, env)) brings it back, or "
            "env=VecNormalize(env, norm_obs=False) if it changed only rewards"
        )
    return None


def _check_wrappers(env: VecEnv | None) -> None:
    """Refuses wrappers of Stable-Baselines3 that may change observations."""
    while isinstance(env, VecEnvWrapper):
        if not isinstance(env, _KNOWN):
            raise ValueError(
                f"the environment of the model is within {type(env).__name__}, which agents cannot apply: "
                "change observations with VecNormalize alone, or derive a wrapper that leaves them as they "
                "are from VecMonitor or VecCheckNan"
            )
        env = env.venv


def as_agent(
    model: Any, name: str | None = None, *, sample: bool = False, seed: int | None = None
) -> SamplingAgent:
    """The agent that plays a model's present weights, also while it learns.

    ``env.set_opponents([as_agent(model, sample=True)])`` is an opponent that follows the learner.

    What ``VecNormalize`` makes of the observations of a model, with its present statistics, the agent sees.

    Args:
        model: A ``MaskablePPO`` with a policy for the spaces of a game, flat or named, or such a policy; or
            the network of a ``PatchworkPolicy``.
        name: The name of the agent in tables and messages; that of the model's class by default.
        sample: Whether to draw actions from the policy, or to play the likeliest.
        seed: The seed of the draws, ``0 ... 2**64 - 1``; None for fresh ones.

    Raises:
        ValueError: It is no such model, or observations are changed by something that is not known here.
    """
    policy, name = getattr(model, "policy", model), name or type(model).__name__
    normalize = normalization_of(model)
    network = policy.network if isinstance(policy, PatchworkPolicy) else policy
    if isinstance(network, PolicyNetwork):
        return PolicyAgent(network, name, sample=sample, seed=seed)
    if isinstance(policy, MaskableActorCriticPolicy):
        return MaskablePolicyAgent(policy, name, normalize, sample=sample, seed=seed)
    raise ValueError(f"{short_repr(model)} is no MaskablePPO, nor a policy of one")
