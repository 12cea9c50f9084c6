"""How states become bytes, and how games begin as text: what the formats of both games have in common."""

from __future__ import annotations

import re
import zlib
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

_CHECKSUM_SIZE = 4


class ByteFormat(NamedTuple):
    """The bytes of a stored record: four bytes of magic, a version, the record, CRC-32.

    Attributes:
        game: What messages call the game.
        magic: Four bytes.
        version: 0-255.
        dtype: Of the record.
    """

    game: str
    magic: bytes
    version: int
    dtype: np.dtype[np.void]

    @property
    def num_bytes(self) -> int:
        """Length of a stored record."""
        return len(self._header) + self.dtype.itemsize + _CHECKSUM_SIZE

    @property
    def _header(self) -> bytes:
        return self.magic + bytes([self.version])

    def pack(self, states: np.ndarray[tuple[int], np.dtype[np.void]]) -> bytes:
        """The first record of ``states`` as bytes."""
        body = self._header + states[:1].tobytes()
        return body + _checksum(body)

    def unpack(self, data: bytes) -> np.ndarray[tuple[int], np.dtype[np.void]]:
        """The inverse of :meth:`pack`, an array of one record, whose content is still to be checked.

        Raises:
            ValueError: The bytes are foreign, of another version, or damaged.
        """
        if not isinstance(data, bytes | bytearray | memoryview):
            raise ValueError(f"a state is stored as bytes, not as {type(data).__name__}")
        data = bytes(data)
        if data[:4] != self.magic:
            raise ValueError(
                f"not a {self.game} state: the bytes start with {data[:4]!r} instead of {self.magic!r}"
            )
        if data[4:5] != self._header[4:]:
            raise ValueError(
                f"a state of version {list(data[4:5])}; this library reads version {self.version}"
            )
        if len(data) != self.num_bytes:
            raise ValueError(
                f"a state has {self.num_bytes} bytes, these are {len(data)}: truncated or foreign"
            )
        if _checksum(data[:-_CHECKSUM_SIZE]) != data[-_CHECKSUM_SIZE:]:
            raise ValueError("the checksum of the state does not match: the bytes are damaged")
        return np.frombuffer(data, self.dtype, 1, len(self._header)).copy()


def _checksum(data: bytes) -> bytes:
    return zlib.crc32(data).to_bytes(_CHECKSUM_SIZE, "little")


def game_text(name: str, set_up: dict[str, str], words: Sequence[str]) -> str:
    """A game from the name of its notation, the fields of its set-up and its moves."""
    fields = [f"{field}={value}" for field, value in set_up.items()]
    return " ".join([name, *fields]) + "\n" + " ".join(words) + "\n"


def parse_game(name: str, text: str, allowed: Collection[set[str]]) -> tuple[dict[str, str], list[str]]:
    """The fields of a game's set-up and its words, the inverse of :func:`game_text`.

    Args:
        name: Of the notation.
        text: The game.
        allowed: The sets of fields that make a set-up.

    Raises:
        ValueError: The set-up is not complete, or has anything else in it.
    """
    first_line, _, moves = text.strip().partition("\n")
    begin, *fields = first_line.split() or [""]
    if begin != name:
        raise ValueError(f"the notation of a game starts with {name!r}, not with {begin[:40]!r}")
    set_up = dict(field.partition("=")[::2] for field in fields)
    if len(set_up) < len(fields) or set(set_up) not in allowed:
        needed = ", or just ".join(", ".join(sorted(names)) for names in allowed)
        raise ValueError(f"the set-up has the fields {fields}; it needs {needed}")
    return set_up, moves.split()


def parse_number(text: str) -> int:
    """A whole number of decimal digits.

    Raises:
        ValueError: It is something else.
    """
    if not re.fullmatch("[0-9]+", text):
        raise ValueError(f"{text!r} in the set-up is not a number")
    return int(text)


def parse_hexadecimal(text: str) -> bytes:
    """The bytes of a stored state.

    Raises:
        ValueError: They are not written as pairs of hexadecimal digits.
    """
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise ValueError(f"the state {text[:40]!r} of the set-up is not hexadecimal") from None
