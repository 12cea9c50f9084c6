"""What the page must know of a game before any position: pieces, board and the numbering of actions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from patchwork_env.core.checks import check_one_of
from patchwork_env.core.polyomino import Cells
from patchwork_env.games import NMBR9, PATCHWORK
from patchwork_env.nmbr9 import actions as nmbr9_actions
from patchwork_env.nmbr9.components import MAX_PLAYERS, ORDERS, TILES
from patchwork_env.patchwork import actions as patchwork_actions
from patchwork_env.patchwork.components import (
    BONUS_POINTS,
    BONUS_SQUARE,
    INCOME_SPACES,
    LAST_SPACE,
    NUM_PLAYERS,
    PATCHES,
    PENALTY_PER_EMPTY_CELL,
    QUILT_SIZE,
    SPECIAL_SPACES,
    START_BUTTONS,
    VARIANTS,
)


def components_of(game: str) -> dict[str, Any]:
    """The components of a game, ready for JSON."""
    return _COMPONENTS[check_one_of(game, _COMPONENTS, "game")]()


def _patchwork() -> dict[str, Any]:
    return {
        "game": PATCHWORK,
        "players": NUM_PLAYERS,
        "size": QUILT_SIZE,
        "variants": list(VARIANTS),
        "patches": [
            {
                "cells": _listed(patch.cells),
                "buttons": patch.buttons,
                "time": patch.time,
                "income": patch.income,
                "orientations": _orientations(
                    patchwork_actions.ORIENTED[index], patchwork_actions.DISTINCT[index]
                ),
            }
            for index, patch in enumerate(PATCHES)
        ],
        "track": {
            "length": LAST_SPACE,
            "income_spaces": list(INCOME_SPACES),
            "special_spaces": {variant: list(spaces) for variant, spaces in SPECIAL_SPACES.items()},
        },
        "start_buttons": START_BUTTONS,
        "bonus": {"square": BONUS_SQUARE, "points": BONUS_POINTS},
        "penalty": PENALTY_PER_EMPTY_CELL,
        "encoding": {
            "advance": patchwork_actions.ADVANCE,
            "buy": patchwork_actions.FIRST_BUY,
            "special": patchwork_actions.FIRST_SPECIAL,
        },
    }


def _nmbr9() -> dict[str, Any]:
    return {
        "game": NMBR9,
        "players": MAX_PLAYERS,
        "size": nmbr9_actions.TABLE_SIZE,
        "orders": list(ORDERS),
        "tiles": [
            {
                "cells": _listed(cells),
                "orientations": _orientations(nmbr9_actions.ORIENTED[digit], nmbr9_actions.DISTINCT[digit]),
            }
            for digit, cells in enumerate(TILES)
        ],
        "encoding": {"place": 0, "choose": nmbr9_actions.FIRST_CHOICE},
    }


def _orientations(oriented: Sequence[Cells], distinct: Collection[int]) -> list[dict[str, Any]]:
    """Every orientation with its cells, and the lowest one that looks the same, which legal actions use."""
    lowest = {oriented[index]: index for index in distinct}
    return [{"canonical": lowest[cells], "cells": _listed(cells)} for cells in oriented]


def _listed(cells: Iterable[tuple[int, int]]) -> list[list[int]]:
    return [list(cell) for cell in cells]


_COMPONENTS: dict[str, Callable[[], dict[str, Any]]] = {PATCHWORK: _patchwork, NMBR9: _nmbr9}
