"""A few attempts of every attack that is fast; whatever an attempt does, the frame counts it and goes on."""

import ctypes
import io
import os
import time

import numpy as np
import pytest

from tests.attack import frame

ATTEMPTS = 2


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(frame.find_attacks().keys() - frame.slow_attacks()))
def test_attack(name):
    for number in range(ATTEMPTS):
        frame.attempt(name, frame.find_attacks()[name], 0, number)


# --- the frame ----------------------------------------------------------------------------------------------


def hang_twice(random):
    """The process that this one forks outlives it, with all of its pipes open."""
    os.fork()
    time.sleep(60)
    return 0


ATTACKS = {
    "crash": lambda random: ctypes.string_at(0),
    "hang": lambda random: time.sleep(60),
    "hang_twice": hang_twice,
    "leave": lambda random: os._exit(0),
    "break": lambda random: {}[int(random.integers(2))],
    "pass": lambda random: 50,
}


@pytest.mark.slow
def test_whatever_happens_is_counted(monkeypatch):
    monkeypatch.setattr(frame, "_PATIENCE", 2.0)
    messages = io.StringIO()
    results = frame.run(list(ATTACKS), 1, attempts=2, timeout=1.5, messages=messages, package=__name__)
    assert {name: (result.attempts, result.failures) for name, result in results.items()} == {
        **dict.fromkeys(ATTACKS, (2, 2)),
        "pass": (2, 0),
    }
    assert results["pass"].inputs == 100
    told = messages.getvalue()
    for sign in (
        "SIGSEGV",
        "Timeout (0:00:01",
        "ended with exit code 0",
        "KeyError",
        "break --seed 1 --attempt 1",
    ):
        assert sign in told


def test_an_attempt_is_the_same_when_it_is_repeated():
    seen = [frame.attempt("name", lambda random: random.integers(2**60), 3, number) for number in (5, 5, 6)]
    assert seen[0] == seen[1] != seen[2]
    with pytest.raises(RuntimeWarning):
        frame.attempt("name", lambda random: int(np.array(2.0) / np.array(0.0)), 1, 1)
