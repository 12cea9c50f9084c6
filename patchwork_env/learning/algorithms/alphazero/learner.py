"""The learning step of AlphaZero, from policies of the search and returns, on quilts turned at random."""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from patchwork_env.agents.patchwork.policy.network import PatchworkNetwork
from patchwork_env.agents.ragged import legal_lists
from patchwork_env.learning.algorithms.alphazero.config import AlphaZero
from patchwork_env.learning.algorithms.alphazero.rollout import Examples
from patchwork_env.learning.algorithms.common.gradients import ThreadPool, compute_gradient, means
from patchwork_env.patchwork.symmetry import NUM_SYMMETRIES, reorder, turn_actions, turn_quilts


class AlphaZeroLearner:
    """Improves a network, in place, by searched games; threads share the work on each minibatch."""

    def __init__(self, network: PatchworkNetwork, config: AlphaZero, threads: ThreadPool) -> None:
        self.network = network
        self.config = config
        self._threads = threads
        self.optimizer = torch.optim.AdamW(
            network.parameters(), lr=config.learning_rate.start, weight_decay=config.weight_decay
        )

    def update(self, examples: Examples, progress: float, random: np.random.Generator) -> dict[str, float]:
        """Take steps on random minibatches, turned by random symmetries; return mean losses."""
        if not len(examples.states):
            return {}
        for group in self.optimizer.param_groups:
            group["lr"] = self.config.learning_rate.at(progress)
        size = min(self.config.minibatch_size, len(examples.states))
        losses, metrics = partial(self._losses, examples), []
        for _ in range(self.config.gradient_steps):
            chosen = random.choice(len(examples.states), size, replace=False, shuffle=False)
            symmetries = random.integers(NUM_SYMMETRIES, size=(size, 2))
            samples = np.column_stack([chosen, symmetries])
            metrics.append(
                compute_gradient(
                    self.optimizer, losses, samples, self._threads, self.config.max_gradient_norm
                )
            )
            self.optimizer.step()
        return means(metrics)

    def _losses(self, examples: Examples, samples: npt.NDArray[np.int64]) -> dict[str, Tensor]:
        """Return mean losses of samples ``(n, 3)``: indices, and symmetries of both players' quilts."""
        device, number = self.network.device, len(samples)
        chosen, own, other = np.ascontiguousarray(samples.T)
        states, counts = examples.states[chosen], examples.counts[chosen]
        actions = turn_actions(states, counts, legal_lists(states).actions, own)
        turn_quilts(states, own, other)
        inputs, features, _, listed = self.network.encode_fully(states)
        targets = reorder(counts, actions, examples.policies_of(chosen), listed)
        policies = torch.from_numpy(targets).to(device)
        returns = torch.from_numpy(examples.returns[chosen]).to(device)
        output = self.network(inputs, features=features)
        policy_loss = -(policies * output.log_probabilities).sum() / number
        target_entropy = -torch.special.xlogy(policies, policies).sum() / number
        value_loss = (output.values - returns).square().mean()
        return {
            "loss": policy_loss + self.config.value_coefficient * value_loss,
            "policy_loss": policy_loss,
            "value_loss": value_loss,
            "entropy": output.entropies.mean(),
            "kl_to_search": policy_loss - target_entropy,
        }
