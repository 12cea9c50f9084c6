"""Pictures of a game as text, SVG and scene."""

import string
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from patchwork_env.agents.nmbr9.greedy import choose_action
from patchwork_env.core.names import counted
from patchwork_env.drawing import Scene
from patchwork_env.nmbr9 import Game, render
from patchwork_env.nmbr9.actions import Move


def played(turns, **options):
    game = Game(**options)  # type: ignore[arg-type]
    for _ in range(turns):
        game.play(choose_action(game.state, 0))
    return game


def test_text():
    game = Game(deck=[1, 1, 4])
    assert str(game).splitlines() == [
        "NMBR 9, round 1 of 3: player 0 places tile 1, to come 1x1 4x1",
        "",
        "player 0: 0 tiles, score 0",
    ]
    for word in ("1/0@0,0", "1/2@0,2"):
        game.play(game.parse_move(word))
    lines = str(game).splitlines()
    assert lines[2] == "player 0: 2 tiles, score 0"
    assert lines[3:-2] == [
        "level 0: A 1/0@0,0  B 1/2@0,2",
        "      tiles               levels",
        "       0   1   2   3       0   1   2   3",
        "   0  A1  A1  B1   ·       0   0   0   ·",
        "   1   ·  A1  B1   ·       ·   0   0   ·",
        "   2   ·  A1  B1   ·       ·   0   0   ·",
        "   3   ·  A1  B1  B1       ·   0   0   0",
    ]


def test_text_of_a_tower():
    """The uppermost tile on every cell, and its level."""
    game = played(20, seed=2)
    _, ruler, *lines = str(game).partition("      tiles ")[2].splitlines()[:-2]
    columns = len(ruler.split()) // 2
    assert ruler.split()[:columns] == ruler.split()[columns:]
    cells = np.array([line.split()[1:] for line in lines])
    tiles = cells[:, :columns]
    heights = 1 + np.char.replace(cells[:, columns:], "·", "-1").astype(int)
    table = game.heights()
    used = np.argwhere(table)
    (top, left), (bottom, right) = used.min(axis=0), used.max(axis=0)
    assert (heights == table[top : bottom + 1, left : right + 1]).all()
    assert heights.max() >= 3
    for letter, move in zip(string.ascii_uppercase, game.placements(), strict=False):
        for row, column in move.cells:
            if table[row, column] == (move.level or 0) + 1:
                assert tiles[row - top, column - left] == f"{letter}{move.digit}"


@pytest.mark.parametrize(("turns", "players"), [(0, 1), (5, 1), (20, 1), (17, 4)])
def test_svg_is_well_formed_and_shows_names_and_scores(turns, players):
    game = played(turns, seed=4, players=players)
    document = render.svg(game, ("Ann", "Bob", "Cid", "Dan"))
    texts = [element.text for element in ElementTree.fromstring(document).iter() if element.text]
    for player, score in enumerate(game.scores()):
        assert ("Ann", "Bob", "Cid", "Dan")[player] in texts
        assert counted(score, "point") in texts


def test_a_high_stack_stays_in_its_panel_and_hides_the_tiles_behind_it():
    places = {9: (6, 0), 8: (6, 5), 7: (0, 4)}  # levels, and rows and columns of single cells
    tiles = [Move(digit, level, rectangle(k, k, k + 1, k + 1)) for digit, (level, k) in places.items()]
    moves = Move(0, 0, rectangle(0, 0, 9, 9)), *tiles
    scene, view = Scene(600, 600, "white"), render.View(moves, 0, 0)
    render.add_table(scene, moves, view)
    assert min(*view.point(0, 0, 7), render.PANEL - max(view.point(9, 9, 0))) > 0
    assert [label.text for label in scene.labels] == ["0", "9", "8"]


def rectangle(top, left, bottom, right):
    return frozenset((row, column) for row in range(top, bottom) for column in range(left, right))
