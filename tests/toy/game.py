"""One game of Row, and its picture."""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any, ClassVar

import numpy as np

from patchwork_env.core.checks import check_between, seed_streams
from patchwork_env.core.game import BaseGame
from patchwork_env.core.names import named_options
from patchwork_env.core.rules import SetUp
from patchwork_env.core.storage import ByteFormat
from tests.toy import engine, observation
from tests.toy.engine import NUM_CELLS, NUM_PLAYERS, STATE, States


def find_contradiction(states: States) -> str | None:
    """Says why the first record cannot be a state of a game; None if it is one."""
    free, (first, second), player = states[0].item()
    if free & first or free & second or first & second or (free | first | second) >> NUM_CELLS:
        return "its cells overlap, or lie beyond the row"
    return "there are two players" if player >= NUM_PLAYERS else None


def set_up(options: Mapping[str, Any], given: Mapping[str, Any]) -> SetUp:
    """How games begin: chance blocks some cells, or the free cells are given."""
    states = np.zeros(1, STATE)
    if "free" in given:
        cells = [check_between(cell, 0, NUM_CELLS - 1, "a free cell") for cell in given["free"]]
        states["free"] = sum(1 << cell for cell in set(cells))
        return SetUp(states, 0, NUM_PLAYERS)
    states["free"] = (1 << NUM_CELLS) - 1
    return SetUp(states, check_between(options["blocked"], 0, NUM_CELLS - 1, "blocked"), NUM_PLAYERS)


class Game(BaseGame[int]):
    """A game of Row, whose blocked cells follow from the seed."""

    __slots__ = ()

    _engine: ClassVar[ModuleType] = engine
    _observation: ClassVar[ModuleType] = observation
    _storage = ByteFormat("Row", b"ROW!", 1, STATE, find_contradiction)
    _num_actions = engine.NUM_ACTIONS
    _legal_shape = engine.LEGAL_SHAPE
    _notation = "row/1"

    @named_options
    def __init__(self, seed: int | None = None, *, blocked: int = 2) -> None:
        beginning, chance, _ = set_up({"blocked": blocked}, {})
        states = beginning.copy()
        engine.deal(states, 0, seed_streams(seed), beginning, chance)
        self._begin(states.tobytes())

    @property
    def num_players(self) -> int:
        """The number of players, always 2."""
        return NUM_PLAYERS

    def __str__(self) -> str:
        return text(self)


def text(game: Game) -> str:
    """Draws the cells: ``.`` if free, ``#`` if blocked, or the number of the player who has covered them."""
    free, covered, _ = game.state[0].item()
    cells = range(NUM_CELLS)
    owners = ["0" if covered[0] >> cell & 1 else "1" if covered[1] >> cell & 1 else "#" for cell in cells]
    return "".join("." if free >> cell & 1 else owners[cell] for cell in cells)
