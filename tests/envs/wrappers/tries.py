"""How wrappers are tried: on a game of each kind, by checks that are told the name of the game."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

Check = Callable[[str], object]
Wrap = Callable[[Any], Any]

GAMES: dict[str, dict[str, Any]] = {"Patchwork": {}, "Nmbr9": {"players": 2, "deck_size": 3}}
"""The games that wrappers are tried on, with options."""
YES, NO, ODD = "yes", "no", "not useful"
"""It works; it refuses the environment; it takes it, and does what nobody wants."""


def choose(mask: Any, rng: np.random.Generator) -> int:
    """A random legal action, or 0 where nothing is legal and the action does not count."""
    legal = np.flatnonzero(np.asarray(mask))
    return int(rng.choice(legal)) if len(legal) else 0


def wrappers_of(library: Any) -> Callable[..., Wrap]:
    """Puts environments into the wrappers of a module, by name."""

    def wrapped(name: str, *args: Any, **kwargs: Any) -> Wrap:
        return lambda env: getattr(library, name)(env, *args, **kwargs)

    return wrapped


def refused(
    make: Callable[[str], Any], wrap: Wrap, *errors: type[Exception], match: str | None = None
) -> Check:
    """The wrapper does not take the environment."""

    def check(game: str) -> None:
        env = make(game)
        with pytest.raises(errors, match=match):
            wrap(env)

    return check


def identity(value: Any, *_: Any) -> Any:
    return value


def double(value: Any) -> Any:
    return 2 * value
