"""Models of MaskablePPO as agents that play their present weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from gymnasium import ObservationWrapper
from gymnasium.spaces import Dict
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.running_mean_std import RunningMeanStd
from stable_baselines3.common.vec_env import VecCheckNan, VecEnv, VecMonitor, VecNormalize, VecVideoRecorder
from stable_baselines3.common.vec_env.base_vec_env import VecEnvWrapper
from torch import Tensor, nn

from patchwork_env.agents import ragged
from patchwork_env.agents.base import Actions, SamplingAgent, views_of
from patchwork_env.agents.networks import PolicyAgent, PolicyNetwork
from patchwork_env.core.kernels import States
from patchwork_env.core.names import short_repr
from patchwork_env.games import rules_of
from patchwork_env.integrations.sb3.policy import PatchworkPolicy, are_within, game_of

_KNOWN = (VecNormalize, VecMonitor, VecCheckNan, VecVideoRecorder)
"""The wrappers that leave observations alone, and the one that can be applied here."""


def as_agent(
    model: Any, name: str | None = None, *, sample: bool = False, seed: int | None = None
) -> SamplingAgent:
    """Return the agent that plays a model's present weights, also while it learns.

    ``env.set_opponents([as_agent(model, sample=True)])`` is an opponent that follows the learner. It sees
    what ``VecNormalize`` makes of the model's observations, with its present statistics.

    The model is a ``MaskablePPO`` with a policy for the spaces of a game, flat or named, or such a policy, or
    what :func:`snapshot_of` gave; others, and observations that something unknown changes, are a ValueError.
    The agent draws actions from the policy if it is to ``sample``, and else plays the likeliest.
    """
    name, normalize = name or type(model).__name__, None
    policy = getattr(model, "policy", model)
    if isinstance(model, BaseAlgorithm):
        normalize = _normalization_of(model)
    elif isinstance(model, NormalizedPolicy):
        normalize = model.normalize
    network = policy.network if isinstance(policy, PatchworkPolicy) else policy
    if isinstance(network, PolicyNetwork):
        return PolicyAgent(network, name, sample=sample, seed=seed)
    if isinstance(policy, MaskableActorCriticPolicy):
        return MaskablePolicyAgent(policy, name, normalize, sample=sample, seed=seed)
    raise ValueError(f"{short_repr(model)} is not a MaskablePPO or a policy of one")


def snapshot_of(model: Any) -> nn.Module:
    """Return a copy of the parts of a model with which :func:`as_agent` plays its present weights."""
    policy, normalize = model.policy, _normalization_of(model)
    if isinstance(policy, PatchworkPolicy):
        network: nn.Module = policy.network
        return network
    _forget_gradients(policy)
    return policy if normalize is None else NormalizedPolicy(policy, normalize)


class Normalization(nn.Module):
    """The normalization of ``VecNormalize`` with its present statistics; copies keep theirs."""

    def __init__(self, env: VecNormalize) -> None:
        super().__init__()
        self.statistics: Any = env.obs_rms
        self._keys, self._epsilon, self._clip = env.norm_obs_keys or (), env.epsilon, env.clip_obs

    def forward(self, seen: Any) -> Any:
        """Return flat or named observations, changed."""
        if isinstance(seen, dict):
            return seen | {key: self._normalized(seen[key], self.statistics[key]) for key in self._keys}
        return self._normalized(seen, self.statistics)

    def _normalized(self, seen: Any, statistics: RunningMeanStd) -> Any:
        scaled = (seen - statistics.mean) / np.sqrt(statistics.var + self._epsilon)
        return np.clip(scaled, -self._clip, self._clip).astype(np.float32)

    def get_extra_state(self) -> Tensor:
        """Return means and variances of flat observations, float64 ``(2, size)``."""
        return torch.from_numpy(np.stack([self.statistics.mean, self.statistics.var]))

    def set_extra_state(self, state: Any) -> None:
        """Take over means and variances."""
        self.statistics.mean, self.statistics.var = state.numpy().reshape(2, -1).copy()


class NormalizedPolicy(nn.Module):
    """A policy of MaskablePPO, with what its flat observations go through."""

    def __init__(self, policy: MaskableActorCriticPolicy, normalize: Normalization) -> None:
        super().__init__()
        self.policy, self.normalize = policy, normalize


class MaskablePolicyAgent(SamplingAgent):
    """Plays the present weights of any policy of MaskablePPO, also while it learns.

    ``normalize`` is what the policy's observations go through. Unless it samples, it plays the most probable
    action. Spaces that are those of no game are a ValueError.
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
        _forget_gradients(self.policy)
        return super().__getstate__()

    def act_batch(self, states: States) -> Actions:
        """Return a legal action for the current player of every game, int64 ``(n,)``."""
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


def _forget_gradients(policy: Any) -> None:
    """Remove a policy's last distribution, whose gradients would prevent a copy."""
    policy.action_dist.distribution = None


def _normalization_of(model: BaseAlgorithm) -> Normalization | None:
    """Return the normalization of a model's observations, or None; ValueError if it is not applicable."""
    env, normalize = model.get_env(), model.get_vec_normalize_env()
    _check_wrappers(env)
    if isinstance(model.policy, PatchworkPolicy):  # it learns from no observations that were changed
        return None
    if normalize is not None:
        return Normalization(normalize) if normalize.norm_obs else None
    seen = model._last_obs
    if model._last_original_obs is not None and (
        seen is None or not are_within(model.observation_space, seen)
    ):
        raise ValueError(
            "the model learned with VecNormalize, and its environment has none: "
            "MaskablePPO.load(path, env=VecNormalize.load(path_of_statistics, env)) brings it back, or "
            "env=VecNormalize(env, norm_obs=False) if it changed only rewards"
        )
    return None


def _check_wrappers(env: VecEnv | None) -> None:
    if env is not None and any(env.env_is_wrapped(ObservationWrapper)):
        raise ValueError(
            "an environment of the model is within an ObservationWrapper of Gymnasium, which agents cannot "
            "apply; VecNormalize of Stable-Baselines3 they can"
        )
    while isinstance(env, VecEnvWrapper):
        if not isinstance(env, _KNOWN):
            raise ValueError(
                f"the environment of the model is within {type(env).__name__}, which agents cannot apply: "
                "change observations with VecNormalize alone, or derive a wrapper that leaves them as they "
                "are from VecMonitor or VecCheckNan"
            )
        env = env.venv
