"""Errors name bad input, and nothing changes."""

from __future__ import annotations

import random
import re
from typing import Any

import pytest

from patchwork_env.nmbr9 import Game, IllegalActionError, Move


def played(turns, **options):
    game, rng = Game(seed=3, **options), random.Random(3)
    for _ in range(turns):
        game.play(rng.choice(game.legal_actions().tolist()))
    return game


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"seed": -1}, "seed is -1"),
        ({"seed": 1, "deck": [1]}, "a seed or a deck, not both"),
        ({"deck": []}, "the deck has 0 cards; allowed are 1 to 40"),
        ({"deck": [1, 10, -1]}, r"the deck holds \[-1, 10\]; digits are 0 to 9"),
        ({"deck": ["1"]}, "a card of the deck must be an integer, not '1'"),
        ({"deck": 7}, "deck must be a list of integers, not 7"),
        ({"deck": [1, 2], "copies": 3}, "a deck, or max_digit and copies, not both"),
        ({"deck": [1, 2], "deck_size": 3}, "deck_size is 3; allowed are 1 to 2"),
        ({"players": 0}, "players is 0; allowed are 1 to 4"),
        ({"players": 2.0}, "players must be an integer"),
        ({"order": "U"}, "order is 'U'; allowed are 'unknown', 'known', 'free'"),
        ({"max_digit": 10}, "max_digit is 10; allowed are 0 to 9"),
        ({"copies": 0}, "copies is 0; allowed are 1 to 40"),
        ({"copies": 5}, "5 copies of the digits 0 to 9 make 50 cards"),
        ({"deck_size": 21}, "deck_size is 21; allowed are 1 to 20"),
    ],
)
def test_set_up(arguments, message):
    with pytest.raises(ValueError, match=message):
        Game(**arguments)


def test_moves():
    game = played(7)
    digit, level, cells = move = game.decode(game.legal_actions()[0])
    assert game.encode(move) == game.legal_actions()[0]
    rows, columns = zip(*cells, strict=True)
    moved = [(64 - min(rows), 0), (0, 64 - min(columns)), (-1 - min(rows), 0), (0, -1 - min(columns))]
    beyond = [frozenset((row + down, column + right) for row, column in cells) for down, right in moved]
    for wrong, message in (
        (Move((digit + 1) % 10, level, cells), "the tile to be placed is"),
        (Move(digit, 3, cells), "would be on level 0, not on 3"),
        (Move(digit, level, frozenset([(1, 1), (5, 5)])), "are not a placement"),
        *((Move(digit, level, far), "are beyond the table") for far in beyond),
        (Move(digit), "not a choice of a tile"),
        (Move(digit, 0, game.placements()[0].cells), "not"),
    ):
        with pytest.raises(IllegalActionError, match=message):
            game.encode(wrong)
    for read, given in ((played(20).encode, move), (played(20).parse_move, "7/0@0,0")):
        with pytest.raises(IllegalActionError, match="comes after the end of the game"):
            read(given)


@pytest.mark.parametrize("word", ["", "+", "7", "7/4@0,0", "77/0@0,0", "=3", "1/0@01,0", "1/0@-0,0", "1/0@0"])
def test_words(word):
    game = played(3)
    with pytest.raises(IllegalActionError):
        game.parse_move(word)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "starts with 'nmbr9/1'"),
        ("nmbr9/1 players=1", "it needs"),
        ("nmbr9/1 players=1 order=unknown rounds=2 deck=1,x", "'x' in the set-up is not a number"),
        ("nmbr9/1 players=1 order=unknown rounds=3 deck=1,2", "deck_size is 3"),
        ("nmbr9/1 state=zz", "not hexadecimal"),
        ("nmbr9/1 players=1 order=unknown rounds=2 deck=1,2\n1/0@0,0 2/0@9,9", "move 2: '2/0@9,9'"),
    ],
)
def test_notation(text, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        Game.from_notation(text)


POSITION = "nmbr9/1 players=2 order=unknown rounds=3 deck=1,2,3 player=1 chosen=-,- tables=1/0@0,0|-"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("players=2", "players=5", "players is 5"),
        ("players=2", "players=3", "3 players have 2 tables and 2 chosen digits"),
        ("deck=1", "deck=2", "player 0 cannot have placed the stored tile 0"),
        ("player=1", "player=0", "player 0 has 1 tiles; it must have 0 now"),
        ("player=1", "player=2", "player is 2"),
        ("chosen=-,-", "chosen=-", "2 tables and 1 chosen"),
        ("chosen=-,-", "chosen=2,-", "no player can have chosen '2,-'"),
        ("chosen=-,-", "chosen=-,10", "no player can have chosen '-,10'"),
        ("1/0@0,0", "1/0@0", "is not a move"),
        ("1/0@0,0", "1/0@0,0;2/0@9,9", "player 0 has 2 tiles; it must have 1"),
        ("1/0@0,0|-", "1/0@0,0;2/0@-1,66|1/0@0,0", "player 0 cannot have placed the stored tile 1"),
        ("|-", "|1/0@0,0;2/0@9,9", "player 0 has 1 tiles; it must have 3 now"),
        ("1/0@0,0", "1/0@0,0;2/0@2,0;3/0@0,0;3/0@5,5", "4 tiles in 3 rounds"),
        ("|-", "|" + ";".join(["1/0@0,0"] * 300), "300 tiles in 3 rounds"),
        ("tables", "table", "did you mean 'tables'"),
    ],
)
def test_bad_positions(old, new, message):
    game = Game(deck=[1, 2, 3], players=2)
    game.play(game.legal_actions()[0])
    assert game.position_text() == POSITION
    assert Game.from_position(POSITION) == game
    with pytest.raises(ValueError, match=message):
        Game.from_position(POSITION.replace(old, new, 1))


def test_bad_positions_in_free_order():
    text = played(1, players=2, order="free", deck_size=3).position_text()
    digit = text.split("chosen=")[1][0]
    for new, message in (("11", "a chosen digit is 11"), ("-", "must have|cannot have chosen")):
        with pytest.raises(ValueError, match=message):
            Game.from_position(text.replace(f"chosen={digit}", f"chosen={new}"))


CHANGES: list[tuple[str, Any, Any, str]] = [
    ("num_players", (), 0, "num_players is 0; allowed are 1 to 4"),
    ("num_players", (), 5, "num_players is 5; allowed are 1 to 4"),
    ("order", (), 3, "order is 3; allowed are 0 to 2"),
    ("num_cards", (), 0, "num_cards is 0; allowed are 1 to 40"),
    ("num_cards", (), 41, "num_cards is 41; allowed are 1 to 40"),
    ("num_rounds", (), 0, "num_rounds is 0; allowed are 1 to 20"),
    ("num_rounds", (), 21, "num_rounds is 21; allowed are 1 to 20"),
    ("round", (), 21, ": round is 21; allowed are 0 to 20"),
    ("current_player", (), 2, "current_player is 2; allowed are 0 to 1"),
    ("chosen", (0,), 3, "stored chosen differs"),
    ("chosen", (0,), 11, "chosen is .* allowed are 0 to 10"),
    ("deck", (30,), 1, "the deck holds more than its 20 cards"),
    ("deck", (2,), 10, "(?s)deck is .* allowed are 0 to 9"),
    ("piece", (0, 2), 40, "(?s)piece is .* allowed are 0 to 39"),
    ("level", (0, 2), 20, "(?s)level is .* allowed are 0 to 19"),
    *((side, (0, 2), 64, f"(?s){side} is .* allowed are 0 to 63") for side in ("row", "column")),
    ("piece", (3, 0), 3, "stored piece differs"),
    ("level", (0, 1), 1, "stored level differs"),
    ("row", (0, 3), 0, "cannot have placed the stored tile 3"),
    ("row", (0, slice(7)), 30, "cannot have placed|stored row differs"),
    ("round", (), 9, "cannot have placed"),
]


@pytest.mark.parametrize(("field", "index", "value", "message"), CHANGES)
def test_states_that_no_game_reaches(field, index, value, message):
    states = played(13, players=2).state.copy()
    states[field][(0, *index)] = value
    with pytest.raises(ValueError, match=message):
        Game.from_bytes(Game.unchecked(states).to_bytes())


def test_states_of_free_order():
    states = played(12, players=2, order="free").state.copy()
    states["deck"][0, [0, 19]] = states["deck"][0, [19, 0]]
    with pytest.raises(ValueError, match="is not sorted"):
        Game.from_bytes(Game.unchecked(states).to_bytes())
    states = played(3, players=2, order="free").state.copy()
    states["chosen"][0, 1] = 10
    with pytest.raises(ValueError, match="reaches this state"):
        Game.from_bytes(Game.unchecked(states).to_bytes())
