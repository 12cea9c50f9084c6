"""Draws the figures of the rules in the documents, as the package draws games.

python -m tools.rule_figures --out docs/images/rules

What a figure shows is played: the engine says who is to move, what a move pays and what is legal.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from patchwork_env import agents, nmbr9, patchwork
from patchwork_env.core.polyomino import Cell, Cells, extent, normalize
from patchwork_env.drawing import Label, Lines, Point, Polygon, Rectangle, Scene, to_svg
from patchwork_env.nmbr9 import render as relief
from patchwork_env.nmbr9.actions import ORIENTED as TURNED
from patchwork_env.nmbr9.components import NUM_DIGITS, TILES
from patchwork_env.patchwork import cloth
from patchwork_env.patchwork.actions import ORIENTED
from patchwork_env.patchwork.components import (
    BONUS_SQUARE,
    INCOME_SPACES,
    LAST_SPACE,
    NUM_PATCHES,
    PATCHES,
    QUILT_SIZE,
    SPECIAL_SPACES,
)
from patchwork_env.patchwork.render import pieces

_RIGHT, _WRONG = "#2e8b57", "#c0392b"
_TEXT = 19
_WIDTH = 520
"""The width of a figure: texts are large enough on a phone, too."""
_SPACE = 54
"""The width of a space of the time track."""
_TABLE, _PAPER, _INK, _FADED = "#e7eaee", "#fafbfc", "#2b3138", "#616b75"
"""The colors of figures of NMBR 9, as in its pictures."""


# --- what figures of Patchwork are made of ------------------------------------------------------------------


def _strip(scene: Scene, left: float, top: float, spaces: Sequence[int], size: float = _SPACE) -> None:
    """Adds a piece of the time track with its income marks."""
    for number, space in enumerate(spaces):
        x = left + number * size
        color = cloth.INCOME_SPACE if space in INCOME_SPACES else cloth.TRACK[0]
        scene.add(Rectangle(x, top, size, size, color, stroke=cloth.TRACK_WALL))
        scene.add(Label(x + 4, top + 15, str(space), 13, cloth.TRACK_NUMBER))
    for number, space in enumerate(spaces):
        if space in INCOME_SPACES:
            scene.add(*cloth.button(left + number * size, top + size / 2, 10))


def _token(scene: Scene, player: int, left: float, top: float, number: int) -> None:
    """Adds a token on a space of a strip."""
    x, y = left + (number + 0.55) * _SPACE, top + 0.6 * _SPACE
    scene.add(*cloth.token(player, x, y, 15))


def _pile(scene: Scene, upper: int, left: float, top: float, number: int) -> None:
    """Adds both tokens on one space of a strip, one on the other."""
    x, y = left + (number + 0.55) * _SPACE, top + 0.6 * _SPACE
    scene.add(*cloth.token(1 - upper, x - 4, y + 4, 15, numbered=False))
    scene.add(*cloth.token(upper, x + 5, y - 7, 15))


def _arrow(scene: Scene, start: Point, end: Point, color: str) -> None:
    """Adds a bow from a space to another, above the strip."""
    (x1, y1), (x2, y2) = start, end
    height, steps = 26, 14
    points = [
        (x1 + (x2 - x1) * t, y1 + (y2 - y1) * t - 4 * height * t * (1 - t))
        for t in (step / steps for step in range(steps + 1))
    ]
    scene.add(Lines(tuple(pairwise(points)), color, 3.5))
    scene.add(Polygon(((x2, y2 + 3), (x2 - 10, y2 - 9), (x2 + 4, y2 - 12)), color))


def _says(scene: Scene, x: float, y: float, *lines: str, ink: str = cloth.INK) -> None:
    """Adds lines of text, the first one in bold."""
    for number, line in enumerate(lines):
        scene.add(Label(x, y + 26 * number, line, _TEXT, ink, bold=number == 0))


def _quilt(scene: Scene, game: patchwork.Game, player: int, left: float, top: float, cell: float) -> None:
    """Adds a quilt with its patches."""
    side = QUILT_SIZE * cell
    scene.add(Rectangle(left - 5, top - 5, side + 10, side + 10, cloth.PLAYERS[player], radius=7))
    scene.add(Rectangle(left, top, side, side, cloth.QUILT_CELL))
    for i in range(1, QUILT_SIZE):
        across = ((left, top + i * cell), (left + side, top + i * cell))
        down = ((left + i * cell, top), (left + i * cell, top + side))
        scene.add(Lines((across, down), cloth.QUILT_GRID))
    for piece, cells in pieces(game, player):
        fabric = cloth.FABRICS[piece] if 0 <= piece < NUM_PATCHES else cloth.SPECIAL_FABRIC
        scene.add(*cloth.patch(cells, fabric, (left, top), cell, fine=False))


def _piece(scene: Scene, cells: Cells, patch: int, middle: Point, cell: float) -> None:
    """Adds a patch around a point."""
    height, width = extent(cells)
    origin = middle[0] - width * cell / 2, middle[1] - height * cell / 2
    scene.add(*cloth.patch(cells, cloth.FABRICS[patch], origin, cell, fine=False))


def _circle(*first: int) -> list[int]:
    """A circle that begins with some patches."""
    return [*first, *(patch for patch in range(1, NUM_PATCHES) if patch not in first), 0]


def _played(
    wanted: Callable[[patchwork.Game, patchwork.Game], bool],
) -> tuple[patchwork.Game, patchwork.Game]:
    """The first move of greedy games that is as wanted: the positions before and after it."""
    for seed in range(1000):
        game, agent = patchwork.Game(seed), agents.load("greedy", seed=seed)
        while not game.is_over:
            before = game.clone()
            game.play(agent.act(game))
            if wanted(before, game):
                return before, game
    raise LookupError("no such move in a thousand games")


# --- Patchwork --------------------------------------------------------------------------------------------


def _turn() -> Scene:
    """Who is to move when both tokens lie on one space."""
    game = patchwork.Game(circle=_circle(20, 5, 23))
    game.play(game.parse_move("20/0@a1"))
    game.play(game.parse_move("5/0@a1"))
    assert (game.positions, game.current_player) == ((3, 2), 1)
    scene = Scene(_WIDTH, 580, cloth.PAPER)
    left, tops, spaces = 36, (40, 234, 428), range(8)
    position = game.clone()
    rows: list[tuple[str, str, str]] = [
        (
            "Player 1 is behind, and moves.",
            "The players do not alternate: who is behind",
            "may move several times in a row.",
        )
    ]
    game.play(game.parse_move("+"))
    assert (game.positions, game.buttons[1], game.current_player) == ((3, 4), position.buttons[1] + 2, 0)
    rows.append(
        (
            "Advance: one space in front of the other.",
            "2 spaces, so player 1 gets 2 buttons.",
            "Now player 0 is behind, and moves.",
        )
    )
    game = position.clone()
    game.play(game.parse_move("23/0@d1"))
    assert game.positions == (3, 3)
    assert game.current_player == 1
    rows.append(
        (
            "Both on one space: the last to arrive moves.",
            "Player 1 paid 1 time and came later, so its",
            "token lies on top, and it moves once more.",
        )
    )
    moves = [None, (2, 4), (2, 3)]
    for top, texts, move in zip(tops, rows, moves, strict=True):
        _strip(scene, left, top, spaces)
        _says(scene, left, top + _SPACE + 30, *texts)
        start, end = move or (2, 2)
        if end == 3:
            _pile(scene, 1, left, top, end)
        else:
            _token(scene, 0, left, top, 3)
            _token(scene, 1, left, top, end)
        if move is None:
            continue
        above = top - 4
        _arrow(
            scene,
            (left + (start + 0.5) * _SPACE, above),
            (left + (end + 0.5) * _SPACE, above),
            cloth.PLAYERS[1],
        )
    return scene


def _income() -> Scene:
    """The income of a mark that the same move passes."""
    bought = 8
    game = patchwork.Game(circle=_circle(bought))
    _, price, time, income = PATCHES[bought]
    before = game.buttons[0]
    game.play(game.parse_move(f"{bought}/0@a1"))
    after = game.buttons[0]
    assert game.positions[0] == time == 6
    assert after == before - price + income
    scene = Scene(_WIDTH, 248, cloth.PAPER)
    left, top = 36, 44
    _strip(scene, left, top, range(8))
    _token(scene, 1, left, top, 0)
    _token(scene, 0, left, top, time)
    _arrow(
        scene,
        (left + 0.5 * _SPACE, top - 4),
        (left + (time + 0.5) * _SPACE, top - 4),
        cloth.PLAYERS[0],
    )
    _piece(scene, PATCHES[bought].cells, bought, (84, 158), 26)
    for number in range(income):
        scene.add(*cloth.button(58 + 26 * number, 145, 8))
    cloth.price_tag(scene, price, time, (84, 218), 24)
    _says(
        scene,
        170,
        146,
        "The new patch counts.",
        f"{before} buttons − {price} for the patch",
        f"+ {income} income at the mark on 5",
        f"= {after} buttons",
    )
    return scene


def _end() -> Scene:
    """Moves that end on the last space."""
    first, then = _played(
        lambda a, b: (
            a.positions[1 - a.current_player] == LAST_SPACE
            and a.positions[a.current_player] == 51
            and b.history[-1] == 0
        )
    )
    player = first.current_player
    income = first.incomes[player]
    gained = then.buttons[player] - first.buttons[player]
    assert gained == 2 + income
    assert then.is_over
    over, landed = _played(
        lambda a, b: (
            not a.pending_special
            and (patch := a.decode(b.history[-1]).patch) is not None
            and a.positions[a.current_player] + PATCHES[patch].time > LAST_SPACE
            and a.positions[1 - a.current_player] not in (LAST_SPACE, a.positions[a.current_player])
            and a.positions[1 - a.current_player] < LAST_SPACE
            and a.positions[a.current_player] >= 48
        )
    )
    mover = over.current_player
    patch = over.decode(landed.history[-1]).patch
    assert patch is not None
    assert landed.positions[mover] == LAST_SPACE
    scene = Scene(_WIDTH, 386, cloth.PAPER)
    left, spaces = 36, range(46, LAST_SPACE + 1)
    for top, position, who, texts in (
        (
            40,
            over,
            mover,
            (
                "53 is the end.",
                f"From {over.positions[mover]}, a patch with {PATCHES[patch].time} time: the token",
                "stops on 53. The price is the same.",
            ),
        ),
        (
            234,
            first,
            player,
            (
                "Advance when the other is on 53.",
                f"From 51 to 53: 2 buttons for 2 spaces, and {income}",
                f"of income at the last mark: {gained} in all.",
            ),
        ),
    ):
        _strip(scene, left, top, spaces)
        start = position.positions[who] - spaces[0]
        other = position.positions[1 - who] - spaces[0]
        end = LAST_SPACE - spaces[0]
        if other == end:
            _pile(scene, who, left, top, end)
        else:
            _token(scene, 1 - who, left, top, other)
            _token(scene, who, left, top, end)
        _arrow(
            scene,
            (left + (start + 0.5) * _SPACE, top - 4),
            (left + (end + 0.5) * _SPACE, top - 4),
            cloth.PLAYERS[who],
        )
        _says(scene, left, top + _SPACE + 30, *texts)
    return scene


def _bonus() -> Scene:
    """A quilt that has just won the bonus tile."""
    before, after = _played(lambda a, b: a.bonus_owner is None and b.bonus_owner is not None)
    owner = after.bonus_owner
    assert owner is not None
    covered = after.quilt(owner)
    row, column = next(
        (r, c)
        for r in range(QUILT_SIZE - BONUS_SQUARE + 1)
        for c in range(QUILT_SIZE - BONUS_SQUARE + 1)
        if covered[r : r + BONUS_SQUARE, c : c + BONUS_SQUARE].all()
    )
    assert not before.quilt(owner)[row : row + BONUS_SQUARE, column : column + BONUS_SQUARE].all()
    scene = Scene(_WIDTH, 546, cloth.PAPER)
    cell, left, top = 40, 80, 22
    _quilt(scene, after, owner, left, top, cell)
    side = BONUS_SQUARE * cell
    for color, width in (("#ffffff", 10.0), (cloth.GOLD, 6.0)):
        box = left + column * cell, top + row * cell, side, side
        scene.add(Rectangle(*box, stroke=color, stroke_width=width))
    _says(
        scene,
        36,
        420,
        "7×7 cells without a gap: 7 points.",
        "The square may lie anywhere on the quilt.",
        "The first player who has one gets the tile at",
        "once, by a patch or by a special patch, and",
        "keeps it. There is one tile for both players.",
    )
    return scene


def _track() -> Scene:
    """Both prints of the time track."""
    scene = Scene(_WIDTH, 372, cloth.PAPER)
    size, half, left = 17.0, (LAST_SPACE + 1) // 2, 30.0
    for top, (print_, specials) in zip((30, 212), SPECIAL_SPACES.items(), strict=True):
        listed = ", ".join(map(str, specials))
        scene.add(Label(left, top, f'"{print_}"', _TEXT, cloth.INK, bold=True))
        scene.add(Label(left + 104, top, f"special patches at {listed}", _TEXT, cloth.INK))
        for space in range(LAST_SPACE + 1):
            x, y = left + space % half * size, top + 18 + 66 * (space // half)
            color = cloth.INCOME_SPACE if space in INCOME_SPACES else cloth.TRACK[0]
            scene.add(Rectangle(x, y, size, 36, color, stroke=cloth.TRACK_WALL))
        for space in (*INCOME_SPACES, *specials):
            x, y = left + space % half * size, top + 18 + 66 * (space // half)
            is_special = space in specials
            scene.add(*(cloth.special_patch(x, y + 18, 14) if is_special else cloth.button(x, y + 18, 7)))
            ink = cloth.INK if is_special else cloth.FADED_INK
            scene.add(Label(x + size / 2, y + 54, str(space), 15, ink, "middle", bold=is_special))
    return scene


def _offer() -> Scene:
    """What is offered before and after a patch is bought."""
    shown, width = (2, 17, 12, 6, 15, 11, 4), 67
    game = patchwork.Game(circle=_circle(*shown))
    after = game.clone()
    after.play(after.parse_move("12/0@a1"))
    assert game.offered == (2, 17, 12)
    assert after.offered == (6, 15, 11)
    assert after.circle[-2:] == (2, 17)
    scene = Scene(_WIDTH, 334, cloth.PAPER)
    for top, position, texts in (
        (12, game, ("The three in front of the neutral token.",)),
        (160, after, ("Patch 12 is bought: the token takes its place.", "2 and 17 wait for the next round.")),
    ):
        _says(scene, 30, top + 22, *texts)
        middle = top + 26 * len(texts) + 64
        for number, patch in enumerate(shown):
            x, y = 66 + number * width, middle
            if patch in position.offered:
                box = x - width / 2 + 2, y - 42, width - 4, 86
                scene.add(Rectangle(*box, "#ffffff", 8, cloth.PLAYERS[0], 2.5))
            if patch in position.circle:
                _piece(scene, PATCHES[patch].cells, patch, (x, y - 8), 11.5)
                scene.add(Label(x, y + 36, str(patch), 16, cloth.FADED_INK, "middle"))
        place = 0 if position is game else shown.index(12)
        tip = 66 + place * width - (width / 2 + 8 if position is game else 0), middle - 18
        foot = (tip[0] - 9, middle + 20), (tip[0] + 9, middle + 20)
        scene.add(Polygon((*foot, tip), cloth.GOLD, cloth.INK, 1.5))
    return scene


def _orientations() -> Scene:
    """The eight orientations of a patch."""
    patch = 14
    assert len({normalize(cells) for cells in ORIENTED[patch]}) == 8
    scene = Scene(_WIDTH, 330, cloth.PAPER)
    for number, cells in enumerate(ORIENTED[patch]):
        x, y = 70 + 127 * (number % 4), 165 * (number // 4)
        scene.add(Label(x, y + 30, str(number), 22, cloth.INK, "middle", bold=True))
        _piece(scene, cells, patch, (x, y + 86), 22)
    for y, text in ((152, "quarter turns clockwise"), (317, "flipped left to right, then turned")):
        scene.add(Label(_WIDTH / 2, y, text, _TEXT, cloth.FADED_INK, "middle"))
    return scene


def _patches() -> Scene:
    """All patches with their indices, prices and income."""
    columns, width, height = 6, 85, 140
    scene = Scene(columns * width + 10, 6 * height + 10, cloth.LINEN)
    for patch, (cells, buttons, time, income) in enumerate(PATCHES):
        x, y = 5 + patch % columns * width, 5 + patch // columns * height
        scene.add(Rectangle(x + 2, y + 2, width - 4, height - 4, cloth.PAPER, 6, cloth.QUILT_GRID))
        scene.add(Label(x + 8, y + 19, str(patch), 15, cloth.INK, bold=True))
        for number in range(income):
            scene.add(*cloth.button(x + width - 13 - 15 * number, y + 14, 6.2))
        _piece(scene, cells, patch, (x + width / 2, y + 72), 14.5)
        cloth.price_tag(scene, buttons, time, (x + width / 2, y + height - 18), 15.5)
    return scene


# --- NMBR 9 -----------------------------------------------------------------------------------------------

_PANEL_WIDTH, _PANEL_HEIGHT = 245.0, 220.0


def _tile(digit: int, orientation: int, row: int, column: int, level: int = 0) -> nmbr9.Move:
    cells = frozenset((row + r, column + c) for r, c in TURNED[digit][orientation])
    return nmbr9.Move(digit, level, cells)


def _word(move: nmbr9.Move, first: nmbr9.Move) -> str:
    """A placement in notation, counted from the first tile of the table."""
    corner, origin = (
        (min(row for row, _ in cells), min(column for _, column in cells))
        for cells in (move.cells, first.cells)
    )
    orientation = TURNED[move.digit].index(normalize(move.cells))
    return f"{move.digit}/{orientation}@{corner[0] - origin[0]},{corner[1] - origin[1]}"


def _is_legal(lying: Sequence[nmbr9.Move], move: nmbr9.Move) -> bool:
    """Whether the engine lets a tile be placed after those that lie there, on the level of the move."""
    game = nmbr9.Game(deck=[tile.digit for tile in (*lying, move)])
    for tile in lying:
        game.play(game.parse_move(_word(tile, lying[0])))
    if game.heights(0).max() > 0 and _word(move, lying[0]) not in map(game.move_text, game.legal_actions()):
        return False
    return game.decode(game.parse_move(_word(move, lying[0]))).level == move.level


class _Table(relief.View):
    """Where the cells of a small table lie."""

    def __init__(self, cells: Sequence[Cell], left: float, top: float, cell: float) -> None:
        rows, columns = [row for row, _ in cells], [column for _, column in cells]
        self.cell = cell
        self._left = left + (_PANEL_WIDTH - cell * (max(columns) + min(columns) + 1)) / 2
        self._top = top + (_PANEL_HEIGHT - cell * (max(rows) + min(rows) + 1)) / 2


def _judged(panels: Sequence[tuple[Sequence[nmbr9.Move], nmbr9.Move, bool, tuple[str, ...]]]) -> Scene:
    """Panels, each with tiles that lie there, a tile that is placed, whether it may be, and why."""
    columns = 2
    rows = -(-len(panels) // columns)
    height = _PANEL_HEIGHT + 18 + 23 * max(len(words) for *_, words in panels)
    scene = Scene(columns * (_PANEL_WIDTH + 10) + 10, rows * height + 10, _PAPER)
    for number, (lying, move, allowed, words) in enumerate(panels):
        assert _is_legal(lying, move) == allowed, words
        left = 10 + number % columns * (_PANEL_WIDTH + 10)
        top = 10 + number // columns * height
        scene.add(Rectangle(left, top, _PANEL_WIDTH, _PANEL_HEIGHT, _TABLE, 8))
        tiles = (*lying, move)
        cells = [cell for tile in tiles for cell in tile.cells]
        view = _Table(cells, left, top, 29)
        relief.add_table(scene, tiles, view)
        color = _RIGHT if allowed else _WRONG
        _outline(scene, move, view, color)
        _mark(scene, left + _PANEL_WIDTH - 24, top + _PANEL_HEIGHT - 24, allowed)
        for line, text in enumerate(words):
            scene.add(Label(left + 4, top + _PANEL_HEIGHT + 23 + 22 * line, text, 18, _INK, bold=not line))
    return scene


def _outline(scene: Scene, move: nmbr9.Move, view: relief.View, color: str) -> None:
    """Adds a line around the top of a tile."""
    height = (move.level or 0) + 1
    segments = []
    for row, column in move.cells:
        for start, end, beyond in (
            ((row, column), (row, column + 1), (row - 1, column)),
            ((row + 1, column), (row + 1, column + 1), (row + 1, column)),
            ((row, column), (row + 1, column), (row, column - 1)),
            ((row, column + 1), (row + 1, column + 1), (row, column + 1)),
        ):
            if beyond not in move.cells:
                segments.append((view.point(*start, height), view.point(*end, height)))
    scene.add(Lines(tuple(sorted(segments)), color, 4.5))


def _mark(scene: Scene, x: float, y: float, allowed: bool) -> None:
    """Adds a tick or a cross."""
    if allowed:
        strokes = (((x - 11, y), (x - 3, y + 9)), ((x - 3, y + 9), (x + 12, y - 10)))
    else:
        strokes = (((x - 10, y - 10), (x + 10, y + 10)), ((x - 10, y + 10), (x + 10, y - 10)))
    scene.add(Lines(strokes, _RIGHT if allowed else _WRONG, 5))


def _edges() -> Scene:
    """Tiles of one level share an edge."""
    first = _tile(0, 0, 0, 0)
    return _judged(
        [
            ([first], _tile(1, 0, 0, 3), True, ("An edge in common.",)),
            ([first], _tile(1, 3, 3, 3), True, ("An edge of one cell.",)),
            ([first], _tile(1, 3, 4, 3), False, ("A corner.",)),
            ([first], _tile(1, 0, 0, 5), False, ("Apart from all others.",)),
        ]
    )


def _two_tiles() -> Scene:
    """A tile rests on two tiles at least, and on covered cells alone."""
    ground = [_tile(9, 0, 0, 0), _tile(5, 0, 0, 3)]
    twins = [_tile(9, 0, 0, 0), _tile(9, 0, 0, 3)]
    ring = [_tile(0, 0, 0, 0), _tile(5, 0, 0, 3)]
    return _judged(
        [
            (ground, _tile(1, 3, 0, 1, 1), True, ("On two tiles.",)),
            (ground, _tile(1, 0, 0, 0, 1), False, ("On one tile alone.",)),
            (twins, _tile(1, 3, 0, 1, 1), True, ("On two copies of a digit.",)),
            (ring, _tile(1, 1, 2, 2, 1), True, ("Beside a hole.",)),
            (ring, _tile(1, 3, 0, 1, 1), False, ("Over a hole.",)),
            (ground, _tile(1, 1, -1, 2, 1), False, ("Over the edge.",)),
        ]
    )


def _levels() -> Scene:
    """What tiles on three levels score."""
    game, agent = nmbr9.Game(seed=9), agents.load("greedy", seed=9)
    while max(move.level or 0 for move in game.placements(0)) < 2 if game.placements(0) else True:
        game.play(agent.act(game))
    moves = game.placements(0)
    scene = Scene(_WIDTH, 640, _PAPER)
    scene.add(Rectangle(10, 10, _WIDTH - 20, 350, _TABLE, 8))
    cells = [cell for move in moves for cell in move.cells]
    relief.add_table(
        scene, moves, _Table(cells, (_WIDTH - _PANEL_WIDTH) / 2, 10 + (350 - _PANEL_HEIGHT) / 2, 30)
    )
    y = 396.0
    scene.add(Label(30, y, "A tile counts its digit times its level.", 19, _INK, bold=True))
    total = 0
    for level in range(3):
        digits = sorted(move.digit for move in moves if move.level == level)
        points = level * sum(digits)
        total += points
        y += 34
        listed = " + ".join(map(str, digits))
        product = f"{level} × ({listed})" if len(digits) > 1 else f"{level} × {listed}"
        where = "table, level 0" if level == 0 else f"level {level}"
        scene.add(Label(30, y, where, 18, _INK, bold=True))
        y += 26
        scene.add(Label(30, y, f"{product} = {points}", 18, _INK))
    assert total == game.scores()[0]
    scene.add(Label(30, y + 44, f"{total} points so far", 19, _INK, bold=True))
    return scene


def _tiles() -> Scene:
    """All tiles, upright."""
    scene = Scene(_WIDTH, 340, _PAPER)
    for digit in range(NUM_DIGITS):
        cells, x, y = list(TILES[digit]), 56 + 102 * (digit % 5), 165 * (digit // 5)
        table = _Table(cells, x - _PANEL_WIDTH / 2, y + 74 - _PANEL_HEIGHT / 2, 26)
        relief.add_table(scene, (_tile(digit, 0, 0, 0),), table)
        scene.add(Label(x, y + 156, f"{len(cells)} cells", 17, _FADED, "middle"))
    return scene


FIGURES: dict[str, tuple[str, Callable[[], Scene]]] = {
    "patchwork_patches": ("The 33 patches of Patchwork", _patches),
    "patchwork_orientations": ("The eight orientations of a patch", _orientations),
    "patchwork_turn": ("Who is to move in Patchwork", _turn),
    "patchwork_offer": ("Which patches are offered", _offer),
    "patchwork_income": ("Income in the same move", _income),
    "patchwork_track": ("The two prints of the time track", _track),
    "patchwork_end": ("The last space", _end),
    "patchwork_bonus": ("The bonus tile", _bonus),
    "nmbr9_tiles": ("The ten tiles of NMBR 9", _tiles),
    "nmbr9_edges": ("Tiles of one level share an edge", _edges),
    "nmbr9_levels": ("Levels and points", _levels),
    "nmbr9_two_tiles": ("What a tile may rest on", _two_tiles),
}
"""The titles of the figures by the names of their files, and what draws them."""


def figures() -> Iterator[tuple[str, str]]:
    """The names of all files with their contents."""
    for name, (title, draw) in FIGURES.items():
        yield f"{name}.svg", to_svg(draw(), title)


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description="Draws the figures of the rules in the documents.")
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="where the figures go")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for name, contents in figures():
        (options.out / name).write_text(contents, encoding="utf-8")
        print(f"wrote {options.out / name}, {len(contents) / 1e3:.0f} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
