"""The tools of the server: their arguments as clients read them, and the checks that every call passes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from patchwork_env.core.checks import as_integer
from patchwork_env.core.messages import Check, check_fields
from patchwork_env.core.names import did_you_mean, short_repr
from patchwork_env.nmbr9.components import MAX_PLAYERS, ORDERS
from patchwork_env.patchwork.components import VARIANTS
from patchwork_env.service import fields
from patchwork_env.service.positions import GAMES

MOST_LINES = 20
MOST_SECONDS = 60


class Field(NamedTuple):
    """An argument of a tool: its JSON schema, and the check of its value."""

    schema: dict[str, Any]
    check: Check


class Tool(NamedTuple):
    """A tool."""

    description: str  # for the model that uses it
    needed: tuple[str, ...] = ()
    allowed: tuple[str, ...] = ()
    only_reads: bool = False  # whether it leaves all games as they are

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of the arguments."""
        names = (*self.needed, *self.allowed)
        return {
            "type": "object",
            "properties": {name: FIELDS[name].schema for name in names},
            "required": list(self.needed),
            "additionalProperties": False,
        }


def check_call(name: str, arguments: Mapping[str, Any] | None) -> dict[str, Any]:
    """The arguments of a call that are not null, each checked; ValueError if there is no such tool."""
    if name not in TOOLS:
        raise ValueError(f"there is no tool {short_repr(name)}; {did_you_mean(name, TOOLS)}")
    needed, allowed = (
        {key: FIELDS[key].check for key in keys} for keys in (TOOLS[name].needed, TOOLS[name].allowed)
    )
    return check_fields(arguments or {}, needed, allowed)


_word = fields.text_of(200)  # a short text: a move or a name


def _place(value: Any, what: str) -> str | int:
    return _word(value, what) if isinstance(value, str) else as_integer(value, what)


def _text(description: str, check: Check = _word, **more: Any) -> Field:
    return Field({"type": "string", "description": description, **more}, check)


def _integer(description: str, check: Check = as_integer, **more: Any) -> Field:
    return Field({"type": "integer", "description": description, **more}, check)


def _corner(description: str) -> Field:
    return Field({"type": ["string", "integer"], "description": description}, _place)


FIELDS = {
    "game_id": _text("The game, as new_game has called it."),
    "game": _text("Which game; patchwork by default.", enum=list(GAMES)),
    "opponent": _text(
        "Who plays all other seats and answers at once: an agent such as 'greedy', 'partner:level=2', "
        "'champion:fast' (patchwork) or 'nmbr9_champion:fast' (nmbr9). Without one you play every seat.",
        fields.spec,
    ),
    "seat": _integer("Your seat against an opponent; 0, which begins, by default.", minimum=0),
    "seed": _integer("For the same game and the same opponent again.", fields.seed, minimum=0),
    "variant": _text("Patchwork: the print of the time track.", enum=list(VARIANTS)),
    "players": _integer(
        "NMBR 9: the number of players; 1, or 2 with an opponent.", minimum=1, maximum=MAX_PLAYERS
    ),
    "order": _text("NMBR 9: what is known of the cards to come.", enum=list(ORDERS)),
    "notation": _text(
        "Go on with this game, in the notation that show gives, instead of a new one.",
        fields.text_of(fields.MOST_BYTES),
    ),
    "move": _text("The move, in the notation of legal_moves, such as '12/3@d5', '+', '*d5' or '7/3@-2,5'."),
    "group": _text("Only placements of this piece, such as 'patch 12' or 'tile 7'."),
    "piece": _text("Any patch or tile, such as 'patch 12' or 'tile 7'."),
    "orientation": _integer("Only placements in this orientation."),
    "row": _corner("Only placements with their top row here."),
    "column": _corner("Only placements with their left column here."),
    "level": _integer("NMBR 9: only placements on this level."),
    "page": _integer("The page of a long list; 1 by default.", minimum=1),
    "agent": _text("Who is asked; the champion of the game by default.", fields.spec),
    "lines": _integer(
        "How many moves to show; 5 by default.",
        fields.between(1, MOST_LINES),
        minimum=1,
        maximum=MOST_LINES,
    ),
    "seconds": Field(
        {
            "type": "number",
            "description": "How long to think; 3 by default.",
            "exclusiveMinimum": 0,
            "maximum": MOST_SECONDS,
        },
        fields.seconds(MOST_SECONDS, above=0),
    ),
}

TOOLS: dict[str, Tool] = {
    "new_game": Tool(
        "Begins a game of Patchwork or NMBR 9. Gives its game_id, the rules, the position and the moves.",
        allowed=("game", "opponent", "seat", "seed", "variant", "players", "order", "notation"),
    ),
    "show": Tool(
        "Shows the position of a game and the kinds of legal moves; the game in notation, too, if nothing of "
        "it is hidden.",
        needed=("game_id",),
        only_reads=True,
    ),
    "legal_moves": Tool(
        "Lists legal moves. Without further arguments the kinds of moves, with how many there are of each; "
        "with any of them the placements that fit, by pages.",
        needed=("game_id",),
        allowed=("group", "orientation", "row", "column", "level", "page"),
        only_reads=True,
    ),
    "shapes": Tool(
        "Draws any piece of the game in all its orientations, also one that is not yet offered or drawn.",
        needed=("game_id", "piece"),
        only_reads=True,
    ),
    "play": Tool(
        "Plays a move for the player to move. An opponent answers at once, until it is your move again.",
        needed=("game_id", "move"),
    ),
    "undo": Tool(
        "Takes back your last move, and what an opponent has answered.",
        needed=("game_id",),
    ),
    "hint": Tool(
        "Tells what a strong agent would play now.",
        needed=("game_id",),
        allowed=("agent",),
        only_reads=True,
    ),
    "analyse": Tool(
        "Tells the best moves that a search finds, with what to expect of each and how the game may go on.",
        needed=("game_id",),
        allowed=("agent", "lines", "seconds"),
        only_reads=True,
    ),
    "end_game": Tool("Forgets a game, which makes room for another one.", needed=("game_id",)),
}
"""The tools by name; :class:`~patchwork_env.integrations.mcp.session.Session` has a method for each."""
