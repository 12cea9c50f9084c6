"""Agents that play a trained policy. Needs torch and safetensors: the extra ``train``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from patchwork_env.agents import ragged
from patchwork_env.agents.base import Actions, BatchAgent, check_running
from patchwork_env.agents.checkpoint import load_policy
from patchwork_env.agents.network import NUM_KINDS, PatchworkNetwork, encode
from patchwork_env.patchwork.options import check_seed
from patchwork_env.patchwork.state import States


class LearnedAgent(BatchAgent):
    """Plays a policy network, without search.

    Args:
        network: The policy.
        name: What tables and messages call the agent.
        sample: Whether to draw from the policy, instead of taking the most probable placement of the most
            probable kind of move.
        seed: Of the draws, ``0 ... 2**64 - 1``; None for fresh ones.
    """

    def __init__(
        self,
        network: PatchworkNetwork,
        name: str = "learned",
        *,
        sample: bool = False,
        seed: int | None = None,
    ) -> None:
        self.network = network
        self.name = name
        self.sample = sample
        self.reseed(seed)

    def reseed(self, seed: int | None = None) -> None:
        """Starts the random numbers of ``sample`` anew."""
        self._random = np.random.default_rng(check_seed(seed))

    def act_batch(self, states: States) -> Actions:
        """A legal action for the current player of every game, int64 ``(n,)``."""
        check_running(states)
        inputs, legal = encode(states)
        with torch.inference_mode():
            output = self.network(inputs.to(self.network.device))
        log_probabilities = output.log_probabilities.cpu().numpy()
        if self.sample:
            chosen = ragged.sample(legal.counts, log_probabilities, self._random.random(len(states)))
        else:
            chosen = ragged.most_probable(legal.counts, inputs.kinds.numpy(), log_probabilities, NUM_KINDS)
        return legal.actions[chosen]


def load(path: str | Path, seed: int | None = None, *, sample: bool = False) -> LearnedAgent:
    """The agent that plays the policy of a checkpoint folder; for the options see :class:`LearnedAgent`.

    Raises:
        FileNotFoundError: There is no checkpoint.
        ValueError: It is damaged, of another game or of another version.
    """
    network, _ = load_policy(Path(path))
    return LearnedAgent(network, Path(path).name, sample=sample, seed=seed)
