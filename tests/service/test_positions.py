"""Positions as data for the page, against the games themselves."""

import json

import numpy as np
import pytest

from patchwork_env import games, nmbr9, patchwork
from patchwork_env.service import positions
from patchwork_env.service.positions import components_of


def played(game, seed=1):
    random = np.random.default_rng(seed)
    while not game.is_over:
        game.play(random.choice(game.legal_actions()))
    return game


GAMES = [
    patchwork.Game(seed=3),
    patchwork.Game(seed=4, first_player=1, special_patches="2014"),
    nmbr9.Game(seed=3),
    nmbr9.Game(seed=4, players=3, order="known", deck_size=8),
    nmbr9.Game(players=2, order="free", max_digit=3, deck_size=5),
]


@pytest.fixture(params=GAMES, ids=str.split("revised 2014 alone three free"))
def game(request):
    return played(request.param.clone())


def test_every_position_says_what_the_game_says(game):
    name = games.rules_of(game.state).name
    going_on, led = game.root(), (None, None, None)
    for ply, position in enumerate(positions.positions_of(game)):
        assert json.loads(json.dumps(position)) == position
        assert (position["game"], position["ply"]) == (name, ply)
        assert position["over"] == going_on.is_over
        assert position["player"] == (None if going_on.is_over else going_on.current_player)
        assert position["scores"] == list(going_on.scores())
        assert position["winners"] == list(going_on.winners())
        assert position["legal"] == going_on.legal_actions().tolist()
        assert (position["mover"], position["word"], position["action"]) == led
        state = position["state"]
        if name == "nmbr9":
            assert state["left"] == list(going_on.remaining(going_on.current_player))
        else:
            assert state["quilts"] == [going_on.layout(player).ravel().tolist() for player in (0, 1)]
            for field in ("circle", "offered", "positions", "buttons", "incomes", "special_spaces"):
                assert state[field] == list(getattr(going_on, field))
            for field in ("bonus_owner", "first_finisher", "pending_special"):
                assert state[field] == getattr(going_on, field)
        if ply < game.num_moves:
            action = game.history[ply]
            led = going_on.current_player, going_on.move_text(action), action
            going_on.play(action)
    assert position["over"]


def test_positions_do_not_depend_on_how_they_are_asked_for(game):
    """Playing move by move from the notation gives the same positions as the whole game."""
    whole = positions.positions_of(positions.read_game(game.notation()))
    going_on = game.root()
    for position in whole[1:]:
        read = positions.read_game(going_on.notation())
        assert positions.play(read, positions.action_of(read, position["word"])) == position
        going_on = read
    assert going_on.notation() == game.notation()


def test_the_tables_of_nmbr9():
    game = played(nmbr9.Game(seed=5, players=2))
    tables = positions.position_of(game)["state"]["tables"]
    for player, table in enumerate(tables):
        for tile, move in zip(table, game.placements(player), strict=True):
            assert (tile["digit"], tile["level"]) == (move.digit, move.level)
            assert {(row, column) for row, column in tile["cells"]} == move.cells
            turned = components_of("nmbr9")["tiles"][tile["digit"]]["orientations"][tile["orientation"]]
            assert [[tile["row"] + r, tile["column"] + c] for r, c in turned["cells"]] == tile["cells"]


def test_only_known_cards_are_told():
    unknown, known = nmbr9.Game(seed=5), nmbr9.Game(seed=5, order="known")
    assert positions.position_of(unknown)["state"]["deck"] == list(unknown.deck[:1])
    assert positions.position_of(known)["state"]["deck"] == list(known.deck)
    assert positions.position_of(played(unknown))["state"]["deck"] == list(unknown.deck)


def test_a_tile_is_chosen_before_it_is_placed():
    game = nmbr9.Game(order="free", max_digit=2, players=2)
    state = positions.position_of(game)["state"]
    assert (state["digit"], state["chosen"], state["choices"]) == (None, [None, None], [0, 1, 2])
    state = positions.play(game, game.parse_move("=1"))["state"]  # then the other player chooses
    assert (state["digit"], state["chosen"], state["choices"]) == (None, [1, None], [0, 1, 2])
    state = positions.play(game, game.parse_move("=2"))["state"]
    assert (state["digit"], state["chosen"], state["choices"]) == (1, [1, 2], [])


@pytest.mark.parametrize("name", positions.GAMES)
def test_components_are_those_of_the_game(name):
    components = components_of(name)
    assert json.loads(json.dumps(components)) == components
    pieces = components["patches" if name == "patchwork" else "tiles"]
    shapes = [piece.cells for piece in patchwork.PATCHES] if name == "patchwork" else list(nmbr9.TILES)
    assert [piece["cells"] for piece in pieces] == [[list(cell) for cell in cells] for cells in shapes]
    for piece in pieces:
        for orientation in piece["orientations"]:
            assert piece["orientations"][orientation["canonical"]] == orientation


def test_the_encoding_of_actions_is_that_of_the_game():
    components, game = components_of("patchwork"), patchwork.Game(seed=3)
    encoding = components["encoding"]
    for action in game.legal_actions().tolist()[1:]:
        slot, rest = divmod(action - encoding["buy"], 8 * 81)
        orientation, cell = divmod(rest, 81)
        patch = components["patches"][game.offered[slot]]["orientations"][orientation]
        assert patch["canonical"] == orientation
        assert game.decode(action).cells == {(cell // 9 + r, cell % 9 + c) for r, c in patch["cells"]}
    assert encoding == {"advance": game.parse_move("+"), "buy": 1, "special": 1 + 3 * 8 * 81}
    chosen = nmbr9.Game(order="free").parse_move("=0")
    assert components_of("nmbr9")["encoding"] == {"place": 0, "choose": chosen}
