"""A few attempts of every attack that is fast; ``make test-attack`` makes more."""

import pytest

from tests.attack import frame

pytestmark = pytest.mark.slow

ATTEMPTS = 2


@pytest.mark.parametrize("name", sorted(frame.find_attacks().keys() - frame.slow_attacks()))
def test_attack(name):
    for number in range(ATTEMPTS):
        frame.attempt(name, frame.find_attacks()[name], 0, number)
