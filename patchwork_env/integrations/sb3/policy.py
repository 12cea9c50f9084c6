"""A policy of MaskablePPO that works on legal actions alone, and a rollout buffer for its masks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, ParamSpec, TypeVar, cast

import numpy as np
import numpy.typing as npt
import torch
from gymnasium.spaces import Dict, Space
from sb3_contrib.common.maskable.buffers import MaskableRolloutBuffer
from sb3_contrib.common.maskable.distributions import MaskableCategoricalDistribution, MaskableDistribution
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from torch import Tensor

from patchwork_env.agents.network_config import NetworkConfig
from patchwork_env.agents.networks import PolicyNetwork, network_class
from patchwork_env.core.names import short_repr
from patchwork_env.envs.options import complete
from patchwork_env.envs.spaces import GameSpaces
from patchwork_env.errors import DivergenceError, UnknownOptionError
from patchwork_env.games import GAMES, rules_of
from patchwork_env.integrations.masked_policy import Evaluated, draw, evaluate, likeliest
from patchwork_env.learning.algorithms.common.gradients import ThreadPool, listed

Masks = npt.NDArray[Any] | Tensor
NEEDS_MASKS = "only an algorithm that reads action masks can learn here: MaskablePPO of sb3_contrib"
_NAMES = ("values", "log-probabilities", "entropies")  # what the loss is computed from
_P = ParamSpec("_P")
_R = TypeVar("_R")


def uncompiled(method: Callable[_P, _R]) -> Callable[_P, _R]:
    """Leave a method to NumPy and Numba within ``torch.compile``, also if the method itself is compiled."""
    disabled = torch.compiler.disable(method)

    @wraps(method)  # torch.compile would look through `disabled` alone
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        return disabled(*args, **kwargs)

    return call


class PatchworkPolicy(MaskableActorCriticPolicy):
    """Policy and value of a :class:`~patchwork_env.agents.networks.PolicyNetwork` for ``MaskablePPO``.

    The spaces say which game it is: Patchwork, or NMBR 9. Only legal actions are scored, so every call but
    ``predict_values`` needs masks. ``deterministic=True`` is the choice of the agents here: the most probable
    action of the most probable kind.

    Among ``policy_kwargs`` may be ``network``, sizes by name as in ``{"width": 128}``, see
    :class:`~patchwork_env.agents.networks.NetworkConfig`; ``threads``, which share a gradient step; and
    those of the optimizer. Spaces of no game, and sizes that are not allowed, are a ValueError.
    """

    network: PolicyNetwork  # which agents can play while it learns

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
        self._threads = ThreadPool(threads)
        super().__init__(
            observation_space,
            action_space,
            lr_schedule,
            optimizer_class=optimizer_class,
            optimizer_kwargs=optimizer_kwargs,
        )

    def __getattr__(self, name: str) -> Any:
        """Return a parameter or module; AttributeError for others, such as DQN's ``q_net``."""
        try:
            return super().__getattr__(name)
        except AttributeError:
            raise AttributeError(f"PatchworkPolicy has no attribute {name!r}: {NEEDS_MASKS}") from None

    def _build(self, lr_schedule: Any) -> None:
        self.network = network_class(self._game)(NetworkConfig(**self._sizes))
        self.optimizer = self.optimizer_class(self.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs)  # type: ignore[call-arg]

    def get_extra_state(self) -> dict[str, Any]:
        """Return the game and the network's settings, with which a file of weights can be played."""
        return {"game": self._game, "network": self.network.config.model_dump()}

    def set_extra_state(self, state: Any) -> None:
        """Refuse the weights of another network."""
        if state != self.get_extra_state():
            raise ValueError(f"the weights are those of {short_repr(state)}, not of {self.get_extra_state()}")

    @uncompiled
    def forward(
        self, obs: Tensor, deterministic: bool = False, action_masks: Masks | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return actions ``(n,)``, values ``(n, 1)`` and log-probabilities ``(n,)``."""
        evaluated = self._scored(obs, action_masks)
        actions = likeliest(self.network, evaluated) if deterministic else draw(evaluated)
        return actions, evaluated.output.values.unsqueeze(1), evaluated.of(actions)

    @uncompiled
    def evaluate_actions(
        self, obs: Tensor, actions: Tensor, action_masks: Masks | None = None
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """Return values ``(n, 1)``, log-probabilities ``(n,)`` of legal actions, and entropies ``(n,)``.

        Numbers that are not finite, with which the loss would not be either, are a DivergenceError.
        """

        def work(obs: Tensor, actions: Tensor, masks: Tensor) -> tuple[Tensor, ...]:
            evaluated = evaluate(self.network, obs, masks)
            return evaluated.output.values.unsqueeze(1), evaluated.of(actions), evaluated.output.entropies

        samples = (obs.flatten(1), actions.long(), self._as_bool(action_masks))
        results = in_parallel(self._threads, work, list(self.parameters()), samples)
        if not all(torch.isfinite(result.sum()) for result in results):
            means = {name: result.mean().item() for name, result in zip(_NAMES, results, strict=True)}
            raise DivergenceError(f"training diverged: means over a minibatch are {listed(means)}", means)
        return cast(tuple[Tensor, Tensor, Tensor], results)

    @uncompiled
    def get_distribution(self, obs: Any, action_masks: Masks | None = None) -> MaskableDistribution:
        """Return the distribution over all actions, of which illegal ones have the probability 0."""
        num_actions = int(self.action_space.n)  # type: ignore[attr-defined]
        logits = self._scored(obs, action_masks).dense(num_actions)
        distribution = MaskableCategoricalDistribution(num_actions).proba_distribution(logits)
        distribution.apply_masking(action_masks)
        return distribution

    @uncompiled
    def predict_values(self, obs: Tensor) -> Tensor:  # type: ignore[override]
        """Return values ``(n, 1)``."""
        values: Tensor = self.network.values(obs.flatten(1))
        return values.unsqueeze(1)

    def _predict(
        self, observation: Any, deterministic: bool = False, action_masks: Masks | None = None
    ) -> Tensor:
        actions, _, _ = self.forward(observation, deterministic, action_masks)
        return actions

    def _scored(self, obs: Tensor, action_masks: Masks | None) -> Evaluated:
        if not are_within(self.observation_space, obs.cpu().numpy()):
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
        super(MaskableRolloutBuffer, self).reset()  # its own would allocate the large masks
        self.mask_dims = int(cast(Any, self.action_space).n)
        self.action_masks = np.ones((self.buffer_size, self.n_envs, self.mask_dims), np.bool_)


# --- spaces -----------------------------------------------------------------------------------------------


def are_within(space: Any, seen: Any) -> bool:
    """Whether flat or named observations are within their space; those of ``VecNormalize`` are below 0."""
    if isinstance(space, Dict):
        return all(are_within(part, seen[name]) for name, part in space.items())
    return bool(np.all((space.low <= seen) & (seen <= space.high)))


def game_of(observation_space: Space[Any], action_space: Space[Any], named: bool = False) -> str:
    """Return the name of the game with these spaces, of observations as vectors or as ``named`` tensors."""
    for game in GAMES:
        spaces = GameSpaces(rules_of(game))
        if observation_space == spaces.observation_space(named) and action_space == spaces.action_space():
            return str(game)
    raise ValueError(
        f"no game has the spaces {short_repr(observation_space)} and {short_repr(action_space)}; they must "
        f"be those of {' or '.join(GAMES)}, with observation='{'dict' if named else 'flat'}' and within no "
        "wrapper that changes observations but VecNormalize"
    )


# --- threads ----------------------------------------------------------------------------------------------


def in_parallel(
    threads: ThreadPool,
    evaluate: Callable[..., tuple[Tensor, ...]],
    parameters: list[Tensor],
    samples: Sequence[Tensor],
) -> tuple[Tensor, ...]:
    """Compute ``evaluate(*samples)``, and later its gradient, by threads that each do a part of the samples.

    ``evaluate`` takes samples ``(n, ...)`` and returns tensors ``(n, ...)``, row by row; the parameters get
    gradients within the ordinary ``backward()``.
    """
    if threads.size == 1 or not torch.is_grad_enabled():
        return evaluate(*samples)
    results: tuple[Tensor, ...] = _InParallel.apply(threads, evaluate, samples, *parameters)
    return results


class _InParallel(torch.autograd.Function):
    """Keeps one graph per part: PyTorch goes through a single graph with a single thread."""

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
