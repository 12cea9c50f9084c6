"""A game as plain text, at most 100 columns wide."""

from __future__ import annotations

from itertools import zip_longest

from patchwork_env.core.polyomino import Cells, extent
from patchwork_env.drawing.pictures import player_names
from patchwork_env.patchwork.components import BONUS_POINTS, INCOME_SPACES, LAST_SPACE, PATCHES
from patchwork_env.patchwork.engine import empty_cells
from patchwork_env.patchwork.game import EMPTY, SPECIAL_PATCH, UNKNOWN_PIECE, Game
from patchwork_env.patchwork.notation import COLUMNS

_MARKS = {EMPTY: ".", SPECIAL_PATCH: "*", UNKNOWN_PIECE: "#"}
_COLUMN = 50
_CARD, _SMALL_CARD = 30, 14
_LABEL = 11
_REST_PER_LINE = 7
_LEGEND = "a number: that patch   * special patch   # covered by an unknown patch   . empty"


def text(game: Game) -> str:
    """Draws a game as text: players and quilts, time track, offered patches, and the rest of the circle.

    Cells and patches have the names that they have in moves: ``12/3@d5`` puts patch 12 into column d, row 5.
    Lines have at most 100 ASCII characters.
    """
    names = player_names(game)
    players = _side_by_side([_player(game, player, name) for player, name in enumerate(names)], _COLUMN)
    blocks = [[status(game, names)], [*players, "", _LEGEND], _track(game, names), _circle(game)]
    return "\n\n".join("\n".join(block) for block in blocks)


def status(game: Game, names: tuple[str, ...]) -> str:
    """A phrase that says who is to do what, or who has won."""
    winner = game.winner()
    if winner is not None:
        return f"{names[winner]} wins {game.scores()[winner]} to {game.scores()[1 - winner]}"
    if game.pending_special:
        return f"{names[game.current_player]} places a special patch"
    return f"{names[game.current_player]} to move"


def top_player(game: Game) -> int | None:
    """The player whose token lies on top if both share a space, else None."""
    if game.positions[0] != game.positions[1]:
        return None
    if game.is_over and game.first_finisher is not None:
        return 1 - game.first_finisher
    return game.current_player


def _side_by_side(columns: list[list[str]], width: int) -> list[str]:
    rows = zip_longest(*columns, fillvalue="")
    return ["".join(part.ljust(width) for part in row).rstrip() for row in rows]


def _player(game: Game, player: int, name: str) -> list[str]:
    marker = "  <- on move" if player == game.current_player and not game.is_over else ""
    bonus = f"  +{BONUS_POINTS} bonus tile" if game.bonus_owner == player else ""
    figures = (
        f"buttons {game.buttons[player]}  income {game.incomes[player]}  "
        f"empty {empty_cells(game.state, 0, player)}  score {game.scores()[player]}"
    )
    return [name + marker + bonus, figures, *_quilt(game, player)]


def _quilt(game: Game, player: int) -> list[str]:
    ruler = " " + "".join(f"{column:>3}" for column in COLUMNS)
    rows = [
        "".join(f"{_MARKS.get(piece, piece):>3}" for piece in row) for row in game.layout(player).tolist()
    ]
    return [ruler, *(f"{number}{row}" for number, row in enumerate(rows, 1))]


def _track(game: Game, names: tuple[str, ...]) -> list[str]:
    marks = ["."] * (LAST_SPACE + 1)
    for space in INCOME_SPACES:
        marks[space] = "$"
    for space in game.special_spaces:
        marks[space] = "*"
    ruler = "".join(f"{tens:<10}" for tens in range(0, LAST_SPACE + 1, 10)).rstrip()
    lines = ["track".ljust(_LABEL) + ruler]
    lines.append(" " * _LABEL + "".join(marks) + "   $ income  * special patch")
    top = top_player(game)
    for player, position in enumerate(game.positions):
        note = " (on top)" if player == top else ""
        token = (" " * position + str(player)).ljust(LAST_SPACE + 1)
        lines.append(f"{names[player]:<{_LABEL}}{token}   space {position}{note}")
    return lines


def _circle(game: Game) -> list[str]:
    if not game.circle:
        return ["no patches left"]
    lines = ["offered, each in orientation 0", *_side_by_side(list(map(_card, game.offered)), _CARD)]
    rest = game.circle[len(game.offered) :]
    if rest:
        lines += ["", "then (patch: buttons/time/income), each in orientation 0"]
    for start in range(0, len(rest), _REST_PER_LINE):
        cards = map(_small_card, rest[start : start + _REST_PER_LINE])
        lines += _side_by_side(list(cards), _SMALL_CARD)
    return lines


def _card(patch: int) -> list[str]:
    cells, buttons, time, income = PATCHES[patch]
    return [f"patch {patch}", f"  buttons {buttons}, time {time}, income {income}", *_shape(cells, "  ", " ")]


def _small_card(patch: int) -> list[str]:
    cells, buttons, time, income = PATCHES[patch]
    return [f"{patch:>2}: {buttons}/{time}/{income}", *_shape(cells, "    ", "")]


def _shape(cells: Cells, margin: str, gap: str) -> list[str]:
    height, width = extent(cells)
    return [
        margin + gap.join("#" if (row, column) in cells else " " for column in range(width)).rstrip()
        for row in range(height)
    ]
