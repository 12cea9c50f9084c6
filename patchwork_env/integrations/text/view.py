"""Positions in words: boards, shapes, and the legal moves in groups."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice, zip_longest
from typing import Any, NamedTuple

from patchwork_env.core.checks import check_between
from patchwork_env.core.game import BaseGame
from patchwork_env.core.names import counted
from patchwork_env.core.polyomino import Cells, extent
from patchwork_env.games import part_of, rules_of

_SHAPE_WIDTH = 16  # of the column of a shape: "orientation 7" and a gap


class LegalMove(NamedTuple):
    """A legal move."""

    action: int
    word: str  # in the game's notation
    group: str  # such as ``"patch 17"``
    orientation: int | None = None  # None if it places no piece
    row: str | None = None  # of the top-left corner of the piece's bounding box, as the notation writes it
    column: str | None = None
    level: int | None = None  # of a tile of NMBR 9


class Group(NamedTuple):
    """Legal moves of one kind or piece; empty for a piece on offer that cannot be taken."""

    name: str  # such as ``"advance"`` or ``"patch 17"``
    about: str  # the effect of the moves, or the reason why there are none
    choices: tuple[LegalMove, ...]


@dataclass(frozen=True)
class View:
    """The functions and patterns that put one game in words."""

    rules: Callable[[Any], str]  # the rules in short, with the notation of moves
    situation: Callable[[Any, int], Iterable[str]]  # sentences on what the picture does not show
    picture: Callable[[Any, int], str]  # the boards as a player sees them, drawn with characters
    groups: Callable[[Any], tuple[Group, ...]]
    shapes: Callable[[str], tuple[Cells, ...]]  # of a piece by orientation; empty if there is no such piece
    piece: str  # the word for a piece before its number
    details: str  # examples of the filters of placements
    word: re.Pattern[str]  # of moves in lower case
    why_not: Callable[[Any, str], str]  # the reason why a word of the right form is not a legal move
    forms: str  # examples of moves


def view_of(game: BaseGame) -> View:
    """Return the text view of a game; ValueError if it has none."""
    view: View = part_of(rules_of(game.state).name, "view")
    return view


def rules(game: BaseGame) -> str:
    """Return the rules in short and the notation of moves, for a prompt."""
    return view_of(game).rules(game)


def describe(game: BaseGame, player: int | None = None) -> str:
    """Return the position in words and as a drawing: boards with coordinates, the offer, the pieces to come.

    It holds everything that a player, by default the one to move, may know.
    """
    last = game.num_players - 1
    reader = game.current_player if player is None else check_between(player, 0, last, "player")
    view = view_of(game)
    others = listed(f"player {other}" for other in range(game.num_players) if other != reader)
    who = f"You are player {reader}, against {others}." if last else "You play alone."
    lines = [f"{who} {_turn(game, reader)}", *view.situation(game, reader)]
    lines += ["", view.picture(game, reader).rstrip()]
    if not game.is_over:
        for group in view.groups(game):
            if shapes := view.shapes(group.name):
                lines += ["", f"{group.name}:", *draw(shapes)]
    return "\n".join(lines)


def _turn(game: BaseGame, reader: int) -> str:
    """Return a sentence on the player to move or the winner, and on the scores that a player knows."""
    own, known = game.scores()[reader], game.public().scores()
    others = [f"player {player} {score}" for player, score in enumerate(known) if player != reader]
    scores = listed([f"you {own}", *others])
    if not game.is_over:
        mover = "your move" if game.current_player == reader else f"the move of player {game.current_player}"
        return f"It is {mover}. Scores, if the game ended now: {scores}."
    won = " and ".join("you" if player == reader else f"player {player}" for player in game.winners())
    return (
        f"The game is over, won by {won}. Scores: {scores}."
        if others
        else f"The game is over; you scored {own}."
    )


def news(game: BaseGame, since: int, reader: int) -> tuple[tuple[int, str], ...]:
    """Return the moves of others after the first ``since`` public moves, each with its player."""
    plies = islice(game._replay(), since, game.num_public_moves)
    played = ((before.current_player, before.move_text(action)) for before, action in plies)
    return tuple((player, word) for player, word in played if player != reader)


def notation_of(game: BaseGame) -> str | None:
    """Return the game so far; None while it holds hidden information."""
    return game.notation() if game.is_over or not rules_of(game.state).has_hidden_information else None


def moves(game: BaseGame) -> tuple[Group, ...]:
    """Return all legal moves by groups; a piece on offer that cannot be taken is an empty group."""
    return view_of(game).groups(game)


def moves_text(game: BaseGame) -> str:
    """Return a line for each group of moves, with their number and an example."""
    if game.is_over:
        return "The game is over; there are no moves."
    groups = moves(game)
    number = sum(len(group.choices) for group in groups)
    head = f"It is player {game.current_player}'s move. {counted(number, 'legal move')}:"
    return "\n".join([head, *map(_group_text, groups)])


def _group_text(group: Group) -> str:
    if not group.choices:
        return f"{group.name}: no placements ({group.about})"
    example = group.choices[0]
    if example.orientation is None:
        return f"{example.word} ({group.name}): {group.about}"
    orientations = sorted({choice.orientation or 0 for choice in group.choices})
    number = counted(len(group.choices), "placement")
    return (
        f"{group.name}: {number}, such as {example.word}; orientations {listed(orientations)} ({group.about})"
    )


def draw(shapes: tuple[Cells, ...]) -> list[str]:
    """Draw different shapes side by side below their orientations: ``#`` for a cell, else ``.``."""
    columns = [
        [f"orientation {o}", *_rows(shapes[o])] for o in range(len(shapes)) if shapes[o] not in shapes[:o]
    ]
    lines = zip_longest(*columns, fillvalue="")
    return ["".join(part.ljust(_SHAPE_WIDTH) for part in line).rstrip() for line in lines]


def _rows(cells: Cells) -> list[str]:
    height, width = extent(cells)
    return [
        "".join("#" if (row, column) in cells else "." for column in range(width)) for row in range(height)
    ]


def listed(things: Iterable[object]) -> str:
    """Join things with commas; ``"none"`` if there are none."""
    return ", ".join(map(str, things)) or "none"
