"""The components of NMBR 9: tiles, deck and limits."""

from __future__ import annotations

from patchwork_env.core.polyomino import Cells, parse

NUM_DIGITS = 10
MAX_PLAYERS = 4
COPIES = 2
"""The number of cards of each digit in the deck of the published game."""
MAX_CARDS = 40
"""The size of the largest deck; any digit may be in it any number of times."""
ORDERS = ("unknown", "known", "free")
"""The orders of the tiles, variants U, K and F of arXiv 2001.04238: card by card from a shuffled deck, card
by card from a deck whose order all players know, or chosen freely by each player."""

TILES: tuple[Cells, ...] = tuple(
    parse(drawing.split())
    for drawing in (
        "### #.# #.# ###",
        "## .# .# .#",
        ".## .## ##. ###",
        "### ..# .## ###",
        ".## .#. ### .##",
        "### ### ..# ###",
        "##. #.. ### ###",
        "### .#. ##. #..",
        ".## .## ##. ##.",
        "### ### ##. ##.",
    )
)
"""``TILES[digit]``: the cells of a tile, upright."""
