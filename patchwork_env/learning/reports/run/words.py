"""What the page says of each game."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from patchwork_env.games import NMBR9, PATCHWORK


class Words(NamedTuple):
    """Texts of the page.

    Attributes:
        matches: How the agents met.
        self_play: What the figures of self-play are.
        figures: What those of evaluations are.
        moves: What the words of the notation mean, each with an example.
        has_first_turn: Whether it matters who has the first turn.
    """

    matches: str
    self_play: str
    figures: str
    moves: tuple[tuple[str, str], ...]
    has_first_turn: bool


WORDS: Mapping[str, Words] = {
    PATCHWORK: Words(
        matches="paired games, every circle from both seats; there are no draws",
        self_play="Scores, empty cells, income and buttons are those of a player at the end; buttons spent, "
        "from income and from advancing are sums over a game.",
        figures="Empty cells, income and buttons are those at the end; buttons spent, from income and from "
        "advancing are sums over a game.",
        moves=(
            ("+", "advances"),
            ("12/3@d5", "buys patch 12 and places it in orientation 3 at column d, row 5"),
            ("*d5", "places a special patch"),
        ),
        has_first_turn=True,
    ),
    NMBR9: Words(
        matches="both play the same decks, each on a table of its own; a tie is half a win",
        self_play="Scores and levels are those of a table at the end, level 0 being the table itself.",
        figures="Levels are those with tiles on them, the table itself included.",
        moves=(
            (
                "7/3@-2,5",
                "places tile 7 in orientation 3, two rows above and five columns right of the first tile",
            ),
            ("=7", "chooses tile 7, where the order is free"),
        ),
        has_first_turn=False,
    ),
}
