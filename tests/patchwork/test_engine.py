"""The kernels of the rules, one by one and against the naive game.

Few games: this file is also run without compilation, where it must reach every line of the engine.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import pytest

from patchwork_env.core.batches import begin_games
from patchwork_env.core.random import random_below, start_streams
from patchwork_env.envs.self_play import SelfPlayBatch
from patchwork_env.patchwork import NUM_ACTIONS, Game, engine
from patchwork_env.patchwork.rules import RULES
from patchwork_env.patchwork.state import States
from tests.patchwork.naive import ALL_CELLS, BONUS_SQUARES, Cell, NaiveGame
from tests.patchwork.recorded import GAMES, Recorded
from tests.patchwork.twins import (
    Policy,
    assert_same_layouts,
    at_random,
    both,
    crowded_position,
    game_at,
    least_time,
    play_out,
    random_circle,
    replay,
    tightest,
)

NUM_GAMES = 70
SEED = np.uint64(9)
NO_MASKS = np.zeros((0, NUM_ACTIONS), np.int8)


@pytest.fixture(autouse=True)
def _integers_wrap_around() -> Iterator[None]:
    """As in machine code; plain NumPy warns of it."""
    with np.errstate(over="ignore"):
        yield


def streams(n: int) -> np.ndarray:
    made = np.empty(n, np.uint64)
    start_streams(made, SEED)
    return made


def new_games(n: int = NUM_GAMES) -> States:
    return begin_games(RULES, streams(n), first_player="random")


def games_in_play(turns: int, n: int = NUM_GAMES) -> States:
    """Games after as many random turns."""
    states, rng = new_games(n), np.random.default_rng(0)
    for i in range(n):
        game = Game.from_state(states, i)
        for _ in range(turns):
            game.play(rng.choice(game.legal_actions()))
        states[i] = game.state[0]
    return states


# --- the rules --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", [at_random, least_time, tightest])
@pytest.mark.parametrize("variant", ["revised", "2014"])
def test_games_agree_with_the_naive_game(policy: Policy, variant: str) -> None:
    rng = random.Random(f"{policy.__name__} {variant}")
    game, naive = both(random_circle(rng), rng.randrange(2), variant)
    play_out(game, naive, policy, rng)
    assert_same_layouts(game, naive)


@pytest.mark.parametrize("record", GAMES, ids=lambda record: record.name)
def test_recorded_games_agree_with_the_naive_game_and_show_what_they_are_kept_for(record: Recorded) -> None:
    assert set(record.shows) <= set(replay(record))


def test_ends_of_games_agree_with_the_naive_game() -> None:
    rng = random.Random(4)
    for _ in range(12):
        naive, variant = crowded_position(rng)
        play_out(game_at(naive, variant), naive, at_random, rng)


@pytest.mark.parametrize("slot", [0, 1, 2])
def test_the_neutral_token_moves_to_the_place_of_the_patch(slot: int) -> None:
    """What it passed comes last; also with few patches left, where a slot may be empty."""
    for length in range(1, 7):
        circle = list(range(1, length + 1))
        states = new_games(1)
        states[0]["circle"] = 0
        states[0]["circle"][:length] = circle
        states[0]["num_patches"] = length
        states[0]["buttons"] = 20
        game = Game.unchecked(states)  # these patches alone make no game
        action = 1 + 648 * slot
        assert engine.is_legal(states, 0, action) == (slot < length)
        if slot < length:
            game.play(action)
            assert list(game.circle) == circle[slot + 1 :] + circle[:slot]
            assert not game.state[0]["circle"][length - 1 :].any()


@pytest.mark.parametrize("square", BONUS_SQUARES, ids=lambda square: str(min(square)))
def test_each_complete_square_brings_the_bonus_tile(square: set[Cell]) -> None:
    """To whoever completes it first, with its last cell and not before."""
    for last in sorted(square)[::8]:
        naive = NaiveGame(list(range(33)), 0, "revised")
        naive.positions, naive.special_spaces, naive.pending_special = [27, 24], [32, 38, 44, 50], True
        naive.quilts[0] = square - {last}
        game, moves = game_at(naive, "revised"), naive.legal_moves()
        assert not engine.has_square(game.state, 0, 0)
        elsewhere = game.clone()
        elsewhere.play(next(action for action in moves if moves[action] - square))
        assert elsewhere.bonus_owner is None
        game.play(next(action for action in moves if moves[action] == {last}))
        assert game.bonus_owner == 0
        assert engine.has_square(game.state, 0, 0)


# --- legal sets -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("turns", [0, 7, 26])
def test_all_forms_of_the_legal_set_agree(turns: int) -> None:
    """Number, list, mask, n-th, and one by one."""
    states = games_in_play(turns, 3)
    for i in range(len(states)):
        anchors = np.empty((2, engine.NUM_MAPS), np.uint64)
        actions, mask = np.empty(engine.MAX_LEGAL_ACTIONS, np.int16), np.full(NUM_ACTIONS, 7, np.int8)
        count = engine.legal(states, i, anchors)
        assert engine.write_actions(anchors, actions) == count
        legal = actions[:count].tolist()
        assert RULES.kernels.legal_mask(states, i, mask) == count
        assert np.flatnonzero(mask).tolist() == legal
        assert mask.max() == 1
        assert [engine.nth_legal(anchors, n) for n in range(count)] == legal
        assert engine.nth_legal(anchors, count) == -1
        assert [action for action in range(NUM_ACTIONS) if engine.is_legal(states, i, action)] == legal


def test_legal_sets_of_a_special_patch() -> None:
    """Cells of both words of the quilt, and no advance."""
    naive = NaiveGame(list(range(33)), 0, "revised")
    naive.positions, naive.special_spaces = [27, 24], [32, 38, 44, 50]
    naive.pending_special = True
    naive.quilts[0] = set(sorted(ALL_CELLS)[::5])
    states = game_at(naive, "revised").state
    anchors = np.empty((2, engine.NUM_MAPS), np.uint64)
    count = engine.legal(states, 0, anchors)
    legal = naive.legal_actions()
    assert count == len(legal) == 64
    assert [engine.nth_legal(anchors, n) for n in range(count)] == legal
    assert [action for action in range(NUM_ACTIONS) if engine.is_legal(states, 0, action)] == legal


def test_placements_of_a_patch_are_the_purchases_of_the_rich() -> None:
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


def test_the_legal_set_after_the_end_is_empty() -> None:
    states = new_games(1)
    states[0]["position"] = 53
    anchors = np.ones((2, engine.NUM_MAPS), np.uint64)
    mask = np.ones(NUM_ACTIONS, np.int8)
    assert engine.is_over(states, 0)
    assert engine.legal(states, 0, anchors) == 0
    assert not anchors.any()
    assert RULES.kernels.legal_mask(states, 0, mask) == 0
    assert not mask.any()
    assert not engine.is_legal(states, 0, 0)


# --- random numbers ---------------------------------------------------------------------------------------


def test_streams_depend_on_seed_and_index_alone() -> None:
    few, many = streams(3), streams(50)
    assert few.tolist() == many[:3].tolist()
    assert len(set(many.tolist())) == 50
    other = np.empty(50, np.uint64)
    start_streams(other, SEED + np.uint64(1))
    assert not set(other.tolist()) & set(many.tolist())


def test_the_random_numbers_are_splitmix64() -> None:
    """The published generator from state 0; `random_below` takes the upper half of each word."""
    words = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    stream = np.zeros(1, np.uint64)
    assert [random_below(stream, 0, 2**31 - 1) for _ in words] == [
        (word >> 32) * (2**31 - 1) >> 32 for word in words
    ]


@pytest.mark.parametrize("bound", [1, 2, 7, 1345])
def test_random_numbers_are_below_their_bound(bound: int) -> None:
    stream = streams(1)
    drawn = {random_below(stream, 0, bound) for _ in range(200)}
    assert min(drawn) >= 0
    assert max(drawn) < bound
    assert len(drawn) > min(bound, 100) / 2


def test_new_games_differ_in_their_circles_alone() -> None:
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
        options = {"special_patches": "2014", "first_player": first_player}
        states = begin_games(RULES, streams(NUM_GAMES), **options)
        assert (states["current_player"] == first_player).all()
        assert (states["variant"] == 1).all()


# --- batches ----------------------------------------------------------------------------------------------


def test_a_game_that_ends_is_replaced_by_a_new_one() -> None:
    states = new_games(4)
    states["position"] = [[50, 53]]
    states["first_finisher"] = 1
    states["current_player"] = 0
    states["buttons"] = [[9, 3], [0, 3], [0, 9], [0, 3]]  # three more for advancing: 12-3, 3-3, 3-9, 3-3
    states["position"][2] = [52, 53]  # and one: 1-9
    batch = SelfPlayBatch(RULES, 4, seed=4, first_player=1)
    batch.states[:] = states
    batch.step(np.zeros(4, np.int64))
    assert batch.terminations.all()
    assert batch.rewards.tolist() == [[1, -1], [-1, 1], [-1, 1], [-1, 1]]
    assert (batch.final_scores + 162).tolist() == [[12, 3], [3, 3], [1, 9], [3, 3]]
    assert batch.states["position"].tolist() == [[0, 0]] * 4
    assert batch.states["buttons"].tolist() == [[5, 5]] * 4
    assert batch.states["current_player"].tolist() == [1] * 4
    assert len({state["circle"].tobytes() for state in batch.states}) == 4
