"""The tensors of checkpoints: weights of PyTorch networks as safetensors files. Needs torch.

Loading never executes code. :mod:`~patchwork_env.agents.checkpoints` has the parts that need no torch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor, nn

from patchwork_env.agents.checkpoints import (
    CHECKPOINT_FILE,
    NETWORK,
    WEIGHTS_FILE,
    read_description,
    write_description,
)
from patchwork_env.agents.networks import NetworkConfig

Network = TypeVar("Network", bound=nn.Module)


def write_kind_of_policy(
    folder: Path,
    kind: str,
    network: Mapping[str, Any],
    weights: Mapping[str, Tensor],
    info: dict[str, Any] | None = None,
    *,
    game: str,
) -> None:
    """Writes the two files of any kind of policy into an existing folder.

    Args:
        folder: The folder of the checkpoint.
        kind: The kind of policy, which says what can play it; see :func:`patchwork_env.agents.load`.
        network: The sizes from which the network is built; JSON.
        weights: The tensors by name.
        info: Facts to keep on how the policy was made; JSON.
        game: The name of the game that the policy plays.
    """
    write_description(folder, kind, network, info, game=game)
    write_tensors(folder / WEIGHTS_FILE, weights)


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Writes tensors of any device to a safetensors file."""
    # save_file() of the library would let nobody but the owner read the file.
    path.write_bytes(save({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}))


def read_network(
    folder: Path, game: str, make: Callable[[NetworkConfig], Network]
) -> tuple[Network, dict[str, Any]]:
    """Reads a policy network of a game, made from its sizes, and what was remembered of its making.

    Raises:
        FileNotFoundError: There is no checkpoint.
        ValueError: It is damaged, of another game, version or kind of policy.
    """
    description = read_description(folder, game, NETWORK)
    config = network_config(description.get("network"), folder)
    network = make(config)
    read_weights(folder, network, f"a network of {config}")
    return network.eval(), description["info"]


def read_weights(folder: Path, network: nn.Module, what: str) -> None:
    """Reads the weights of a checkpoint into a network, which ``what`` describes in messages.

    Raises:
        FileNotFoundError: There is no file of weights.
        ValueError: The file is damaged, or does not fit the network.
    """
    weights = folder / WEIGHTS_FILE
    if not weights.is_file():
        raise FileNotFoundError(f"{folder} is no checkpoint: {WEIGHTS_FILE} is missing")
    try:
        network.load_state_dict(load_file(weights))
    except (SafetensorError, RuntimeError) as error:
        reason = " ".join(str(error).split())
        raise ValueError(f"{weights} does not hold the weights of {what}: {reason}") from None


def network_config(sizes: Any, folder: Path) -> NetworkConfig:
    """The sizes that the description of a checkpoint gives.

    Raises:
        ValueError: The description does not give such sizes.
    """
    names = [field.name for field in fields(NetworkConfig)]
    if not isinstance(sizes, dict) or set(sizes) != set(names):
        raise ValueError(f"{folder / CHECKPOINT_FILE}: network is {sizes!r}; it must give {', '.join(names)}")
    try:
        return NetworkConfig(**sizes)
    except ValueError as error:
        raise ValueError(f"{folder / CHECKPOINT_FILE}: {error}") from None
