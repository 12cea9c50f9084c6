"""Decks of NMBR 9 in files: a line of digits for each, the first card first."""

from __future__ import annotations

from pathlib import Path

from patchwork_env.core.checks import check_at_least_one, seed_streams
from patchwork_env.nmbr9.options import STANDARD, beginning, check_deck
from patchwork_env.nmbr9.state import empty_states
from patchwork_env.nmbr9.turns import restart_games

Deck = tuple[int, ...]


def shuffled_decks(number: int, seed: int) -> list[Deck]:
    """Random decks of the published game; deck ``k`` depends on ``seed`` and ``k`` alone.

    They are those of game ``k`` in every batch that begins with this seed, matches included.
    """
    states = empty_states(check_at_least_one(number, "number"))
    start = beginning(STANDARD)
    restart_games(states, seed_streams(seed, number), start, True)
    return [tuple(deck) for deck in states["deck"][:, : start[0]["num_cards"]].tolist()]


def decks_text(decks: list[Deck]) -> str:
    """Decks as a file holds them."""
    return "".join("".join(map(str, deck)) + "\n" for deck in decks)


def read_decks(path: Path) -> list[Deck]:
    """The decks of a file.

    Raises:
        ValueError: It holds something else, or nothing; names the line.
        OSError: It cannot be read.
    """
    decks = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not (line.isascii() and line.isdigit()):
            raise ValueError(f"{path}, line {number}: {line!r} is no deck; it must be a line of digits")
        try:
            decks.append(tuple(check_deck(map(int, line))))
        except ValueError as error:
            raise ValueError(f"{path}, line {number}: {error}") from None
    if not decks:
        raise ValueError(f"{path} holds no deck")
    return decks
