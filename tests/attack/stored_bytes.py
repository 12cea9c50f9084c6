"""Mutated bytes of stored games: damaged ones, and ones whose fields changed under a right checksum."""

from __future__ import annotations

import zlib
from functools import partial

import numpy as np
from numpy.random import Generator

from patchwork_env import games
from patchwork_env.core.game import Rules
from tests.attack.mutations import mutate_bytes
from tests.attack.sound import pick, refused_or, require_sound, started

BATCH = 200


def damaged(name: str, random: Generator) -> int:
    """Bytes that changed anywhere, half of them with the checksum made right again."""
    rules = games.rules_of(name)
    data, other = (started(rules, random).to_bytes() for _ in range(2))
    for number in range(BATCH):
        changed = mutate_bytes(data, random, other)
        _try(rules, _sealed(changed[:-4]) if number % 2 else changed, random)
    return BATCH


def fields(name: str, random: Generator) -> int:
    """Records some of whose fields have other values, near the right ones or at the ends of the range."""
    rules = games.rules_of(name)
    game = started(rules, random)
    data = game.to_bytes()
    other = started(rules, random).state
    for _ in range(BATCH):
        states = game.state.copy()
        for field in random.choice(states.dtype.names, random.integers(1, 4)):
            _change(states[field], other[field], random)
        _try(rules, _sealed(data[:5] + states.tobytes()), random)
    return BATCH


def _change(values: np.ndarray, others: np.ndarray, random: Generator) -> None:
    flat, at = values.reshape(-1), random.integers(values.size)
    limits = np.iinfo(values.dtype)
    kind = random.integers(6)
    if kind == 0:
        flat[at] = pick(random, (limits.min, limits.max, 0, 1, limits.max // 2))
    elif kind == 1:
        flat[at] ^= values.dtype.type(1 << int(random.integers(8 * values.itemsize - 1)))
    elif kind == 2:
        values[...] = others
    elif kind == 3:
        random.shuffle(flat)
    else:
        flat[at] = min(max(int(flat[at]) + pick(random, (-2, -1, 1, 2)), limits.min), limits.max)


def _sealed(body: bytes) -> bytes:
    return body + zlib.crc32(body).to_bytes(4, "little")


def _try(rules: Rules, data: bytes, random: Generator) -> None:
    game = refused_or(rules.game.from_bytes, data)
    if game is not None:
        require_sound(rules, game, random)


ATTACKS = {
    f"{attack.__name__}_bytes_{name}": partial(attack, name)
    for attack in (damaged, fields)
    for name in (games.PATCHWORK, games.NMBR9)
}
