"""The compiled value of NMBR 9: fits, relief, and evaluation of placements."""

from __future__ import annotations

import numpy as np
import pytest

from patchwork_env.agents.compiled import LEAK, aligned_records, arrays_of
from patchwork_env.agents.nmbr9 import features, greedy, value
from patchwork_env.agents.nmbr9.champion import ValueAgent
from patchwork_env.agents.nmbr9.features import MOST_COLUMNS, NUM_WORDS
from patchwork_env.nmbr9 import Game, engine
from patchwork_env.nmbr9.actions import MAX_SPREAD
from tests.agents.nmbr9.tables import contact_of, levels_of, played, positions, with_digit

EVERYTHING = 10_000
BUFFER, EXPANSION = value.new_buffer(), value.new_expansion()


@pytest.fixture(scope="module")
def weights():
    weights = value.new_weights(3)
    weights["weights_3"] *= 30
    return weights


@pytest.fixture(scope="module")
def games():
    """Positions from the first tile to the last, with greedy and random moves."""
    return positions([seed / 8 for seed in range(8)])


def is_seen_completely(game):
    """Whether every level fits into the bit strings."""
    _, _, height, width = engine.bounds(game.state, 0, 0, game.round)
    return 0 < width <= MOST_COLUMNS and height * (width + 3) <= 64 * NUM_WORDS


# --- fits -------------------------------------------------------------------------------------------------


def test_fits_are_the_legal_placements_of_every_level(games):
    compared = 0
    for game in filter(is_seen_completely, [*games[::2], with_a_level_that_one_tile_fills()]):
        for digit in range(10):
            changed = with_digit(game, digit)
            number, _ = value.read_table(changed.state, 0, 0, BUFFER[0])
            expected = levels_of(changed)
            for level in range(1, number + 1):
                assert BUFFER[0]["fits"][level, digit] == expected[level]
                compared += expected[level] > 0
    assert compared > 200


def with_a_level_that_one_tile_fills():
    """Return a game with exactly one placement on level 3, of a 0."""
    game = played(16, seed=830)
    assert levels_of(with_digit(game, 0))[3] == 1
    return game


def test_of_a_wide_table_a_part_is_seen():
    """With tiles in a line, counts have no illegal placements, and the other features are complete."""
    game = Game(deck=[1] * 12)
    while game.round < 10:
        game.play(max(map(int, game.legal_actions()), key=lambda a: (a < 4096, a % 64)))
    assert engine.bounds(game.state, 0, 0, 10)[3] > MOST_COLUMNS
    number, windows = value.read_table(game.state, 0, 0, BUFFER[0])
    assert BUFFER[0]["fits"][number, 1] <= levels_of(game)[number]
    assert windows > 0


def test_of_a_large_level_the_middle_is_seen():
    wide = features._window_of(4, 10, 9, 10 + MOST_COLUMNS + 5)
    assert (wide.top, wide.left, wide.bottom, wide.right) == (4, 12, 9, 12 + MOST_COLUMNS)
    rows = 64 * NUM_WORDS // wide.stride
    tall = features._window_of(10, 3, 10 + rows + 6, 3 + MOST_COLUMNS)
    assert (tall.top, tall.left, tall.bottom, tall.right) == (13, 3, 13 + rows, 3 + MOST_COLUMNS)
    assert wide.stride == tall.stride == MOST_COLUMNS + 3
    assert (wide.words, tall.words) == (2, NUM_WORDS)


# --- relief -----------------------------------------------------------------------------------------------


def painted(heights, at):
    levels = np.zeros((engine.MAX_LEVELS + 1, engine.NUM_ROWS), np.uint64)
    for (row, column), height in np.ndenumerate(heights):
        for level in range(height):
            levels[level, at + row] |= np.uint64(1 << (at + column))
    return levels


def windows_of(heights, at):
    grid, rows = np.zeros(value.relief.GRID_SHAPE, np.int32), np.empty(2000, np.int32)
    count = value.relief.list_windows(painted(heights, at), at, at, *heights.shape, grid, rows)
    return grid, sorted(rows[:count])


def random_heights(number, seed):
    rng = np.random.default_rng(seed)
    return rng.integers(4, size=(number, 6, 6)) * (rng.random((number, 6, 6)) < 0.8)


def test_different_windows_have_different_rows():
    """Two windows share a row exactly if one is a turn of the other with a middle as high."""
    names = {}
    for number, heights in enumerate(random_heights(60, seed=2)):
        at = (20, 0, 58)[number % 3]  # also in the first and the last corner of the table
        padded, (grid, listed) = np.pad(heights, 2), windows_of(heights, at)
        assert listed == sorted(grid[grid != value.relief.EMPTY])
        for row, column in np.ndindex(8, 8):
            window, middle = padded[row : row + 3, column : column + 3], padded[row + 1, column + 1]
            key = middle, min(np.rot90(np.sign(window - middle), k).tobytes() for k in range(4))
            assert names.setdefault(int(grid[at - 1 + row, at - 1 + column]), key) == key
    assert len(set(names.values())) == len(names) > 500


# --- evaluation -------------------------------------------------------------------------------------------


def test_values_of_placements_are_those_of_the_tables_they_lead_to(games, weights):
    rng = np.random.default_rng(1)
    for game in games[::2]:
        count = value.expand(game.state, 0, EVERYTHING, weights, EXPANSION)
        assert EXPANSION.actions[:count].tolist() == game.legal_actions().tolist()
        for k in rng.integers(count, size=5):
            check_value(game, k, weights)


def check_value(game, k, weights):
    """Compare a value of the expansion with that of the table after the action, which is returned."""
    after = game.clone()
    after.play(int(EXPANSION.actions[k]))
    gain = after.scores()[0] - game.scores()[0]
    expected = gain + value.evaluate(after.state, 0, 0, weights, BUFFER)
    assert EXPANSION.values[k] == pytest.approx(expected, abs=1e-3)
    return after


def test_new_weights_keep_the_variance_of_sums(weights):
    terms = {"windows": 400, "features": 428, "numbers": 1, "weights_1": 16, "weights_2": 32}
    for name, number in terms.items():
        assert weights[name].var() * number == pytest.approx(1, rel=0.2), name


@pytest.mark.parametrize("axis", [1, 0], ids=["column", "row"])
@pytest.mark.parametrize("step", [1, -1])
def test_values_agree_on_the_widest_tables(axis, step, weights):
    """Tiles in a line reach both ends of the table, where windows extend past it."""
    game, widest = Game(deck=[1, 1, 9, 7] * 5), 0
    while game.round < 19:
        legal = game.legal_actions().tolist()
        placed = {action: game.decode(action) for action in legal}
        outermost = {a: max(step * cell[axis] for cell in move.cells) for a, move in placed.items()}
        if max(engine.bounds(game.state, 0, 0, game.round)[2:]) > 50:
            count = value.expand(game.state, 0, EVERYTHING, weights, EXPANSION)
            chosen = sorted(range(count), key=lambda k: outermost[int(EXPANSION.actions[k])])
            for k in (*chosen[:4], *chosen[-4:]):
                after = check_value(game, k, weights)
                widest = max(widest, *engine.bounds(after.state, 0, 0, after.round)[2:])
        game.play(max(legal, key=outermost.__getitem__))
    assert widest == MAX_SPREAD


def leaky(x):
    return np.maximum(x, LEAK * x)


def naive_value(game, weights):
    """Return the value of a table by the description of the network, with naive features."""
    arrays = arrays_of(weights)
    _, windows = value.read_table(game.state, 0, 0, BUFFER[0])
    relief = leaky(arrays["relief_bias"] + arrays["windows"][BUFFER[0]["rows"][:windows]].sum(0))
    rows, inputs = naive_features(game)
    hidden = arrays["bias"] + arrays["features"][rows].sum(0) + inputs @ arrays["numbers"]
    hidden = leaky(hidden + relief @ arrays["weights_1"])
    hidden_2 = leaky(arrays["bias_2"] + hidden @ arrays["weights_2"])
    return value.SCALE * (arrays["bias_3"][0] + hidden_2 @ arrays["weights_3"])


SIZES = (41, 10 * 4, 10 * 2 * 8, 10 * 2 * 7 * 8, 8 * 10, 8 * 60)
"""How many rows there are for tiles to come, for the cards of each digit, for the highest level with room for
it, for its placements on each level, and for the tiles and the open cells of each level."""
LEFT, CARDS, HIGHEST, FITS, TILES, OPEN = np.cumsum([0, *SIZES])[:-1].tolist()


def naive_features(game):
    state = game.state[0]
    left = int(state["num_rounds"]) - game.round
    cards = np.bincount(state["deck"][game.round : state["num_cards"]], minlength=10)
    moves = game.placements(0)
    areas = [len(set().union(*(m.cells for m in moves if m.level == level))) for level in range(23)]
    rows, points = [LEFT + left], 0
    for digit, tiles in enumerate(cards.tolist()):
        rows.append(CARDS + 4 * digit + min(tiles, 3))
        if not tiles:
            continue
        fits, kind, highest = levels_of(with_digit(game, digit)), 2 * digit + (tiles > 1), 0
        for level in range(1, 8):
            if fits[level]:
                highest = level
                size = np.searchsorted([1, 2, 4, 7, 12, 20, 36], fits[level])
                rows.append(FITS + (7 * kind + level - 1) * 8 + size)
        rows.append(HIGHEST + 8 * kind + highest)
        points += tiles * digit * highest
    for level in range(8):
        if tiles := sum(move.level == level for move in moves):
            rows.append(TILES + 10 * level + min(tiles, 9))
            rows.append(OPEN + 60 * level + min((areas[level] - areas[level + 1]) // 2, 59))
    total, digits = cards.sum(), (cards * np.arange(10)).sum()
    numbers = [left / 20, points * left / total / 60, points / total / 10, digits * left / total / 90]
    return rows, np.array(numbers, np.float32)


def test_evaluation_against_its_description(games, weights):
    compared = 0
    short = Game(deck=[3, 7, 3, 3, 0, 9, 8, 8, 5], deck_size=7)  # not all cards come
    for _ in range(4):
        short.play(greedy.choose_action(short.state, 0))
    large = Game(deck=[0] * 14)  # more tiles and open cells than are told apart
    for k in range(13):
        row, column = (int(large.state[0][axis][0, 0]) for axis in ("row", "column")) if k else (31, 32)
        large.play(64 * (row + k % 4 * 4) + column + k // 4 * 3)
    for game in [*games[::9], short, large]:
        if game.round and not is_seen_completely(game):
            continue
        expected = pytest.approx(naive_value(game, weights), abs=1e-3)
        assert value.evaluate(game.state, 0, 0, weights, BUFFER) == expected
        compared += 1
    assert compared > 8


def test_a_complete_table_has_the_value_0(games, weights):
    game = games[-1].clone()
    count = value.expand(game.state, 0, EVERYTHING, weights, EXPANSION)
    best = int(EXPANSION.actions[value.best_action(EXPANSION, count)])
    assert EXPANSION.values[:count].max() == game.digit * engine.level_of(game.state, 0, best)
    game.play(best)
    assert value.evaluate(game.state, 0, 0, weights, BUFFER) == 0


@pytest.mark.parametrize("width", [1, value.LIKELY])
def test_likely_placements_have_the_most_contact_on_their_level(games, weights, width):
    """``width`` of them, and all that tie with the last one."""
    for game in games[5::9]:
        contacts: dict[int, dict[int, int]] = {}
        for action in map(int, game.legal_actions()):
            level, found = contact_of(game, action)
            contacts.setdefault(level, {})[action] = found
        count = value.expand(game.state, 0, width, weights, EXPANSION)
        expected = []
        for of_level in contacts.values():
            least = sorted(of_level.values(), reverse=True)[: max(width, 1)][-1]
            expected += [action for action, found in of_level.items() if found >= least]
        assert EXPANSION.actions[:count].tolist() == sorted(expected)


def test_free_order_is_refused():
    agent = ValueAgent(aligned_records(value.WEIGHTS), "mine")
    known, game = Game(order="known"), Game(order="free")
    for _ in range(2):
        with pytest.raises(ValueError, match="agent 'mine' places tiles as they come; it does not choose"):
            agent.act_batch(np.concatenate([known.state, game.state]))
        game.play(game.legal_actions()[0])
