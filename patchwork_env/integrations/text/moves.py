"""Positions in words, lists of legal moves, and the parsing of moves and requests."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from patchwork_env.core.checks import check_at_least_one, check_between
from patchwork_env.core.game import BaseGame
from patchwork_env.core.names import counted, did_you_mean, short_repr
from patchwork_env.errors import IllegalActionError
from patchwork_env.games import part_of, rules_of
from patchwork_env.integrations.text.answers import find_answer, last_line
from patchwork_env.integrations.text.view import Group, LegalMove, View, draw, listed, lowest

PAGE = 60  # the placements on a page
_NEAREST = 3


def rules(game: BaseGame) -> str:
    """Return the rules in short and the notation of moves, for a prompt."""
    return view_of(game).rules(game)


def describe(game: BaseGame, player: int | None = None) -> str:
    """Return the position in words and as a drawing: boards with coordinates, the offer, the pieces to come.

    It holds all that a player, by default the one to move, may know.
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
            if shapes := view.orientations(group.name):
                lines += ["", f"{group.name}:", *draw(shapes)]
    return "\n".join(lines)


def news(game: BaseGame, since: int, reader: int) -> tuple[tuple[int, str], ...]:
    """Return the moves of others after the first ``since`` public moves, each with its player."""
    plies = islice(game._replay(), since, game.num_public_moves)
    played = ((before.current_player, before.move_text(action)) for before, action in plies)
    return tuple((player, word) for player, word in played if player != reader)


def notation(game: BaseGame) -> str | None:
    """Return the game so far; None while it holds hidden information."""
    return game.notation() if game.is_over or not rules_of(game.state).has_hidden_information else None


def moves(game: BaseGame) -> tuple[Group, ...]:
    """Return all legal moves by groups; a piece on offer that cannot be taken is an empty group."""
    return view_of(game).groups(game)


def moves_text(game: BaseGame) -> str:
    """Return a line for each group of moves, with their number and an example."""
    groups = moves(game)
    number = sum(len(group.choices) for group in groups)
    if game.is_over:
        return "The game is over; there are no moves."
    head = f"It is player {game.current_player}'s move. {counted(number, 'legal move')}:"
    return "\n".join([head, *map(_group_text, groups)])


def placements(
    game: BaseGame,
    group: str | None = None,
    *,
    orientation: int | None = None,
    row: int | str | None = None,
    column: int | str | None = None,
    level: int | None = None,
) -> tuple[LegalMove, ...]:
    """Return the legal moves that place a piece and match all arguments.

    A group is the name of one of :func:`moves` or its number alone, such as ``"patch 17"`` or ``"17"``; an
    orientation may also be another one that looks the same; row and column, as the notation writes them, are
    those of the top-left corner of the piece's bounding box. An impossible value is a ValueError.
    """
    view = view_of(game)
    wanted = {"orientation": orientation, "row": row, "column": column, "level": level}
    given = {name: _on_board(game, name, value) for name, value in wanted.items() if value is not None}
    found: list[LegalMove] = []
    for of_it in [_group(game, group)] if group is not None else moves(game):
        fitting = dict(given)
        if orientation is not None:
            fitting["orientation"] = lowest(view.orientations(of_it.name), given["orientation"])
        found += (choice for choice in of_it.choices if _fits(choice, fitting))
    return tuple(found)


def _on_board(game: BaseGame, name: str, value: Any) -> str:
    """Return the str of a filter's value; ValueError if no placement can have it."""
    filters = view_of(game).filters(game)
    if name not in filters:
        raise ValueError(
            f"{name} is {short_repr(value)}; placements of this game are told by {listed(filters)}"
        )
    allowed = tuple(map(str, filters[name]))
    if (given := str(value).lower().removeprefix("+")) not in allowed:
        raise ValueError(f"{name} is {short_repr(value)}; allowed are {allowed[0]} to {allowed[-1]}")
    return given


def _fits(choice: LegalMove, wanted: Mapping[str, str]) -> bool:
    return choice.orientation is not None and all(
        str(getattr(choice, name)) == value for name, value in wanted.items()
    )


def placements_text(game: BaseGame, group: str | None = None, *, page: int = 1, **wanted: Any) -> str:
    """Return a page of :func:`placements` with these filters, a line for each orientation."""
    found = placements(game, group, **wanted)
    pages = max(1, math.ceil(len(found) / PAGE))
    number = check_between(check_at_least_one(page, "page"), 1, pages, "page")
    shown = found[(number - 1) * PAGE : number * PAGE]
    of_it = f" of {group}" if group else ""
    lines = [f"{counted(len(found), 'placement')}{of_it}" + f", page {number} of {pages}" * (pages > 1)]
    if group is not None and not found and (about := _group(game, group)).choices == ():
        lines.append(f"{about.name}: {about.about}")
    by_piece: dict[str, list[str]] = {}
    for choice in shown:
        by_piece.setdefault(_piece_text(choice), []).append(choice.word)
    return "\n".join([*lines, *(f"{piece}: {' '.join(words)}" for piece, words in by_piece.items())])


def shapes_text(game: BaseGame, piece: str) -> str:
    """Return the shape of a piece, such as ``"patch 17"`` or ``"7"``, in all its orientations."""
    view, name = view_of(game), " ".join(str(piece).lower().split())
    name = f"{view.piece} {name}" if name.isdecimal() else name
    shapes = view.orientations(name)
    if not shapes:
        raise ValueError(f"there is no piece {short_repr(name)}; pieces are {view.pieces}")
    return "\n".join([f"{name}:", *draw(shapes)])


def parse(game: BaseGame, text: str) -> int:
    """Return the legal action of an answer.

    Moves are words of the notation, such as ``12/3@d5``, or phrases, such as ``buy patch 12 in orientation 3
    at d5``. The last marked move counts, such as ``Move: 12/3@d5``, or else a last line that is a move:
    see :mod:`~patchwork_env.integrations.text.answers`.

    For no move or an illegal one, an IllegalActionError says what was found and what is legal.
    """
    view = view_of(game)
    if not isinstance(text, str):
        raise IllegalActionError(f"a move is a text, not {short_repr(text)}")
    if game.is_over:
        raise IllegalActionError("the game is over; there are no moves")
    found = find_answer(text, view.move)
    if not found:
        example = game.move_text(game.legal_actions()[0])
        raise IllegalActionError(
            f"{short_repr(last_line(text))} is no answer; end with a line that holds only a move, such as "
            f"'answer: {example}'. Write {view.forms}. {_allowed(game)}"
        )
    word = view.to_word(found)
    try:
        return game.parse_move(word)
    except IllegalActionError:
        why = view.why_not(game, word)
        nearest = _nearest(game, view, word)
    raise IllegalActionError(f"{short_repr(word)} is not legal: {why}. {nearest}")


def view_of(game: BaseGame) -> View:
    """Return the text view of a game; ValueError if it has none."""
    name = rules_of(game.state).name
    view: View = part_of(name, "view")
    return view


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


def _group(game: BaseGame, name: str) -> Group:
    groups = moves(game)
    wanted = " ".join(str(name).lower().split())
    for group in groups:
        if wanted in (group.name, group.name.rpartition(" ")[2]):
            return group
    raise ValueError(
        f"there is no {short_repr(wanted)} now; {did_you_mean(wanted, [group.name for group in groups])}"
    )


def _group_text(group: Group) -> str:
    if not (example := group.example):
        return f"{group.name}: no placements ({group.about})"
    if example.orientation is None:
        return f"{example.word} ({group.name}): {group.about}"
    orientations = sorted({choice.orientation or 0 for choice in group.choices})
    number = counted(len(group.choices), "placement")
    return (
        f"{group.name}: {number}, such as {example.word}; orientations {listed(orientations)} ({group.about})"
    )


def _piece_text(choice: LegalMove) -> str:
    on_level = "" if choice.level is None else f" on level {choice.level}"
    return f"{choice.group} in orientation {choice.orientation}{on_level}"


def _allowed(game: BaseGame) -> str:
    groups = moves(game)
    return f"Allowed are {'; '.join(_brief(group, group.example.word) for group in groups if group.example)}"


def _brief(group: Group, word: str) -> str:
    return f"{len(group.choices)} of {group.name}, such as {word}" if len(group.choices) > 1 else word


def _nearest(game: BaseGame, view: View, word: str) -> str:
    """Return a sentence with the legal moves nearest to a word, or else with the allowed groups."""
    choices: Sequence[LegalMove] = [choice for group in moves(game) for choice in group.choices]
    ranked = sorted((view.distance(word, choice), choice.action) for choice in choices)
    near = [action for distance, action in ranked[:_NEAREST] if distance < math.inf]
    return f"The nearest that are: {listed(map(game.move_text, near))}" if near else _allowed(game)


REQUESTS = {
    "rules": "the rules, and how moves are written",
    "position": "the position",
    "moves": "the kinds of legal moves, with their numbers",
    "placements": "legal placements, such as 'placements of {piece} 7', with any of {details}",
    "shapes": "the shape of any piece in all its orientations, such as 'shapes of {piece} 7'",
}
"""The first words of requests, each with a template of what the reply contains."""

_FILTERS = ("orientation", "level", "row", "column")
_GROUPS = ("patch", "tile", "special")
_FILLING = ("of", "in", "at", "on", "for", "and", "the", "all")
_DETAIL = "|".join((*_FILTERS, "page", *_GROUPS, *_FILLING))
_REQUEST = re.compile(rf"(?:{'|'.join(REQUESTS)})(?:[ ,]+(?:{_DETAIL})\b.*)?")


def is_request(text: str) -> bool:
    """Whether an answer asks for something instead of moving."""
    return bool(find_answer(text, _REQUEST))


def requests_text(game: BaseGame) -> str:
    """Return a line for each request that a game allows, for a prompt."""
    return "\n".join(f"- {name}: {_phrase(game, name)}" for name in REQUESTS)


def _phrase(game: BaseGame, name: str) -> str:
    view = view_of(game)
    return REQUESTS[name].format(piece=view.piece, details=view.details)


def ask(game: BaseGame, text: str, player: int | None = None) -> str:
    """Return the reply to a request, which begins with one of :data:`REQUESTS`; otherwise ValueError."""
    found = find_answer(str(text), _REQUEST)
    asked = found[0] if found else " ".join(str(text).lower().split())
    kind, _, rest = asked.partition(" ")
    if kind not in REQUESTS:
        raise ValueError(f"there is no request {short_repr(text)}; {did_you_mean(kind, REQUESTS)}")
    details = _details(rest)
    if kind == "placements":
        return placements_text(game, **details)
    if kind == "shapes" and set(details) == {"group"}:
        return shapes_text(game, details["group"])
    if details or kind == "shapes":
        raise ValueError(f"{short_repr(asked)} is not understood; {kind!r} gives {_phrase(game, kind)}")
    if kind == "position":
        return describe(game, player)
    return rules(game) if kind == "rules" else moves_text(game)


def _details(text: str) -> dict[str, Any]:
    words = [word for word in re.split(r"[ ,;]+", text) if word and word not in _FILLING]
    details: dict[str, Any] = {}
    while words:
        name, value = words.pop(0), words.pop(0) if words else ""
        if name in _GROUPS:
            details["group"] = f"{name} {value or 'patch'}"
        elif name in _FILTERS and value:
            details[name] = value
        elif name == "page" and re.fullmatch("[0-9]{1,6}", value):
            details[name] = int(value)
        else:
            raise ValueError(
                f"{short_repr(f'{name} {value}'.strip())} is not understood; after 'placements' may come "
                "'of patch 17', 'of tile 7', 'orientation 3', 'row 2', 'column d', 'level 1', 'page 2'"
            )
    return details
