"""Analyses as the page draws them: from the side of player 0, ready for JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from patchwork_env.agents.analysis import Line, words_of
from patchwork_env.core.game import BaseGame


def analysis_of(game: BaseGame, lines: Sequence[Line], most: int, *, done: bool) -> dict[str, Any]:
    """The analysis of a game for two.

    Args:
        game: The game.
        lines: The lines of a search, for the player to move, the best first.
        most: The most lines to show.
        done: Whether the search is over.
    """
    shown = [_line(game, line) for line in lines[:most]]
    return {
        "player": game.current_player,
        "win": shown[0]["win"],
        "margin": shown[0]["margin"],
        "scores": None,
        "depth": sum(line.visits for line in lines),
        "done": done,
        "lines": shown,
    }


def _line(game: BaseGame, line: Line) -> dict[str, Any]:
    """A line, from the side of player 0."""
    is_first = game.current_player == 0
    words = words_of(game, line.variation)
    return {
        "action": line.action,
        "word": words[0],
        "win": line.win if is_first else 1 - line.win,
        "margin": line.margin if is_first else -line.margin,
        "visits": line.visits,
        "exact": line.exact,
        "line": list(words),
    }
