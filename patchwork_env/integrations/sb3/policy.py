"""A policy for MaskablePPO that scores only legal actions, agents of models, and a rollout buffer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import torch
from gymnasium import ObservationWrapper
from gymnasium.spaces import Box, Dict, Space
from sb3_contrib.common.maskable.buffers import MaskableRolloutBuffer
from sb3_contrib.common.maskable.distributions import MaskableCategoricalDistribution, MaskableDistribution
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.vec_env import VecCheckNan, VecMonitor, VecNormalize, VecVideoRecorder
from stable_baselines3.common.vec_env.base_vec_env import VecEnvWrapper
from torch import Tensor, nn

from patchwork_env.agents.base import Actions, SamplingAgent, views_of
from patchwork_env.agents.network_config import NetworkConfig
from patchwork_env.agents.networks import PolicyAgent, PolicyNetwork, network_class
from patchwork_env.agents.ragged import sample_legal
from patchwork_env.core.checks import check_at_least_one
from patchwork_env.core.kernels import States
from patchwork_env.core.names import short_repr
from patchwork_env.envs.options import complete
from patchwork_env.envs.spaces import GameSpaces
from patchwork_env.errors import DivergenceError, UnknownOptionError
from patchwork_env.games import GAMES, rules_of
from patchwork_env.integrations.masked_policy import Evaluated, draw, evaluate, likeliest
from patchwork_env.learning.algorithms.common.gradients import ThreadPool, listed

Masks = npt.NDArray[Any] | Tensor
NEEDS_MASKS = "only an algorithm that reads action masks can learn here: MaskablePPO of sb3_contrib"
_NAMES = ("values", "log-probabilities", "entropies")  # of the results of ``evaluate_actions``


class PatchworkPolicy(MaskableActorCriticPolicy):
    """Policy and value of a :class:`~patchwork_env.agents.networks.PolicyNetwork` for ``MaskablePPO``.

    The spaces determine the game. Only legal actions are scored, so every call but ``predict_values`` needs
    masks. ``deterministic=True`` chooses as agents do: the most probable action of the most probable kind.

    The ``policy_kwargs`` are ``network``, settings such as ``{"width": 128}``, see
    :class:`~patchwork_env.agents.networks.NetworkConfig`; ``threads``, the number of threads that share a
    gradient step; and those of the optimizer. ValueError for spaces that no game has, and for a setting that
    is not allowed.
    """

    network: PolicyNetwork

    def __init__(
        self,
        observation_space: Space[Any],
        action_space: Space[Any],
        lr_schedule: Any,
        network: Mapping[str, Any] | None = None,
        threads: int = 1,
        optimizer_class: type[torch.optim.Optimizer] = torch.optim.Adam,
        optimizer_kwargs: dict[str, Any] | None = None,
        **unknown: Any,
    ) -> None:
        if "use_sde" in unknown:  # PPO, A2C, TRPO and RecurrentPPO pass it
            raise UnknownOptionError(f"PatchworkPolicy got an unexpected argument 'use_sde': {NEEDS_MASKS}")
        complete(unknown, {}, type(self))
        self._game = game_of(observation_space, action_space)
        self._sizes = dict(network or {})
        self._threads = ThreadPool(check_at_least_one(threads, "threads"))
        super().__init__(
            observation_space,
            action_space,
            lr_schedule,
            optimizer_class=optimizer_class,
            optimizer_kwargs=optimizer_kwargs,
        )

    def _build(self, lr_schedule: Any) -> None:
        self.network = network_class(self._game)(NetworkConfig(**self._sizes))
        self.optimizer = self.optimizer_class(self.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs)  # type: ignore[call-arg]

    def get_extra_state(self) -> dict[str, Any]:
        """Return the game and the network's settings, which files of weights store."""
        return {"game": self._game, "network": self.network.config.model_dump()}

    def set_extra_state(self, state: Any) -> None:
        """Refuse the weights of another network."""
        if state != self.get_extra_state():
            raise ValueError(f"the weights are those of {short_repr(state)}, not of {self.get_extra_state()}")

    @torch.compiler.disable
    def forward(
        self, obs: Tensor, deterministic: bool = False, action_masks: Masks | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return actions ``(n,)``, values ``(n, 1)`` and log-probabilities ``(n,)``."""
        evaluated = self._scored(obs, action_masks)
        actions = likeliest(self.network, evaluated) if deterministic else draw(evaluated)
        return actions, evaluated.output.values.unsqueeze(1), evaluated.log_probabilities_of(actions)

    @torch.compiler.disable
    def evaluate_actions(
        self, obs: Tensor, actions: Tensor, action_masks: Masks | None = None
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """Return values ``(n, 1)``, log-probabilities ``(n,)`` of legal actions, and entropies ``(n,)``.

        DivergenceError if one is not finite.
        """

        def work(obs: Tensor, actions: Tensor, masks: Tensor) -> tuple[Tensor, ...]:
            evaluated = evaluate(self.network, obs, masks)
            return (
                evaluated.output.values.unsqueeze(1),
                evaluated.log_probabilities_of(actions),
                evaluated.output.entropies,
            )

        samples = (obs.flatten(1), actions.long(), self._as_bool(action_masks))
        results = in_parallel(self._threads, work, list(self.parameters()), samples)
        if not all(torch.isfinite(result.sum()) for result in results):
            means = {name: result.mean().item() for name, result in zip(_NAMES, results, strict=True)}
            raise DivergenceError(f"training diverged: means over a minibatch are {listed(means)}")
        return cast(tuple[Tensor, Tensor, Tensor], results)

    @torch.compiler.disable
    def get_distribution(self, obs: Any, action_masks: Masks | None = None) -> MaskableDistribution:
        """Return the distribution over all actions; illegal actions have the probability 0."""
        num_actions = int(self.action_space.n)  # type: ignore[attr-defined]
        logits = self._scored(obs, action_masks).dense(num_actions)
        return MaskableCategoricalDistribution(num_actions).proba_distribution(logits)

    @torch.compiler.disable
    def predict_values(self, obs: Tensor) -> Tensor:
        """Return values ``(n, 1)``."""
        values: Tensor = self.network.values(obs.flatten(1))
        return values.unsqueeze(1)

    def _predict(
        self, observation: Any, deterministic: bool = False, action_masks: Masks | None = None
    ) -> Tensor:
        actions, _, _ = self.forward(observation, deterministic, action_masks)
        return actions

    def _scored(self, obs: Tensor, action_masks: Masks | None) -> Evaluated:
        seen, space = obs.cpu().numpy(), cast(Box, self.observation_space)
        if not np.all((space.low <= seen) & (seen <= space.high)):  # VecNormalize makes negative entries
            raise ValueError(
                "PatchworkPolicy reads observations as they are, and these are not within the observation "
                "space: use VecNormalize(env, norm_obs=False), and no wrapper that changes observations"
            )
        return evaluate(self.network, obs.flatten(1), self._as_bool(action_masks))

    def _as_bool(self, masks: Masks | None) -> Tensor:
        if masks is None:
            raise ValueError("action_masks is None; PatchworkPolicy needs the masks of legal actions")
        flags = torch.as_tensor(masks, dtype=torch.bool, device=self.device)
        return flags.reshape(-1, int(self.action_space.n))  # type: ignore[attr-defined]

    def _get_constructor_parameters(self) -> dict[str, Any]:
        return {
            "observation_space": self.observation_space,
            "action_space": self.action_space,
            "lr_schedule": self._dummy_schedule,
            "network": self.network.config.model_dump(),
            "threads": self._threads.size,
            "optimizer_class": self.optimizer_class,
            "optimizer_kwargs": self.optimizer_kwargs,
        }


class BoolMaskBuffer(MaskableRolloutBuffer):
    """MaskablePPO's rollout buffer with masks of one byte per action instead of four."""

    def reset(self) -> None:
        """Empty the buffer."""
        # The method of MaskableRolloutBuffer itself would allocate float32 masks.
        super(MaskableRolloutBuffer, self).reset()
        self.mask_dims = int(cast(Any, self.action_space).n)
        self.action_masks = np.ones((self.buffer_size, self.n_envs, self.mask_dims), np.bool_)


# --- agents -----------------------------------------------------------------------------------------------

_UNCHANGED = (VecMonitor, VecCheckNan, VecVideoRecorder)  # wrappers that leave observations as they are


def as_agent(
    model: Any, name: str | None = None, *, sample: bool = False, seed: int | None = None
) -> SamplingAgent:
    """Return the agent that plays a model's current weights, also during training.

    ``env.set_opponents([as_agent(model, sample=True)])`` is an opponent that follows the learner.

    The model is a ``MaskablePPO`` for the spaces of a game, flat or named, or its policy, or the result of
    :func:`snapshot_of`; ValueError for others, and if the model's environment changes observations. The agent
    draws actions from the policy if ``sample`` is True; else it plays the most probable one.
    """
    if isinstance(model, BaseAlgorithm):
        _check_observations(model)
    name, policy = name or type(model).__name__, getattr(model, "policy", model)
    network = policy.network if isinstance(policy, PatchworkPolicy) else policy
    if isinstance(network, PolicyNetwork):
        return PolicyAgent(network, name, sample=sample, seed=seed)
    if isinstance(policy, MaskableActorCriticPolicy):
        return MaskablePolicyAgent(policy, name, sample=sample, seed=seed)
    raise ValueError(f"{short_repr(model)} is not a MaskablePPO or a policy of one")


def snapshot_of(model: Any) -> nn.Module:
    """Return the module to copy for a past self, whose copies :func:`as_agent` plays."""
    _check_observations(model)
    if isinstance(model.policy, PatchworkPolicy):
        network: nn.Module = model.policy.network
        return network
    _forget_gradients(model.policy)
    policy: nn.Module = model.policy
    return policy


class MaskablePolicyAgent(SamplingAgent):
    """Plays the current weights of any policy of MaskablePPO, also during training.

    Unless it samples, it plays the most probable action. ValueError for spaces that no game has.
    """

    def __init__(
        self, policy: MaskableActorCriticPolicy, name: str, *, sample: bool = False, seed: int | None = None
    ) -> None:
        super().__init__(name, sample, seed)
        self.policy = policy
        self._named = isinstance(policy.observation_space, Dict)
        self.games = (game_of(policy.observation_space, policy.action_space, self._named),)

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes, without a distribution that cannot be copied."""
        _forget_gradients(self.policy)
        return super().__getstate__()

    def act_batch(self, states: States) -> Actions:
        """Return a legal action for the current player of every game, int64 ``(n,)``."""
        self.check_states(states)
        observations, masks = views_of(states)
        seen: Any = rules_of(states).layout.as_dict(observations) if self._named else observations
        self.policy.set_training_mode(False)
        with torch.no_grad():
            tensors: Any = self.policy.obs_to_tensor(seen)[0]
            distribution: Any = self.policy.get_distribution(tensors, action_masks=masks)
        if not self.sample:
            actions: Actions = distribution.mode().cpu().numpy()
            return actions
        return sample_legal(states, distribution.distribution.logits.cpu().numpy(), self._random)


def _forget_gradients(policy: Any) -> None:
    """Remove a policy's last distribution, because its tensors have gradients and cannot be copied."""
    policy.action_dist.distribution = None


def _check_observations(model: BaseAlgorithm) -> None:
    """Raise ValueError if the model's environment changes observations, which agents cannot do."""
    if isinstance(model.policy, PatchworkPolicy):  # it refuses changed observations itself
        return
    env = model.get_env()
    changing = ObservationWrapper.__name__ if env and any(env.env_is_wrapped(ObservationWrapper)) else None
    if model._last_original_obs is not None and model.get_vec_normalize_env() is None:
        changing = "a VecNormalize that is missing now"
    while isinstance(env, VecEnvWrapper):
        normalizes_rewards = isinstance(env, VecNormalize) and not env.norm_obs
        if not isinstance(env, _UNCHANGED) and not normalizes_rewards:
            changing = type(env).__name__
        env = env.venv
    if changing:
        raise ValueError(
            f"the model learned within {changing}, which may change observations; agents see them unchanged. "
            "VecNormalize(env, norm_obs=False) changes only rewards"
        )


# --- spaces -----------------------------------------------------------------------------------------------


def game_of(observation_space: Space[Any], action_space: Space[Any], named: bool = False) -> str:
    """Return the name of the game with these spaces, of observations as vectors or as ``named`` tensors."""
    for game in GAMES:
        spaces = GameSpaces(rules_of(game))
        if observation_space == spaces.observation_space(named) and action_space == spaces.action_space():
            return str(game)
    raise ValueError(
        f"no game has the spaces {short_repr(observation_space)} and {short_repr(action_space)}; they must "
        f"be those of {' or '.join(GAMES)}, with observation='{'dict' if named else 'flat'}' and within no "
        "wrapper that changes observations"
    )


# --- threads ----------------------------------------------------------------------------------------------


def in_parallel(
    threads: ThreadPool,
    evaluate: Callable[..., tuple[Tensor, ...]],
    parameters: list[Tensor],
    samples: Sequence[Tensor],
) -> tuple[Tensor, ...]:
    """Compute ``evaluate(*samples)``, and later its gradient, with a part of the samples in each thread.

    ``evaluate`` takes samples ``(n, ...)`` and returns tensors ``(n, ...)``, row by row;
    ``backward()`` gives the parameters their gradients as usual.
    """
    if threads.size == 1 or not torch.is_grad_enabled():
        return evaluate(*samples)
    results: tuple[Tensor, ...] = _InParallel.apply(threads, evaluate, samples, *parameters)
    return results


class _InParallel(torch.autograd.Function):
    """Keeps one graph per part, because PyTorch computes the gradient of a graph in one thread."""

    @staticmethod
    def forward(
        ctx: Any,
        threads: ThreadPool,
        evaluate: Callable[..., tuple[Tensor, ...]],
        samples: Sequence[Tensor],
        *parameters: Tensor,
    ) -> tuple[Tensor, ...]:
        def work(part: Sequence[Tensor]) -> tuple[Tensor, ...]:
            with torch.enable_grad():
                return evaluate(*part)

        parts = list(zip(*(tensor.tensor_split(threads.size) for tensor in samples), strict=True))
        ctx.threads, ctx.parameters = threads, parameters
        ctx.results = threads.map(work, parts)
        return tuple(torch.cat(of_parts).detach() for of_parts in zip(*ctx.results, strict=True))

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        def work(number: int) -> tuple[Tensor, ...]:
            results = ctx.results[number]
            return torch.autograd.grad(results, ctx.parameters, [split[number] for split in splits])

        splits = [gradient.tensor_split(ctx.threads.size) for gradient in gradients]
        of_parts = ctx.threads.map(work, range(ctx.threads.size))
        sums = (torch.stack(parts).sum(0) for parts in zip(*of_parts, strict=True))
        return (None, None, None, *sums)
