"""States as bytes and games as text: what the formats of all games have in common."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import takewhile
from typing import Any, NamedTuple

import numpy as np

from patchwork_env.core.kernels import States
from patchwork_env.core.names import did_you_mean, short_repr

VERSION = 1
"""The version of the bytes of records and of the notation."""
_CHECKSUM_SIZE = 4
SAMPLED = 1024
"""Of many states, one in so many is checked completely."""


class ByteFormat(NamedTuple):
    """The bytes of a stored record: four magic bytes, a version byte, the record, and a CRC-32 checksum.

    The attributes are those of :class:`~patchwork_env.core.game.Rules`; ``game`` is the title.
    """

    game: str
    magic: bytes
    dtype: np.dtype[np.void]
    find_contradiction: Callable[[States], str | None]
    find_out_of_range: Callable[[States], str | None] | None = None

    @property
    def num_bytes(self) -> int:
        """The length of a stored record in bytes."""
        return len(self.magic) + 1 + self.dtype.itemsize + _CHECKSUM_SIZE

    def pack(self, states: States) -> bytes:
        """The first record of ``states`` as bytes."""
        body = self.magic + bytes([VERSION]) + states[:1].tobytes()
        return body + _checksum(body)

    def records(self, states: Any) -> States:
        """``states`` if it is an array ``(n,)`` of records of the game.

        Raises:
            ValueError: It is something else.
        """
        if not isinstance(states, np.ndarray) or states.ndim != 1 or states.dtype != self.dtype:
            given = short_repr(states)
            raise ValueError(f"states are an array (n,) of records of {self.game}, not {given}")
        return states

    def check(self, states: States) -> States:
        """Returns the same records if every one of them is a state that a game can reach.

        Raises:
            ValueError: One of them is not; the message says what is impossible in it.
        """
        for i in range(len(self.records(states))):
            problem = self.find_contradiction(states[i : i + 1])
            if problem:
                which = "this state" if len(states) == 1 else f"state {i} of {len(states)}"
                raise ValueError(f"no game of {self.game} reaches {which}: {problem}")
        return states

    def check_many(self, states: States) -> States:
        """Returns the same records after a check that costs less than a microsecond each on average.

        All values are in their ranges, and one record in :data:`SAMPLED` is checked like :meth:`check` does.

        Raises:
            ValueError: They are not, or no game reaches such a state.
        """
        if self.find_out_of_range is None:
            return self.check(states)
        problem = self.find_out_of_range(self.records(states))
        if problem:
            raise ValueError(f"no game of {self.game} reaches these {len(states)} states: {problem}")
        self.check(states[::SAMPLED])
        return states

    def unpack(self, data: bytes) -> States:
        """The inverse of :meth:`pack`, an array of one record.

        Raises:
            ValueError: The bytes are foreign, of another version, damaged, or no game reaches such a state.
        """
        if not isinstance(data, bytes | bytearray | memoryview):
            raise ValueError(f"a state is stored as bytes, not as {type(data).__name__}")
        data, size = bytes(data), len(self.magic)
        if data[:size] != self.magic:
            raise ValueError(
                f"not a {self.game} state: the bytes start with {data[:size]!r} instead of {self.magic!r}"
            )
        if list(data[size : size + 1]) != [VERSION]:
            raise ValueError(
                f"a state of version {list(data[size : size + 1])}; this library reads version {VERSION}"
            )
        if len(data) != self.num_bytes:
            raise ValueError(
                f"a state has {self.num_bytes} bytes, these are {len(data)}: truncated or foreign"
            )
        if _checksum(data[:-_CHECKSUM_SIZE]) != data[-_CHECKSUM_SIZE:]:
            raise ValueError("the checksum of the state does not match: the bytes are damaged")
        return self.check(np.frombuffer(data, self.dtype, 1, size + 1).copy())


def _checksum(data: bytes) -> bytes:
    return zlib.crc32(data).to_bytes(_CHECKSUM_SIZE, "little")


def out_of_range(states: States, limits: Mapping[str, tuple[int, Any]]) -> str | None:
    """Says which field of some records is out of its limits; None if none is.

    The limits are the lowest and the highest value; the latter is one for all records, or an array.
    """
    for name, (lowest, highest) in limits.items():
        values = states[name]
        most = np.asarray(highest, values.dtype)  # quick in the same type
        most = most.reshape(-1, *[1] * (values.ndim - 1))
        wrong = (values < lowest) | (values > most) if lowest or values.dtype.kind == "i" else values > most
        if wrong.any():
            at = int(np.nonzero(wrong)[0][0])
            allowed = np.broadcast_to(most, values.shape)[at].flat[0]
            return f"{name} is {values[at]}, allowed are {lowest} to {allowed}"
    return None


def game_text(name: str, set_up: dict[str, str], words: Sequence[str]) -> str:
    """Writes a game as text: the name of the game, the fields of its set-up, and its moves."""
    fields = [f"{field}={value}" for field, value in set_up.items()]
    return " ".join([f"{name}/{VERSION}", *fields]) + "\n" + " ".join(words) + "\n"


_STRAY = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]")
"""Signs without a width, such as byte order marks, which editors and pages put into a text."""
_FIELD = re.compile(r"[a-z]\w*=.*")


def words_of(text: str) -> list[str]:
    """The words of a game in notation, however editors, mail and chat have wrapped, quoted and marked it.

    Raises:
        ValueError: It is no text.
    """
    if not isinstance(text, str):
        raise ValueError(f"a game is written as text, not as {short_repr(text)}")
    plain = re.sub("[>`]", " ", _STRAY.sub("", text))
    return re.sub(r",\s+", ",", plain).split()


def parse_game(
    name: str, text: str, allowed: Collection[tuple[str, ...]]
) -> tuple[dict[str, str], list[str]]:
    """Reads the fields of a game's set-up and its words; the inverse of :func:`game_text`.

    Args:
        name: The name of the game.
        text: The game as text.
        allowed: The groups of fields of which each makes a complete set-up.

    Raises:
        ValueError: The text begins with another name, or its fields are none of these groups.
    """
    begin, *words = words_of(text) or [""]
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
    """Reads a whole number of up to 18 decimal digits.

    Raises:
        ValueError: The text is something else.
    """
    if not re.fullmatch("[0-9]{1,18}", text):
        raise ValueError(f"{short_repr(text)} in the set-up is not a number")
    return int(text)


def parse_numbers(text: str) -> list[int]:
    """Reads whole numbers with commas between them, or ``-`` for none; the inverse of :func:`numbers_text`.

    Raises:
        ValueError: The text is something else.
    """
    return [] if text == "-" else [parse_number(number) for number in text.split(",")]


def numbers_text(numbers: Sequence[int]) -> str:
    """Writes whole numbers with commas between them, or ``-`` for none."""
    return ",".join(map(str, numbers)) or "-"


def parse_hexadecimal(text: str) -> bytes:
    """Reads the bytes of a stored state.

    Raises:
        ValueError: The text does not consist of pairs of hexadecimal digits.
    """
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise ValueError(f"the state {text[:40]!r} of the set-up is not hexadecimal") from None
