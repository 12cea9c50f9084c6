"""Games that random play hardly ever reaches: packings of whole quilts, found by search.

In all of them player 0 begins and the special patches are those of the revised edition.
"""

from __future__ import annotations

from typing import NamedTuple


class Recorded(NamedTuple):
    """The beginning of a game, up to the events that it shows."""

    name: str
    circle: tuple[int, ...]
    actions: tuple[int, ...]
    shows: tuple[str, ...]


def numbers(text):
    """Integers between spaces."""
    return tuple(map(int, text.split()))


GAMES = (
    Recorded(
        "two patches left",
        numbers("4 24 28 22 14 3 12 1 30 21 16 8 9 13 29 10 11 26 5 2 17 20 18 27 6 7 15 25 23 19 31 32 0"),
        numbers(
            "88 0 271 221 229 296 226 5 197 104 12 0 2 55 1945 55 100 453 1968 364 89 129 82 1972 90 3 "
            "185 0 14 1991 244 102 226 41 2005 134 93 286 1431"
        ),
        shows=("two patches left", "bonus tile by a special patch"),
    ),
    Recorded(
        "full quilt, one special patch in it",
        numbers("6 30 22 8 13 4 25 7 11 1 21 18 23 31 12 3 2 5 9 10 14 15 16 17 19 20 24 26 27 28 29 32 0"),
        numbers(
            "47 0 4 0 1 0 467 0 381 0 304 0 15 0 1945 33 0 0 0 92 0 1946 19 0 109 0 330 2008 0 42 0 0 0 0 "
            "1947 55 0 229 0 197 0"
        ),
        shows=("full quilt", "special patch discarded"),
    ),
    Recorded(
        "full quilt, two special patches in it",
        numbers("22 8 20 14 13 5 7 6 21 12 4 2 29 11 25 1 3 9 10 15 16 17 18 19 23 24 26 27 28 30 31 32 0"),
        numbers(
            "107 0 229 0 32 0 20 0 550 0 24 0 467 0 1945 118 0 354 0 169 1959 0 293 0 5 0 605 1945 0 253 "
            "0 1946 2 0 295 0 70 0"
        ),
        shows=("full quilt", "special patch discarded"),
    ),
)
