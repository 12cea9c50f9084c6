"""Models of MaskablePPO as agents that play their present weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy

from patchwork_env.agents import ragged
from patchwork_env.agents.base import Actions, SamplingAgent
from patchwork_env.agents.networks import PolicyNetwork
from patchwork_env.agents.observing import views_of
from patchwork_env.agents.policy import PolicyAgent
from patchwork_env.core.names import shorten
from patchwork_env.core.rules import States
from patchwork_env.learning.algorithms.maskable_ppo.network_policy import PatchworkPolicy, game_of


class MaskablePolicyAgent(SamplingAgent):
    """Plays the present weights of any policy of MaskablePPO, also while it learns.

    For the arguments see :class:`~patchwork_env.agents.base.SamplingAgent`; unless it samples, it plays the
    most probable action.

    Raises:
        ValueError: The policy's spaces are those of no game.
    """

    def __init__(
        self, policy: MaskableActorCriticPolicy, name: str, *, sample: bool = False, seed: int | None = None
    ) -> None:
        super().__init__(name, sample, seed)
        self.policy, self.games = policy, (game_of(policy.observation_space, policy.action_space),)

    def act_batch(self, states: States) -> Actions:
        """A legal action for the current player of every game, int64 ``(n,)``."""
        self.check_states(states)
        observations, masks = views_of(states)
        self.policy.set_training_mode(False)
        with torch.no_grad():
            tensor = torch.from_numpy(observations).to(self.policy.device)
            distribution: Any = self.policy.get_distribution(tensor, action_masks=masks)
        if not self.sample:
            actions: Actions = distribution.mode().cpu().numpy()
            return actions
        rows, legal = np.nonzero(masks)
        log_probabilities = distribution.distribution.logits.cpu().numpy()[rows, legal]
        counts = np.bincount(rows, minlength=len(states))
        return legal[ragged.sample(counts, log_probabilities, self._random.random(len(states)))]


def as_agent(
    model: Any, name: str | None = None, *, sample: bool = False, seed: int | None = None
) -> SamplingAgent:
    """The agent that plays a model's present weights, also while it learns.

    ``env.set_opponents([as_agent(model, sample=True)])`` is an opponent that follows the learner.

    Args:
        model: A ``MaskablePPO`` with a policy for the spaces of a game, such a policy, or its network.
        name: The name of the agent in tables and messages; that of the model's class by default.
        sample: Whether to draw actions from the policy, or to play the likeliest.
        seed: The seed of the draws, ``0 ... 2**64 - 1``; None for fresh ones.

    Raises:
        ValueError: It is no such model.
    """
    policy, name = getattr(model, "policy", model), name or type(model).__name__
    network = policy.network if isinstance(policy, PatchworkPolicy) else policy
    if isinstance(network, PolicyNetwork):
        return PolicyAgent(network, name, sample=sample, seed=seed)
    if isinstance(policy, MaskableActorCriticPolicy):
        return MaskablePolicyAgent(policy, name, sample=sample, seed=seed)
    raise ValueError(f"{shorten(model)} is no MaskablePPO, nor a policy of one")
