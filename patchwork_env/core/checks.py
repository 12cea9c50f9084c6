"""Validation of arguments, for every game.

Unless stated otherwise, a ValueError names the argument, the value and what is allowed.
"""

from __future__ import annotations

import math
import operator
import secrets
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from patchwork_env.core.names import counted, did_you_mean, short_repr
from patchwork_env.errors import IllegalActionError

if TYPE_CHECKING:
    from patchwork_env.core.random import Streams

NUM_SEEDS = 2**64


def as_integer(value: Any, what: str) -> int:
    """Return ``value`` as an int; it must be of an integer type other than bool."""
    if not isinstance(value, bool | np.bool_):
        try:
            return operator.index(value)
        except TypeError:
            pass
    raise ValueError(f"{what} must be an integer, not {short_repr(value)} of type {type(value).__name__}")


def as_integers(values: Any, what: str, entry: str) -> list[int]:
    """Return the integers of an iterable; messages call it ``what`` and an item ``entry``."""
    try:
        entries = list(values)
    except TypeError:
        raise ValueError(f"{what} must be a list of integers, not {short_repr(values)}") from None
    return [as_integer(value, entry) for value in entries]


def as_texts(values: Any, what: str, error: type[ValueError] = ValueError) -> tuple[str, ...]:
    """Return a list or tuple of str as a tuple; raise ``error`` for other values."""
    if not isinstance(values, list | tuple) or not all(isinstance(value, str) for value in values):
        raise error(f"{what} must be a list of texts, not {short_repr(values)}")
    return tuple(values)


def as_number(value: Any, what: str, *, least: float = -math.inf, above: float = -math.inf) -> float:
    """Return ``value`` as a float; it must be finite, at least ``least`` and greater than ``above``."""
    number = math.nan
    if isinstance(value, Real) and value is not True and value is not False:
        with suppress(OverflowError):
            number = float(value)
    if not (math.isfinite(number) and number >= least and number > above):
        bound = f" above {above:g}" if above > -math.inf else f" of at least {least:g}" * (least > -math.inf)
        raise ValueError(f"{what} is {short_repr(value)}; it must be a finite number{bound}")
    return number


def check_flag(value: Any, what: str) -> bool:
    """Return ``value`` as a bool; it must be a bool of Python or NumPy."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{what} is {short_repr(value)}; it must be True or False")
    return bool(value)


def check_one_of(value: Any, allowed: Iterable[Any], what: str) -> Any:
    """Return ``value``; it must equal one of ``allowed`` and have its type."""
    allowed = tuple(allowed)
    if not any(isinstance(value, type(option)) and value == option for option in allowed):
        raise ValueError(f"{what} is {short_repr(value)}; allowed are {', '.join(map(repr, allowed))}")
    return value


def check_at_least_one(number: Any, what: str) -> int:
    """Return ``number`` as an int; it must be at least 1."""
    if (value := as_integer(number, what)) < 1:
        raise ValueError(f"{what} is {short_repr(value)}; it must be at least 1")
    return value


def check_between(number: Any, lowest: int, highest: int, what: str) -> int:
    """Return ``number`` as an int; it must be ``lowest ... highest``."""
    value = as_integer(number, what)
    if not lowest <= value <= highest:
        raise ValueError(f"{what} is {short_repr(value)}; allowed are {lowest} to {highest}")
    return value


def as_action(action: Any, what: str = "an action") -> int:
    """Return an action as an int, without checking its range; IllegalActionError for other values.

    An action is an integer of any type except bool, or an array or tensor of one integer.
    """
    if isinstance(action, np.integer):
        return int(action)
    if hasattr(action, "dtype"):
        array = _as_array(action)
        if array is not None and array.size == 1 and array.dtype.kind in "iu":
            return int(array.item())
    elif not isinstance(action, bool):
        with suppress(TypeError):
            return operator.index(action)
    raise IllegalActionError(f"{what} must be an integer, not {described(action)}")


def check_action(action: Any, num_actions: int) -> int:
    """Return an action as an int; IllegalActionError unless it is ``0 ... num_actions - 1``."""
    index = action if type(action) is int else as_action(action)
    if not 0 <= index < num_actions:
        name = short_repr(index)
        raise IllegalActionError(f"action {name} does not exist; actions are 0 to {num_actions - 1}")
    return index


def check_actions(actions: Any, number: int, what: str = "actions") -> npt.NDArray[np.int64]:
    """Return the actions of ``number`` games as int64 ``(number,)``, without checking their range.

    ``actions`` is an array or tensor of integers of this shape, or a sequence of actions that
    :func:`as_action` accepts; IllegalActionError for other values.
    """
    array = actions if isinstance(actions, np.ndarray) else _as_array(actions)
    if array is None or array.shape != (number,) or array.dtype.kind not in "iu":
        needed = f"they must be {counted(number, 'integer')}, of shape ({number},)"
        raise IllegalActionError(f"{what} are {described(actions, array)}; {needed}")
    return array.astype(np.int64)


def _as_array(values: Any) -> npt.NDArray[Any] | None:
    """Return an array, tensor (on any device) or sequence of actions as an array; otherwise None."""
    try:
        if hasattr(values, "dtype"):
            return np.asarray(values.cpu() if hasattr(values, "cpu") else values)
        if isinstance(values, Sequence) and not isinstance(values, str | bytes):
            return np.array([as_action(value) for value in values], np.int64)
    except Exception:  # arrays and sequences of other libraries may raise anything
        pass
    return None


def described(value: Any, array: npt.NDArray[Any] | None = None) -> str:
    """Return the repr of a value with its type and the dtype and shape of it or its ``array``, if any."""
    text = f"{short_repr(value)} of type {type(value).__name__}"
    for given in (value, array):
        dtype, shape = getattr(given, "dtype", None), getattr(given, "shape", None)
        if dtype is not None and isinstance(shape, tuple):
            return f"{text}, dtype {dtype} and shape {tuple(shape)}"
    return text


def as_cells(cells: Any) -> frozenset[tuple[int, int]]:
    """Return the cells of a move, an iterable of pairs ``(row, column)``, as a set."""
    try:
        pairs = [(row, column) for row, column in cells]
    except (TypeError, ValueError):
        raise ValueError(f"cells must be pairs (row, column), not {short_repr(cells)}") from None
    return frozenset((as_integer(row, "a row"), as_integer(column, "a column")) for row, column in pairs)


def check_keys(
    options: Mapping[str, Any] | None, known: tuple[str, ...], ignored: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Return the ``options`` of a ``reset`` as a dict; each key must be ``known`` or ``ignored``."""
    if not isinstance(options, Mapping | None):
        raise ValueError(f"options must be a dict, not {short_repr(options)}")
    for key in options or ():
        if key not in known + ignored:
            raise ValueError(f"unknown reset option {short_repr(key)}; {did_you_mean(str(key), known)}")
    return dict(options or {})


def check_seed(seed: Any) -> int:
    """Return ``seed`` as an int, ``0 ... 2**64 - 1``, or a random seed for None."""
    if seed is None:
        return secrets.randbits(64)
    number = as_integer(seed, "seed")
    if not 0 <= number < NUM_SEEDS:
        raise ValueError(f"seed is {short_repr(number)}; allowed are 0 to 2**64 - 1")
    return number


def offset_seed(seed: int, steps: int) -> int:
    """Return ``seed + steps``, modulo 2**64."""
    return (seed + steps) % NUM_SEEDS


def seed_streams(seed: Any, n: int = 1) -> Streams:
    """Return ``n`` random streams; stream ``i`` depends on ``seed`` and ``i`` alone."""
    from patchwork_env.core import random  # imports Numba

    streams = np.empty(n, np.uint64)
    random.start_streams(streams, np.uint64(check_seed(seed)))
    return streams


def determinization_streams(seed: Any, n: int = 1) -> Streams:
    """Return ``n`` streams for sampling hidden information, other ones than those of games and agents."""
    return ~seed_streams(seed, n)
