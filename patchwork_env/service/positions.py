"""Positions and components of games as data for JSON; ``docs/reference/positions.md`` explains the fields."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from patchwork_env.core.documents import read_text
from patchwork_env.core.game import BaseGame
from patchwork_env.core.names import did_you_mean, short_repr
from patchwork_env.core.polyomino import Cells, normalize
from patchwork_env.games import NMBR9, PATCHWORK, games_with, part_of, rules_of
from patchwork_env.nmbr9 import actions as nmbr9_actions
from patchwork_env.nmbr9.components import MAX_PLAYERS, ORDERS, TILES
from patchwork_env.nmbr9.game import Game as Nmbr9
from patchwork_env.nmbr9.state import NO_DIGIT
from patchwork_env.patchwork import actions as patchwork_actions
from patchwork_env.patchwork import components
from patchwork_env.patchwork.game import Game as Patchwork

GAMES = games_with("page")  # the games of the page


class PagePart(NamedTuple):
    """A game on the page."""

    options: Mapping[str, str]  # of new games: from the name on the page to the constructor's argument
    state: Callable[[Any], dict[str, Any]]  # describes a position as data for JSON
    components: Callable[[], dict[str, Any]]  # describes the components as data for JSON


def new_game(game: str, options: Mapping[str, Any]) -> BaseGame:
    """Return a game at its start; options that are None have their defaults.

    ValueError for an option that is not one of :func:`options_of` the game.
    """
    names, given = options_of(game), {name: value for name, value in options.items() if value is not None}
    for name in given:
        if name not in names:
            raise ValueError(f"{game} has no option {short_repr(name)}; it has {', '.join(names)}")
    new: BaseGame = rules_of(game).game(**{names[name]: value for name, value in given.items()})
    return new


def read_game(notation: str) -> BaseGame:
    """Return the game that a notation describes, with its moves."""
    words = notation.split()
    if not words:
        raise ValueError("the text is empty; it must hold a game in notation")
    name, slash, _ = words[0].partition("/")
    if not slash:
        begins = " or ".join(f"{game}/1" for game in GAMES)
        raise ValueError(f"the text begins with {short_repr(name)}; a game in notation begins with {begins}")
    known_game(name)
    game: BaseGame = rules_of(name).game.from_notation(notation)
    return game


def read_game_file(path: Path) -> BaseGame:
    """Read a game from a file in notation; a ValueError names the file and the first wrong word."""
    text = read_text(path)
    try:
        return read_game(text)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def action_of(game: BaseGame, move: str | int) -> int:
    """Return the action of a word of the notation or a number; IllegalActionError if it is not legal."""
    if isinstance(move, str):
        return game.parse_move(move)
    game.move_text(move)  # raises if the action is not legal
    return move


def positions_of(game: BaseGame) -> list[dict[str, Any]]:
    """Return the first position of a game, and the position after each move."""
    replayed = game.root()
    return [position_of(replayed), *(play(replayed, action) for action in game.history)]


def play(game: BaseGame, action: int) -> dict[str, Any]:
    """Play a legal action; return the next position."""
    last = {"action": action, "word": game.move_text(action), "mover": game.current_player}
    game.play(action)
    return {**position_of(game), **last}


def position_of(game: BaseGame) -> dict[str, Any]:
    """Return the position of a game, without the last move."""
    name = rules_of(game.state).name
    return {
        "game": name,
        "ply": game.num_moves,
        "player": None if game.is_over else game.current_player,
        "over": game.is_over,
        "scores": list(game.scores()),
        "winners": list(game.winners()),
        "legal": game.legal_actions().tolist(),
        "action": None,
        "word": None,
        "mover": None,
        "state": page_of(name).state(game),
    }


def _patchwork(game: Patchwork) -> dict[str, Any]:
    lists = ("positions", "buttons", "incomes", "circle", "offered", "special_spaces")
    values = ("bonus_owner", "first_finisher", "pending_special")
    return {
        "variant": game.special_patches,
        **{name: list(getattr(game, name)) for name in lists},
        **{name: getattr(game, name) for name in values},
        "quilts": [game.layout(player).ravel().tolist() for player in range(game.num_players)],
    }


def _nmbr9(game: Nmbr9) -> dict[str, Any]:
    may_choose = game.digit is None and not game.is_over
    chosen = game.state["chosen"][0, : game.num_players].tolist()
    return {
        "players": game.num_players,
        "order": game.order,
        "rounds": game.num_rounds,
        "round": game.round,
        "digit": game.digit,
        "choices": [move.digit for move in game.legal_moves()] if may_choose else [],
        "chosen": [None if digit == NO_DIGIT else digit for digit in chosen],
        "left": list(game.remaining(game.current_player)),
        "deck": list(_known_deck(game)),
        "tables": [_table(game, player) for player in range(game.num_players)],
    }


def _known_deck(game: Nmbr9) -> tuple[int, ...]:
    """Return the cards that players know, in their order; in free order all tiles, ascending."""
    if game.order == "free":
        return game.deck
    turned = game.deck[: min(game.round + 1, game.num_rounds)]
    return turned + game.upcoming


def _table(game: Nmbr9, player: int) -> list[dict[str, Any]]:
    return [
        {
            "digit": digit,
            "level": level,
            "orientation": nmbr9_actions.ORIENTED[digit].index(normalize(cells)),
            "row": min(row for row, _ in cells),
            "column": min(column for _, column in cells),
            "cells": [list(cell) for cell in sorted(cells)],
        }
        for digit, level, cells in game.placements(player)
    ]


def known_game(game: str) -> str:
    """Return the name of the game; ValueError if the page has no boards for it."""
    if game not in GAMES:
        raise ValueError(f"there is no game {short_repr(game)}; {did_you_mean(game, GAMES)}")
    return game


def components_of(game: str) -> dict[str, Any]:
    """Return the components of a game as data for JSON."""
    return page_of(game).components()


def options_of(game: str) -> Mapping[str, str]:
    """Return the options of new games, from the name on the page to the constructor's argument."""
    return page_of(game).options


def page_of(game: str) -> PagePart:
    """Return the part ``page`` of a game; ValueError if the page has no boards for it."""
    page: PagePart = part_of(known_game(game), "page")
    return page


def _patchwork_components() -> dict[str, Any]:
    return {
        "game": PATCHWORK,
        "players": components.NUM_PLAYERS,
        "size": components.QUILT_SIZE,
        "variants": list(components.VARIANTS),
        "patches": [
            {
                **patch._asdict(),
                "cells": _listed(patch.cells),
                "orientations": _orientations(
                    patchwork_actions.ORIENTED[index], patchwork_actions.DISTINCT[index]
                ),
            }
            for index, patch in enumerate(components.PATCHES)
        ],
        "track": {
            "length": components.LAST_SPACE,
            "income_spaces": list(components.INCOME_SPACES),
            "special_spaces": {
                variant: list(spaces) for variant, spaces in components.SPECIAL_SPACES.items()
            },
        },
        "start_buttons": components.START_BUTTONS,
        "bonus": {"square": components.BONUS_SQUARE, "points": components.BONUS_POINTS},
        "penalty": components.PENALTY_PER_EMPTY_CELL,
        "encoding": {
            "advance": patchwork_actions.ADVANCE,
            "buy": patchwork_actions.FIRST_BUY,
            "special": patchwork_actions.FIRST_SPECIAL,
        },
    }


def _nmbr9_components() -> dict[str, Any]:
    return {
        "game": NMBR9,
        "players": MAX_PLAYERS,
        "size": nmbr9_actions.TABLE_SIZE,
        "orders": list(ORDERS),
        "tiles": [
            {
                "cells": _listed(cells),
                "orientations": _orientations(nmbr9_actions.ORIENTED[digit], nmbr9_actions.DISTINCT[digit]),
            }
            for digit, cells in enumerate(TILES)
        ],
        "encoding": {"place": 0, "choose": nmbr9_actions.FIRST_CHOICE},
    }


def _orientations(oriented: Sequence[Cells], distinct: Collection[int]) -> list[dict[str, Any]]:
    """Return the cells of every orientation, and the lowest equal one, which legal actions use."""
    lowest = {oriented[index]: index for index in distinct}
    return [{"canonical": lowest[cells], "cells": _listed(cells)} for cells in oriented]


def _listed(cells: Iterable[tuple[int, int]]) -> list[list[int]]:
    return [list(cell) for cell in cells]


PATCHWORK_PAGE = PagePart(
    {"seed": "seed", "variant": "special_patches", "circle": "circle", "first_player": "first_player"},
    _patchwork,
    _patchwork_components,
)
NMBR9_PAGE = PagePart(
    {"seed": "seed", "players": "players", "order": "order", "deck": "deck"}, _nmbr9, _nmbr9_components
)
