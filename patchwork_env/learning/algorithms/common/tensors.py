"""Named tensors: what checkpoints are made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn


def prefixed(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The same tensors as ``prefix.name``."""
    return {f"{prefix}.{name}": tensor for name, tensor in tensors.items()}


def with_prefix(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors that :func:`prefixed` named so, by their own names."""
    beginning = f"{prefix}."
    return {
        name.removeprefix(beginning): tensor for name, tensor in tensors.items() if name.startswith(beginning)
    }


def tensors_of_optimizer(optimizer: torch.optim.Optimizer, names: Iterable[str]) -> dict[str, Tensor]:
    """The state of an optimizer as ``parameter.key``; ``names`` are those of its parameters, in order."""
    listed = list(names)
    states = optimizer.state_dict()["state"]
    return {
        f"{listed[number]}.{key}": value for number, entry in states.items() for key, value in entry.items()
    }


def restore_optimizer(
    optimizer: torch.optim.Optimizer, names: Iterable[str], tensors: Mapping[str, Tensor]
) -> None:
    """Brings an optimizer to the state of :func:`tensors_of_optimizer`.

    Raises:
        ValueError: A tensor belongs to no parameter.
    """
    listed = list(names)
    entries: dict[int, dict[str, Tensor]] = {}
    for full_name, tensor in tensors.items():
        name, _, key = full_name.rpartition(".")
        entries.setdefault(listed.index(name), {})[key] = tensor.clone()
    optimizer.load_state_dict({"state": entries, "param_groups": optimizer.state_dict()["param_groups"]})


def names_of_parameters(module: nn.Module) -> list[str]:
    """The names of a module's parameters, in the order in which an optimizer gets them."""
    return [name for name, _ in module.named_parameters()]


def tensors_of_arrays(arrays: Mapping[str, npt.NDArray[Any]]) -> dict[str, Tensor]:
    """Arrays of any type as bytes: there are no tensors of some types."""
    return {
        name: torch.from_numpy(np.ascontiguousarray(array).reshape(-1).view(np.uint8))
        for name, array in arrays.items()
    }


def arrays_of_tensors(
    tensors: Mapping[str, Tensor], like: Mapping[str, npt.NDArray[Any]]
) -> dict[str, npt.NDArray[Any]]:
    """What :func:`tensors_of_arrays` made, with the types and all but the first lengths of ``like``."""
    return {
        name: tensors[name].numpy().view(array.dtype).reshape(-1, *array.shape[1:])
        for name, array in like.items()
    }
