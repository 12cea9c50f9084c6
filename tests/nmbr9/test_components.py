"""The components are those of the published game."""

import numpy as np
import pytest

from patchwork_env.nmbr9 import TILES, Game
from patchwork_env.nmbr9.actions import DISTINCT
from tests.nmbr9.naive import covered, distinct_orientations

SECOND_TILE_PLACEMENTS = (
    (48, 84, 92, 96, 88, 96, 92, 88, 44, 92),
    (42, 72, 80, 85, 76, 85, 81, 76, 38, 80),
    (46, 80, 88, 92, 84, 92, 88, 84, 42, 88),
    (48, 85, 92, 98, 88, 96, 93, 88, 44, 92),
    (44, 76, 84, 88, 80, 88, 85, 80, 40, 84),
    (48, 85, 92, 96, 88, 97, 93, 88, 44, 92),
    (46, 81, 88, 93, 85, 93, 89, 85, 42, 88),
    (44, 76, 84, 88, 80, 88, 85, 80, 40, 84),
    (44, 76, 84, 88, 80, 88, 84, 80, 40, 84),
    (46, 80, 88, 92, 84, 92, 88, 84, 42, 88),
)
"""``[first][second]``: published numbers of legal placements of the second tile, the first one upright."""


def test_tiles():
    assert [len(tile) for tile in TILES] == [10, 5, 9, 9, 8, 10, 9, 7, 8, 10]
    for digit, tile in enumerate(TILES):
        assert frozenset(tile) == covered(distinct_orientations(digit)[0], 0, 0)
        assert DISTINCT[digit] == tuple(distinct_orientations(digit))


@pytest.mark.parametrize("turns", range(4))
def test_placements_of_the_second_tile(turns):
    """The same numbers however the first tile is turned."""
    for first, second in np.ndindex(10, 10):
        game = Game(deck=[first, second])
        actions = game.legal_actions()
        assert len(actions) == (2 if first in (0, 8) else 4)
        game.play(actions[turns % len(actions)])
        assert len(game.legal_actions()) == SECOND_TILE_PLACEMENTS[first][second]
