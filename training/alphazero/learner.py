"""The learning step of AlphaZero: towards the search's policies and the returns, on turned quilts."""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from patchwork_env.agents.network import PatchworkNetwork, encode
from training.alphazero.examples import Examples
from training.config import AlphaZero
from training.crew import Crew
from training.gradients import descend, means


class AlphaZeroLearner:
    """Improves a network by searched games.

    Args:
        network: Changed in place.
        config: The algorithm's parameters.
        crew: Shares the work on each minibatch.
    """

    def __init__(self, network: PatchworkNetwork, config: AlphaZero, crew: Crew | None = None) -> None:
        self.network = network
        self.config = config
        self._crew = crew or Crew()
        self.optimizer = torch.optim.AdamW(
            network.parameters(), lr=config.learning_rate.start, weight_decay=config.weight_decay
        )

    def update(self, examples: Examples, progress: float, random: np.random.Generator) -> dict[str, float]:
        """Some steps on random minibatches, in which quilts and policies are turned by random symmetries.

        Args:
            examples: At least one.
            progress: Fraction of the run that is over, for the schedules.
            random: Draws the minibatches and the symmetries.

        Returns:
            Mean losses and diagnostics.

        Raises:
            DivergenceError: The loss or its gradient is not finite.
        """
        for group in self.optimizer.param_groups:
            group["lr"] = self.config.learning_rate.at(progress)
        size = min(self.config.minibatch_size, len(examples.states))
        losses = partial(self._losses, examples)
        metrics = []
        for _ in range(self.config.updates):
            chosen = random.choice(len(examples.states), size, replace=False, shuffle=False)
            metrics.append(descend(self.optimizer, losses, chosen, self._crew, self.config.max_gradient_norm))
        return means(metrics)

    def _losses(self, examples: Examples, chosen: npt.NDArray[np.int64]) -> dict[str, Tensor]:
        """The loss, its terms and diagnostics, means over the chosen examples."""
        device, number = self.network.device, len(chosen)
        inputs, _ = encode(examples.states[chosen])
        policies = torch.from_numpy(examples.policies_of(chosen)).to(device)
        returns = torch.from_numpy(examples.returns[chosen]).to(device)
        output = self.network(inputs.to(device))
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
