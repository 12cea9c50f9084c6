"""Agents that play a trained policy. Needs torch and safetensors: the extra ``train``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from patchwork_env.agents import ragged
from patchwork_env.agents.base import Actions, BatchAgent, SamplingAgent
from patchwork_env.agents.checkpoint_tensors import read_network, write_kind_of_policy
from patchwork_env.agents.checkpoints import NETWORK, write_folder
from patchwork_env.agents.patchwork.planning import GumbelAgent, dynamics_of
from patchwork_env.agents.patchwork.policy_network import NUM_KINDS, PatchworkNetwork, encode
from patchwork_env.games import PATCHWORK
from patchwork_env.patchwork.state import States


class PolicyAgent(SamplingAgent):
    """Plays a policy network, without search.

    Args:
        network: The policy.
        name: The name of the agent in tables and messages.
        sample: Whether to draw from the policy, instead of taking the most probable placement of the most
            probable kind of move.
        seed: The seed of the draws, ``0 ... 2**64 - 1``; None for fresh ones.
    """

    games = (PATCHWORK,)

    def __init__(
        self,
        network: PatchworkNetwork,
        name: str = "learned",
        *,
        sample: bool = False,
        seed: int | None = None,
    ) -> None:
        super().__init__(name, sample, seed)
        self.network = network

    def act_batch(self, states: States) -> Actions:
        """A legal action for the current player of every game, int64 ``(n,)``."""
        self.check_states(states)
        inputs, legal = encode(states)
        with torch.inference_mode():
            output = self.network(inputs.to(self.network.device))
        log_probabilities = output.log_probabilities.cpu().numpy()
        if self.sample:
            chosen = ragged.sample(legal.counts, log_probabilities, self._random.random(len(states)))
        else:
            chosen = ragged.most_probable(legal.counts, inputs.kinds.numpy(), log_probabilities, NUM_KINDS)
        return legal.actions[chosen]


# --- on disk ----------------------------------------------------------------------------------------------


def save_policy(folder: Path, network: PatchworkNetwork, info: dict[str, Any] | None = None) -> None:
    """Writes a policy as a new checkpoint folder, all of it or nothing.

    Args:
        folder: The folder, which must not exist yet.
        network: The policy.
        info: Facts to keep on how the policy was made; JSON.

    Raises:
        FileExistsError: The folder exists.
    """
    write_folder(folder, lambda target: write_policy(target, network, info))


def write_policy(folder: Path, network: PatchworkNetwork, info: dict[str, Any] | None = None) -> None:
    """Writes the two files of a policy into an existing folder."""
    write_kind_of_policy(folder, NETWORK, asdict(network.config), network.state_dict(), info, game=PATCHWORK)


def load_policy(folder: Path) -> tuple[PatchworkNetwork, dict[str, Any]]:
    """Reads a policy and what was remembered of its making.

    Raises:
        FileNotFoundError: There is no checkpoint.
        ValueError: It is damaged, of another game, or of a version that this library does not read.
    """
    return read_network(folder, PATCHWORK, PatchworkNetwork)


def load(
    path: str | Path, seed: int | None = None, *, sample: bool = False, simulations: int | None = None
) -> BatchAgent:
    """The agent that plays the policy of a checkpoint folder.

    Args:
        path: The checkpoint folder.
        seed: The seed of the draws; see :class:`PolicyAgent`.
        sample: Whether to draw from the policy; see :class:`PolicyAgent`.
        simulations: The number of simulations to plan every move with, at least 2; see
            :class:`~patchwork_env.agents.patchwork.planning.GumbelAgent`.

    Raises:
        FileNotFoundError: There is no checkpoint.
        ValueError: It is damaged, of another game or of another version; or the options do not go together.
    """
    if sample and simulations is not None:
        raise ValueError(
            f"sample=true and simulations={simulations} are given for {str(path)!r}; allowed is one of them: "
            "an agent that plans does not draw its actions"
        )
    network, info = load_policy(Path(path))
    if simulations is None:
        return PolicyAgent(network, Path(path).name, sample=sample, seed=seed)
    dynamics = dynamics_of(info, str(path))
    return GumbelAgent(network, Path(path).name, simulations=simulations, dynamics=dynamics)
