"""The kernels of the rules against the naive game, and one by one.

This file is also run without compilation, where it must reach every line of the engine in a few games.
"""

import random

import numpy as np
import pytest
from numba import config

from patchwork_env.core.batches import begin_games
from patchwork_env.core.random import random_below, start_streams
from patchwork_env.patchwork import NUM_ACTIONS, Game, engine, tables
from patchwork_env.patchwork.rules import RULES
from patchwork_env.testing import check_position
from tests.patchwork import twins
from tests.patchwork.naive import BONUS_SQUARES, NaiveGame
from tests.patchwork.recorded import GAMES

PLAYED = {
    twins.at_random: 20,
    twins.always_advance: 3,
    twins.largest_patch: 4,
    twins.least_time: 4,
    twins.tightest: 4,
}
"""How many games each policy plays."""
NUM_GAMES = 70
SEED = np.uint64(9)


@pytest.fixture(autouse=True)
def _integers_wrap_around():
    """As in machine code; plain NumPy warns of it."""
    with np.errstate(over="ignore"):
        yield


def streams(n):
    made = np.empty(n, np.uint64)
    start_streams(made, SEED)
    return made


def new_games(n=NUM_GAMES):
    return begin_games(RULES, streams(n), first_player="random")


def games_in_play(turns, n=NUM_GAMES):
    """Games after as many random turns."""
    states, rng = new_games(n), np.random.default_rng(0)
    for i in range(n):
        game = Game.from_state(states, i)
        for _ in range(turns):
            game.play(rng.choice(game.legal_actions()))
        states[i] = game.state[0]
    return states


# --- the rules --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", PLAYED)
@pytest.mark.parametrize("variant", ["revised", "2014"])
def test_games_agree_with_the_naive_game(policy, variant):
    rng = random.Random(f"{policy.__name__} {variant}")
    for number in range(1 if config.DISABLE_JIT else PLAYED[policy]):
        game, naive = twins.both(twins.random_circle(rng), number % 2, variant)
        twins.play_out(game, naive, policy, rng)
        twins.assert_same_layouts(game, naive)


def test_the_meaning_of_every_legal_action():
    rng = random.Random(3)
    game, naive = twins.both(twins.random_circle(rng), 0, "revised")
    while not naive.is_over:
        moves = naive.legal_moves()
        twins.assert_same_moves(game, naive, moves, list(moves))
        action = twins.at_random(naive, moves, rng)
        game.play(action)
        naive.play(action)


@pytest.mark.parametrize("record", GAMES, ids=lambda record: record.name)
def test_recorded_games_agree_with_the_naive_game_and_show_their_events(record):
    assert set(record.shows) <= set(twins.replay(record))


def test_ends_of_games_agree_with_the_naive_game():
    """From positions with few patches and nearly full quilts, up to ties."""
    rng, ties = random.Random(4), 0
    for number in range(12 if config.DISABLE_JIT else 80):
        naive, variant = twins.crowded_position(rng)
        policy = twins.largest_patch if number % 2 else twins.at_random
        seen = twins.play_out(twins.game_at(naive, variant), naive, policy, rng)
        ties += seen["tie"]
    assert ties or config.DISABLE_JIT


def test_equal_scores_go_to_the_first_to_finish():
    """For both players, at positions where every move is forced."""
    for first in (0, 1):
        naive = NaiveGame([], 0, "revised")
        naive.positions, naive.buttons, naive.special_spaces = [53, 53], [10, 10], []
        naive.positions[1 - first], naive.buttons[1 - first] = 50, 7
        naive.first_finisher = naive.last_mover = first
        game = twins.game_at(naive, "revised")
        twins.play_out(game, naive, twins.at_random, random.Random(0))
        assert game.scores() == (10 - 162, 10 - 162)
        assert game.winner() == first


def test_the_last_to_arrive_moves_first_on_a_shared_space():
    """Patches 20 and 1 both cost 3 time; the player who catches up moves again, and only then the other."""
    game, naive = twins.both([20, *range(1, 20), *range(21, 33), 0], 0, "revised")
    buy_in_the_corner, advance = 1, 0
    for action, player in ((buy_in_the_corner, 0), (buy_in_the_corner, 1), (advance, 1)):
        assert game.current_player == naive.current_player == player
        game.play(action)
        naive.play(action)
    assert game.positions == (3, 4)
    twins.assert_same(game, naive, naive.legal_moves())


@pytest.mark.parametrize("square", BONUS_SQUARES, ids=lambda square: str(min(square)))
def test_each_complete_square_brings_the_bonus_tile(square):
    """The first player to complete one gets it, with the last cell and not before."""
    for last in sorted(square)[::8]:
        naive = NaiveGame(list(range(33)), 0, "revised")
        naive.positions, naive.special_spaces, naive.pending_special = [27, 24], [32, 38, 44, 50], True
        naive.quilts[0] = square - {last}
        game, moves = twins.game_at(naive, "revised"), naive.legal_moves()
        assert not engine.has_square(game.state, 0, 0)
        elsewhere = game.clone()
        elsewhere.play(next(action for action in moves if moves[action] - square))
        assert elsewhere.bonus_owner is None
        game.play(next(action for action in moves if moves[action] == {last}))
        assert game.bonus_owner == 0
        assert engine.has_square(game.state, 0, 0)


# --- legal sets -------------------------------------------------------------------------------------------


def test_all_forms_of_the_legal_set_agree():
    """Number, list, mask, n-th and single actions; after the end there are none."""
    rng, pending = np.random.default_rng(0), 0
    game, legal_set = Game(seed=5), np.empty((2, engine.NUM_MAPS), np.uint64)
    while not game.is_over:
        if game.pending_special or game.num_moves % 9 == 0:
            check_position(game)
            engine.legal(game.state, 0, legal_set)
            allowed = [action for action in range(-1, NUM_ACTIONS + 1) if engine.allows(legal_set, action)]
            assert allowed == game.legal_actions().tolist()
            pending += game.pending_special
        game.play(rng.choice(game.legal_actions()))
    check_position(game)
    assert pending
    states = new_games(1)  # of a circle of two patches
    states["num_patches"], states["buttons"] = 2, 20
    assert [engine.is_legal(states, 0, 1 + 648 * slot) for slot in range(3)] == [True, True, False]
    assert engine.nth_legal(np.zeros((2, engine.NUM_MAPS), np.uint64), 1) == -1
    for word, cell in ((0, 0), (1, 80)):  # the only one for a special patch, in one word of its map
        states["pending_special"], states["quilt"] = 1, tables.FULL_WORD
        states["quilt"][0, :, word] ^= np.uint64(1 << (cell - word * engine.FIRST_LOWER))
        engine.legal(states, 0, legal_set)
        assert Game.unchecked(states).legal_actions() == engine.nth_legal(legal_set, 0) == 1945 + cell
        assert not engine.allows(legal_set, 0)
    outcomes = [engine.outcome(game.state, 0, player) for player in range(2)]
    assert outcomes == ([-1, 1] if game.winner() else [1, -1])


def test_placements_of_a_patch_are_the_purchases_of_the_rich():
    states = games_in_play(14, 4)
    states["buttons"], states["pending_special"] = 99, 0
    anchors, actions = np.empty((2, engine.NUM_MAPS), np.uint64), np.empty(engine.MAX_LEGAL_ACTIONS, np.int16)
    for i in range(len(states)):
        engine.legal(states, i, anchors)
        count = engine.write_actions(anchors, actions)
        slots = ((actions[1:count] - 1) // (8 * 81)).tolist()
        quilt = states["quilt"][i, states["current_player"][i]]
        for slot, patch in enumerate(states["circle"][i, :3]):
            assert engine.count_placements(quilt[0], quilt[1], patch) == slots.count(slot)


# --- random numbers ---------------------------------------------------------------------------------------


def test_the_random_numbers_are_splitmix64():
    """The published generator from state 0; `random_below` takes the upper half of each word."""
    words = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    stream = np.zeros(1, np.uint64)
    expected = [(word >> 32) * (2**31 - 1) >> 32 for word in words]
    assert [random_below(stream, 0, 2**31 - 1) for _ in words] == expected


def test_new_games_differ_in_their_circles_alone():
    states = new_games()
    assert len({state["circle"].tobytes() for state in states}) == NUM_GAMES
    assert set(states["current_player"].tolist()) == {0, 1}
    for i in range(NUM_GAMES):
        game = Game.from_state(states, i)
        assert sorted(game.circle) == list(range(33))
        assert game.circle[-1] == 0
        again = Game(circle=game.circle, first_player=game.current_player)
        assert again == game
    for first_player in (0, 1):
        states = begin_games(RULES, streams(NUM_GAMES), special_patches="2014", first_player=first_player)
        assert (states["current_player"] == first_player).all()
        assert (states["variant"] == 1).all()
