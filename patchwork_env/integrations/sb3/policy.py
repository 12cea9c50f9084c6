"""A policy of MaskablePPO with the network that is shaped after the game."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
import torch
from gymnasium.spaces import Dict, Space
from sb3_contrib.common.maskable.distributions import MaskableCategoricalDistribution, MaskableDistribution
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from torch import Tensor

from patchwork_env.agents.networks import NetworkConfig, network_class
from patchwork_env.core.names import short_repr
from patchwork_env.envs.spaces import GameSpaces
from patchwork_env.games import GAMES, rules_of
from patchwork_env.integrations.sb3.mlp_policy import Masks, check_finite
from patchwork_env.integrations.sb3.threads import in_parallel
from patchwork_env.learning.algorithms.common.masked_policy import Evaluated, draw, evaluate, likeliest
from patchwork_env.learning.algorithms.common.threads import ThreadPool


class PatchworkPolicy(MaskableActorCriticPolicy):
    """Policy and value of a :class:`~patchwork_env.agents.networks.PolicyNetwork` for ``MaskablePPO``.

    The spaces say which game it is: Patchwork, or NMBR 9. Only legal actions are scored, so every call but
    ``predict_values`` needs masks. ``deterministic=True`` is the choice of the agents here: the most probable
    action of the most probable kind.

    Args:
        observation_space: The flat observations of a game.
        action_space: The actions of that game.
        lr_schedule: The learning rate as a function of the remaining progress, from 1 to 0.
        network: The sizes of the network and what it reads, by name, as in ``{"width": 128}``; see
            :class:`~patchwork_env.agents.networks.NetworkConfig`. What is left out has its default.
        threads: The number of threads that share a gradient step, or the threads themselves.
        optimizer_class: The optimizer, Adam by default.
        optimizer_kwargs: Its arguments but the learning rate.

    Attributes:
        network: The network, which agents can play while it learns.

    Raises:
        ValueError: The spaces are those of no game, or a size is not allowed.
    """

    def __init__(
        self,
        observation_space: Space[Any],
        action_space: Space[Any],
        lr_schedule: Any,
        network: Mapping[str, Any] | None = None,
        threads: int | ThreadPool = 1,
        optimizer_class: type[torch.optim.Optimizer] = torch.optim.Adam,
        optimizer_kwargs: dict[str, Any] | None = None,
    ) -> None:
        self._network_class = network_class(game_of(observation_space, action_space))
        self._sizes = _sizes(network or {})
        self._threads = threads if isinstance(threads, ThreadPool) else ThreadPool(threads)
        super().__init__(
            observation_space,
            action_space,
            lr_schedule,
            optimizer_class=optimizer_class,
            optimizer_kwargs=optimizer_kwargs,
        )

    def _build(self, lr_schedule: Any) -> None:
        """Makes the network and the optimizer."""
        self.network = self._network_class(self._sizes)
        self.optimizer = self.optimizer_class(self.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs)  # type: ignore[call-arg]

    def get_extra_state(self) -> dict[str, Any]:
        """What a file of weights must tell so that it can be played without the code that wrote it."""
        return {"game": self.network.game, "network": asdict(self.network.config)}

    def set_extra_state(self, state: Any) -> None:
        """Weights of another network are refused.

        Raises:
            ValueError: The weights are not for this network.
        """
        if state != self.get_extra_state():
            raise ValueError(f"the weights are those of {short_repr(state)}, not of {self.get_extra_state()}")

    def forward(
        self, obs: Tensor, deterministic: bool = False, action_masks: Masks | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Actions ``(n,)``, values ``(n, 1)`` and log-probabilities ``(n,)``."""
        evaluated = self._scored(obs, action_masks)
        if deterministic:
            actions = likeliest(self.network, evaluated)
        else:
            uniforms = torch.rand(len(evaluated.output.values), dtype=torch.float64).numpy()
            actions = draw(evaluated, uniforms)
        return actions, evaluated.output.values.unsqueeze(1), evaluated.of(actions)

    def evaluate_actions(
        self, obs: Tensor, actions: Tensor, action_masks: Masks | None = None
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """Values ``(n, 1)``, log-probabilities ``(n,)`` of legal actions, and entropies ``(n,)``.

        Raises:
            DivergenceError: One of them is not finite, so that the loss would not be finite either.
        """
        samples = (obs.flatten(1), actions.long(), self._as_bool(action_masks))
        results = in_parallel(self._threads, self._evaluate, list(self.parameters()), samples)
        return check_finite(results)

    def _evaluate(self, obs: Tensor, actions: Tensor, masks: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        evaluated = evaluate(self.network, obs, masks)
        return evaluated.output.values.unsqueeze(1), evaluated.of(actions), evaluated.output.entropies

    def get_distribution(self, obs: Any, action_masks: Masks | None = None) -> MaskableDistribution:
        """The distribution over all actions, of which illegal ones have the probability 0."""
        num_actions = int(self.action_space.n)  # type: ignore[attr-defined]
        logits = self._scored(obs, action_masks).dense(num_actions)
        distribution = MaskableCategoricalDistribution(num_actions).proba_distribution(logits)
        distribution.apply_masking(action_masks)
        return distribution

    def predict_values(self, obs: Tensor) -> Tensor:  # type: ignore[override]
        """Values ``(n, 1)``."""
        return self.network.values(obs.flatten(1)).unsqueeze(1)

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
        """Masks as bool ``(n, actions)``."""
        if masks is None:
            raise ValueError("action_masks is None; PatchworkPolicy needs the masks of legal actions")
        flags = torch.as_tensor(masks, dtype=torch.bool, device=self.device)
        return flags.reshape(-1, int(self.action_space.n))  # type: ignore[attr-defined]

    def _get_constructor_parameters(self) -> dict[str, Any]:
        return {
            "observation_space": self.observation_space,
            "action_space": self.action_space,
            "lr_schedule": self._dummy_schedule,
            "network": asdict(self._sizes),
            "threads": self._threads.size,
            "optimizer_class": self.optimizer_class,
            "optimizer_kwargs": self.optimizer_kwargs,
        }


def are_within(space: Any, seen: Any) -> bool:
    """Whether a batch of flat or named observations is within the bounds of their space.

    What ``VecNormalize`` makes of observations is not: some numbers are less than their mean, which is 0.
    """
    if isinstance(space, Dict):
        return all(are_within(part, seen[name]) for name, part in space.items())
    return bool(np.all((space.low <= seen) & (seen <= space.high)))


def game_of(observation_space: Space[Any], action_space: Space[Any], named: bool = False) -> str:
    """The name of the game that has these spaces, with observations as vectors or as ``named`` tensors.

    Raises:
        ValueError: There is none.
    """
    for game in GAMES:
        spaces = GameSpaces(rules_of(game))
        if observation_space == spaces.observation_space(named) and action_space == spaces.action_space():
            return str(game)
    raise ValueError(
        f"no game has the spaces {short_repr(observation_space)} and {short_repr(action_space)}; "
        "they must be "
        f"those of {' or '.join(GAMES)}, with observation='{'dict' if named else 'flat'}' and within no "
        "wrapper that changes observations but VecNormalize"
    )


def _sizes(network: Mapping[str, Any]) -> NetworkConfig:
    try:
        return NetworkConfig(**network)
    except TypeError:
        names = ", ".join(asdict(NetworkConfig()))
        raise ValueError(f"network is {short_repr(network)}; it may give {names}") from None
