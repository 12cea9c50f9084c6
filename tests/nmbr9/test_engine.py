"""The rules one by one, in positions made by hand; short enough to run without compilation as well."""

import numpy as np
import pytest

from patchwork_env.core.kernels import allows, nth_legal
from patchwork_env.nmbr9 import Game, IllegalActionError, decks, engine
from patchwork_env.nmbr9.actions import DISTINCT, NUM_ACTIONS, ORIENTED
from patchwork_env.nmbr9.components import MAX_CARDS
from patchwork_env.nmbr9.rules import RULES

pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")


def after(deck, *words, **options):
    """A game in which moves of the notation have been played."""
    game = Game(deck=deck, **options)  # type: ignore[arg-type]
    for word in words:
        game.play(game.parse_move(word))
    return game


def is_legal(game, word):
    """Whether a move is legal, by both ways to find legal actions."""
    np.full(2**13, 2**64 - 1, np.uint64)  # freed at once: then kernels get memory that is not 0
    try:
        action = game.parse_move(word)
    except IllegalActionError:
        return False
    assert action in game.legal_actions()
    return True


NINES = ("9/0@0,0", "9/0@0,3")
"""Two nines side by side; their lower right corners are empty."""


def test_the_bound_on_legal_actions_is_that_of_its_proof():
    """The places at one tile that share an edge and do not overlap it, and those of a first cell above it."""

    def places(digit, below):
        beside = {(r + i, c + j) for r, c in below for i, j in ((0, 1), (1, 0), (0, -1), (-1, 0))} - below
        found = len(DISTINCT[digit]) * len(below)
        for orientation in DISTINCT[digit]:
            cells = ORIENTED[digit][orientation]
            touching, overlapping = (
                {(r - i, c - j) for r, c in among for i, j in cells} for among in (beside, below)
            )
            found += len(touching - overlapping)
        return found

    most = max(places(digit, set(cells)) for digit in range(10) for tile in ORIENTED for cells in tile)
    assert (MAX_CARDS - 1) * most == engine.MAX_LEGAL_ACTIONS == RULES.max_legal_actions < NUM_ACTIONS


@pytest.mark.parametrize(
    ("word", "level"),
    [
        ("1/0@0,2", 1),  # two columns, one of each nine
        ("1/2@0,1", None),  # its foot would hang over the corner between them
        ("1/0@0,0", None),  # one nine only
        ("1/0@0,5", None),  # half on the table
        ("1/0@0,6", 0),
        ("1/0@-1,70", None),  # beyond the table, where the number of the action would be that of 1/0@0,6
        ("1/0@64,6", None),  # and of 1/1@0,6
    ],
)
def test_on_two_tiles(word, level):
    game = after([9, 9, 1], *NINES)
    assert is_legal(game, word) == (level is not None)
    if level is not None:
        assert game.decode(game.parse_move(word)).level == level


def test_tiles_of_a_level_hang_together():
    """Four nines in a row carry two tiles on level 1, of which the second must touch the first."""
    row = [*NINES, "9/0@0,6", "9/0@0,9"]
    game = after([9] * 4 + [1] * 3, *row, "1/0@0,2")
    assert not is_legal(game, "1/0@0,5")
    assert not is_legal(game, "1/0@0,8")
    assert is_legal(game, "1/0@0,12")
    lying = "1/1@0,4"  # on the second and the third nine, right of the first tile
    assert is_legal(game, lying)
    assert game.decode(game.parse_move(lying)).level == 1


def test_repeated_orientations_and_foreign_actions():
    game = after([0, 8], "0/0@0,0")
    for orientation in (2, 3):
        assert not is_legal(game, f"8/{orientation}@0,3")
    assert nth_legal(np.zeros((engine.NUM_MAPS, 64), np.uint64), 0) == -1
    ones = np.full((3, 2), 2**64 - 1, np.uint64)[:2]  # 256 actions, with more ones behind them
    assert [allows(ones, action) for action in (-1, 0, 255, 256)] == [False, True, True, False]
    for action in (-1, NUM_ACTIONS, 2**40, 16384):
        assert not engine.is_legal(game.state, 0, action)


def test_free_order():
    game = after([1, 1, 7], order="free", players=2)
    assert game.legal_actions().tolist() == [16384 + 1, 16384 + 7]
    assert not is_legal(game, "=3")
    assert not engine.is_legal(game.state, 0, 0)
    for word in ("=7", "=1", "7/0@0,0", "1/0@0,0"):
        assert is_legal(game, word)
        assert game.num_public_moves == 0
        game.play(game.parse_move(word))
    assert game.num_public_moves == 4
    assert game.remaining(0) == (0, 2, 0, 0, 0, 0, 0, 0, 0, 0)
    assert game.remaining(1) == (0, 1, 0, 0, 0, 0, 0, 1, 0, 0)
    assert game.legal_actions().tolist() == [16384 + 1]
    assert not is_legal(game, "=7")


def test_placements_of_others_are_visible_after_the_round():
    game, known, is_hidden = Game(seed=2, players=2, deck_size=8), [0, 0], False
    while not game.is_over:
        if game.current_player == 0:
            known = list(game.scores())
        for observer, player in ((0, 1), (1, 0)):
            assert engine.visible_score(game.state, 0, observer, player) == known[player]
            assert engine.visible_score(game.state, 0, player, player) == game.scores()[player]
        is_hidden |= known != list(game.scores())
        actions = game.legal_actions()
        game.play(max(actions[:: len(actions) // 12 + 1], key=lambda action: game.decode(action).level))
    assert is_hidden


def drawn(game, seed):
    """The deck after a draw, as a list."""
    states = game.state.copy()
    decks.draw(states, 0, np.array([seed], np.uint64))
    return states["deck"][0, : states["num_cards"][0]].tolist()


def test_a_draw_leaves_no_order_of_the_cards_to_come():
    firsts = []
    for seed in range(200):
        first, *others = drawn(Game(seed=seed, max_digit=4, copies=1), seed)
        assert others == [digit for digit in range(5) if digit != first]
        firsts.append(first)
    assert min(np.bincount(firsts)) > 25


def test_cards_are_drawn_once_a_round_and_only_where_their_order_is_unknown():
    deck = [4, 0, 3, 1, 2]
    game = Game(deck=deck, players=2)
    assert sorted(drawn(game, 0)) == sorted(deck)
    game.play(int(game.legal_actions()[0]))
    assert drawn(game, 0) == deck  # the second player places the same tile
    game.play(int(game.legal_actions()[0]))
    assert drawn(game, 0)[0] == deck[0]
    assert drawn(Game(deck=deck, order="known"), 0) == deck
    while not game.is_over:
        game.play(int(game.legal_actions()[0]))
    assert drawn(game, 0) == deck
