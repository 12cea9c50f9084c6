"""Attempts of all attacks, as many as ``make test-attack`` sets: none in other runs of the tests."""

import os
import zlib

import numpy as np
import pytest

from tests.attack import arguments, configs, folders, interrupts, kills, services, stored_games

MODULES = (arguments, configs, folders, interrupts, kills, services, stored_games)
ATTACKS = {name: attack for module in MODULES for name, attack in module.ATTACKS.items()}
SLOW = {name for module in MODULES for name in getattr(module, "SLOW", ())}
ATTEMPTS = int(os.environ.get("ATTACK_ATTEMPTS", 0))
SEED = int(os.environ.get("ATTACK_SEED", 0))


def numbered():
    """The attempts of attacks; slow ones have a tenth of them."""
    for name in sorted(ATTACKS):
        number = -(-ATTEMPTS // 10) if name in SLOW else ATTEMPTS
        yield from ((name, attempt) for attempt in range(number))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "attempt"), list(numbered()))
def test_attack(name, attempt):
    ATTACKS[name](np.random.default_rng([SEED, zlib.crc32(name.encode()), attempt]))
