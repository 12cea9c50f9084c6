"""Attempts of all attacks: a few of the fast ones, or as many as ``make test-attack`` sets."""

import os
import zlib

import numpy as np
import pytest

from tests.attack import arguments, configs, folders, interrupts, kills, services, stored_games

MODULES = (arguments, configs, folders, interrupts, kills, services, stored_games)
ATTACKS = {name: attack for module in MODULES for name, attack in module.ATTACKS.items()}
SLOW = {name for module in MODULES for name in getattr(module, "SLOW", ())}
ATTEMPTS = os.environ.get("ATTACK_ATTEMPTS")
SEED = int(os.environ.get("ATTACK_SEED", 0))


def numbered():
    """The attempts of attacks; slow ones have a tenth of them, and none without ``ATTACK_ATTEMPTS``."""
    number = int(ATTEMPTS or 2)
    for name in sorted(ATTACKS):
        some = (-(-number // 10) if ATTEMPTS else 0) if name in SLOW else number
        yield from ((name, attempt) for attempt in range(some))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "attempt"), list(numbered()))
def test_attack(name, attempt):
    ATTACKS[name](np.random.default_rng([SEED, zlib.crc32(name.encode()), attempt]))
