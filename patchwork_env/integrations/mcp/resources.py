"""What clients may read beside the tools: the rules of both games, and pictures of the games of a session."""

from __future__ import annotations

from typing import NamedTuple

from patchwork_env.core.names import short_repr
from patchwork_env.games import rules_of
from patchwork_env.integrations import text
from patchwork_env.integrations.mcp.session import Session
from patchwork_env.play import positions

_SCHEME = "patchwork-env://"
RULES = {game: f"{_SCHEME}rules/{game}" for game in positions.GAMES}
"""The addresses of the rules, by game."""
PICTURE = f"{_SCHEME}games/{{game_id}}/picture"
"""The address of the picture of a game, with ``{game_id}`` for its name."""
PLAIN, SVG = "text/plain", "image/svg+xml"


class Resource(NamedTuple):
    """Something to read, with the type of its content."""

    kind: str
    content: str


def read_resource(session: Session, uri: str) -> Resource:
    """What an address stands for.

    Raises:
        ValueError: There is no such address, or no such game.
    """
    for name, address in RULES.items():
        if uri == address:
            return Resource(PLAIN, text.rules(positions.new_game(name, {"seed": 0})))
    before, _, after = PICTURE.partition("{game_id}")
    if uri.startswith(before) and uri.endswith(after):
        game_id = uri[len(before) : -len(after)]
        game = session.game(game_id).public()
        return Resource(SVG, rules_of(game.state).pictures.svg(game))
    raise ValueError(
        f"there is nothing at {short_repr(uri)}; there are {', '.join(RULES.values())} and {PICTURE}"
    )
