"""The agent that plays a policy network of any game, and its files. Needs torch: the extra ``train``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from patchwork_env.agents import ragged
from patchwork_env.agents.base import Actions, SamplingAgent
from patchwork_env.agents.checkpoint_tensors import write_kind_of_policy
from patchwork_env.agents.checkpoints import NETWORK
from patchwork_env.agents.networks import PolicyNetwork
from patchwork_env.core.files import write_folder
from patchwork_env.core.rules import States


class PolicyAgent(SamplingAgent):
    """Plays the present weights of a policy network, on any device, without search, also while it learns.

    For the arguments see :class:`~patchwork_env.agents.base.SamplingAgent`; unless it samples, it plays the
    most probable action of the most probable kind.
    """

    def __init__(
        self, network: PolicyNetwork, name: str = "policy", *, sample: bool = False, seed: int | None = None
    ) -> None:
        super().__init__(name, sample, seed)
        self.network, self.games = network, (network.game,)

    def act_batch(self, states: States) -> Actions:
        """A legal action for the current player of every game, int64 ``(n,)``."""
        self.check_states(states)
        network = self.network
        inputs, legal = network.encode(states)
        with torch.inference_mode():
            log_probabilities = network(inputs.to(network.device)).log_probabilities.cpu().numpy()
        if self.sample:
            chosen = ragged.sample(legal.counts, log_probabilities, self._random.random(len(states)))
        else:
            kinds = network.kinds_of(legal.actions)
            chosen = ragged.most_probable(legal.counts, kinds, log_probabilities, network.num_kinds)
        return legal.actions[chosen]


def save_policy(folder: Path, network: PolicyNetwork, info: dict[str, Any] | None = None) -> None:
    """Writes a policy as a new checkpoint folder, all of it or nothing; ``info``, JSON, says how it was made.

    Raises:
        FileExistsError: The folder exists.
    """
    write_folder(folder, lambda target: write_policy(target, network, info))


def write_policy(folder: Path, network: PolicyNetwork, info: dict[str, Any] | None = None) -> None:
    """Writes the two files of a policy into an existing folder."""
    write_kind_of_policy(
        folder, NETWORK, asdict(network.config), network.state_dict(), info, game=network.game
    )
