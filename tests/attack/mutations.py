"""Random changes of bytes, texts and trees of data, without regard to their meaning."""

import copy
import math
import re
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np

from patchwork_env import nmbr9, patchwork
from tests.attack.sound import pick

ODD_TEXTS = (
    *" -+*=,/@#:\0\n\t\\'\"0٣²１Ⅷéﬀİ\u202e\ud800\U0001f9f5",
    *("", "--", "%s", "{}", "[[", "-1", "1e9", "0x1f", "1_0", "nan", "inf", "None", "true", "null"),
    *("9" * 19, "9" * 400, "9" * 5000, "a" * 3000, "(" * 2000),
)
"""Texts that parsers of numbers, names and lists may not handle."""


def mutate_bytes(data, random, other=b""):
    """Flip bits, set, insert, remove, repeat, cut or splice bytes (with ``other``), one to four times."""
    for _ in range(random.integers(1, 5)):
        changed = bytearray(data)
        first, last = sorted(random.integers(len(data) + 1, size=2).tolist())
        at = int(random.integers(max(len(data), 1)))
        kind = random.integers(9)
        if kind <= 2 and data:
            changed[at] ^= 1 << int(random.integers(8))
        elif kind == 3 and data:
            changed[at] = pick(random, (0, 1, 127, 128, 254, 255))
        elif kind == 4:
            changed[first:last] = b""
        elif kind == 5:
            changed[at:at] = random.bytes(random.integers(1, 9))
        elif kind == 6:
            changed[at:at] = data[first:last]
        elif kind == 7:
            changed = changed[:at]
        else:
            changed[first:last] = other[first:last]
        data = bytes(changed)
    return data


def mutate_text(text, random, other=""):
    """Change characters or words of a text, or splice it with ``other``, one to four times."""
    for _ in range(random.integers(1, 5)):
        first, last = sorted(random.integers(len(text) + 1, size=2).tolist())
        kind = random.integers(7)
        if kind == 0:
            text = text[:first] + pick(random, ODD_TEXTS) + text[first:]
        elif kind == 1:
            text = text[:first] + pick(random, ODD_TEXTS) + text[first + 1 :]
        elif kind == 2:
            text = text[:first] + text[min(last, first + 8) :]
        elif kind == 3:
            text = text[:first] + other[first:last] + text[last:]
        elif kind == 4:
            text = text[: max(last, 1)]
        elif kind == 5 and text:
            at = int(random.integers(len(text)))
            text = text[:at] + chr(ord(text[at]) ^ 1 << int(random.integers(7))) + text[at + 1 :]
        else:
            text = _mutate_token(text, random)
    return text


def _mutate_token(text, random):
    """Replace, remove, repeat or move one of the words of a text, which separators divide."""
    tokens = re.split(r"([\s,;:=/@]+)", text)
    at, to = random.integers(len(tokens), size=2).tolist()
    kind = random.integers(5)
    if kind == 0:
        tokens[at] = pick(random, ODD_TEXTS)
    elif kind == 1:
        tokens[at] = tokens[to]
    elif kind == 2:
        tokens[at], tokens[to] = tokens[to], tokens[at]
    elif kind == 3:
        del tokens[at]
    elif tokens[at].isdecimal():
        tokens[at] = str(int(tokens[at][:18]) + int(random.integers(-3, 4)))
    return "".join(tokens)


ODD_VALUES = (
    *(None, True, False, 0, 1, -1, 2**31, 2**63, 2**64, 2**200, -(2**63) - 1, 10**400),
    *(0.5, -0.0, -1.5, 1e-300, 1e300, math.nan, math.inf, "", "x", "1", "nan", "é" * 3000, "\ud800"),
    *([], {}, [[]], {"": {}}, [0] * 500, [[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]),
)
"""Values of JSON and YAML that code for other values may not handle."""
_RECORDS = [game.state.dtype for game in (patchwork.Game(seed=1), nmbr9.Game(seed=1))]
ODD_OBJECTS = (
    *ODD_VALUES,
    *(2, 5, 2**15, 2**32 + 1, 10**5000, 1.0, -1.0, -math.inf, 1j, Fraction(1, 2), Decimal("NaN")),
    *("0", "no", "٣", "\0", "a" * 5000, b"", b"1", bytearray(b"x"), memoryview(b"x"), Path("x")),
    *(np.int64(1), np.int8(-1), np.uint64(2**64 - 1), np.float32(1), np.float64("nan"), np.bool_(True)),
    *(np.str_("x"), np.array("x"), np.array(1), np.array(1.5), np.array(True), np.array(None), np.array([])),
    *(np.zeros((2, 2)), np.zeros(3, object), np.zeros(2, "V7"), np.array([1, 2.5]), np.array([1])),
    *(np.zeros(0, np.int64), np.zeros(1, _RECORDS[0]), np.zeros(2, _RECORDS[1])),
    *([1], [None], [[1]], ["a"], (), (1, 2), {"a": 1}, {1: 2}, set(), {1}, frozenset(), range(3)),
    *(object(), int, len, lambda *_: 1, Ellipsis, NotImplemented, slice(1), iter([1])),
)
"""Objects of all kinds."""


def mutate_tree(tree, random):
    """A copy of data of JSON, with one to four entries exchanged, replaced, removed or repeated."""
    tree = copy.deepcopy(tree)
    for _ in range(random.integers(1, 5)):
        places = list(_places(tree))
        if not places:
            return pick(random, ODD_VALUES)
        holder, key = pick(random, places)
        kind = random.integers(6)
        if kind <= 1:
            holder[key] = copy.deepcopy(pick(random, ODD_VALUES))
        elif kind == 2:
            other, name = pick(random, places)
            holder[key] = copy.deepcopy(other[name])
        elif kind == 3:
            del holder[key]
        elif kind == 4 and isinstance(holder, dict):
            holder[f"{key}{pick(random, ('_', '2', ' ', 's'))}"] = copy.deepcopy(holder[key])
        elif isinstance(holder[key], int | float) and not isinstance(holder[key], bool):
            with suppress(OverflowError):  # 0.5 cannot be added to integers that are too large for floats
                holder[key] += pick(random, (-2, -1, 1, 2, 0.5))
    return tree


def _places(tree):
    """Yield the container and the key or index of every entry of a tree."""
    entries = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in list(entries):
        yield tree, key
        yield from _places(value)
