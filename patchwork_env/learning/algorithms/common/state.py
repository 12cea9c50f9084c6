"""States of trainers: nested dictionaries of tensors and of what JSON can hold, for a file of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

State = dict[str, Any]
"""A nested dictionary with tensors, and values that JSON can hold; no name has a slash."""
Arrays = Mapping[str, npt.NDArray[Any]]

MAX_EXACT_INT = 2**53
"""The highest number up to which all whole numbers are floats, too."""
_OF_ADAM = ("step", "exp_avg", "exp_avg_sq")
"""What an optimizer of the family of Adam keeps for each parameter."""


def split(state: State) -> tuple[State, dict[str, Tensor]]:
    """Divides a state into values for JSON and tensors by their paths, as in ``network/trunk.weight``."""
    values: State = {}
    tensors: dict[str, Tensor] = {}
    for name, value in state.items():
        if isinstance(value, Tensor):
            tensors[name] = value
        elif isinstance(value, dict):
            values[name], inner = split(value)
            tensors |= {f"{name}/{path}": tensor for path, tensor in inner.items()}
        else:
            values[name] = value
    return values, tensors


def join(values: State, tensors: Mapping[str, Tensor]) -> State:
    """Puts tensors back into values; KeyError or TypeError if one has no place there."""
    for path, tensor in tensors.items():
        *outer, name = path.split("/")
        place = values
        for key in outer:
            place = place[key]
        place[name] = tensor
    return values


def as_tensors(arrays: Arrays) -> dict[str, Tensor]:
    """Arrays as tensors that share their memory; records, which PyTorch does not know, as bytes."""
    return {
        name: torch.from_numpy(array.view(np.uint8) if array.dtype.names else array)
        for name, array in arrays.items()
    }


def as_arrays(tensors: Mapping[str, Tensor]) -> dict[str, npt.NDArray[Any]]:
    """Tensors on the CPU as arrays that share their memory."""
    return {name: tensor.numpy() for name, tensor in tensors.items()}


def optimizer_state(optimizer: torch.optim.Optimizer) -> State:
    """What an optimizer of the family of Adam keeps for each parameter, by the parameter's number."""
    return {str(number): dict(kept) for number, kept in optimizer.state_dict()["state"].items()}


def load_optimizer_state(optimizer: torch.optim.Optimizer, state: State) -> None:
    """Brings an optimizer to an :func:`optimizer_state`; its rates and other settings stay its own.

    Shapes and numbers of steps are checked, as PyTorch does not, and Adam would divide by zero or overflow.
    """
    parameters = {
        str(number): parameter
        for number, parameter in enumerate(p for group in optimizer.param_groups for p in group["params"])
    }
    if not state.keys() <= parameters.keys():
        raise ValueError(f"the optimizer holds {list(state)}; there are {len(parameters)} parameters")
    for number, kept in state.items():
        shapes = {name: tuple(tensor.shape) for name, tensor in kept.items()}
        expected = {name: () if name == "step" else tuple(parameters[number].shape) for name in _OF_ADAM}
        if shapes != expected:
            raise ValueError(f"the optimizer holds {shapes} for parameter {number}; it needs {expected}")
        if not 0 <= (step := kept["step"].item()) <= MAX_EXACT_INT:
            raise ValueError(f"the optimizer holds {step} steps; allowed are 0 to {MAX_EXACT_INT}")
    own = {int(number): {name: t.clone() for name, t in kept.items()} for number, kept in state.items()}
    optimizer.load_state_dict({"state": own, "param_groups": optimizer.state_dict()["param_groups"]})
