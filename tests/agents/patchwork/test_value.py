"""The compiled value: patterns, features, evaluation of successors, and the agent that plays by it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from patchwork_env.agents.compiled import LEAK, aligned_records, arrays_of, record_type
from patchwork_env.agents.patchwork import features, patterns
from patchwork_env.agents.patchwork.champion import ValueAgent
from patchwork_env.agents.patchwork.expansion import (
    LIKELY,
    Payoffs,
    best_action,
    draw_action,
    expand,
    expand_further,
    expand_likely,
    new_expansion,
)
from patchwork_env.agents.patchwork.placements import count_joints, kind_of
from patchwork_env.agents.patchwork.quilts import MOST_CHOICES, forget
from patchwork_env.agents.patchwork.value import (
    OWN_EMPTY,
    SCALES,
    WEIGHTS,
    WIN,
    evaluate,
    new_buffer,
    new_weights,
)
from patchwork_env.core.checks import seed_streams
from patchwork_env.core.polyomino import NUM_ORIENTATIONS
from patchwork_env.patchwork import Game
from tests.agents.positions import many_states

PAYOFFS = Payoffs(1.0, 0.025)


@pytest.fixture(scope="module")
def weights():
    weights = new_weights(3)
    weights["weights_3"] *= 20
    return weights


@pytest.fixture(scope="module")
def games():
    """Games that go on, from the first turn to the last."""
    states = many_states()
    return [Game.from_state(states, i) for i in range(0, len(states), len(states) // 40)]


def words_of(quilt):
    bits = [1 << k for k, covered in enumerate(quilt.reshape(-1)) if covered]
    whole = sum(bits)
    return np.uint64(whole & (1 << 63) - 1), np.uint64(whole >> 18)


def bands_of(quilt):
    bands = np.empty(patterns.NUM_BANDS, np.uint64)
    patterns.write_bands(*words_of(quilt), bands)
    return bands


def rows_of(quilt):
    rows = np.empty(patterns.NUM_WINDOWS, np.int32)
    patterns.list_rows(bands_of(quilt), rows)
    return rows


def random_quilts(number, seed=0):
    rng = np.random.default_rng(seed)
    return rng.random((number, 9, 9)) < rng.random((number, 1, 1))


# --- patterns ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("turns", range(4))
@pytest.mark.parametrize("flips", [False, True])
def test_symmetric_quilts_have_the_same_patterns(turns, flips):
    for quilt in random_quilts(10):
        view = np.rot90(quilt.T if flips else quilt, turns)
        assert sorted(rows_of(view)) == sorted(rows_of(quilt))


def test_different_windows_have_different_patterns():
    """Two windows share a row exactly if one is a view of the other, and of small ones, at the same ring."""

    def key(window, ring):
        views = [np.rot90(flipped, k) for flipped in (window, window.T) for k in range(4)]
        return ring, min(view.tobytes() for view in views)

    names = {}
    for quilt in random_quilts(30, seed=1):
        padded, rows = np.pad(quilt, 1, constant_values=True), rows_of(quilt)
        windows = [
            key(padded[r : r + 3, c : c + 3], min(r, c, 8 - r, 8 - c)) for r in range(9) for c in range(9)
        ]
        windows += [key(padded[r : r + 4, c : c + 4], -1) for r in range(8) for c in range(8)]
        for row, window in zip(rows, windows, strict=True):
            assert names.setdefault(row, window) == window
    assert len(set(names.values())) == len(names) > 1000


def test_changes_are_the_difference_of_two_quilts():
    rng = np.random.default_rng(2)
    old, new = (np.empty(patterns.NUM_WINDOWS, np.int32) for _ in range(2))
    for quilt in random_quilts(50, seed=3):
        more = quilt | (rng.random((9, 9)) < 0.1 * rng.random())
        before, after = rows_of(quilt), rows_of(more)
        count = patterns.list_changes(bands_of(quilt), bands_of(more), before, old, new)
        changed = before != after
        assert sorted(old[:count]) == sorted(before[changed])
        assert sorted(new[:count]) == sorted(after[changed])


# --- features ---------------------------------------------------------------------------------------------


def listed(kernel, *arguments):
    rows = np.full(features.MAX_ROWS, -1, np.int32)
    count = kernel(*arguments, rows)
    assert (rows[count:] == -1).all()
    return list(rows[:count])


def test_every_feature_has_rows_of_its_own(games):
    most = 0
    for game in games:
        rows = listed(features.list_game_rows, game.state, 0)
        assert len(rows) <= features.MAX_GAME_ROWS
        rows += listed(features.list_left_rows, game.state, 0)
        for role in range(2):
            rows += listed(features.list_fit_rows, game.state, 0, role)
        rows += listed(features.list_square_rows, game.state, 0)
        assert len(set(rows)) == len(rows)
        most = max(most, *rows)
    assert features.NUM_ROWS - 250 < most < features.NUM_ROWS


def test_fits_are_the_placements_that_are_legal(games):
    classes = np.searchsorted([0, 1, 2, 3, 5, 8, 14, 24, 40], np.arange(450))
    for game in games:
        if game.state[0]["pending_special"]:
            continue
        rows = listed(features.list_fit_rows, game.state, 0, 0)
        rich = Game.unchecked(game.state)
        rich.state["buttons"] = 100
        slots = [kind_of(int(action)) for action in rich.legal_actions()]
        for slot, row in enumerate(rows[:3], 1):
            fit_class = (row - features._FITS) % features._NUM_FIT_CLASSES
            assert fit_class == classes[slots.count(slot)]


def test_missing_cells_of_the_fullest_square(games):
    for game in games:
        if game.bonus_owner is not None:
            continue
        rows = listed(features.list_square_rows, game.state, 0)
        for role, row in enumerate(rows[2:]):
            quilt = game.quilt(game.current_player if role == 0 else 1 - game.current_player)
            squares = [quilt[r : r + 7, c : c + 7].sum() for r in range(3) for c in range(3)]
            assert row == features._MISSING + role * 50 + 49 - max(squares)


# --- values -----------------------------------------------------------------------------------------------


def naive_outputs(game, weights):
    """The outputs in the units of the network, from its description."""
    arrays = arrays_of(weights)

    def leaky(x):
        return np.maximum(x, LEAK * x)

    players = (game.current_player, 1 - game.current_player)
    quilts = [
        leaky(arrays["quilt_bias"] + arrays["patterns"][rows_of(game.quilt(player))].sum(0))
        for player in players
    ]
    rows = listed(features.list_left_rows, game.state, 0) + listed(features.list_game_rows, game.state, 0)
    rows += [row for role in range(2) for row in listed(features.list_fit_rows, game.state, 0, role)]
    rows += listed(features.list_square_rows, game.state, 0)
    hidden = arrays["game_bias"] + arrays["features"][rows].sum(0)
    hidden = leaky(hidden + quilts[0] @ arrays["own"] + quilts[1] @ arrays["others"])
    hidden_2 = leaky(arrays["bias_2"] + hidden @ arrays["weights_2"])
    return arrays["bias_3"] + hidden_2 @ arrays["weights_3"]


def test_evaluation_against_its_description(games, weights):
    buffer = new_buffer()
    for game in games[::3]:
        outputs = naive_outputs(game, weights) * SCALES
        margin, win = evaluate(game.state, 0, weights, buffer)
        assert margin == pytest.approx(outputs[0] - outputs[1], abs=1e-3)
        assert win == pytest.approx(1 / (1 + math.exp(-outputs[WIN])), abs=1e-5)
        assert buffer[0]["outputs"][OWN_EMPTY] == pytest.approx(outputs[OWN_EMPTY], abs=1e-3)


def test_successors_have_the_values_that_they_have_by_themselves(games, weights):
    expansion, buffer = new_expansion(), new_buffer()
    for game in games:
        before = game.to_bytes()
        count = expand(game.state, 0, weights, expansion)
        assert game.to_bytes() == before
        assert list(expansion.actions[:count]) == list(game.legal_actions())
        for k in range(0, count, 1 + count // 12):
            after = game.clone()
            after.play(int(expansion.actions[k]))
            if after.is_over:
                scores, player = after.scores(), game.current_player
                expected = scores[player] - scores[1 - player], float(after.winner() == player)
            else:
                expected = evaluate(after.state, 0, weights, buffer)
                if after.current_player != game.current_player:
                    expected = -expected[0], 1 - expected[1]
            assert expansion.owns[k] - expansion.others[k] == pytest.approx(expected[0], abs=2e-3)
            assert expansion.wins[k] == pytest.approx(expected[1], abs=1e-4)


@pytest.mark.parametrize("width", [1, 4, 5, 16, 20])
def test_likely_placements_are_the_most_compact_of_those_that_leave_the_most_joints(games, weights, width):
    whole, part = new_expansion(), new_expansion()
    for game in games[::4]:
        count = expand(game.state, 0, weights, whole)
        kept = expand_likely(game.state, 0, width, weights, part)
        values = {int(action): k for k, action in enumerate(whole.actions[:count])}
        indices = [values[int(action)] for action in part.actions[:kept]]
        for name in ("owns", "others"):
            np.testing.assert_array_equal(getattr(part, name)[:kept], getattr(whole, name)[indices])
        expected = []
        for kind in range(5):
            of_kind = [action for action in values if kind_of(action) == kind]
            shortlist = best_of(
                of_kind, max(width, LIKELY), [joints_after(game, action) for action in of_kind]
            )
            expected += best_of(shortlist, width, [compactness_after(game, action) for action in shortlist])
        assert part.actions[:kept].tolist() == expected


def best_of(actions, number, values):
    """The actions with the highest values, ascending; ties go to the first ones."""
    ranked = sorted(zip(values, actions, strict=True), key=lambda pair: (-pair[0], pair[1]))
    return sorted(action for _, action in ranked[:number])


def joints_after(game, action):
    return int(count_joints(*words_of(quilt_after(game, action))))


def compactness_after(game, action):
    """Counted cell by cell."""
    covered = np.pad(quilt_after(game, action), 1, constant_values=1)
    points = 0
    for row, column in np.argwhere(covered[1:-1, 1:-1]) + 1:
        neighbors = [covered[row - 1, column], covered[row + 1, column]]
        neighbors += [covered[row, column - 1], covered[row, column + 1]]
        points += {4: 2, 3: 1}.get(sum(map(bool, neighbors)), 0)
    return points


def quilt_after(game, action):
    after = game.clone()
    after.play(action)
    return after.quilt(game.current_player)


def test_kinds_of_actions():
    one_patch = NUM_ORIENTATIONS * 81
    edges = [0, 1, one_patch, one_patch + 1, 3 * one_patch, 3 * one_patch + 1, 2025]
    assert [kind_of(action) for action in edges] == [0, 1, 1, 2, 3, 4, 4]


def test_fields_of_records_cross_no_cache_line_without_need():
    kind = record_type(
        {"a": (np.uint8, (3,)), "b": (np.uint64, (4,)), "c": (np.float32, (16,)), "d": (np.uint8, ())}
    )
    assert [kind.fields[name][1] for name in "abcd"] == [0, 8, 64, 128]
    assert kind.itemsize == 192


# --- choosing ---------------------------------------------------------------------------------------------


def test_choice_weighs_margin_against_win():
    expansion = new_expansion()
    expansion.owns[:3], expansion.others[:3] = [29, 15, 22], [20, 15, 19]
    expansion.wins[:3] = [0.5, 0.6, 0.59]
    assert best_action(expansion, 3, Payoffs(1, 0)) == 1
    assert best_action(expansion, 3, Payoffs(0, 1)) == 0
    assert best_action(expansion, 3, Payoffs(1, 0.01)) == 2
    assert best_action(expansion, 2, Payoffs(1, 0.01)) == 1
    assert best_action(expansion, 3, Payoffs(0, 1, rival_weight=3.0)) == 1


def test_drawn_actions_have_the_probabilities_of_a_softmax():
    expansion, streams = new_expansion(), seed_streams(5)
    expansion.owns[:3], expansion.others[:3], expansion.wins[:3] = [5, 7, 9], 5, 0.5
    drawn = [draw_action(expansion, 3, Payoffs(0, 1), 2.0, streams, 0) for _ in range(4000)]
    expected = np.exp([0, 1, 2]) / np.exp([0, 1, 2]).sum()
    np.testing.assert_allclose(np.bincount(drawn) / 4000, expected, atol=0.03)


def test_agent_plays_the_best_action(games, weights):
    agent, expansion = ValueAgent(weights, PAYOFFS), new_expansion()
    states = np.concatenate([game.state for game in games])
    batch = agent.act_batch(states)
    for game, action in zip(games, batch, strict=True):
        count = expand_likely(game.state, 0, LIKELY, weights, expansion)
        assert action == expansion.actions[best_action(expansion, count, PAYOFFS)] == agent.act(game)


def test_a_value_of_zeros_says_nothing():
    assert evaluate(Game(seed=1).state, 0, aligned_records(WEIGHTS), new_buffer()) == (0, 0.5)


def test_what_is_known_of_quilts_changes_nothing(games, weights):
    fresh, knowing = new_expansion(), new_expansion()
    for width in (MOST_CHOICES, 1):
        forget(knowing.quilts)
        for game in games * 2:
            check_expansion(game, width, weights, fresh, knowing)


def test_all_that_is_known_of_quilts_may_be_lost(games, weights):
    fresh, knowing = new_expansion(), new_expansion()
    forget(knowing.quilts)
    for k, game in enumerate(games * 3):
        check_expansion(game, MOST_CHOICES, weights, fresh, knowing)
        knowing.quilts.quilts["key"][k % 3 :: 3] = 0


def check_expansion(game, width, weights, fresh, knowing):
    """Expands a position with and without what is known."""
    count = expand_likely(game.state, 0, width, weights, fresh)
    assert expand_further(game.state, 0, width, weights, knowing) == count
    assert list(knowing.actions[:count]) == list(fresh.actions[:count])
    np.testing.assert_allclose(knowing.owns[:count], fresh.owns[:count], atol=2e-3)
    np.testing.assert_allclose(knowing.others[:count], fresh.others[:count], atol=2e-3)
    np.testing.assert_allclose(knowing.wins[:count], fresh.wins[:count], atol=1e-4)
    np.testing.assert_allclose(knowing.empties[:count], fresh.empties[:count], atol=2e-3)
