"""Policies from the project's checkpoints to RLlib's modules and back."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy.typing as npt
import torch
from torch import nn

from patchwork_env import agents
from patchwork_env.agents.networks import NetworkConfig, PolicyNetwork, network_class
from patchwork_env.agents.policy import read_network, save_policy
from patchwork_env.errors import ConfigError

State = dict[str, npt.NDArray[Any]]
"""The result of ``get_state`` of a ``PolicyModule``: weights by name."""
_PREFIX = "network."


def to_rllib(game: str, checkpoint: Path) -> tuple[NetworkConfig, State]:
    """The sizes and the state of the module that plays a checkpoint's policy.

    >>> sizes, state = to_rllib("patchwork", Path("runs/ppo/final"))  # doctest: +SKIP
    >>> module = module_spec("patchwork", sizes).build()  # doctest: +SKIP
    >>> module.set_state(state)  # doctest: +SKIP

    Raises:
        FileNotFoundError: There is no checkpoint.
        ValueError: The checkpoint is damaged, or of another game or kind of policy.
    """
    network, _ = read_network(checkpoint, network_class(game))
    return network.config, state_of(network)


def from_rllib(
    game: str,
    sizes: NetworkConfig,
    state: Mapping[str, npt.NDArray[Any]],
    folder: Path,
    info: dict[str, Any] | None = None,
) -> None:
    """Writes the state of a module, of a network of these sizes, as a new checkpoint folder.

    All of the project's programs play it. ``info``, JSON, is what the checkpoint tells about the training.

    Raises:
        FileExistsError: The folder exists.
        RuntimeError: The state is not that of a network of these sizes.
    """
    network = network_class(game)(sizes)
    load_state(network, state)
    save_policy(folder, network, info)


def state_of(network: nn.Module) -> State:
    """The state of a module with copies of the weights of a network."""
    return {_PREFIX + name: tensor.cpu().numpy().copy() for name, tensor in network.state_dict().items()}


def load_state(network: nn.Module, state: Mapping[str, npt.NDArray[Any]]) -> None:
    """Gives a network the weights of a module.

    Raises:
        RuntimeError: The weights do not fit the network.
    """
    weights = {name.removeprefix(_PREFIX): torch.as_tensor(array) for name, array in state.items()}
    network.load_state_dict(weights)


def initial_network(game: str, sizes: NetworkConfig, spec: str | None) -> PolicyNetwork:
    """The network that a run begins with: that of a spec, or one with random weights.

    Raises:
        ConfigError: The policy cannot be read, or is of another kind or of other sizes.
    """
    if spec is None:
        return network_class(game)(sizes)
    try:
        network, _ = read_network(agents.path_of(spec) or Path(spec), network_class(game))
    except (ValueError, OSError) as error:
        raise ConfigError(f"rllib_ppo.initial_policy is {spec!r}: {error}") from None
    if network.config != sizes:
        raise ConfigError(
            f"rllib_ppo.initial_policy is {spec!r}, a network of {network.config}; the section network asks "
            f"for {sizes}"
        )
    return network.train()
