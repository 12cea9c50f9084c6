"""Misspelt names are answered with the nearest one."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from patchwork_env.core.names import counted, did_you_mean, named_options, nearest, short_repr
from patchwork_env.errors import UnknownOptionError


class _Thing:
    @named_options
    def __init__(self, seed: int = 0, *, threads: int = 1) -> None:
        self.sum = seed + threads


def test_the_nearest_name() -> None:
    assert nearest("thread", ("seed", "threads")) == "threads"
    assert nearest("colour", ("seed", "threads")) is None
    assert did_you_mean("thread", ("seed", "threads")) == "did you mean 'threads'?"
    assert did_you_mean("colour", ("seed", "threads")) == "allowed are 'seed', 'threads'"
    assert nearest("s" * 10**7, ("seed",)) is None


def test_every_value_can_be_shown() -> None:
    assert short_repr(np.zeros((2, 2), int)) == "array([[0, 0], [0, 0]])"
    assert len(short_repr("a" * 10**6)) == 61
    assert short_repr("a/" * 100, most=300) == repr("a/" * 100)
    assert short_repr(10**5000) == "a value of type int"


def test_numbers_with_what_they_count() -> None:
    assert [counted(number, "game") for number in (0, 1, 2000)] == ["0 games", "1 game", "2,000 games"]


def test_misspelt_options_are_named() -> None:
    assert _Thing(2, threads=3).sum == 5
    assert list(inspect.signature(_Thing).parameters) == ["seed", "threads"]
    with pytest.raises(
        UnknownOptionError, match="_Thing got an unexpected keyword argument 'sed'; did you mean 'seed'"
    ):
        _Thing(sed=3)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword argument 'self'; allowed are 'seed', 'threads'"):
        named_options(lambda seed, threads: None)(1, self=2)  # type: ignore[call-arg]
