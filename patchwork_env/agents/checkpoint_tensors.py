"""The tensors of checkpoints: weights of PyTorch networks as safetensors files. Needs torch.

Loading never executes code. :mod:`~patchwork_env.agents.checkpoints` has the parts that need no torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors.torch import save
from torch import Tensor

from patchwork_env.agents.checkpoints import (
    CHECKPOINT_FILE,
    NETWORK,
    WEIGHTS_FILE,
    read_description,
    write_description,
)
from patchwork_env.agents.networks import NetworkConfig, PolicyNetwork
from patchwork_env.agents.weights import Shapes, read_arrays
from patchwork_env.core.names import short_repr

SizedNetwork = TypeVar("SizedNetwork", bound=PolicyNetwork)


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

    ``weights`` are its tensors by name; for the rest see :func:`write_description`.
    """
    write_description(folder, kind, network, info, game=game)
    write_tensors(folder / WEIGHTS_FILE, weights)


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Writes tensors of any device to a safetensors file."""
    # save_file() of the library would let nobody but the owner read the file.
    path.write_bytes(save({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}))


def read_network(folder: Path, network: type[SizedNetwork]) -> tuple[SizedNetwork, dict[str, Any]]:
    """Reads a policy network of a class, and what was remembered of its making.

    Raises:
        FileNotFoundError: There is no checkpoint.
        ValueError: It is damaged, of another game, version or kind of policy, or its weights are not finite.
    """
    description = read_description(folder, network.game, NETWORK)
    config = network_config(description.get("network"), str(folder / CHECKPOINT_FILE))
    weights = read_tensors(folder, network.weight_shapes(config), config)
    made = network(config)
    made.load_state_dict(weights)
    return made.eval(), description["info"]


def read_tensors(folder: Path, shapes: Shapes, config: object) -> dict[str, Tensor]:
    """The weights of a checkpoint, for a network of a configuration that has weights of these shapes.

    Raises:
        FileNotFoundError: There is no file of weights.
        ValueError: The file is damaged, or does not fit the network.
    """
    arrays = read_arrays(folder / WEIGHTS_FILE, shapes, f"a network of {config}")
    return {name: torch.from_numpy(array) for name, array in arrays.items()}


def network_config(sizes: Any, source: str) -> NetworkConfig:
    """The sizes that the description of a policy gives; ``source`` is what messages call the description.

    Raises:
        ValueError: The description does not give such sizes.
    """
    names = [field.name for field in fields(NetworkConfig)]
    if isinstance(sizes, dict):  # earlier versions had no features, or nothing beside them
        sizes = {"features": False, "offers": False, "lookahead": False, **sizes}
    if not isinstance(sizes, dict) or set(sizes) != set(names):
        raise ValueError(f"{source}: network is {short_repr(sizes)}; it must give {', '.join(names)}")
    try:
        return NetworkConfig(**sizes)
    except ValueError as error:
        raise ValueError(f"{source}: {error}") from None
