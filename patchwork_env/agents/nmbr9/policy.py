"""Trained policies of NMBR 9 as agents. Needs torch and safetensors: the extra ``train``."""

from __future__ import annotations

from pathlib import Path

from patchwork_env.agents.nmbr9.policy_network import Nmbr9Network
from patchwork_env.agents.policy import PolicyAgent, read_network


def load(path: str | Path, seed: int | None = None, *, sample: bool = False) -> PolicyAgent:
    """The agent that plays the policy of a checkpoint folder; for the options see :class:`PolicyAgent`.

    Raises:
        FileNotFoundError: There is no checkpoint.
        ValueError: It is damaged, of another game, version or kind of policy.
    """
    network, _ = read_network(Path(path), Nmbr9Network)
    return PolicyAgent(network, Path(path).name, sample=sample, seed=seed)
