"""Polyominoes as plain Python: cells, quarter turns, flips and orientations.

A shape is an ascending tuple of ``(row, column)`` cells whose smallest row and column are 0, so that equal
shapes compare equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Cell = tuple[int, int]
Cells = tuple[Cell, ...]

NUM_ORIENTATIONS = 8


def normalize(cells: Iterable[Cell]) -> Cells:
    """Move ``cells`` so that the bounding box starts at (0, 0), and sort them."""
    cells = list(cells)
    top = min(row for row, _ in cells)
    left = min(column for _, column in cells)
    return tuple(sorted((row - top, column - left) for row, column in cells))


def parse(rows: Sequence[str]) -> Cells:
    """Read a drawing: one string per row, ``#`` for a cell.

    >>> parse(["##", "#."])
    ((0, 0), (0, 1), (1, 0))
    """
    return normalize((r, c) for r, row in enumerate(rows) for c, mark in enumerate(row) if mark == "#")


def turn(cells: Iterable[Cell]) -> Cells:
    """Return a quarter turn clockwise."""
    return normalize((column, -row) for row, column in cells)


def flip(cells: Iterable[Cell]) -> Cells:
    """Return a left-right flip."""
    return normalize((row, -column) for row, column in cells)


def orient(cells: Iterable[Cell], orientation: int) -> Cells:
    """Return orientation ``o``: ``o % 4`` clockwise quarter turns, after a left-right flip if ``o >= 4``."""
    shape = flip(cells) if orientation >= 4 else normalize(cells)
    for _ in range(orientation % 4):
        shape = turn(shape)
    return shape


def orientations(cells: Iterable[Cell]) -> dict[int, Cells]:
    """Return the distinct orientations of a shape, each under its lowest index.

    >>> sorted(orientations(parse(["##"])))
    [0, 1]
    """
    cells = tuple(cells)
    distinct: dict[Cells, int] = {}
    for orientation in range(NUM_ORIENTATIONS):
        distinct.setdefault(orient(cells, orientation), orientation)
    return {orientation: shape for shape, orientation in distinct.items()}


def extent(cells: Iterable[Cell]) -> tuple[int, int]:
    """Return the height and width of the bounding box of a normalized shape, in cells."""
    cells = tuple(cells)
    return 1 + max(row for row, _ in cells), 1 + max(column for _, column in cells)
