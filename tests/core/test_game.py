"""The contract of game objects, for every game: play and undo, positions as text, moves, records."""

from __future__ import annotations

import random
import re
import zlib
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from patchwork_env import nmbr9, patchwork
from patchwork_env.core.game import BaseGame
from patchwork_env.errors import IllegalActionError, UnknownOptionError
from patchwork_env.patchwork.components import VARIANTS
from tests import toy

BEGINNINGS: list[Callable[[int], BaseGame]] = [
    lambda seed: patchwork.Game(seed, special_patches=VARIANTS[seed % 2], first_player=seed // 2 % 2),
    lambda seed: nmbr9.Game(seed, players=1 + seed % 4, order=("unknown", "known")[seed // 4 % 2]),
    lambda seed: nmbr9.Game(seed, players=1 + seed % 4, order="free", deck_size=9),
    lambda seed: toy.Game(seed),
]


@st.composite
def played(draw):
    """A game after some moves, sometimes one that continues from a position, without the moves before it."""
    game = draw(st.sampled_from(BEGINNINGS))(draw(st.integers(0, 2**32)))
    play(game, draw(st.integers(0, 60)), draw(st.integers(0, 2**32)))
    if draw(st.booleans()):
        game = type(game).from_position(game.position_text())
        play(game, draw(st.integers(0, 10)), draw(st.integers(0, 2**32)))
    return game


def play(game, turns, seed):
    """Play random actions, high ones more often, so that patches are bought."""
    rng = random.Random(seed)
    for _ in range(turns):
        if game.is_over:
            return
        actions = game.legal_actions().tolist()
        game.play(max(rng.choice(actions), rng.choice(actions)))


BOTH = pytest.mark.parametrize("kind", [patchwork.Game, nmbr9.Game], ids=["patchwork", "nmbr9"])
ALL = pytest.mark.parametrize(
    "kind", [patchwork.Game, nmbr9.Game, toy.Game], ids=["patchwork", "nmbr9", "toy"]
)


# --- play and undo ----------------------------------------------------------------------------------------


def test_an_action_that_changes_nothing_is_played_and_taken_back(monkeypatch):
    """As passing does in other games."""
    game = toy.Game(seed=2)
    monkeypatch.setattr(game.rules.kernels, "play", lambda states, i, action: True)
    game.play(5)
    assert game.history == (5,)
    assert (game.undo(), game.history) == (5, ())


# --- positions as text ------------------------------------------------------------------------------------


@settings(max_examples=40)
@given(played(), st.data())
def test_a_changed_position_is_refused_or_plays_on(game, data):
    text = game.position_text()
    at = data.draw(st.integers(8, len(text) - 1))
    changed = text[:at] + data.draw(st.sampled_from("0123456789,-/#;|@= ")) + text[at + 1 :]
    try:
        again = type(game).from_position(changed)
    except ValueError:
        return
    assert type(game).from_bytes(again.to_bytes()) == again
    play(again, 200, 0)
    assert type(game).from_bytes(again.to_bytes()) == again


@BOTH
def test_texts_that_are_not_positions_are_refused(kind):
    for text in (None, 1, b"patchwork/1", ""):
        for read in (kind.from_position, kind.from_notation):
            with pytest.raises(ValueError, match=r"a game is written as text|starts with"):
                read(text)
    with pytest.raises(ValueError, match="a position is one line"):
        kind.from_position(kind(seed=1).position_text() + "\n+")


# --- moves ------------------------------------------------------------------------------------------------


@ALL
def test_many_actions_are_decoded_as_one(kind):
    game = kind(seed=1)
    legal = game.legal_actions()
    assert game.decode_all(legal) == [game.decode(action) for action in legal] == game.legal_moves()
    assert game.decode_all([]) == []
    for no_list in (0, 1.5, object(), np.array(1), [int(game.action_mask().argmin())]):
        with pytest.raises(IllegalActionError):
            game.decode_all(no_list)


@ALL
def test_no_action_comes_after_the_end(kind):
    game = kind(seed=2)
    while not game.is_over:
        game.play(game.legal_actions()[0])
    assert not game.action_mask().any()
    assert ("over, won by player" in repr(game)) == (game.num_players > 1)
    with pytest.raises(IllegalActionError, match="after the end of the game"):
        game.play(0)
    word = kind(seed=2).move_text(game.root().legal_actions()[0])
    with pytest.raises(ValueError, match=f"move {len(game.history) + 1}: "):
        kind.from_notation(f"{game.notation().strip()} {word}")


NO_MOVES = [None, (1, 2), 3, "+", ("advance", None, frozenset())]
NO_CELLS = [None, 3, [(0,)], [(0, "a")], {(0.0, 1)}, [None]]


@BOTH
def test_values_that_are_not_moves_are_named(kind):
    game = kind(seed=1)
    move = game.decode(game.legal_actions()[-1])
    wrong = [(game.encode, each, repr(each)) for each in NO_MOVES]
    wrong += [
        (game.encode, move._replace(cells=cells), "cells must be pairs|an integer") for cells in NO_CELLS
    ]
    for call, value, named in (*wrong, (game.parse_move, 1, "1")):
        with pytest.raises(IllegalActionError, match=named if "|" in named else re.escape(named)):
            call(value)


# --- records and options ----------------------------------------------------------------------------------


@ALL
def test_records_of_a_batch(kind):
    states = np.concatenate([kind(seed=seed).state for seed in range(3)])
    assert [kind.from_state(states, i) for i in range(3)] == [kind(seed=seed) for seed in range(3)]
    assert kind.from_state(states[::-1], np.int64(0)) == kind(seed=2)
    for index in (-1, 3, 2**70, 1.0, None, True):
        with pytest.raises(ValueError, match="the index of the record") as caught:
            kind.from_state(states, index)
        assert str(index) in str(caught.value)


@BOTH
def test_records_from_outside_are_checked(kind):
    """Random bytes, one unreachable record among others, and values that are not arrays of records."""
    states = np.concatenate([kind(seed=seed).state for seed in range(8)])
    assert (kind.check_states(states) == states).all()
    assert kind.rules.find_contradiction(np.append(states, np.zeros(1, states.dtype))) is None  # in the first
    rng = np.random.default_rng(0)
    for _ in range(30):
        with pytest.raises(ValueError, match=r"reaches state \d of 8"):
            kind.check_states(np.frombuffer(rng.bytes(states.nbytes), states.dtype))
    other = nmbr9.Game if kind is patchwork.Game else patchwork.Game
    for foreign in (None, [1], np.zeros(80, np.uint8), other(seed=1).state, states[0]):
        for read in (kind.check_states, kind.from_state):
            with pytest.raises(ValueError, match=r"states must be an array .* of records of"):
                read(foreign)
    states["current_player"][5:7] = 7
    with pytest.raises(ValueError, match=r"reaches state 5 of 8: current_player is 7; allowed are 0 to [01]"):
        kind.check_states(states)


@ALL
def test_damaged_bytes_are_refused(kind):
    game = kind(seed=1)
    play(game, 5, 0)
    data = game.to_bytes()
    body = data[:4] + bytes([2]) + data[5:-4]
    for damaged, message in (
        *((data[:length], "not a|the state") for length in range(len(data))),
        (data + b"\0", "bytes"),
        (b"ABCD" + data[4:], "bytes start with b'ABCD'"),
        (body + zlib.crc32(body).to_bytes(4, "little"), "the state has version \\[2\\]"),
        *((data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :], "state|bytes") for at in range(len(data))),
        *((value, type(value).__name__) for value in (None, 3, "PTCH", [80, 84])),
    ):
        with pytest.raises(ValueError, match=message):
            kind.from_bytes(damaged)


@ALL
def test_pickles_are_validated(kind):
    game = kind(seed=1)
    play(game, 5, 0)
    rebuild, (_, origin, actions) = game.__reduce__()
    assert rebuild(kind, origin, actions) == game
    with pytest.raises(ValueError, match="checksum"):
        rebuild(kind, origin[:-5] + bytes([origin[-5] ^ 1]) + origin[-4:], actions)
    with pytest.raises(IllegalActionError):
        rebuild(kind, origin, (*actions, -1))


@ALL
def test_misspelt_options_are_named(kind):
    with pytest.raises(
        UnknownOptionError, match="Game got an unexpected keyword argument 'sed'; did you mean 'seed'"
    ):
        kind(sed=3)


def test_only_players_have_a_view():
    for player in (-1, 2):
        with pytest.raises(ValueError, match=f"player is {player}; allowed are 0 to 1"):
            toy.Game(seed=2).observation(player)


def test_notebooks_show_the_text_of_a_game_without_pictures(monkeypatch):
    game = toy.Game(seed=2)
    assert game._repr_svg_() is None
    assert set(str(game)) <= set(".#01")
    monkeypatch.delattr(toy.Game, "__str__")
    assert str(game) == game.position_text()
