"""Row, a third game, which consists of its rules alone; everything else comes from the library.

There are twelve cells in a row, two of which are blocked at random. Two players take turns; each covers one
free cell or two free neighbors. When no cell is free, the player who has covered more cells wins; equal
numbers are a draw.
A move is written as its cells, from 1: ``3``, or ``3-4``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from patchwork_env.core.checks import check_between
from patchwork_env.core.game import BaseGame
from patchwork_env.core.kernels import States
from patchwork_env.core.rules import Rules, SetUp

from . import engine
from .engine import NUM_ACTIONS, NUM_CELLS, NUM_PLAYERS, STATE


def set_up(options: Mapping[str, Any], reset_options: Mapping[str, Any]) -> SetUp:
    """Return the set-up of games: some random cells are blocked, or the free cells are given."""
    states = np.zeros(1, STATE)
    if "free" in reset_options:
        cells = [check_between(cell, 0, NUM_CELLS - 1, "a free cell") for cell in reset_options["free"]]
        states["free"] = sum(1 << cell for cell in set(cells))
        return SetUp(states, 0, NUM_PLAYERS)
    states["free"] = (1 << NUM_CELLS) - 1
    return SetUp(states, check_between(options["blocked"], 0, NUM_CELLS - 1, "blocked"), NUM_PLAYERS)


def find_contradiction(states: States) -> str | None:
    """Return the reason why the first record cannot be a state of a game; None if it can."""
    free, (first, second), player = states[0].item()
    if free & first or free & second or first & second or (free | first | second) >> NUM_CELLS:
        return "its cells overlap, or lie beyond the row"
    return "there are two players" if player >= NUM_PLAYERS else None


RULES = Rules(
    name="row",
    title="Row",
    module=__name__,
    engine=(engine,),
    dtype=STATE,
    max_players=NUM_PLAYERS,
    num_actions=NUM_ACTIONS,
    max_legal_actions=NUM_ACTIONS,
    layout=engine.LAYOUT,
    set_up=set_up,
    options={"blocked": 2},
    reset_options=("free",),
    magic=b"ROW!",
    find_contradiction=find_contradiction,
)


class Game(BaseGame[int]):
    """A game of Row, whose blocked cells follow from the seed."""

    __slots__ = ()

    rules = RULES

    def _word(self, action: int) -> str:
        cell = action % NUM_CELLS + 1
        return f"{cell}-{cell + 1}" if action >= NUM_CELLS else str(cell)

    def _parse_word(self, text: str) -> int:
        words = {self._word(action): action for action in range(NUM_ACTIONS)}
        if text not in words:
            raise ValueError(f"{text[:20]!r} is not a move; moves look like '3' or '3-4'")
        return words[text]

    def __str__(self) -> str:
        """The cells: ``.`` if free, ``#`` if blocked, or the number of the player who has covered them."""
        free, (first, second), _ = self.state[0].item()
        signs = [(free, "."), (first, "0"), (second, "1"), (-1, "#")]
        return "".join(next(sign for bits, sign in signs if bits >> cell & 1) for cell in range(NUM_CELLS))
