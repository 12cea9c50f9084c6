"""Trained policies of Patchwork on disk and as agents. Needs torch and safetensors: the extra ``train``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from patchwork_env.agents.base import BatchAgent
from patchwork_env.agents.patchwork.planning import GumbelAgent, dynamics_of
from patchwork_env.agents.patchwork.policy_network import PatchworkNetwork
from patchwork_env.agents.policy import PolicyAgent, read_network, save_policy

__all__ = ["PolicyAgent", "load", "load_policy", "save_policy"]


def load_policy(folder: Path) -> tuple[PatchworkNetwork, dict[str, Any]]:
    """Reads a policy and what was remembered of its making.

    Raises:
        FileNotFoundError: There is no checkpoint.
        ValueError: It is damaged, of another game, or of a version that this library does not read.
    """
    return read_network(folder, PatchworkNetwork)


def load(
    path: str | Path, seed: int | None = None, *, sample: bool = False, simulations: int | None = None
) -> BatchAgent:
    """The agent that plays the policy of a checkpoint folder; for the options see :class:`PolicyAgent`.

    With ``simulations``, at least 2, it plans every move with a
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
