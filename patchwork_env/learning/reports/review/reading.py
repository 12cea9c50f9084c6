"""Reads games from files, with errors that name the file."""

from __future__ import annotations

from pathlib import Path

from patchwork_env.core.documents import read_text
from patchwork_env.games import rules_of
from patchwork_env.patchwork import Game
from patchwork_env.service import positions


def read_game(path: Path) -> Game:
    """Reads a game in notation, see :mod:`patchwork_env.patchwork.notation`.

    Raises:
        ValueError: The file holds something else; the message names it, and the first move that is wrong.
        OSError: The file cannot be read.
    """
    text = read_text(path)
    try:
        game = positions.read_game(text)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    if not isinstance(game, Game):
        title = rules_of(game.state).title
        raise ValueError(f"{path} holds a game of {title}; games of Patchwork alone can be reviewed")
    return game
