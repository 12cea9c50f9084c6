"""Pictures of a game: text, SVG, arrays of pixels, and files.

:func:`text` and :func:`svg` need nothing but NumPy. Pixels need Pillow, and windows need pygame-ce; both
belong to the optional extra ``render``. The scene shows the whole table, 1200 by 760 units.
"""

from __future__ import annotations

from itertools import zip_longest

import numpy as np

from patchwork_env.core.polyomino import Cell, Cells, extent
from patchwork_env.drawing import (
    Frame,
    Label,
    Lines,
    Pictures,
    Point,
    Rectangle,
    Scene,
    Segment,
    mix,
    player_names,
    save_gif,
    save_png,
)
from patchwork_env.errors import MissingExtraError
from patchwork_env.patchwork import cloth, components
from patchwork_env.patchwork.engine import empty_cells
from patchwork_env.patchwork.game import EMPTY, SPECIAL_PATCH, UNKNOWN_PIECE, Game
from patchwork_env.patchwork.notation import COLUMNS

__all__ = ["PICTURES", "Frame", "MissingExtraError", "rgb_array", "save_gif", "save_png", "svg", "text"]

# --- text -----------------------------------------------------------------------------------------------

_MARKS = {EMPTY: ".", SPECIAL_PATCH: "*", UNKNOWN_PIECE: "#"}
_COLUMN = 50
_CARD, _SMALL_CARD = 30, 14
_LABEL = 11
_REST_PER_LINE = 7
_LEGEND = "a number: that patch   * special patch   # covered by an unknown patch   . empty"


def _text(game: Game) -> str:
    """Draw a game as text: players and quilts, time track, offered patches, and the rest of the circle.

    Cells and patches have their names in moves. Lines have at most 100 ASCII characters.
    """
    names = player_names(game)
    players = _side_by_side([_player_text(game, player, name) for player, name in enumerate(names)], _COLUMN)
    blocks = [[status(game, names)], [*players, "", _LEGEND], _track_text(game, names), _circle_text(game)]
    return "\n\n".join("\n".join(block) for block in blocks)


def status(game: Game, names: tuple[str, ...]) -> str:
    """Return the player's turn, or the winner and the scores, in words."""
    winner = game.winner()
    if winner is not None:
        return f"{names[winner]} wins {game.scores()[winner]} to {game.scores()[1 - winner]}"
    if game.pending_special:
        return f"{names[game.current_player]} places a special patch"
    return f"{names[game.current_player]} to move"


def top_player(game: Game) -> int | None:
    """Return the player whose token is on top if both share a space, else None."""
    if game.positions[0] != game.positions[1]:
        return None
    if game.is_over and game.first_finisher is not None:
        return 1 - game.first_finisher
    return game.current_player


def _side_by_side(columns: list[list[str]], width: int) -> list[str]:
    rows = zip_longest(*columns, fillvalue="")
    return ["".join(part.ljust(width) for part in row).rstrip() for row in rows]


def _player_text(game: Game, player: int, name: str) -> list[str]:
    marker = "  <- on move" if player == game.current_player and not game.is_over else ""
    bonus = f"  +{components.BONUS_POINTS} bonus tile" if game.bonus_owner == player else ""
    figures = (
        f"buttons {game.buttons[player]}  income {game.incomes[player]}  "
        f"empty {empty_cells(game.state, 0, player)}  score {game.scores()[player]}"
    )
    return [name + marker + bonus, figures, *_quilt_text(game, player)]


def _quilt_text(game: Game, player: int) -> list[str]:
    ruler = " " + "".join(f"{column:>3}" for column in COLUMNS)
    rows = [
        "".join(f"{_MARKS.get(piece, piece):>3}" for piece in row) for row in game.layout(player).tolist()
    ]
    return [ruler, *(f"{number}{row}" for number, row in enumerate(rows, 1))]


def _track_text(game: Game, names: tuple[str, ...]) -> list[str]:
    marks = ["."] * (components.LAST_SPACE + 1)
    for space in components.INCOME_SPACES:
        marks[space] = "$"
    for space in game.special_spaces:
        marks[space] = "*"
    ruler = "".join(f"{tens:<10}" for tens in range(0, components.LAST_SPACE + 1, 10)).rstrip()
    lines = ["track".ljust(_LABEL) + ruler]
    lines.append(" " * _LABEL + "".join(marks) + "   $ income  * special patch")
    top = top_player(game)
    for player, position in enumerate(game.positions):
        note = " (on top)" if player == top else ""
        token = (" " * position + str(player)).ljust(components.LAST_SPACE + 1)
        lines.append(f"{names[player]:<{_LABEL}}{token}   space {position}{note}")
    return lines


def _circle_text(game: Game) -> list[str]:
    if not game.circle:
        return ["no patches left"]
    lines = ["offered, each in orientation 0", *_side_by_side(list(map(_card_text, game.offered)), _CARD)]
    rest = game.circle[len(game.offered) :]
    if rest:
        lines += ["", "then (patch: buttons/time/income), each in orientation 0"]
    for start in range(0, len(rest), _REST_PER_LINE):
        cards = map(_small_card, rest[start : start + _REST_PER_LINE])
        lines += _side_by_side(list(cards), _SMALL_CARD)
    return lines


def _card_text(patch: int) -> list[str]:
    cells, buttons, time, income = components.PATCHES[patch]
    return [f"patch {patch}", f"  buttons {buttons}, time {time}, income {income}", *_shape(cells, "  ", " ")]


def _small_card(patch: int) -> list[str]:
    cells, buttons, time, income = components.PATCHES[patch]
    return [f"{patch:>2}: {buttons}/{time}/{income}", *_shape(cells, "    ", "")]


def _shape(cells: Cells, margin: str, gap: str) -> list[str]:
    height, width = extent(cells)
    return [
        margin + gap.join("#" if (row, column) in cells else " " for column in range(width)).rstrip()
        for row in range(height)
    ]


# --- the table ------------------------------------------------------------------------------------------

WIDTH, HEIGHT = 1200, 760

_MARGIN = 32
_CELL = 40
_QUILT = components.QUILT_SIZE * _CELL
_QUILT_LEFT = (_MARGIN, WIDTH - _MARGIN - _QUILT)
_PANEL_TOP, _PANEL_HEIGHT = 24, 84
_QUILT_TOP = 124

_LETTER_WIDTH = 0.58  # the average width of a letter, as a share of the font size

_SPACE = 44
_TRACK_COLUMNS, _TRACK_ROWS = 8, 7
_TRACK_LEFT = (WIDTH - _TRACK_COLUMNS * _SPACE) / 2
_TRACK_WIDTH, _TRACK_HEIGHT = _TRACK_COLUMNS * _SPACE, _TRACK_ROWS * _SPACE
_TOKEN = 13.5

_OFFER_TOP, _OFFER_HEIGHT = 536, 202
_CARD_WIDTH, _CARD_GAP = 180, 10
_CARD_ROOM = 30, 161  # the room for the patch on its card, below the label and above the price
_CARD_CELL, _REST_CELL = 29, 9.5
_REST_LEFT = _MARGIN + components.NUM_OFFERED * (_CARD_WIDTH + _CARD_GAP) + 8
_REST_COLUMNS, _REST_ROWS = 10, 3


def table(game: Game, names: tuple[str, ...]) -> Scene:
    """Draw the whole table as a scene of 1200 by 760 units."""
    scene = Scene(WIDTH, HEIGHT, cloth.LINEN)
    for player in (0, 1):
        _panel(scene, game, player, names[player])
        _quilt(scene, game, player)
    _headline(scene, game, names)
    _track(scene, game)
    _bonus(scene, game, names)
    _offer(scene, game)
    _rest(scene, game)
    return scene


def mark_move(scene: Scene, game: Game, action: int, color: str, inset: float = 0) -> None:
    """Outline the patch that a legal move takes and its new place, on the table before the move.

    ``inset`` is the distance of the line from the edges, which keeps the lines of two moves apart.
    """
    move = game.decode(action)
    if move.patch is not None:
        left = _card_left(game.offered.index(move.patch)) + inset
        box = left, _OFFER_TOP + inset, _CARD_WIDTH - 2 * inset, _OFFER_HEIGHT - 2 * inset
        scene.add(Rectangle(*box, radius=10, stroke=color, stroke_width=0.11 * _CELL))
    if move.cells:
        origin = _QUILT_LEFT[game.current_player], _QUILT_TOP
        scene.add(*cloth.contour(tuple(sorted(move.cells)), color, origin, _CELL, inset))
    else:
        x, y, width, height = _space_box(
            min(game.positions[1 - game.current_player] + 1, components.LAST_SPACE)
        )
        box = x + inset, y + inset, width - 2 * inset, height - 2 * inset
        scene.add(Rectangle(*box, radius=4, stroke=color, stroke_width=0.11 * _CELL))


def _panel(scene: Scene, game: Game, player: int, name: str) -> None:
    left, color = _QUILT_LEFT[player], cloth.PLAYERS[player]
    active = game.winner() == player if game.is_over else game.current_player == player
    fill, stroke, width = (
        (cloth.PLAYER_TINTS[player], color, 4) if active else (cloth.PAPER, cloth.QUILT_GRID, 1.5)
    )
    scene.add(Rectangle(left - 6, _PANEL_TOP, _QUILT + 12, _PANEL_HEIGHT, fill, 10, stroke, width))
    scene.add(*cloth.token(player, left + 26, _PANEL_TOP + 42, 19))
    baseline = _PANEL_TOP + (38 if active else 49)
    scene.add(Label(left + 54, baseline, name, _fitting(name, 19, 98), cloth.INK, bold=True))
    if active:
        role = "winner" if game.is_over else "on move"
        scene.add(Label(left + 54, _PANEL_TOP + 59, role, 14, color, bold=True))
    figures = (
        ("buttons", game.buttons[player]),
        ("income", game.incomes[player]),
        ("empty", empty_cells(game.state, 0, player)),
        ("score", game.scores()[player]),
    )
    for column, (title, value) in enumerate(figures):
        x = left + 172 + 53 * column
        scene.add(Label(x, _PANEL_TOP + 43, str(value), 24, cloth.INK, "middle", bold=True))
        scene.add(Label(x, _PANEL_TOP + 64, title, 12.5, cloth.FADED_INK, "middle"))


def _fitting(text: str, size: float, width: float) -> float:
    """Return the font size, at most ``size``, at which a text is at most about ``width`` wide."""
    return min(size, width / (_LETTER_WIDTH * len(text))) if text else size


def _quilt(scene: Scene, game: Game, player: int) -> None:
    left, top = _QUILT_LEFT[player], _QUILT_TOP
    scene.add(Rectangle(left - 6, top - 6, _QUILT + 12, _QUILT + 12, cloth.PLAYERS[player], radius=8))
    scene.add(Rectangle(left, top, _QUILT, _QUILT, cloth.QUILT_CELL))
    lines: list[Segment] = []
    for i in range(1, components.QUILT_SIZE):
        lines.append(((left + i * _CELL, top), (left + i * _CELL, top + _QUILT)))
        lines.append(((left, top + i * _CELL), (left + _QUILT, top + i * _CELL)))
    scene.add(Lines(tuple(lines), cloth.QUILT_GRID, 1))
    for piece, cells in pieces(game, player):
        _piece(scene, piece, cells, (left, top), _CELL)


def pieces(game: Game, player: int) -> list[tuple[int, Cells]]:
    """Return the pieces of a quilt with their cells; each special patch and unknown cell is a piece."""
    patches: dict[int, list[Cell]] = {}
    singles: list[tuple[int, Cells]] = []
    for cell, number in np.ndenumerate(game.layout(player)):
        piece = int(number)
        if piece in (SPECIAL_PATCH, UNKNOWN_PIECE):
            singles.append((piece, (cell,)))
        elif piece != EMPTY:
            patches.setdefault(piece, []).append(cell)
    return [*((piece, tuple(cells)) for piece, cells in patches.items()), *singles]


def _piece(scene: Scene, piece: int, cells: Cells, origin: Point, cell: float) -> None:
    if piece == SPECIAL_PATCH:
        scene.add(*cloth.patch(cells, cloth.SPECIAL_FABRIC, origin, cell))
    elif piece == UNKNOWN_PIECE:
        scene.add(*cloth.patch(cells, cloth.UNKNOWN_FABRIC, origin, cell, fine=False))
    else:
        scene.add(*cloth.patch(cells, cloth.FABRICS[piece], origin, cell, fine=cell >= 12))
        for row, column in sorted(cells)[: components.PATCHES[piece].income]:
            place = origin[0] + (column + 0.5) * cell, origin[1] + (row + 0.5) * cell
            scene.add(*cloth.button(*place, 0.27 * cell))


def _headline(scene: Scene, game: Game, names: tuple[str, ...]) -> None:
    if game.is_over:
        hint = "both have reached the last space"
    elif game.pending_special:
        hint = "on any empty cell of the quilt"
    else:
        hint = "buys an offered patch, or advances"
    title = status(game, names)
    size = _fitting(title, 23, _TRACK_WIDTH)
    scene.add(Label(WIDTH / 2, _PANEL_TOP + 40, title, size, cloth.INK, "middle", bold=True))
    scene.add(Label(WIDTH / 2, _PANEL_TOP + 64, hint, 15, cloth.FADED_INK, "middle"))


def _spiral() -> list[Cell]:
    """Return the fields (row, column) of the time track in the order of a spiral that winds inward."""
    row, column, down, right = 0, 0, 0, 1
    path: list[Cell] = []
    free = {(r, c) for r in range(_TRACK_ROWS) for c in range(_TRACK_COLUMNS)}
    while free:
        path.append((row, column))
        free.remove((row, column))
        if (row + down, column + right) not in free:
            down, right = right, -down
        row, column = row + down, column + right
    return path


_PATH = _spiral()
"""The fields of the spiral; the last space of the track has all that remain in the middle."""


def _space_box(space: int) -> tuple[float, float, float, float]:
    """Return the left, top, width and height of a space of the track."""
    fields = _PATH[components.LAST_SPACE :] if space == components.LAST_SPACE else [_PATH[space]]
    top, left = min(row for row, _ in fields), min(column for _, column in fields)
    rows = 1 + max(row for row, _ in fields) - top
    columns = 1 + max(column for _, column in fields) - left
    x, y = _TRACK_LEFT + left * _SPACE, _QUILT_TOP + top * _SPACE
    return x, y, columns * _SPACE, rows * _SPACE


def _track(scene: Scene, game: Game) -> None:
    left, top = _TRACK_LEFT - 6, _QUILT_TOP - 6
    scene.add(Rectangle(left, top, _TRACK_WIDTH + 12, _TRACK_HEIGHT + 12, cloth.TRACK_WALL, radius=8))
    for space in range(components.LAST_SPACE + 1):
        x, y, width, height = _space_box(space)
        color = mix(*cloth.TRACK, space / components.LAST_SPACE)
        if space in components.INCOME_SPACES:
            color = mix(cloth.INCOME_SPACE, color, 0.15)
        scene.add(Rectangle(x, y, width, height, color, stroke=cloth.TRACK_GRID))
        scene.add(Label(x + 3, y + 12, str(space), 10.5, cloth.TRACK_NUMBER))
    scene.add(Lines(tuple(_walls()), cloth.TRACK_WALL, 4))
    for space in components.INCOME_SPACES:
        scene.add(*cloth.button(*_entrance(space), 7.5))
    for space in game.special_spaces:
        scene.add(*cloth.special_patch(*_entrance(space), 17))
    top_token = top_player(game)
    order = (0, 1) if top_token is None else (1 - top_token, top_token)
    for player in order:
        x, y, width, height = _space_box(game.positions[player])
        x, y = x + width / 2 + 2, y + height / 2 + 3
        if top_token is not None:
            x, y = (x + 4, y - 2) if player == top_token else (x - 8, y + 4)
        scene.add(*cloth.token(player, x, y, _TOKEN, numbered=top_token in (None, player)))


def _walls() -> list[Segment]:
    """Return the edges between neighboring fields that do not follow each other on the path."""
    order = {spot: number for number, spot in enumerate(_PATH)}
    walls: list[Segment] = []
    for (row, column), number in order.items():
        x, y = _TRACK_LEFT + column * _SPACE, _QUILT_TOP + row * _SPACE
        if abs(order.get((row, column + 1), number + 1) - number) > 1:
            walls.append(((x + _SPACE, y), (x + _SPACE, y + _SPACE)))
        if abs(order.get((row + 1, column), number + 1) - number) > 1:
            walls.append(((x, y + _SPACE), (x + _SPACE, y + _SPACE)))
    return walls


def _entrance(space: int) -> Point:
    """Return the middle of the edge across which a token enters a space, where its mark is drawn."""
    (row, column), (row_before, column_before) = _PATH[space], _PATH[space - 1]
    return (
        _TRACK_LEFT + (column + column_before + 1) / 2 * _SPACE,
        _QUILT_TOP + (row + row_before + 1) / 2 * _SPACE,
    )


def _bonus(scene: Scene, game: Game, names: tuple[str, ...]) -> None:
    left, top, side = _TRACK_LEFT, _QUILT_TOP + _TRACK_HEIGHT + 16, 42
    owner = game.bonus_owner
    color = cloth.GOLD if owner is None else cloth.PLAYERS[owner]
    scene.add(Rectangle(left, top, side, side, color, radius=4))
    step = side / components.BONUS_SQUARE
    for row in range(components.BONUS_SQUARE):
        for column in range(components.BONUS_SQUARE):
            x, y = left + column * step, top + row * step
            scene.add(Rectangle(x + 1, y + 1, step - 2, step - 2, mix(color, "#ffffff", 0.55)))
    title = f"{components.BONUS_SQUARE}x{components.BONUS_SQUARE} bonus, {components.BONUS_POINTS} points"
    holder = "still to be won" if owner is None else f"won by {names[owner]}"
    scene.add(Label(left + side + 12, top + 18, title, 15, cloth.INK, bold=True))
    scene.add(Label(left + side + 12, top + 36, holder, 14, cloth.FADED_INK if owner is None else color))
    x = _TRACK_LEFT + _TRACK_WIDTH - 108
    scene.add(*cloth.button(x, top + 12, 8), *cloth.special_patch(x, top + 32, 16))
    scene.add(Label(x + 16, top + 17, "income", 14, cloth.FADED_INK))
    scene.add(Label(x + 16, top + 37, "special patch", 14, cloth.FADED_INK))


def _offer(scene: Scene, game: Game) -> None:
    scene.add(Label(_MARGIN - 6, _OFFER_TOP - 10, "Offered", 15, cloth.INK, bold=True))
    for slot in range(components.NUM_OFFERED):
        left = _card_left(slot)
        filled = slot < len(game.offered)
        fill = cloth.PAPER if filled else cloth.LINEN
        scene.add(Rectangle(left, _OFFER_TOP, _CARD_WIDTH, _OFFER_HEIGHT, fill, 10, cloth.QUILT_GRID, 1.5))
        scene.add(Label(left + 12, _OFFER_TOP + 22, str(slot), 15, cloth.FADED_INK))
        if not filled:
            continue
        patch = game.offered[slot]
        cells, buttons, time, income = components.PATCHES[patch]
        room, middle = _CARD_ROOM[1] - _CARD_ROOM[0], _OFFER_TOP + sum(_CARD_ROOM) / 2
        cell = min(_CARD_CELL, room / extent(cells)[0])
        _centered(scene, patch, cells, (left + _CARD_WIDTH / 2, middle), cell)
        cloth.price_tag(scene, buttons, time, (left + _CARD_WIDTH / 2, _OFFER_TOP + 178), 24)
        if income:
            end = left + _CARD_WIDTH - 12
            scene.add(Label(end, _OFFER_TOP + 22, f"income {income}", 15, cloth.BUTTON, "end"))


def _card_left(slot: int) -> float:
    return _MARGIN - 6 + slot * (_CARD_WIDTH + _CARD_GAP)


def _rest(scene: Scene, game: Game) -> None:
    rest = game.circle[len(game.offered) :]
    title = "Then, clockwise in the circle" if rest else "No more patches in the circle"
    scene.add(Label(_REST_LEFT, _OFFER_TOP - 10, title, 15, cloth.INK, bold=True))
    width = (WIDTH - _MARGIN + 6 - _REST_LEFT) / _REST_COLUMNS
    height = _OFFER_HEIGHT / _REST_ROWS
    for number, patch in enumerate(rest):
        row, column = divmod(number, _REST_COLUMNS)
        x, y = _REST_LEFT + (column + 0.5) * width, _OFFER_TOP + row * height
        cells, buttons, time, _ = components.PATCHES[patch]
        _centered(scene, patch, cells, (x, y + 24), _REST_CELL)
        cloth.price_tag(scene, buttons, time, (x, y + 58), 12)


def _centered(scene: Scene, patch: int, cells: Cells, center: Point, cell: float) -> None:
    rows, columns = extent(cells)
    origin = (center[0] - columns * cell / 2, center[1] - rows * cell / 2)
    _piece(scene, patch, cells, origin, cell)


PICTURES: Pictures[Game] = Pictures("Patchwork", Game, _text, table)
text, svg, rgb_array = PICTURES.text, PICTURES.svg, PICTURES.rgb_array
