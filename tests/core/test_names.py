"""Misspelt names are answered with the nearest one."""

from __future__ import annotations

import inspect

import pytest

from patchwork_env.core.names import hint, named_options, nearest
from patchwork_env.errors import UnknownOptionError


class _Thing:
    @named_options
    def __init__(self, seed: int = 0, *, threads: int = 1) -> None:
        self.sum = seed + threads


def test_the_nearest_name() -> None:
    assert nearest("thread", ("seed", "threads")) == "threads"
    assert nearest("colour", ("seed", "threads")) is None
    assert hint("thread", ("seed", "threads")) == "did you mean 'threads'?"
    assert hint("colour", ("seed", "threads")) == "allowed are 'seed', 'threads'"
    assert nearest("s" * 10**7, ("seed",)) is None


def test_misspelt_options_are_named() -> None:
    assert _Thing(2, threads=3).sum == 5
    assert list(inspect.signature(_Thing).parameters) == ["seed", "threads"]
    with pytest.raises(UnknownOptionError, match="_Thing has no option 'sed'; did you mean 'seed'"):
        _Thing(sed=3)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="has no option 'self'; allowed are 'seed', 'threads'"):
        named_options(lambda seed, threads: None)(1, self=2)  # type: ignore[call-arg]
