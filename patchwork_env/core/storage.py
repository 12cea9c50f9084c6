"""The formats that all games share: states as bytes, and games as text."""

from __future__ import annotations

import re
import zlib
from collections.abc import Collection, Mapping, Sequence
from itertools import takewhile
from typing import Any

import numpy as np

from patchwork_env.core.kernels import States
from patchwork_env.core.names import did_you_mean, short_repr

VERSION = 1  # the version of the bytes of records and of the notation
_CHECKSUM_SIZE = 4
Limits = Mapping[str, tuple[int, Any]]
"""The lowest and the highest value of fields by name; the highest may be an array, one for each record."""


# --- bytes ------------------------------------------------------------------------------------------------


def pack(magic: bytes, states: States) -> bytes:
    """Return the first record as four magic bytes, a version byte, the record, and a CRC-32 checksum."""
    body = magic + bytes([VERSION]) + states[:1].tobytes()
    return body + _checksum(body)


def unpack(title: str, magic: bytes, dtype: np.dtype[np.void], data: Any) -> States:
    """Return the record that was packed, without validating its fields; ValueError for other bytes."""
    if not isinstance(data, bytes | bytearray | memoryview):
        raise ValueError(f"a state must be bytes, not {type(data).__name__}")
    data = bytes(data)
    begin, version, record = data[: len(magic)], data[len(magic) : len(magic) + 1], len(magic) + 1
    length = record + dtype.itemsize + _CHECKSUM_SIZE
    if begin != magic:
        raise ValueError(f"not a state of {title}: the bytes start with {begin!r}, not with {magic!r}")
    if version != bytes([VERSION]):
        raise ValueError(f"the state has version {list(version)}; it must be {VERSION}")
    if len(data) != length:
        raise ValueError(f"the state has {len(data)} bytes; it must have {length}")
    if _checksum(data[:-_CHECKSUM_SIZE]) != data[-_CHECKSUM_SIZE:]:
        raise ValueError("the state is damaged: its checksum does not match")
    return np.frombuffer(data, dtype, 1, record).copy()


def _checksum(data: bytes) -> bytes:
    return zlib.crc32(data).to_bytes(_CHECKSUM_SIZE, "little")


def out_of_range(states: States, limits: Limits) -> tuple[int, str] | None:
    """Return the index of the first record with a value outside the limits, and the reason, or None."""
    for name, (lowest, highest) in limits.items():
        values = states[name]
        most = np.asarray(highest, values.dtype)  # comparing the same types is faster
        most = most.reshape(-1, *[1] * (values.ndim - 1))
        wrong = (values < lowest) | (values > most) if lowest or values.dtype.kind == "i" else values > most
        if wrong.any():
            at = int(np.nonzero(wrong)[0][0])
            allowed = np.broadcast_to(most, values.shape)[at].flat[0]
            return at, f"{name} is {values[at]}; allowed are {lowest} to {allowed}"
    return None


# --- texts ------------------------------------------------------------------------------------------------


def game_text(name: str, set_up: dict[str, str], words: Sequence[str]) -> str:
    """Return a game as text: the name of the game, the fields of its set-up, and its moves."""
    fields = [f"{field}={value}" for field, value in set_up.items()]
    return " ".join([f"{name}/{VERSION}", *fields]) + "\n" + " ".join(words) + "\n"


_FIELD = re.compile(r"[a-z]\w*=.*")


def parse_game(
    name: str, text: str, allowed: Collection[tuple[str, ...]]
) -> tuple[dict[str, str], list[str]]:
    """Return the set-up of a game and the words of its moves; the inverse of :func:`game_text`.

    ``allowed`` lists the sets of fields that a set-up may have. ValueError for other fields or another name.
    """
    if not isinstance(text, str):
        raise ValueError(f"a game is written as text, not as {short_repr(text)}")
    begin, *words = text.split() or [""]
    notation = f"{name}/{VERSION}"
    if begin != notation:
        raise ValueError(f"the notation of a game starts with {notation!r}, not with {short_repr(begin)}")
    fields = list(takewhile(_FIELD.fullmatch, words))
    set_up = dict(field.partition("=")[::2] for field in fields)
    if len(set_up) < len(fields):
        raise ValueError(f"the set-up repeats a field: {short_repr(' '.join(fields))}")
    if not any(set(set_up) == set(group) for group in allowed):
        nearest = max(allowed, key=lambda group: len(set_up.keys() & set(group)))
        unknown = [field for field in set_up if field not in nearest]
        if unknown:
            raise ValueError(
                f"the set-up has an unknown field {short_repr(unknown[0])}; "
                f"{did_you_mean(unknown[0], nearest)}"
            )
        missing = next(field for field in nearest if field not in set_up)
        end = f" and ends before {short_repr(words[len(fields)])}" if len(fields) < len(words) else ""
        raise ValueError(f"the set-up lacks {missing!r}{end}; it needs {', '.join(nearest)}")
    return set_up, words[len(fields) :]


def parse_number(text: str) -> int:
    """Return the integer in a text of up to 18 decimal digits; ValueError for other texts."""
    if not re.fullmatch("[0-9]{1,18}", text):
        raise ValueError(f"{short_repr(text)} in the set-up is not a number")
    return int(text)


def parse_numbers(text: str) -> list[int]:
    """Return integers that are separated by commas; ``-`` is the empty list."""
    return [] if text == "-" else [parse_number(number) for number in text.split(",")]


def numbers_text(numbers: Sequence[int]) -> str:
    """Return integers as text; the inverse of :func:`parse_numbers`."""
    return ",".join(map(str, numbers)) or "-"


def parse_hexadecimal(text: str) -> bytes:
    """Return the bytes in a text of hexadecimal digits; ValueError for other texts."""
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise ValueError(f"the state {text[:40]!r} of the set-up is not hexadecimal") from None
