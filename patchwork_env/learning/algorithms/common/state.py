"""The state of a trainer as JSON and named tensors, put together from parts that each trainer lists."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from patchwork_env.core.checks import check_between

Arrays = Mapping[str, npt.NDArray[Any]]

_OF_ADAM = ("step", "exp_avg", "exp_avg_sq")
"""What an optimizer of the family of Adam keeps for each parameter."""
_HIGHEST_COUNT = 2**53
"""The highest number up to which all whole numbers are floats, too."""


class TrainerState(NamedTuple):
    """All that a trainer needs to go on as if nothing had happened.

    Attributes:
        values: Values that JSON can hold, by name.
        tensors: Tensors, by name.
    """

    values: dict[str, Any]
    tensors: dict[str, Tensor]


class StatePart(NamedTuple):
    """A part of a trainer's state.

    Attributes:
        save: The function that returns the part's own values and tensors.
        restore: The function that brings the part back from the state of the whole trainer.
    """

    save: Callable[[], TrainerState]
    restore: Callable[[TrainerState], object]


def value_part(name: str, get: Callable[[], Any], set_: Callable[[Any], object]) -> StatePart:
    """A value that ``get`` returns, as JSON can hold it, and ``set_`` takes."""
    return StatePart(lambda: TrainerState({name: get()}, {}), lambda state: set_(state.values[name]))


def array_value_part(
    name: str, array: npt.NDArray[np.int64], missing: int, allowed: Callable[[], Collection[int]]
) -> StatePart:
    """An array of whole numbers, overwritten in place; states of earlier versions may lack it.

    Args:
        name: The name of the value.
        array: The array.
        missing: The number that all entries get from a state without the value.
        allowed: The function that returns the numbers that entries may have.
    """

    def restore(state: TrainerState) -> None:
        array[:] = state.values.get(name, missing)
        wrong = np.setdiff1d(array, list(allowed()))
        if len(wrong):
            raise ValueError(f"{name} holds {wrong[0]}; allowed are {sorted(allowed())}")

    return StatePart(lambda: TrainerState({name: array.tolist()}, {}), restore)


def count_part(name: str, owner: object, attribute: str) -> StatePart:
    """An attribute that counts something: a whole number of at least 0."""
    return value_part(
        name,
        lambda: getattr(owner, attribute),
        lambda value: setattr(owner, attribute, check_between(value, 0, _HIGHEST_COUNT, name)),
    )


def generator_part(name: str, generator: np.random.Generator) -> StatePart:
    """A generator of random numbers."""
    bits = generator.bit_generator
    return value_part(name, lambda: bits.state, lambda state: setattr(bits, "state", state))


def nested_part(
    name: str,
    save: Callable[[], TrainerState],
    restore: Callable[[TrainerState], object],
    values_name: str | None = None,
) -> StatePart:
    """A state within the state: values under ``values_name``, or else ``name``; tensors under ``name.``."""
    values_name = values_name or name

    def save_nested() -> TrainerState:
        values, tensors = save()
        return TrainerState({values_name: values}, prefixed(name, tensors))

    def restore_nested(state: TrainerState) -> object:
        return restore(TrainerState(state.values[values_name], with_prefix(name, state.tensors)))

    return StatePart(save_nested, restore_nested)


def tensors_part(
    name: str, save: Callable[[], Mapping[str, Tensor]], restore: Callable[[dict[str, Tensor]], object]
) -> StatePart:
    """Tensors that ``save`` returns and ``restore`` takes."""
    return StatePart(
        lambda: TrainerState({}, prefixed(name, save())),
        lambda state: restore(with_prefix(name, state.tensors)),
    )


def module_part(name: str, module: nn.Module) -> StatePart:
    """The weights of a module."""
    return tensors_part(name, module.state_dict, module.load_state_dict)


def optimizer_part(name: str, optimizer: torch.optim.Optimizer, module: nn.Module) -> StatePart:
    """An optimizer of all parameters of a module."""
    return tensors_part(
        name,
        lambda: tensors_of_optimizer(optimizer, module),
        lambda tensors: restore_optimizer(optimizer, module, tensors),
    )


def arrays_part(
    name: str, save: Callable[[], Arrays], restore: Callable[[dict[str, npt.NDArray[Any]]], object]
) -> StatePart:
    """Arrays of any type that ``save`` returns and ``restore`` takes."""
    return tensors_part(
        name,
        lambda: tensors_of_arrays(save()),
        lambda tensors: restore(arrays_of_tensors(tensors, save())),
    )


def averages_part(name: str, averages: Arrays, earlier: str | None = None) -> StatePart:
    """Averages of weights, overwritten in place.

    States of earlier versions may lack them; they have those of the part that ``earlier`` names instead.
    """

    def restore(state: TrainerState) -> None:
        tensors = with_prefix(name, state.tensors)
        if not tensors and earlier is not None:
            tensors = with_prefix(earlier, state.tensors)
        for key, array in arrays_of_tensors(tensors, averages).items():
            averages[key][:] = array

    return StatePart(lambda: TrainerState({}, prefixed(name, tensors_of_arrays(averages))), restore)


def window_part(
    name: str, number_name: str, window: deque[Any], empty: Any, check: Callable[[Any], object]
) -> StatePart:
    """The last batches to learn from, which are named tuples of arrays, ``states`` among them.

    Args:
        name: The name of the tensors.
        number_name: The name of the number of batches.
        window: The batches, oldest first.
        empty: A batch without entries, which says what types the arrays have.
        check: The function that raises ValueError if compiled code, which checks no bounds, must not read a
            batch.
    """

    def save() -> TrainerState:
        tensors: dict[str, Tensor] = {}
        for number, batch in enumerate(window):
            tensors |= prefixed(f"{name}.{number}", tensors_of_arrays(batch._asdict()))
        return TrainerState({number_name: len(window)}, tensors)

    def restore(state: TrainerState) -> None:
        window.clear()
        for number in range(state.values[number_name]):
            tensors = with_prefix(f"{name}.{number}", state.tensors)
            batch = type(empty)(**arrays_of_tensors(tensors, empty._asdict()))
            check(batch)
            window.append(batch)

    return StatePart(save, restore)


# --- named tensors ----------------------------------------------------------------------------------------


def prefixed(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The same tensors under the names ``prefix.name``."""
    return {f"{prefix}.{name}": tensor for name, tensor in tensors.items()}


def with_prefix(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors whose names :func:`prefixed` has changed, under their own names."""
    beginning = f"{prefix}."
    return {
        name.removeprefix(beginning): tensor for name, tensor in tensors.items() if name.startswith(beginning)
    }


def tensors_of_optimizer(optimizer: torch.optim.Optimizer, module: nn.Module) -> dict[str, Tensor]:
    """The state of an optimizer of all parameters of a module, as ``parameter.key``."""
    names = [name for name, _ in module.named_parameters()]
    states = optimizer.state_dict()["state"]
    return {f"{names[k]}.{key}": value for k, entry in states.items() for key, value in entry.items()}


def restore_optimizer(
    optimizer: torch.optim.Optimizer, module: nn.Module, tensors: Mapping[str, Tensor]
) -> None:
    """Brings an optimizer to the state of :func:`tensors_of_optimizer`.

    Raises:
        ValueError: A tensor belongs to no parameter, is missing, or has another shape than its parameter; or
            a number of steps is none, with which Adam would divide by zero or overflow.
    """
    parameters = list(module.named_parameters())
    names = [name for name, _ in parameters]
    entries: dict[int, dict[str, Tensor]] = {}
    for full_name, tensor in tensors.items():
        name, _, key = full_name.rpartition(".")
        entries.setdefault(names.index(name), {})[key] = tensor.clone()
    for number, entry in entries.items():
        name, parameter = parameters[number]
        shapes = {key: tuple(tensor.shape) for key, tensor in entry.items()}
        expected = {key: () if key == "step" else tuple(parameter.shape) for key in _OF_ADAM}
        if shapes != expected:
            raise ValueError(f"the optimizer holds {shapes} for {name}, which needs {expected}")
        step = entry["step"].item()
        if not 0 <= step <= _HIGHEST_COUNT:
            raise ValueError(
                f"the optimizer holds {step} steps for {name}; allowed are 0 to {_HIGHEST_COUNT}"
            )
    optimizer.load_state_dict({"state": entries, "param_groups": optimizer.state_dict()["param_groups"]})


def tensors_of_arrays(arrays: Arrays) -> dict[str, Tensor]:
    """Arrays of any type as tensors of bytes: some types of arrays have no tensors."""
    return {
        name: torch.from_numpy(np.ascontiguousarray(array).reshape(-1).view(np.uint8))
        for name, array in arrays.items()
    }


def arrays_of_tensors(tensors: Mapping[str, Tensor], like: Arrays) -> dict[str, npt.NDArray[Any]]:
    """What :func:`tensors_of_arrays` took; ``like`` has the same types and lengths, but for the first."""
    return {
        name: tensors[name].numpy().view(array.dtype).reshape(-1, *array.shape[1:])
        for name, array in like.items()
    }
