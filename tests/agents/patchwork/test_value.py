"""The compiled value: patterns, features, evaluation of successors, and the agent that plays by it."""

import math

import numpy as np
import pytest

from patchwork_env.agents.compiled import LEAK, layer_of
from patchwork_env.agents.patchwork.champion.agent import ValueAgent
from patchwork_env.agents.patchwork.value import features
from patchwork_env.agents.patchwork.value.expansion import (
    LIKELY,
    Payoffs,
    best_action,
    draw_action,
    expand,
    expand_further,
    expand_likely,
    new_expansion,
)
from patchwork_env.agents.patchwork.value.network import (
    ONE,
    OTHER_SCORE,
    OUTPUT_UNITS,
    OUTPUTS,
    OWN_EMPTY,
    OWN_SCORE,
    WIN,
    evaluate,
    new_buffer,
    new_weights,
    quantized,
)
from patchwork_env.agents.patchwork.value.quilt_cache import MOST_CHOICES, forget
from patchwork_env.core.checks import seed_streams
from patchwork_env.patchwork import Game
from patchwork_env.patchwork.state import NOBODY
from tests.agents.positions import joints_of, many_states, places_of, quilt_after, with_short_circles
from tests.patchwork import naive

PAYOFFS = Payoffs(1.0, 0.025)
EXPANSION = new_expansion()  # of all tests, so that quilts must be forgotten


@pytest.fixture(scope="module")
def weights():
    weights = new_weights(3)
    weights["weights_3"] *= 20
    return weights


@pytest.fixture(scope="module")
def integers(weights):
    return quantized(weights)


@pytest.fixture(scope="module")
def games():
    """Games that are not over, from the first turn to the last."""
    states = many_states()
    return [Game.from_state(states, i) for i in range(0, len(states), len(states) // 40)]


def words_of(quilt):
    whole = sum(1 << k for k, covered in enumerate(quilt.reshape(-1)) if covered)
    return np.uint64(whole & (1 << 63) - 1), np.uint64(whole >> 18)


def bands_of(quilt):
    bands = np.empty(features.NUM_BANDS, np.uint64)
    features.write_bands(*words_of(quilt), bands)
    return bands


def rows_of(quilt):
    rows = np.empty(features.NUM_WINDOWS, np.int32)
    features.list_rows(bands_of(quilt), rows)
    return rows


def random_quilts(number, seed):
    rng = np.random.default_rng(seed)
    return rng.random((number, 9, 9)) < rng.random((number, 1, 1))


# --- patterns ---------------------------------------------------------------------------------------------


def test_different_windows_have_different_patterns():
    """Two windows share a row exactly if they are symmetric; small ones also have the same ring."""

    def key(window, ring):
        views = [np.rot90(flipped, k) for flipped in (window, window.T) for k in range(4)]
        return ring, min(view.tobytes() for view in views)

    names = {}
    for quilt in random_quilts(30, seed=1):
        padded, rows = np.pad(quilt, 1, constant_values=True), rows_of(quilt)
        windows = [key(padded[r : r + 3, c : c + 3], min(r, c, 8 - r, 8 - c)) for r, c in np.ndindex(9, 9)]
        windows += [key(padded[r : r + 4, c : c + 4], -1) for r, c in np.ndindex(8, 8)]
        for row, window in zip(rows, windows, strict=True):
            assert names.setdefault(row, window) == window
    assert len(set(names.values())) == len(names) > 1000


def test_changes_are_the_difference_of_two_quilts():
    rng = np.random.default_rng(2)
    old, new = (np.empty(features.NUM_WINDOWS, np.int32) for _ in range(2))
    for quilt in random_quilts(50, seed=3):
        more = quilt | (rng.random((9, 9)) < 0.1 * rng.random())
        before, after = rows_of(quilt), rows_of(more)
        count = features.list_changes(bands_of(quilt), bands_of(more), before, old, new)
        changed = before != after
        assert sorted(old[:count]) == sorted(before[changed])
        assert sorted(new[:count]) == sorted(after[changed])


# --- features ---------------------------------------------------------------------------------------------


def listed(kernel, *arguments):
    rows = np.full(features.MAX_ROWS, -1, np.int32)
    count = kernel(*arguments, rows)
    assert (rows[count:] == -1).all()
    return list(rows[:count])


SIZES = (
    {"space": 2 * 54, "buttons": 2 * 100, "income": 2 * 40, "empty": 2 * 82, "projected": 2 * 200}
    | {"to special": 2 * 55, "specials": 2 * 6, "lead": 64, "next": 16 * 34, "offered": 3 * 34 * 16}
    | {"left": 33, "number left": 34, "pending": 2, "first": 3, "fits": 2 * 33 * 10, "bonus": 3}
    | {"missing": 2 * 50, "margin": 201}
)
"""The number of rows of each feature, in the order of the table in checkpoints."""
FIRST = dict(zip(SIZES, np.cumsum([0, *SIZES.values()]).tolist(), strict=False))


def naive_rows(game):
    """Return the rows of a position, computed from the public attributes of the game."""
    mover, circle = game.current_player, game.circle
    ahead = [s for s in naive.SPECIAL_SPACES[game.special_patches] if s > max(game.positions)]
    rows, margin = [], 0

    def add(name, row, role=0):
        rows.append(FIRST[name] + role * SIZES[name] // 2 + min(max(int(row), 0), SIZES[name] - 1))

    for role, player in enumerate((mover, 1 - mover)):
        space, quilt = game.positions[player], game.quilt(player)
        projected = game.buttons[player] + game.incomes[player] * sum(s > space for s in naive.INCOME_SPACES)
        add("space", space, role)
        add("buttons", min(game.buttons[player], 99), role)
        add("income", min(game.incomes[player], 39), role)
        add("empty", (~quilt).sum(), role)
        add("projected", min(projected, 199), role)
        add("to special", min(ahead) - space if ahead else 54, role)
        for patch in circle[:8]:
            fit = np.searchsorted([0, 1, 2, 3, 5, 8, 14, 24, 40], len(places_of(quilt, patch)))
            add("fits", patch * 10 + fit, role)
        if game.bonus_owner is None:
            squares = [(~quilt[r : r + 7, c : c + 7]).sum() for r in range(3) for c in range(3)]
            add("missing", min(squares), role)
        margin += (1 - 2 * role) * (projected + 7 * (game.bonus_owner == player) - 2 * (~quilt).sum())
    add("specials", len(ahead), ("revised", "2014").index(game.special_patches))
    add("lead", game.positions[1 - mover] - game.positions[mover] + 10)
    add("pending", game.pending_special)
    for name, who in (("first", game.first_finisher), ("bonus", game.bonus_owner)):
        add(name, 2 if who is None else who != mover)
    add("margin", max(margin, -100) + 100)
    add("number left", len(circle))
    for patch in circle:
        add("left", patch)
    for k in range(16):
        patch = circle[k] if k < len(circle) else 33
        add("next", k * 34 + patch)
        if k < 3:
            add("offered", (k * 34 + patch) * 16 + (offer(game, patch) if k < len(circle) else 0))
    return sorted(rows)


def offer(game, patch):
    """Return the class of an offered patch for the player to move, a number of four bits."""
    _, price, time, _ = naive.PATCHES[patch]
    mover, other = game.current_player, 1 - game.current_player
    before, after = game.positions[mover], min(game.positions[mover] + time, 53)
    facts = (
        game.buttons[other] >= price,
        game.buttons[mover] >= price,
        after <= game.positions[other],
        any(before < mark <= after for mark in naive.INCOME_SPACES),
    )
    return sum(2**k for k, fact in enumerate(facts) if fact)


def rows_of_game(game):
    rows = listed(features.list_game_rows, game.state, 0) + listed(features.list_left_rows, game.state, 0)
    rows += [row for role in range(2) for row in listed(features.list_fit_rows, game.state, 0, role)]
    return rows + listed(features.list_square_rows, game.state, 0)


@pytest.mark.parametrize("special_patches", naive.SPECIAL_SPACES)
def test_features_match_the_naive_ones(special_patches):
    states = with_short_circles(many_states(4, special_patches)[5::30])
    states["bonus_owner"] = np.resize([0, 1, NOBODY], len(states))
    extreme = states[::4].copy()
    extreme["buttons"], extreme["income"][:, 0], extreme["position"] = [60000 % 127, 120], 77, [3, 40]
    for i, state in enumerate(np.append(states, extreme)):
        game = Game.unchecked(np.array([state]))
        assert sorted(rows_of_game(game)) == naive_rows(game), i
    assert sum(SIZES.values()) == features.NUM_ROWS


# --- values -----------------------------------------------------------------------------------------------


def naive_outputs(game, integers):
    """Return the outputs by the description of the network, in integers without overflow."""

    def leaky(x):
        x = np.clip(x, -(2**15), 2**15 - 1)
        return np.maximum(x, x + round(1 / LEAK / 2) >> round(math.log2(1 / LEAK)))

    def after(layer, inputs):
        sums = layer["bias"] + np.einsum("ki,kwi->w", inputs.reshape(-1, 2), layer["matrix"].astype(int))
        return np.clip(np.floor(sums / 2 ** layer["shift"] + 0.5), -(2**15), 2**15 - 1).astype(int)

    (record,) = integers
    hidden = record["features"][naive_rows(game)].sum(0, dtype=int)
    for player, blocks in zip((game.current_player, 1 - game.current_player), record["quilts"], strict=True):
        quilt = record["quilt_bias"] + record["patterns"][rows_of(game.quilt(player))].sum(0, dtype=int)
        hidden += np.concatenate([after(block, leaky(quilt)) for block in blocks])
    hidden_2 = after(record["layer_2"], leaky(hidden))
    return after(record["layer_3"], leaky(hidden_2))[:OUTPUTS] * OUTPUT_UNITS


def test_evaluation_against_its_description(games, integers):
    buffer = new_buffer()
    for game in games[::3]:
        outputs = naive_outputs(game, integers)
        margin, win = evaluate(game.state, 0, integers, buffer)
        assert margin == pytest.approx(outputs[0] - outputs[1], abs=1e-5)
        assert win == pytest.approx(1 / (1 + math.exp(-outputs[WIN])), abs=1e-6)
        assert buffer[0]["outputs"][OWN_EMPTY] == pytest.approx(outputs[OWN_EMPTY], abs=1e-5)


@pytest.fixture(scope="module")
def large_integers(weights):
    """Weights whose partial sums leave the range of units and return into it."""
    large = weights.copy()
    for table in ("patterns", "features"):
        large[table] *= 80
    return quantized(large)


def test_sums_are_clipped_only_once(games, large_integers):
    """So a value does not depend on the path to a position."""
    buffer, clipped = new_buffer(), 0
    for game in games[::5]:
        outputs = naive_outputs(game, large_integers)
        margin, _ = evaluate(game.state, 0, large_integers, buffer)
        assert margin == pytest.approx(outputs[0] - outputs[1], abs=1e-5)
        clipped += sum(np.abs(buffer[0][name]).max() >= 2**15 for name in ("quilt", "hidden"))
        count = expand(game.state, 0, large_integers, EXPANSION)
        check_values(game, EXPANSION, count, large_integers, 1 + count // 5)
    assert clipped > 8


def test_new_weights_keep_the_variance_of_sums(weights):
    """A position's rows add up to 1/4, the weights of a unit to 2, because half of its inputs are small."""
    terms = {"patterns": 580, "features": 356, "own": 32, "others": 32, "weights_2": 64, "weights_3": 25}
    for name, number in terms.items():
        assert weights[name].var() * number == pytest.approx(1, rel=0.2), name


@pytest.mark.parametrize("factor", [1.0, 300.0, 3e38])
@pytest.mark.parametrize("bias", [0.0, 2e6, -3e38])
def test_no_layer_overflows(factor, bias):
    signs = np.random.default_rng(1).choice([-1.0, 1.0], (128, 4)) / [1, 2, 4, 8]
    matrix, biases, shift = layer_of(factor * signs, np.full(4, bias), ONE)
    assert shift >= 1
    products = 2**15 * np.abs(matrix.astype(int)).sum((0, 2))
    sums = np.abs(biases.astype(int)) + products
    assert 2**30 - 2**23 <= sums.max() + 2**shift // 2 < 2**31  # one place more would be too many
    assert np.abs(matrix).max() == min(factor, 64) * 2**shift
    assert (biases == np.sign(bias) * (products + (2**15 << shift))).all()  # so that it outweighs all else


def test_integers_do_not_overflow(weights):
    """Layers stay in the range of int32 with the largest inputs, and tables stop at the ends of int16."""
    large = weights.copy()
    large["patterns"] *= 1e3
    for name in ("game_bias", "own", "weights_2", "bias_3"):
        large[name] += 3
    (record,) = quantized(large)
    multiples = np.clip(large["patterns"][0] * ONE, -(2**15), 2**15 - 1)
    assert np.abs(record["patterns"] - multiples).max() <= 0.51
    assert record["patterns_at_once"] == 1
    for layer in (*record["quilts"].reshape(-1), record["layer_2"], record["layer_3"]):
        sums = np.abs(layer["bias"].astype(int)) + 2**15 * np.abs(layer["matrix"].astype(int)).sum((0, 2))
        assert 2**28 < sums.max() + 2 ** layer["shift"] < 2**31
    matrix, bias, shift = layer_of(np.array([[3.0], [0]]), np.zeros(1), ONE)  # one weight alone
    assert (matrix.tolist(), bias.tolist(), shift) == ([[[3 * 2**13, 0]]], [0], 13)
    assert layer_of(np.zeros((2, 1)), np.zeros(1), ONE)[2] == 14


def check_values(game, expansion, count, integers, step):
    """Compare the values of successors with those of a fresh evaluation, or with the result of the game."""
    player, buffer = game.current_player, new_buffer()
    for k in range(0, count, step):
        after = game.clone()
        after.play(int(expansion.actions[k]))
        if after.is_over:
            own, other = (after.scores()[p] for p in (player, 1 - player))
            win = float(after.winner() == player)
        else:
            evaluate(after.state, 0, integers, buffer)
            own, other, win = buffer[0]["outputs"][[OWN_SCORE, OTHER_SCORE, WIN]]
            if after.current_player != player:
                own, other, win = other, own, 1 - win
        found = expansion.owns[k], expansion.others[k], expansion.wins[k]
        assert found == (own, other, pytest.approx(win, abs=1e-6))


def test_all_successors_have_their_values(games, integers):
    for game in games[::2]:
        before = game.to_bytes()
        count = expand(game.state, 0, integers, EXPANSION)
        assert game.to_bytes() == before
        assert list(EXPANSION.actions[:count]) == list(game.legal_actions())
        check_values(game, EXPANSION, count, integers, 1 + count // 5)


def test_one_placement_of_a_patch_completes_the_square_and_others_do_not(integers):
    smallest = min(range(33), key=lambda patch: len(naive.PATCHES[patch][0]))
    quilt = np.pad(np.ones((7, 7), bool), (0, 2))
    quilt[3, 3:5] = False
    for owner in (NOBODY, 1):
        (state,) = Game(seed=1).state.copy()
        state["quilt"][0], state["bonus_owner"] = words_of(quilt), owner
        state["circle"][0], state["num_patches"] = smallest, 1
        game = Game.unchecked(np.array([state]))
        count = expand(game.state, 0, integers, EXPANSION)
        check_values(game, EXPANSION, count, integers, 1)


@pytest.mark.parametrize("width", [1, 5, MOST_CHOICES, 20])
def test_likely_placements_are_the_most_compact_of_those_that_leave_the_most_joints(games, integers, width):
    """Also with cached quilts of other positions, some of which are dropped."""
    knowing = new_expansion(1 << 13)
    forget(knowing.quilts)
    for number, game in enumerate([*games[::5], *games[:10:5]]):
        legal, expected = game.legal_actions().tolist(), []
        for kind in range(5):
            of_kind = [action for action in legal if kind == (action - 1) // 648 + 1]
            joints = [joints_of(quilt_after(game, action)) for action in of_kind]
            shortlist = best_of(of_kind, max(width, LIKELY), joints)
            expected += best_of(shortlist, width, [compactness_after(game, action) for action in shortlist])
        for kernel, expansion in ((expand_likely, EXPANSION), (expand_further, knowing)):
            count = kernel(game.state, 0, width, integers, expansion)
            assert expansion.actions[:count].tolist() == expected
            check_values(game, expansion, count, integers, 1 + count // 3)
        for kind in {(action - 1) // 648 for action in expected} - {-1} if width <= MOST_CHOICES else ():
            patch, entry = game.circle[kind] if kind < 3 else 33, entry_of(knowing.quilts, game)
            of_kind = [action - 1 - 648 * kind for action in expected if (action - 1) // 648 == kind]
            assert entry["choices"][patch, : entry["num_choices"][patch]].tolist() == of_kind
        if width == MOST_CHOICES:
            knowing.quilts.quilts["key"][number % 3 :: 3] = 0


def entry_of(cache, game):
    """Return the entry of the quilt of the player to move."""
    key = np.array([*words_of(game.quilt(game.current_player)), cache.search[0]])
    (entry,) = cache.quilts[(cache.quilts["key"] == key).all(1)]
    return entry


def best_of(actions, number, values):
    """The actions with the highest values, ascending; ties go to the first ones."""
    ranked = sorted(zip(values, actions, strict=True), key=lambda pair: (-pair[0], pair[1]))
    return sorted(action for _, action in ranked[:number])


def compactness_after(game, action):
    """Return the compactness, counted cell by cell."""
    covered = np.pad(quilt_after(game, action), 1, constant_values=1)
    points = 0
    for row, column in np.argwhere(covered[1:-1, 1:-1]) + 1:
        near = covered[row - 1 : row + 2 : 2, column].sum() + covered[row, column - 1 : column + 2 : 2].sum()
        points += {4: 2, 3: 1}.get(int(near), 0)
    return points


def test_choice_weighs_margin_against_win():
    EXPANSION.owns[:3], EXPANSION.others[:3] = [29, 15, 22], [20, 15, 19]
    EXPANSION.wins[:3] = [0.5, 0.6, 0.59]
    for count, payoffs, best in (
        *((3, Payoffs(1, 0), 1), (3, Payoffs(0, 1), 0), (3, Payoffs(1, 0.01), 2), (2, Payoffs(1, 0.01), 1)),
        (3, Payoffs(0, 1, rival_weight=3.0), 1),
    ):
        assert best_action(EXPANSION, count, payoffs) == best


def test_drawn_actions_have_the_probabilities_of_a_softmax():
    streams = seed_streams(5)
    EXPANSION.owns[:3], EXPANSION.others[:3], EXPANSION.wins[:3] = [5, 7, 9], 5, 0.5
    drawn = [draw_action(EXPANSION, 3, Payoffs(0, 1), 2.0, streams, 0) for _ in range(4000)]
    expected = np.exp([0, 1, 2]) / np.exp([0, 1, 2]).sum()
    np.testing.assert_allclose(np.bincount(drawn) / 4000, expected, atol=0.03)


def test_agent_plays_the_best_action(games, weights, integers):
    agent = ValueAgent(weights, PAYOFFS)
    batch = agent.act_batch(np.concatenate([game.state for game in games]))
    for game, action in zip(games, batch, strict=True):
        count = expand_likely(game.state, 0, LIKELY, integers, EXPANSION)
        assert action == EXPANSION.actions[best_action(EXPANSION, count, PAYOFFS)] == agent.act(game)
