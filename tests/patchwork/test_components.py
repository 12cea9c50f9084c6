"""The components are those of the published game."""

from patchwork_env.core.polyomino import NUM_ORIENTATIONS, orient
from patchwork_env.patchwork import PATCHES, Game, engine, tables
from patchwork_env.patchwork.actions import DISTINCT, fits
from tests.patchwork import naive


def cells_of(drawing):
    return {
        (row, column) for row, line in enumerate(drawing) for column, mark in enumerate(line) if mark == "#"
    }


def test_totals_of_all_patches():
    assert len(PATCHES) == 33
    assert sum(len(patch.cells) for patch in PATCHES) == 166
    assert sum(patch.buttons for patch in PATCHES) == 133
    assert sum(patch.time for patch in PATCHES) == 107
    assert sum(patch.income for patch in PATCHES) == 38


def test_every_patch_is_the_one_that_the_naive_game_draws():
    for patch, (drawing, buttons, time, income) in zip(PATCHES, naive.PATCHES, strict=True):
        assert set(patch.cells) == cells_of(drawing.split(" / "))
        assert len(set(patch.cells)) == len(patch.cells) == patch.size
        assert (patch.buttons, patch.time, patch.income) == (buttons, time, income)


def test_144_orientations_and_7349_placements():
    assert sum(map(len, DISTINCT)) == 144
    assert sum(len(places) for places in naive.PLACEMENTS) == 7349
    counted = sum(
        fits(cells, r, k) for of in DISTINCT for cells in of.values() for r in range(9) for k in range(9)
    )
    assert counted == 7349
    assert sum(int(word).bit_count() for word in tables.FITS.flat) == 7349


def test_orientations():
    """Clockwise quarter turns, after a left-right flip from 4 on; coinciding ones under the lowest index."""
    for patch, (text, *_) in enumerate(naive.PATCHES):
        drawing = text.split(" / ")
        for orientation in range(NUM_ORIENTATIONS):
            expected = cells_of(naive.oriented(drawing, orientation))
            assert set(orient(PATCHES[patch].cells, orientation)) == expected
        assert list(DISTINCT[patch]) == list(naive.distinct_orientations(drawing))


def test_at_most_1345_legal_actions():
    """No patch has more than 448 placements; three that do, and cost at most 5 buttons, reach the maximum."""
    assert max(map(len, naive.PLACEMENTS)) == 448
    assert engine.MAX_LEGAL_ACTIONS == 1 + 3 * 448
    circle = [7, 8, 12, *(patch for patch in range(1, 33) if patch not in (7, 8, 12)), 0]
    assert len(Game(circle=circle).legal_actions()) == 1345
