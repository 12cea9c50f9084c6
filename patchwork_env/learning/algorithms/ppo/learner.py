"""The learning step of proximal policy optimization (Schulman et al. 2017), on lists of legal actions."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from patchwork_env.agents.networks import KeptStates, PolicyNetwork
from patchwork_env.agents.ragged import begins_of
from patchwork_env.learning.algorithms.common.advantages import advantages
from patchwork_env.learning.algorithms.common.gradients import ThreadPool, compute_gradient, divided_by, means
from patchwork_env.learning.algorithms.ppo.config import Ppo
from patchwork_env.learning.algorithms.ppo.rollout import Rollout


class PpoLearner:
    """Improves a network, in place, by rollouts; threads share the work on each minibatch."""

    def __init__(self, network: PolicyNetwork, config: Ppo, threads: ThreadPool | None = None) -> None:
        self.network = network
        self.config = config
        self._threads, _ = divided_by(threads or ThreadPool(), network.device)
        self.optimizer = torch.optim.Adam(
            network.parameters(), lr=config.learning_rate.start, eps=1e-5, fused=True
        )

    def update(self, rollout: Rollout, progress: float, random: np.random.Generator) -> dict[str, float]:
        """Learn in several epochs from the learner's decisions, made by the present network.

        Returns mean losses and diagnostics, an empty dictionary without decisions. With ``target_kl``, which
        may end the learning early, ``updates`` is the number of optimizer steps.
        """
        if not rollout.decisions.learner_mask.any():
            return {}
        config = self.config
        for group in self.optimizer.param_groups:
            group["lr"] = config.learning_rate.at(progress)
        batch = decisions_to_learn(rollout, config)
        losses, metrics, updates = partial(self._losses, batch, progress), [], 0
        for chosen in self._minibatches(len(batch.positions), random):
            metrics.append(
                compute_gradient(self.optimizer, losses, chosen, self._threads, config.max_gradient_norm)
            )
            if config.target_kl is not None and metrics[-1]["kl"] > 1.5 * config.target_kl:
                break
            self.optimizer.step()
            updates += 1
        result = means(metrics) | {"explained_variance": batch.explained_variance}
        return result if config.target_kl is None else result | {"updates": updates}

    def _minibatches(self, size: int, random: np.random.Generator) -> Iterator[npt.NDArray[np.int64]]:
        """Yield minibatches of indices: in each epoch all decisions, shuffled and divided evenly."""
        for _ in range(self.config.epochs):
            order = random.permutation(size)
            yield from np.array_split(order, math.ceil(size / self.config.minibatch_size))

    def _losses(self, batch: Batch, progress: float, chosen: npt.NDArray[np.int64]) -> dict[str, Tensor]:
        """Return the loss, its terms and diagnostics, means over the chosen decisions."""
        config, device = self.config, self.network.device
        inputs, features = batch.kept.read(chosen)
        begins = begins_of(batch.kept.counts[chosen])
        positions = torch.from_numpy(begins + batch.positions[chosen]).to(device)
        arrays = (batch.log_probabilities, batch.advantages, batch.returns, batch.successor_values)
        old, advantage, returns, successor_values = (
            torch.from_numpy(array[chosen]).to(device) for array in arrays
        )
        output = self.network(inputs, successor_values, features)
        log_ratio = output.log_probabilities.index_select(0, positions) - old
        ratio = log_ratio.exp()
        clipped = ratio.clamp(1 - config.clip_range, 1 + config.clip_range)
        policy_loss = -torch.min(ratio * advantage, clipped * advantage).mean()
        value_loss = (output.values - returns).square().mean()
        entropy = output.entropies.mean()
        loss = policy_loss + config.value_coefficient * value_loss
        loss = loss - config.entropy_coefficient.at(progress) * entropy
        return {
            "loss": loss,
            "policy_loss": policy_loss,
            "value_loss": value_loss,
            "entropy": entropy,
            "kl": (ratio - 1 - log_ratio).mean(),  # its expectation over the old policy is KL(old || new)
            "clip_fraction": ((ratio - 1).abs() > config.clip_range).float().mean(),
        }


class Batch(NamedTuple):
    """``n`` decisions of the learner, with normalized advantages; arrays as in :class:`Rollout`, by row."""

    log_probabilities: npt.NDArray[np.float32]
    successor_values: npt.NDArray[np.float32]
    advantages: npt.NDArray[np.float32]
    returns: npt.NDArray[np.float32]
    positions: npt.NDArray[np.int64]  # of the actions in the lists of their states
    kept: KeptStates
    explained_variance: float


@np.errstate(over="ignore", invalid="ignore")  # the loss reveals a network that has diverged
def decisions_to_learn(rollout: Rollout, config: Ppo) -> Batch:
    """Return the learner's decisions of a rollout, concatenated."""
    decisions, mine = rollout.decisions, rollout.decisions.learner_mask
    estimates = advantages(decisions, config.gamma, config.gae_lambda)[mine]
    returns = estimates + decisions.values[mine]
    return Batch(
        rollout.log_probabilities[mine],
        rollout.successor_values[mine],
        (estimates - estimates.mean()) / (estimates.std() + 1e-8),
        returns,
        rollout.kept.positions_of(rollout.actions[mine]),
        rollout.kept,
        1 - float(estimates.var() / (returns.var() + 1e-8)),
    )
