"""The components of Patchwork: patches, time track and constants."""

from __future__ import annotations

from typing import NamedTuple

from patchwork_env.core.polyomino import Cells, parse

QUILT_SIZE = 9
NUM_CELLS = QUILT_SIZE * QUILT_SIZE
NUM_PLAYERS = 2
START_BUTTONS = 5
NUM_OFFERED = 3
"""The number of patches, clockwise from the neutral token, that may be bought."""

LAST_SPACE = 53
INCOME_SPACES = (5, 11, 17, 23, 29, 35, 41, 47, 53)
SPECIAL_SPACES = {"revised": (26, 32, 38, 44, 50), "2014": (20, 26, 32, 44, 50)}
"""The spaces of the special 1x1 patches, by edition of the game."""
VARIANTS = tuple(SPECIAL_SPACES)

BONUS_SQUARE = 7
BONUS_POINTS = 7
PENALTY_PER_EMPTY_CELL = 2


class Patch(NamedTuple):
    """A patch: its cells in orientation 0, its prices in buttons and in time, and its income buttons."""

    cells: Cells
    buttons: int
    time: int
    income: int

    @property
    def size(self) -> int:
        """The number of its cells."""
        return len(self.cells)


def _patch(drawing: str, buttons: int, time: int, income: int) -> Patch:
    return Patch(parse(drawing.split()), buttons, time, income)


PATCHES = (
    _patch("##", buttons=2, time=1, income=0),
    _patch("## #.", buttons=1, time=3, income=0),
    _patch("###", buttons=2, time=2, income=0),
    _patch("## #.", buttons=3, time=1, income=0),
    _patch("### .#.", buttons=2, time=2, income=0),
    _patch("##. .##", buttons=3, time=2, income=1),
    _patch("####", buttons=3, time=3, income=1),
    _patch("### #..", buttons=4, time=2, income=1),
    _patch("### #..", buttons=4, time=6, income=2),
    _patch("## ##", buttons=6, time=5, income=2),
    _patch("##. .##", buttons=7, time=6, income=3),
    _patch("### #.#", buttons=1, time=2, income=0),
    _patch("### ##.", buttons=2, time=2, income=0),
    _patch("###. ..##", buttons=2, time=3, income=1),
    _patch("#### .#..", buttons=3, time=4, income=1),
    _patch(".#. ### .#.", buttons=5, time=4, income=2),
    _patch("### .#. .#.", buttons=5, time=5, income=2),
    _patch("#####", buttons=7, time=1, income=1),
    _patch("#### #...", buttons=10, time=3, income=2),
    _patch("##. .## ..#", buttons=10, time=4, income=3),
    _patch(".#.. #### .#..", buttons=0, time=3, income=1),
    _patch("##. .#. .#. .##", buttons=1, time=2, income=0),
    _patch("#### #..#", buttons=1, time=5, income=1),
    _patch(".#.. #### ..#.", buttons=2, time=1, income=0),
    _patch("##. .## ##.", buttons=3, time=6, income=2),
    _patch("###. .###", buttons=4, time=2, income=0),
    _patch("### .#. .#. .#.", buttons=7, time=2, income=2),
    _patch("#### .##.", buttons=7, time=4, income=2),
    _patch("##. ### ..#", buttons=8, time=6, income=3),
    _patch("#### ##..", buttons=10, time=5, income=3),
    _patch(".#. .#. ### .#. .#.", buttons=1, time=4, income=1),
    _patch("### .#. ###", buttons=2, time=3, income=0),
    _patch(".##. #### .##.", buttons=5, time=3, income=1),
)
"""The 33 patches; index 0 is the 1x2 patch, after which the neutral token starts."""

NUM_PATCHES = len(PATCHES)
START_PATCH = 0
