"""Reads games from files, with errors that say where a file is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from patchwork_env.patchwork import Game


def read_game(path: Path) -> Game:
    """Reads a game in notation, see :mod:`patchwork_env.patchwork.notation`.

    Raises:
        ValueError: The file holds something else; the message names the file and the line.
        OSError: The file cannot be read.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is no text in UTF-8: {error.reason} at byte {error.start}") from None
    numbered = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    if not numbered:
        raise ValueError(f"{path} is empty; it must hold a game in notation")
    (first, set_up), *moves = numbered
    with _naming(path, first):
        game = Game.from_notation(set_up)
    for number, line in moves:
        with _naming(path, number):
            _play(game, line.split())
    return game


def _play(game: Game, words: list[str]) -> None:
    for word in words:
        try:
            game.play(game.parse_move(word))
        except ValueError as error:
            raise ValueError(f"move {len(game.history) + 1}: {error}") from None


@contextmanager
def _naming(path: Path, line: int) -> Iterator[None]:
    """Within the block, the message of a ValueError gets the file and the line in front of it."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{path}, line {line}: {error}") from None
