"""The sample games of the page: the last position, some earlier ones, and all moves."""

from __future__ import annotations

from typing import Any, NamedTuple

from markupsafe import Markup

from patchwork_env.core.game import BaseGame
from patchwork_env.games import rules_of
from patchwork_env.learning.evaluation.sample_games import milestones

_EARLIER = 3


class Turn(NamedTuple):
    """A move of the list."""

    player: int
    word: str


class ShownGame(NamedTuple):
    """A sample game, ready to be shown.

    Attributes:
        opponent: The opponent of the match that the game is from.
        players: The names of the players by seat.
        scores: The scores of the players by seat.
        winner: The seat of the winner; None for a tie.
        final: The last position as SVG; None to show nothing but the moves.
        earlier: Earlier positions as SVG, each with the number of turns before it.
        turns: All moves.
        notation: The game as text.
    """

    opponent: str
    players: tuple[str, str]
    scores: tuple[int, ...]
    winner: int | None
    final: Markup | None
    earlier: list[tuple[int, Markup]]
    turns: list[Turn]
    notation: str


def shown_game(sample: dict[str, Any], kind: str, *, has_pictures: bool, has_earlier: bool) -> ShownGame:
    """Prepares a sample game of an evaluation.

    Args:
        sample: An entry of ``sample_games`` in the file of the evaluation.
        kind: The name of the game.
        has_pictures: Whether to draw the last position.
        has_earlier: Whether to draw earlier positions too.

    Raises:
        ValueError: The notation is damaged.
    """
    game, svg = rules_of(kind).game.from_notation(sample["notation"]), rules_of(kind).pictures.svg
    names = (sample["players"][0], sample["players"][1])
    positions = milestones(game, _EARLIER) if has_earlier else []
    return ShownGame(
        sample["opponent"],
        names,
        game.scores(),
        sample["winner"],
        Markup(svg(game, names)) if has_pictures else None,
        [(len(position.history), Markup(svg(position, names))) for position in positions],
        _turns(game),
        sample["notation"],
    )


def _turns(game: BaseGame) -> list[Turn]:
    position, turns = game.root(), []
    for action in game.history:
        turns.append(Turn(position.current_player, position.move_text(action)))
        position.play(action)
    return turns
