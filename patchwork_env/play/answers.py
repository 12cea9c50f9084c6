"""The answers to the page's messages; nothing of a message is kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from patchwork_env.games import rules_of
from patchwork_env.play import messages, positions
from patchwork_env.play.components import components_of
from patchwork_env.protocol.messages import Check, check_fields

Message = Mapping[str, Any]


def components(message: Message) -> dict[str, Any]:
    """The components of the game ``game``."""
    return components_of(check_fields(message, {"game": messages.text})["game"])


def open_game(message: Message) -> dict[str, Any]:
    """A new game of ``game``, or that of ``notation``: its notation and all of its positions."""
    if message.get("notation") is not None:
        game, given = read_game_and(message, {}, {"game": messages.text})
        _require_game(game, given.get("game"))
    else:
        check_fields({"game": message.get("game")}, {"game": messages.text})
        name = positions.known_game(message["game"])
        options = dict.fromkeys((*positions.OPTIONS[name], "notation"), messages.anything)
        given = check_fields(message, {"game": messages.text}, options)
        game = positions.new_game(given.pop("game"), given)
    return {"notation": game.notation(), "positions": positions.positions_of(game)}


def _require_game(game: Any, name: str | None) -> None:
    found = rules_of(game.state).name
    if name is not None and positions.known_game(name) != found:
        raise ValueError(f"the notation is that of a game of {found}, not of {name}")


def play(message: Message) -> dict[str, Any]:
    """The game of ``notation`` after the move ``move``, a word or an action: its notation and position."""
    game, given = read_game_and(message, {"move": messages.move})
    position = positions.play(game, positions.action_of(game, given["move"]))
    return {"notation": game.notation(), "position": position}


def read_game_and(
    message: Message,
    needed: Mapping[str, Check],
    allowed: Mapping[str, Check] | None = None,
) -> tuple[Any, dict[str, Any]]:
    """The game of a message's ``notation``, and its other fields."""
    given = check_fields(message, {"notation": messages.text, **needed}, allowed)
    game = positions.read_game(given.pop("notation"))
    return game, given


ANSWERS: dict[str, Callable[[Message], dict[str, Any]]] = {
    "components": components,
    "open": open_game,
    "play": play,
}
"""The answers that are ready at once, by the last word of the path."""
