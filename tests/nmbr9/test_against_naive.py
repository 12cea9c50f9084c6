"""The engine agrees with the naive tables in every state of whole games."""

import random

import pytest

from patchwork_env.nmbr9 import Game
from tests.nmbr9.twins import as_high_as_possible, at_random, compact, play_out


@pytest.mark.parametrize("policy", [at_random, as_high_as_possible, compact])
def test_games_alone(policy):
    rng = random.Random(policy.__name__)
    (table,) = play_out(Game(seed=0), policy, rng)
    highest = max(tile.level for tile in table.tiles)
    assert highest >= {at_random: 1, compact: 1, as_high_as_possible: 2}[policy]


@pytest.mark.parametrize(("order", "players"), [("unknown", 2), ("known", 3), ("free", 4)])
def test_orders_and_numbers_of_players(order, players):
    rng = random.Random(order)
    play_out(Game(seed=1, order=order, players=players, max_digit=6, deck_size=6), compact, rng)
    play_out(Game(seed=2, order=order, deck_size=10), as_high_as_possible, rng)


@pytest.mark.parametrize("digit", range(10))
def test_decks_of_one_digit(digit):
    """Tiles of equal shape test the rule that a tile must rest on two others."""
    play_out(Game(deck=[digit] * 6), compact, random.Random(digit))


@pytest.mark.slow
def test_the_longest_deck():
    play_out(Game(seed=3, copies=4), compact, random.Random(3))
