"""Agents that fail in many ways; ``release`` ends those that hang."""

import os
import sys
import threading

import numpy as np
import pytest

from patchwork_env.agents import Agent
from patchwork_env.agents.analysis import Line

release = threading.Event()
closed = threading.Event()


@pytest.fixture(autouse=True)
def hanging():
    """Agents hang until the end of each test of a module that has this fixture."""
    release.clear()
    closed.clear()
    yield
    release.set()


def raises(game):
    raise ZeroDivisionError("as it likes")


def leaves(game):
    raise SystemExit(3)


def illegal(game):
    return 1945


def nonsense(game):
    return "advance"


def talks(game):
    print("a print")
    os.write(1, b"a line\n")
    os.write(1, f"read: {sys.stdin.read()!r}\n".encode())
    return 0


def hangs(game):
    release.wait(60)
    return 0


class Endless(Agent):
    """An agent whose analyses never end."""

    name = "endless"

    def act(self, game):
        return 0

    def deepen(self, game):
        visits = 0
        try:
            while True:
                visits += 1
                release.wait(0.001)
                yield [Line(0, visits, 1.5, 0.6, False, (0,))]
        finally:
            closed.set()


class Vague(Agent):
    """An agent whose figures are not finite, or have NumPy's types."""

    name = "vague"

    def __init__(self, win):
        self.win = win

    def act(self, game):
        return 0

    def deepen(self, game):
        yield [Line(np.int16(0), np.int64(0), np.float32(1), self.win, np.True_, (np.int16(0),))]  # type: ignore


endless = Endless()
vague, numb = Vague(np.float32(0.25)), Vague(float("nan"))
constant = 3
FAILURES = {
    "raises": "failed: ZeroDivisionError: as it likes",
    "leaves": "SystemExit: 3",
    "illegal": "failed: action 1945 is not legal",
    "nonsense": "must be an integer, not 'advance'",
    "constant": "is 3; it must be an Agent or a function",
    "nothing": "has no 'nothing'",
}
"""What is said of those that fail at once."""
