"""Checks of what users pass in, for every game.

Unless they say otherwise, they raise ValueError with the offending value and what is allowed.
"""

from __future__ import annotations

import math
import operator
import os
import secrets
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from patchwork_env.core.names import counted, did_you_mean, short_repr
from patchwork_env.errors import IllegalActionError

if TYPE_CHECKING:
    from patchwork_env.core.random import Streams

NUM_SEEDS = 2**64


def as_integer(value: Any, what: str) -> int:
    """``value`` as an int if it is a whole number of any integer type, bool excepted."""
    if not isinstance(value, bool | np.bool_):
        try:
            return operator.index(value)
        except TypeError:
            pass
    raise ValueError(f"{what} must be an integer, not {short_repr(value)} of type {type(value).__name__}")


def as_integers(values: Any, what: str, entry: str) -> list[int]:
    """The whole numbers of any iterable ``what``, each of which is an ``entry``."""
    try:
        entries = list(values)
    except TypeError:
        raise ValueError(f"{what} must list integers, not {short_repr(values)}") from None
    return [as_integer(value, entry) for value in entries]


def as_texts(values: Any, what: str, error: type[ValueError] = ValueError) -> tuple[str, ...]:
    """A list or tuple of texts as a tuple; ``what`` names it, and ``error`` is raised for anything else."""
    if not isinstance(values, list | tuple) or not all(isinstance(value, str) for value in values):
        raise error(f"{what} must be a list of texts, not {short_repr(values)}")
    return tuple(values)


def as_number(value: Any, what: str, *, least: float = -math.inf, above: float = -math.inf) -> float:
    """``value`` as a float if it is a finite number of at least ``least`` and ``above`` another, no bool."""
    number = math.nan
    if isinstance(value, Real) and value is not True and value is not False:
        with suppress(OverflowError):
            number = float(value)
    if not (math.isfinite(number) and number >= least and number > above):
        bound = f" above {above:g}" if above > -math.inf else f" of at least {least:g}" * (least > -math.inf)
        raise ValueError(f"{what} is {short_repr(value)}; it must be a finite number{bound}")
    return number


def as_path(path: Any) -> Path:
    """``path`` as a path if a file may have it."""
    with suppress(TypeError, ValueError):  # no path, or characters that no file has
        text = os.fspath(path)
        if isinstance(text, str) and b"\0" not in os.fsencode(text):
            return Path(text)
    raise ValueError(f"{short_repr(path)} is no path")


def check_flag(value: Any, what: str) -> bool:
    """``value`` if it is True or False, also NumPy's."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{what} is {short_repr(value)}; it must be True or False")
    return bool(value)


def check_one_of(value: Any, allowed: Iterable[Any], what: str) -> Any:
    """``value`` if it is among ``allowed`` and of the same type."""
    allowed = tuple(allowed)
    if not any(isinstance(value, type(option)) and value == option for option in allowed):
        kind = f" of type {type(value).__name__}" if str(value) in map(str, allowed) else ""
        raise ValueError(f"{what} is {short_repr(value)}{kind}; allowed are {', '.join(map(repr, allowed))}")
    return value


def check_at_least_one(number: Any, what: str) -> int:
    """``number`` as an int if it is a whole number of at least 1."""
    if (value := as_integer(number, what)) < 1:
        raise ValueError(f"{what} is {short_repr(value)}; it must be at least 1")
    return value


def check_between(number: Any, lowest: int, highest: int, what: str) -> int:
    """``number`` as an int if it is a whole number of ``lowest ... highest``."""
    value = as_integer(number, what)
    if not lowest <= value <= highest:
        raise ValueError(f"{what} is {short_repr(value)}; allowed are {lowest} to {highest}")
    return value


def as_action(action: Any, what: str = "an action") -> int:
    """An action, which may not exist, as an int; else IllegalActionError.

    It is an integer of any type, bool excepted, or an array or tensor that holds just one.
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
    """:func:`as_action` of ``0 ... num_actions - 1``, else IllegalActionError."""
    index = action if type(action) is int else as_action(action)
    if not 0 <= index < num_actions:
        name = short_repr(index)
        raise IllegalActionError(f"action {name} does not exist; actions are 0 to {num_actions - 1}")
    return index


def check_actions(actions: Any, number: int, what: str = "actions") -> npt.NDArray[np.int64]:
    """The actions of ``number`` games, which may not exist, as int64 ``(number,)``; else IllegalActionError.

    They are an array or tensor of integers of this shape, or a sequence of such actions as :func:`as_action`
    takes.
    """
    array = actions if isinstance(actions, np.ndarray) else _as_array(actions)
    if array is None or array.shape != (number,) or array.dtype.kind not in "iu":
        needed = f"they must be {counted(number, 'integer')}, of shape ({number},)"
        raise IllegalActionError(f"{what} are {described(actions, array)}; {needed}")
    if array.dtype == np.uint64 and (array >> np.uint64(63)).any():
        game = int(array.argmax())
        raise IllegalActionError(f"action {array[game]} of game {game} is not legal; no game was changed")
    return array.astype(np.int64)


def _as_array(values: Any) -> npt.NDArray[Any] | None:
    """An array of any array or tensor, also on another device, or of a sequence of actions; else None."""
    try:
        if hasattr(values, "dtype"):
            return np.asarray(values.cpu() if hasattr(values, "cpu") else values)
        if isinstance(values, Sequence) and not isinstance(values, str | bytes):
            return np.array([as_action(value) for value in values], np.int64)
    except Exception:  # whatever a foreign array or sequence raises
        pass
    return None


def described(value: Any, array: npt.NDArray[Any] | None = None) -> str:
    """A value with its type and, as far as it has them or those of its ``array``, its dtype and shape."""
    text = f"{short_repr(value)} of type {type(value).__name__}"
    for given in (value, array):
        dtype, shape = getattr(given, "dtype", None), getattr(given, "shape", None)
        if dtype is not None and isinstance(shape, tuple):
            return f"{text}, dtype {dtype} and shape {tuple(shape)}"
    return text


def as_cells(cells: Any) -> frozenset[tuple[int, int]]:
    """The cells of a move, which may be any collection of pairs ``(row, column)``, as a set."""
    try:
        pairs = [(row, column) for row, column in cells]
    except (TypeError, ValueError):
        raise ValueError(f"cells are pairs (row, column), not {short_repr(cells)}") from None
    return frozenset((as_integer(row, "a row"), as_integer(column, "a column")) for row, column in pairs)


def check_keys(
    options: Mapping[str, Any] | None, known: tuple[str, ...], ignored: tuple[str, ...] = ()
) -> dict[str, Any]:
    """The ``options`` of a ``reset`` as a dictionary; each key must be ``known`` or ``ignored``."""
    if not isinstance(options, Mapping | None):
        raise ValueError(f"options are a dictionary, not {short_repr(options)}")
    for key in options or ():
        if key not in known + ignored:
            raise ValueError(f"unknown reset option {short_repr(key)}; {did_you_mean(str(key), known)}")
    return dict(options or {})


def check_seed(seed: Any) -> int:
    """``seed`` as an int if it is a whole number of ``0 ... 2**64 - 1``; a fresh random seed for None."""
    if seed is None:
        return secrets.randbits(64)
    number = as_integer(seed, "seed")
    if not 0 <= number < NUM_SEEDS:
        raise ValueError(f"seed is {short_repr(number)}; allowed are 0 to 2**64 - 1")
    return number


def offset_seed(seed: int, steps: int) -> int:
    """The seed that comes ``steps`` behind another one; behind the last one comes 0."""
    return (seed + steps) % NUM_SEEDS


def seed_streams(seed: Any, n: int = 1) -> Streams:
    """``n`` random streams for the engines; stream ``i`` depends on ``seed`` and ``i`` alone."""
    from patchwork_env.core import random  # it loads Numba, which checks alone do not need

    streams = np.empty(n, np.uint64)
    random.start_streams(streams, np.uint64(check_seed(seed)))
    return streams


def determinization_streams(seed: Any, n: int = 1) -> Streams:
    """``n`` streams for what is drawn anew as it is hidden; no seed starts games or agents with these."""
    return ~seed_streams(seed, n)
