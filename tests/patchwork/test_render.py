"""Pictures of a game as text, scene, SVG and pixels."""

import hashlib
import re
from itertools import takewhile

import numpy as np
import pytest

from patchwork_env.core.polyomino import orient
from patchwork_env.drawing import Polygon, Scene, player_names
from patchwork_env.patchwork import PATCHES, Game
from patchwork_env.patchwork.components import LAST_SPACE
from patchwork_env.patchwork.game import EMPTY, SPECIAL_PATCH, UNKNOWN_PIECE
from patchwork_env.patchwork.render import HEIGHT, WIDTH, cloth, rgb_array, table, text, top_player

QUILT_LEFT, QUILT_TOP, CELL = (32, 808), 124, 40


def random_game(seed):
    """All positions of a game of random legal moves."""
    rng = np.random.default_rng(seed)
    game = Game(seed=seed)
    positions = [game.clone()]
    while not game.is_over:
        game.play(rng.choice(game.legal_actions()))
        positions.append(game.clone())
    return positions


@pytest.fixture(scope="module")
def positions():
    return random_game(5)


@pytest.fixture(scope="module")
def pending():
    """A position in which a special patch is to be placed."""
    return next(game for seed in range(50) for game in random_game(seed) if game.pending_special)


def rgb(color):
    return tuple(bytes.fromhex(color[1:]))


def pixel(frame, x, y):
    """The color at a point of the scene."""
    zoom = frame.shape[1] / WIDTH
    return tuple(frame[int(y * zoom), int(x * zoom)].tolist())


def labels(game):
    return [label.text for label in table(game, player_names(game)).labels]


# --- text ---------------------------------------------------------------------------------------------------


def quilt_names(drawing, player):
    """The text of the cells in rows 1-9 and columns a-i of a quilt."""
    lines = drawing.splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("   a  b  c"))
    start = 50 * player
    assert lines[first][start : start + 28].split() == list("abcdefghi")
    rows = [line[start : start + 28] for line in lines[first + 1 : first + 10]]
    assert [row[0] for row in rows] == list("123456789")
    return [[row[at : at + 3].strip() for at in range(1, 28, 3)] for row in rows]


def test_text_shows_figures_and_every_cell_of_both_quilts(positions):
    marks = {EMPTY: ".", SPECIAL_PATCH: "*", UNKNOWN_PIECE: "#"}
    for game in positions[::5]:
        drawing = text(game)
        lines = drawing.splitlines()
        assert all(len(line) <= 100 and line.isascii() and line == line.rstrip() for line in lines)
        assert all(f"patch {patch}" in drawing for patch in game.offered)
        for player in (0, 1):
            assert f"buttons {game.buttons[player]}  income {game.incomes[player]}" in drawing
            assert f"score {game.scores()[player]}" in drawing
            layout = game.layout(player).tolist()
            expected = [[marks.get(piece, str(piece)) for piece in row] for row in layout]
            assert quilt_names(drawing, player) == expected


def test_text_has_the_coordinates_and_names_of_moves():
    game = Game(seed=7)
    word = next(word for word in map(game.move_text, game.legal_actions()) if word.endswith("@d5"))
    move = game.decode(game.parse_move(word))
    game.play(game.parse_move(word))
    shown = np.array(quilt_names(text(game), 0)) == str(move.patch)
    assert set(zip(*(indices.tolist() for indices in shown.nonzero()), strict=True)) == move.cells
    assert (np.argwhere(shown).min(axis=0) == (5 - 1, "abcdefghi".index("d"))).all()


def test_text_draws_the_patches_to_come():
    game = Game(seed=7)
    lines = [line.ljust(100) for line in text(game).splitlines()]
    for patch in game.circle[3:]:
        tag = f"{patch:>2}: {PATCHES[patch].buttons}/{PATCHES[patch].time}/{PATCHES[patch].income} "
        row, column = next((row, line.index(tag)) for row, line in enumerate(lines) if tag in line)
        below = (line[column + 4 : column + 14] for line in lines[row + 1 :])
        drawn = enumerate(takewhile(lambda line: "#" in line and not line.strip(" #"), below))
        cells = {(r, c) for r, line in drawn for c, mark in enumerate(line) if mark == "#"}
        assert cells == set(PATCHES[patch].cells)


def test_text_shows_the_track(positions):
    for game in positions[::5]:
        lines = text(game).splitlines()
        start = next(number for number, line in enumerate(lines) if line.startswith("track"))
        marks, *tokens = (line[11:] for line in lines[start + 1 : start + 4])
        special = [space for space in range(LAST_SPACE + 1) if marks[space] == "*"]
        assert tuple(special) == game.special_spaces
        assert [space for space in range(LAST_SPACE + 1) if marks[space] == "$"] == list(range(5, 54, 6))
        assert tuple(line.index(str(player)) for player, line in enumerate(tokens)) == game.positions


# --- shapes and colors --------------------------------------------------------------------------------------


def enclosed_area(corners):
    """The area by the shoelace formula, positive for clockwise corners on the screen."""
    pairs = zip(corners, corners[1:] + corners[:1], strict=True)
    return sum(column1 * row2 - column2 * row1 for (row1, column1), (row2, column2) in pairs) / 2


def test_outline_encloses_every_patch():
    for patch in PATCHES:
        for orientation in range(8):
            assert enclosed_area(cloth.outline(orient(patch.cells, orientation))) == patch.size
    assert cloth.outline([(0, 0), (0, 1), (0, 2)]) == [(0, 0), (0, 3), (1, 3), (1, 0)]


def test_cloth_and_tokens_look_as_before():
    """After a change, look at the pictures, and then replace the digest of their shapes."""
    shapes: list[object] = [cloth.FABRICS, cloth.special_patch(50, 60, 17.0), scene := Scene(0, 0, "")]
    cloth.price_tag(scene, 10, 3, (200, 90), 30)
    for k, fabric in enumerate(cloth.FABRICS[:6]):  # one of each weave
        shapes += cloth.patch(PATCHES[k].cells, fabric, (10.0 + 30 * k, 20.0), 30.0)
    shapes += cloth.patch(PATCHES[2].cells, cloth.FABRICS[2], (9.0, 9.0), 8.0, fine=False)
    shapes += cloth.contour(PATCHES[1].cells, "#123456", (10.0, 20.0), 30.0, 2.0)
    shapes += *cloth.token(1, 30, 40, 19), *cloth.token(0, 30, 40, 13.5, numbered=False)
    rounded = re.sub(r"\d+\.\d+", lambda number: f"{float(number[0]):.6f}", repr(shapes))
    assert hashlib.sha256(rounded.encode()).hexdigest()[:16] == "fb0cb0a2c076e7f4"


# --- scene, SVG and pixels ----------------------------------------------------------------------------------


def test_svg_draws_the_cloth_of_every_piece(positions):
    game = positions[-1]
    shapes = table(game, player_names(game)).shapes
    drawn = [shape.fill for shape in shapes if isinstance(shape, Polygon) and shape.fill]
    assert all(drawn.count(fabric.cloth) == 1 for fabric in cloth.FABRICS)


def test_pixels_show_the_covered_and_the_empty_cells(positions):
    for game in positions[:: len(positions) // 4]:
        frame = rgb_array(game, width=1200)
        for player in (0, 1):
            for (row, column), piece in np.ndenumerate(game.layout(player)):
                x, y = QUILT_LEFT[player] + CELL * column, QUILT_TOP + CELL * row
                if piece == EMPTY:
                    assert pixel(frame, x + 20, y + 20) == rgb(cloth.QUILT_CELL)
                else:
                    assert pixel(frame, x + 20, y + 20) != rgb(cloth.QUILT_CELL)


def test_restored_game_shows_its_old_cells_as_unknown(positions):
    game = next(game for game in positions if game.quilt(0)[:, 0].any())
    restored = Game.from_bytes(game.to_bytes())
    row = int(np.flatnonzero(game.quilt(0)[:, 0])[0])
    frame = rgb_array(restored, width=1200)
    color = pixel(frame, QUILT_LEFT[0] + 20, QUILT_TOP + CELL * row + 20)
    assert color == rgb(cloth.UNKNOWN_FABRIC.cloth)
    assert "#" in {cell for row in quilt_names(text(restored), 0) for cell in row}


@pytest.mark.parametrize("first_player", [0, 1])
def test_the_token_on_top_covers_the_other(first_player):
    game = Game(seed=1, first_player=first_player)
    discs = [
        shape.fill
        for shape in table(game, player_names(game)).shapes
        if getattr(shape, "fill", None) in cloth.PLAYERS and getattr(shape, "radius", 0) == 13.5
    ]
    assert discs == [cloth.PLAYERS[1 - first_player], cloth.PLAYERS[first_player]]
    assert top_player(game) == first_player


def test_picture_shows_the_prices_of_the_whole_circle_in_order(positions):
    for game in positions[:: len(positions) // 4]:
        shown = labels(game)
        numbers = [label for label in shown[shown.index("Offered") :] if label.isdigit()]
        slots = numbers[0:9:3]
        prices = [str(number) for patch in game.circle for number in PATCHES[patch][1:3]]
        assert slots == ["0", "1", "2"]
        assert [number for place, number in enumerate(numbers) if place not in (0, 3, 6)] == prices


def test_text_and_picture_name_turn_and_result(positions, pending):
    mover, (winner, scores) = pending.current_player, (positions[-1].winner(), positions[-1].scores())
    for game, says in (
        (positions[0], "player 0 to move"),
        (pending, f"player {mover} places a special patch"),
        (positions[-1], f"player {winner} wins {scores[winner]} to {scores[1 - winner]}"),
    ):
        assert text(game).startswith(says)
        assert says in labels(game)
    assert "(on top)" in text(positions[0])
    assert labels(positions[-1]).count("winner") == 1


def test_labels_stay_on_the_picture(positions):
    """Long names have a smaller font."""
    for game in positions[:: len(positions) // 6]:
        for label in table(game, player_names(game)).labels:
            assert 0 < label.x < WIDTH
            assert 0 < label.y < HEIGHT
    long = "mcts:simulations=4000"
    sizes = {label.text: label.size for label in table(Game(seed=1), ("a", long)).labels}
    assert sizes["a"] == 19
    assert 6 < sizes[long] < 10
