"""Every documented number of an observation, and hidden information."""

import random

import numpy as np
import pytest

from patchwork_env.envs.spaces import GameSpaces
from patchwork_env.nmbr9 import Game
from patchwork_env.nmbr9.observation import OBSERVATION_SIZE, as_dict, read_observation
from patchwork_env.nmbr9.rules import RULES
from patchwork_env.nmbr9.state import empty_states
from tests.nmbr9.test_table import FURTHEST, furthest

VIEW = slice(20, 44)


def highest(game, rng):
    actions = game.legal_actions().tolist()
    if game.digit is None:
        return rng.choice(actions)
    return max(rng.sample(actions, min(30, len(actions))), key=lambda action: game.decode(action).level)


@pytest.mark.parametrize("order", ["unknown", "known", "free"])
def test_all_entries(order):
    """Of a high table, and of a wide one that reaches beyond the picture on all sides."""
    rng, game = random.Random(order), Game(seed=5, players=2, order=order, deck_size=12)
    directions = [FURTHEST[name] for name in ("up", "left", "down", "right")]
    while True:
        for observer in range(2):
            compare(game, observer)
        if game.is_over:
            break
        game.play(furthest(game, directions) if game.current_player else highest(game, rng))


def compare(game, observer):
    vector = game.observation(observer)
    assert vector in GameSpaces(RULES).flat_space()
    seen = as_dict(vector)
    placed = game.placements(observer)
    assert (seen["heights"] * 8 == game.heights(observer)[VIEW, VIEW]).all()
    tops = np.zeros((64, 64))
    for number, move in enumerate(placed, 1):
        for cell in move.cells:
            tops[cell] = number
    assert (np.rint(seen["tops"] * 40) == tops[VIEW, VIEW]).all()
    to_move = not game.is_over and game.current_player == observer
    left = game.num_rounds - len(placed)
    phase = [to_move, to_move and game.digit is None, left / 40, game.order == "known", game.order == "free"]
    assert seen["phase"].tolist() == pytest.approx([float(value) for value in phase])
    assert (seen["remaining"] * 2).tolist() == list(game.remaining(observer))
    compare_cards(game, observer, seen["tile"], seen["upcoming"])
    for k, player in enumerate((observer, 1 - observer)):
        known = len(placed) if k == 0 else game.round
        moves = game.placements(player)[:known]
        points = sum(move.digit * (move.level or 0) for move in moves)
        assert seen["players"][k].tolist() == pytest.approx([1, points / 100, known / 40])
        assert seen["tiles"][k, :, 0].sum() == known
        digits, levels = seen["tiles"][k, :known, 1] * 9, seen["tiles"][k, :known, 3] * 8
        assert np.rint(digits).tolist() == [move.digit for move in moves]
        assert np.rint(levels).tolist() == [move.level for move in moves]
        if k == 0 or len(game.placements(player)) == known:
            corners = [[min(r for r, _ in move.cells), min(c for _, c in move.cells)] for move in moves]
            assert np.rint(seen["tiles"][k, :known, 4:] * 63).tolist() == corners
    assert not seen["players"][2:].any()
    assert not seen["tiles"][2:].any()


def compare_cards(game, observer, tile, upcoming):
    placed = len(game.placements(observer))
    shown = np.flatnonzero(tile).tolist()
    if game.order == "free":
        chosen = int(game.state[0]["chosen"][observer])
        assert shown == ([chosen] if chosen < 10 else [])
        assert not upcoming.any()
        return
    unturned = game.deck[game.num_rounds if game.is_over else game.round + 1 :]
    assert game.remaining() == tuple(unturned.count(digit) for digit in range(10))
    turned = placed < game.num_rounds and (placed == game.round or game.order == "known")
    assert shown == ([game.deck[placed]] if turned else [])
    later = game.deck[placed + 1 : game.num_rounds] if game.order == "known" else ()
    assert np.rint(upcoming * 10).tolist() == [digit + 1 for digit in later] + [0] * (40 - len(later))


def test_an_unknown_deck_is_sampled_anew():
    game = Game(seed=8)
    for _ in range(7):
        game.play(highest(game, random.Random(8)))
    other = game.determinize(seed=1)
    assert other.deck[:8] == game.deck[:8]
    assert sorted(other.deck) == sorted(game.deck) != list(other.deck) != list(game.deck)
    assert other.placements() == game.placements()
    assert len({game.determinize(seed=seed).deck[8] for seed in range(20)}) > 3
    assert Game(deck=range(10)).determinize(seed=1) == Game(deck=[0, *range(9, 0, -1)]).determinize(seed=1)
    for order in ("known", "free"):
        assert Game(seed=8, order=order).determinize(seed=1) == Game(seed=8, order=order)


@pytest.mark.parametrize("order", ["unknown", "free"])
def test_moves_of_others_in_a_round_are_sampled_anew(order):
    game, play_on, differing = Game(seed=8, players=2, order=order), random.Random(8), 0
    while not game.is_over:
        other = game.determinize(seed=play_on.randrange(2**32))
        assert (other.observation() == game.observation()).all()
        differing += game.current_player == 1 and other.placements(0) != game.placements(0)
        game.play(highest(game, play_on))
    assert differing > 5
    assert game.determinize(seed=1) == game


@pytest.mark.parametrize("order", ["unknown", "known", "free"])
def test_a_table_is_read_from_the_observation_of_its_player(order):
    rng, found = random.Random(4), empty_states(1)
    game = Game(seed=5, players=2, order=order, deck_size=12)
    while not game.is_over:
        player = game.current_player
        read_observation(game.observation(player), found, 0)
        seen = Game.unchecked(found)
        assert seen.placements(0) == game.placements(player)
        assert seen.digit == game.digit
        assert seen.num_rounds == 12
        if order != "free":
            assert sorted(seen.deck) == sorted(game.deck)
        else:
            held = [] if game.digit is None else [game.digit]
            left = [digit for digit, number in enumerate(game.remaining(player)) for _ in range(int(number))]
            assert sorted([*held, *seen.deck[seen.round + len(held) :]]) == left
        game.play(highest(game, rng))


def test_any_array_is_read_as_a_state_within_bounds():
    found, rng = empty_states(1), np.random.default_rng(2)
    for number in (np.nan, np.inf, -np.inf, 1e30, -1e30, 0.7):
        observation = rng.normal(size=OBSERVATION_SIZE).astype(np.float32)
        observation[rng.random(OBSERVATION_SIZE) < 0.5] = number
        observation[-960:] = np.abs(observation[-960:])
        read_observation(observation, found, 0)
        state = found[0]
        for name, end in (("piece", 40), ("level", 20), ("row", 64), ("column", 64), ("deck", 10)):
            assert state[name].max() < end
        assert state["round"] <= state["num_rounds"] <= state["num_cards"] <= 40
