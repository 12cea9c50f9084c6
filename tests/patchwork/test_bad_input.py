"""Errors name bad input, and nothing changes."""

import random
import re

import numpy as np
import pytest

from patchwork_env.patchwork import Game, IllegalActionError, Move
from tests.patchwork.endings import random_action
from tests.patchwork.recorded import GAMES

CIRCLE = [*range(1, 33), 0]


def played(turns, seed=3):
    game, rng = Game(seed=seed), random.Random(seed)
    for _ in range(turns):
        game.play(random_action(game, rng, "packs"))
    return game


NO_MOVES = [
    Move("buy", 5, frozenset({(0, 0), (0, 1), (1, 1), (1, 2)})),  # not among the first three
    Move("buy", 1, frozenset({(0, 0), (0, 1)})),  # not its shape
    Move("buy", 1, frozenset({(8, 8), (8, 9), (9, 8)})),  # over the edge
    Move("buy", 1, frozenset()),
    Move("buy", None, frozenset({(0, 0), (0, 1), (1, 0)})),
    Move("special", None, frozenset({(0, 0)})),  # none to place
    Move("special", None, frozenset({(0, 0), (0, 1)})),
    *(Move("special", None, frozenset({cell})) for cell in ((-1, 0), (9, 0), (0, -1), (0, 9))),
    Move("sell", 1, frozenset({(0, 0), (0, 1), (1, 0)})),  # type: ignore[arg-type]
    Move("advance", None, frozenset({(0, 0)})),
    Move("advance", 3),
    Move("special", 3, frozenset({(0, 0)})),
    Move("buy", "1", frozenset({(0, 0), (0, 1), (1, 0)})),  # type: ignore[arg-type]
]


@pytest.mark.parametrize("move", NO_MOVES, ids=lambda move: f"{move.kind} {move.patch} {sorted(move.cells)}")
def test_moves_that_are_not_possible(move):
    is_beyond = not all(0 <= index < 9 for cell in move.cells for index in cell)
    with pytest.raises(IllegalActionError, match="are not on the 9x9 quilt" if is_beyond else None):
        Game(circle=CIRCLE).encode(move)


BAD_SET_UPS = [
    ("circle", CIRCLE[1:], "32"),
    ("circle", [1, *CIRCLE[:-2], 0], "32"),  # repeats 1, lacks 32
    ("circle", [-1, *CIRCLE[1:]], "-1"),
    ("circle", [0, *CIRCLE[:-1]], "ends in patch 32"),
    ("circle", [True, *CIRCLE[1:]], "True"),
    ("circle", "abc", "'a'"),
    ("circle", 17, "17"),
    ("first_player", 2, "2"),
    ("special_patches", "2015", "2015"),
    ("special_patches", ["revised"], "['revised']"),
    ("seed", -1, "-1"),
    ("seed", "seven", "seven"),
]


@pytest.mark.parametrize(("option", "value", "named"), BAD_SET_UPS, ids=lambda value: str(value)[:30])
def test_bad_set_ups(option, value, named):
    with pytest.raises(ValueError, match=option) as caught:
        Game(**{option: value})
    assert named in str(caught.value)
    with pytest.raises(ValueError, match="seed or a circle"):
        Game(seed=1, circle=CIRCLE)


def test_bad_players():
    game = Game(seed=1)
    for player in (2, -1, True, None, "0"):
        for show in (game.quilt, game.layout):
            with pytest.raises(ValueError, match="player"):
                show(player)


# --- bytes ------------------------------------------------------------------------------------------------


def _set(name, value):
    def change(states):
        states[name] = value

    return change


def _flip(name, index, bits):
    def change(states):
        states[name][0][index] ^= np.array(bits, states.dtype[name].base)

    return change


CONTRADICTIONS = {
    "num_patches": _set("num_patches", 34),
    "current_player": _set("current_player", 2),
    "pending_special": _set("pending_special", 2),
    "bonus_owner": _set("bonus_owner", 3),
    "first_finisher": _set("first_finisher", 3),
    "variant": _set("variant", 2),
    "position": _set("position", 54),
    "buttons": _set("buttons", -1),
    "after the end": _flip("circle", 33, 1),
    "circle is 33": lambda states: states["circle"][0].__setitem__(0, 33),
    "repeats a patch": _set("circle", 7),
    "quilt disagree": _flip("quilt", (0, 0), 1 << 62),
    "incomes": _flip("income", 0, 1),
    "cells are covered": _set("quilt", 0),
    "bonus tile": _set("bonus_owner", 1),
    "reach the end": _set("first_finisher", 0),
    "no special patch to place": _set("pending_special", 1),
    "not to move": lambda states: _set("current_player", 1 - states[0]["current_player"])(states),
}


@pytest.mark.parametrize("named", CONTRADICTIONS)
def test_states_that_no_game_reaches(named):
    """The bytes are valid, but the state is not reachable."""
    states = played(12).state.copy()
    CONTRADICTIONS[named](states)
    with pytest.raises(ValueError, match="no game of Patchwork reaches") as caught:
        Game.from_bytes(Game.unchecked(states).to_bytes())
    assert all(word in str(caught.value) for word in named.split())


def test_players_cannot_have_more_buttons_than_a_game_gives():
    """Buttons that were paid are subtracted."""
    bought = Game(circle=CIRCLE)
    bought.play(bought.parse_move("2/0@a1"))
    assert bought.buttons == (3, 5)
    for game, buttons, message in (
        *((played(12), most, f"{most} buttons; at most") for most in (2**15 - 1, 400, 5 + 53)),
        (Game(circle=CIRCLE), (5, 6), "player 1 has 6 buttons; at most 5 are possible"),
        (bought, (7, 5), r"the buttons .* are more than 12 less the 2 paid"),
    ):
        states = game.state.copy()
        states["buttons"] = buttons
        with pytest.raises(ValueError, match=message):
            Game.from_bytes(Game.unchecked(states).to_bytes())


POSITION = Game(circle=CIRCLE).position_text()
BAD_POSITIONS = [
    ("player=0", "player=2", "player is 2"),
    ("positions=0,0", "positions=0,54", "0 to 53"),
    ("positions=0,0", "positions=0", "two numbers"),
    ("buttons=5,5", "buttons=5,x", "'x' in the set-up is not a number"),
    ("quilts=9/", "quilts=8/", "the row '8' of a quilt"),
    ("quilts=9/", "quilts=", "nine rows"),
    ("circle=1,", "circle=", "do not add up|cells are covered|paid"),
    ("circle=1,", "circle=33,", "do not exist"),
    ("circle=1,", "circles=1,", "did you mean 'circle'"),
    (" circle=", " circle=1 circle=", "repeats a field"),
    (" bonus_owner=-", "", "lacks 'bonus_owner'"),
]


@pytest.mark.parametrize(("old", "new", "named"), BAD_POSITIONS)
def test_bad_positions(old, new, named):
    assert old in POSITION
    with pytest.raises(ValueError, match=named):
        Game.from_position(POSITION.replace(old, new, 1))


@pytest.mark.parametrize("record", GAMES, ids=lambda record: record.name)
def test_states_with_full_quilts_and_discarded_special_patches_are_accepted(record):
    game = Game(circle=record.circle)
    for action in record.actions:
        game.play(action)
        assert Game.from_bytes(game.to_bytes()) == game


# --- notation ---------------------------------------------------------------------------------------------

SET_UP = "patchwork/1 variant=revised first=0 circle=" + ",".join(map(str, CIRCLE))
BAD_NOTATION = [
    ("", "patchwork/1"),
    (SET_UP.replace("/1", "/2"), "patchwork/2"),
    (SET_UP.replace("first=0 ", ""), "first"),
    (SET_UP + " color=red", "color"),
    (SET_UP.replace("first=0", "first=x"), "x"),
    (SET_UP.replace("revised", "2015"), "2015"),
    (SET_UP.replace("=1,", "=2,"), "[1]"),
    ("patchwork/1 state=zz", "state"),
    (SET_UP + "\n+ - +", "'-'"),
    (SET_UP + "\n1/0@a1 extra", "move 2"),
]


@pytest.mark.parametrize(("text", "named"), BAD_NOTATION, ids=lambda value: value[-20:])
def test_bad_notation(text, named):
    with pytest.raises(ValueError, match=re.escape(named)):
        Game.from_notation(text)


BAD_WORDS = ["", "++", "1/0@a1 ", "1/0@A1", "١/0@a1", "*a0", "buy", "33/0@a1", "1/8@a1", "1/0@j1"]
BAD_WORDS += ["1/0@a9", "4/0@a1", "*a1", "2/2@a1"]  # over the edge, not offered, none to place, as 2/0@a1


@pytest.mark.parametrize("word", BAD_WORDS, ids=repr)
def test_bad_words_of_moves(word):
    game = Game(circle=CIRCLE)
    before = game.to_bytes()
    with pytest.raises(IllegalActionError) as caught:
        game.parse_move(word)
    assert repr(word) in str(caught.value)
    assert game.to_bytes() == before
