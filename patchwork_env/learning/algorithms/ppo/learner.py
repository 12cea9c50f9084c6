"""The learning step of proximal policy optimization (Schulman et al. 2017), on lists of legal actions."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from patchwork_env.agents.networks import PolicyNetwork
from patchwork_env.core.kernels import States
from patchwork_env.learning.algorithms.common.advantages import advantages
from patchwork_env.learning.algorithms.common.gradients import Losses, compute_gradient, means
from patchwork_env.learning.algorithms.common.threads import ThreadPool
from patchwork_env.learning.algorithms.ppo.config import Ppo
from patchwork_env.learning.algorithms.ppo.rollout import Rollout


class PpoLearner:
    """Improves a network, in place, by rollouts; threads share the work on each minibatch."""

    def __init__(self, network: PolicyNetwork, config: Ppo, threads: ThreadPool | None = None) -> None:
        self.network = network
        self.config = config
        self._threads = threads or ThreadPool()
        self.optimizer = torch.optim.Adam(
            network.parameters(), lr=config.learning_rate.start, eps=1e-5, fused=True
        )

    def update(self, rollout: Rollout, progress: float, random: np.random.Generator) -> dict[str, float]:
        """Learns from the learner's decisions of a rollout of the present network, in several epochs.

        Returns mean losses and diagnostics; none if the learner had no decision to make. If ``target_kl`` may
        end the learning early, ``updates`` is the number of steps of the optimizer.

        Raises:
            DivergenceError: The loss or its gradient is not finite.
        """
        if not rollout.decisions.learning.any():
            return {}
        for group in self.optimizer.param_groups:
            group["lr"] = self.config.learning_rate.at(progress)
        batch = _Batch(rollout, self.config)
        coefficients = _Coefficients(
            self.config.entropy_coefficient.at(progress), self.config.kl_coefficient.at(progress)
        )
        losses = partial(self._losses, batch, coefficients)
        metrics, updates = self._descend(losses, batch, random)
        result = means(metrics) | {"explained_variance": batch.explained_variance}
        return result if self.config.target_kl is None else result | {"updates": updates}

    def _descend(
        self, losses: Losses, batch: _Batch, random: np.random.Generator
    ) -> tuple[list[dict[str, Tensor]], int]:
        """Takes a step for each minibatch; returns the metrics of each, and the number of steps."""
        metrics: list[dict[str, Tensor]] = []
        for updates, chosen in enumerate(self._minibatches(len(batch.actions), random)):
            metrics.append(
                compute_gradient(
                    self.optimizer, losses, batch.arrays, chosen, self._threads, self.config.max_gradient_norm
                )
            )
            if self.config.target_kl is not None and metrics[-1]["kl"] > 1.5 * self.config.target_kl:
                return metrics, updates
            self.optimizer.step()
        return metrics, len(metrics)

    def _minibatches(self, size: int, random: np.random.Generator) -> Iterator[npt.NDArray[np.int64]]:
        """Minibatches of indices: in each epoch all decisions, shuffled and divided evenly."""
        for _ in range(self.config.epochs):
            order = random.permutation(size)
            yield from np.array_split(order, math.ceil(size / self.config.minibatch_size))

    def _losses(
        self, batch: _Batch, coefficients: _Coefficients, chosen: npt.NDArray[np.int64]
    ) -> dict[str, Tensor]:
        """The loss, its terms and diagnostics, means over the chosen decisions."""
        device = self.network.device
        inputs, legal = self.network.encode(batch.states[chosen])
        positions = torch.from_numpy(legal.position_of(batch.actions[chosen])).to(device)
        arrays = (batch.log_probabilities, batch.advantages, batch.returns, batch.outcomes)
        old, advantage, returns, outcomes = (torch.from_numpy(array[chosen]).to(device) for array in arrays)
        output = self.network(inputs.to(device), outcomes)
        log_ratio = output.log_probabilities.index_select(0, positions) - old
        ratio = log_ratio.exp()
        clipped = ratio.clamp(1 - self.config.clip_range, 1 + self.config.clip_range)
        policy_loss = -torch.min(ratio * advantage, clipped * advantage).mean()
        value_loss = (output.values - returns).square().mean()
        entropy = output.entropies.mean()
        # E[r - 1 - log r] over the old policy's actions is KL(old || new), and so is its gradient.
        kl = (ratio - 1 - log_ratio).mean()
        loss = policy_loss + self.config.value_coefficient * value_loss - coefficients.entropy * entropy
        if coefficients.kl > 0:
            loss = loss + coefficients.kl * kl
        return {
            "loss": loss,
            "policy_loss": policy_loss,
            "value_loss": value_loss,
            "entropy": entropy,
            "kl": kl,
            "clip_fraction": ((ratio - 1).abs() > self.config.clip_range).float().mean(),
        }


class _Coefficients(NamedTuple):
    """The weights of entropy and divergence in the loss."""

    entropy: float
    kl: float


class _Batch:
    """The learner's decisions of a rollout, one after the other, with normalized advantages."""

    @np.errstate(over="ignore", invalid="ignore")  # a network that has diverged is noticed by its loss
    def __init__(self, rollout: Rollout, config: Ppo) -> None:
        decisions = rollout.decisions
        learning = decisions.learning
        estimates = advantages(decisions, config.gamma, config.gae_lambda)[learning]
        values = decisions.values[learning]
        self.states: States = rollout.states[learning]
        self.actions = rollout.actions[learning]
        self.log_probabilities = rollout.log_probabilities[learning]
        self.outcomes = rollout.outcomes[learning]
        self.returns = estimates + values
        self.advantages = (estimates - estimates.mean()) / (estimates.std() + 1e-8)
        self.explained_variance = 1 - float(estimates.var() / (self.returns.var() + 1e-8))

    def arrays(self, chosen: npt.NDArray[np.int64]) -> dict[str, npt.NDArray[Any]]:
        """The arrays that the losses of some decisions are computed from, by name."""
        names = ("states", "actions", "log_probabilities", "outcomes", "advantages", "returns")
        return {name: getattr(self, name)[chosen] for name in names}
