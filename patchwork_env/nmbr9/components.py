"""The components of NMBR 9: tiles, deck and limits. Data only, no rules."""

from __future__ import annotations

from patchwork_env.core.polyomino import Cells, parse

NUM_DIGITS = 10
MAX_PLAYERS = 4
COPIES = 2
"""Cards of each digit in the deck of the published game."""
MAX_CARDS = 40
"""The largest deck; any digit may be in it any number of times."""
ORDERS = ("unknown", "known", "free")
"""How the tiles come, the variants U, K and F of arXiv 2001.04238: card by card from a shuffled deck, card by
card from a deck whose order everybody knows, or freely chosen from the supply by each player alone."""

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
