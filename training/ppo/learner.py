"""Proximal policy optimization (Schulman et al. 2017) on lists of legal actions."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from patchwork_env.agents.network import PatchworkNetwork, encode
from patchwork_env.patchwork.state import States
from training.advantages import advantages
from training.config import Ppo
from training.crew import Crew
from training.gradients import descend, means
from training.ppo.rollout import Rollout


class PpoLearner:
    """Improves a network by rollouts.

    Args:
        network: Changed in place.
        config: The algorithm's parameters.
        crew: Shares the work on each minibatch.
    """

    def __init__(self, network: PatchworkNetwork, config: Ppo, crew: Crew | None = None) -> None:
        self.network = network
        self.config = config
        self._crew = crew or Crew()
        self.optimizer = torch.optim.Adam(network.parameters(), lr=config.learning_rate.start, eps=1e-5)

    def update(self, rollout: Rollout, progress: float, random: np.random.Generator) -> dict[str, float]:
        """Some epochs over the learner's decisions of a rollout.

        Args:
            rollout: What the present network played.
            progress: Fraction of the run that is over, for the schedules.
            random: Shuffles the decisions.

        Returns:
            Mean losses and diagnostics; nothing if the learner had no decision to make.

        Raises:
            DivergenceError: The loss or its gradient is not finite.
        """
        if not rollout.decisions.learning.any():
            return {}
        for group in self.optimizer.param_groups:
            group["lr"] = self.config.learning_rate.at(progress)
        batch = _Batch(rollout, self.config)
        entropy_coefficient = self.config.entropy_coefficient.at(progress)
        losses = partial(self._losses, batch, entropy_coefficient)
        metrics: list[dict[str, Tensor]] = []
        for _ in range(self.config.epochs):
            order = random.permutation(len(batch.actions))
            minibatches = np.array_split(order, math.ceil(len(order) / self.config.minibatch_size))
            metrics += [
                descend(self.optimizer, losses, chosen, self._crew, self.config.max_gradient_norm)
                for chosen in minibatches
            ]
        return means(metrics) | {"explained_variance": batch.explained_variance}

    def _losses(
        self, batch: _Batch, entropy_coefficient: float, chosen: npt.NDArray[np.int64]
    ) -> dict[str, Tensor]:
        """The loss, its terms and diagnostics, means over the chosen decisions."""
        device = self.network.device
        inputs, legal = encode(batch.states[chosen])
        positions = torch.from_numpy(legal.position_of(batch.actions[chosen])).to(device)
        arrays = (batch.log_probabilities, batch.advantages, batch.returns)
        old, advantage, returns = (torch.from_numpy(array[chosen]).to(device) for array in arrays)
        output = self.network(inputs.to(device))
        log_ratio = output.log_probabilities.index_select(0, positions) - old
        ratio = log_ratio.exp()
        clipped = ratio.clamp(1 - self.config.clip_range, 1 + self.config.clip_range)
        policy_loss = -torch.min(ratio * advantage, clipped * advantage).mean()
        value_loss = (output.values - returns).square().mean()
        entropy = output.entropies.mean()
        loss = policy_loss + self.config.value_coefficient * value_loss - entropy_coefficient * entropy
        return {
            "loss": loss,
            "policy_loss": policy_loss,
            "value_loss": value_loss,
            "entropy": entropy,
            "kl": (ratio - 1 - log_ratio).mean(),
            "clip_fraction": ((ratio - 1).abs() > self.config.clip_range).float().mean(),
        }


class _Batch:
    """The learner's decisions of a rollout, one behind the other, with normalized advantages."""

    def __init__(self, rollout: Rollout, config: Ppo) -> None:
        decisions = rollout.decisions
        learning = decisions.learning
        estimates = advantages(decisions, config.discount, config.gae_lambda)[learning]
        values = decisions.values[learning]
        self.states: States = rollout.states[learning]
        self.actions = rollout.actions[learning]
        self.log_probabilities = rollout.log_probabilities[learning]
        self.returns = estimates + values
        self.advantages = (estimates - estimates.mean()) / (estimates.std() + 1e-8)
        self.explained_variance = 1 - float(estimates.var() / (self.returns.var() + 1e-8))
