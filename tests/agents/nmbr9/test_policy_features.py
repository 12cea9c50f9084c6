"""The features of policies, against counts over cells and the game itself."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from patchwork_env.agents.nmbr9 import greedy
from patchwork_env.agents.nmbr9.policy_features import (
    IS_LIKELY,
    LEVELS,
    LIKELY,
    PLACEMENT_FEATURES,
    POSITION_FEATURES,
    features_of,
    position_features,
)
from patchwork_env.agents.nmbr9.policy_network import Nmbr9Network
from patchwork_env.nmbr9 import Game, engine
from patchwork_env.nmbr9.actions import FIRST_CHOICE
from tests.agents.nmbr9.contacts import BESIDE, contact_of

OF_LEVEL = 13


@pytest.fixture(scope="module")
def games():
    """Games that go on, played well but for some moves: wide tables are counted in part alone."""
    rng, found = np.random.default_rng(1), []
    for seed in range(4):
        game = Game(seed=seed)
        while not game.is_over:
            found.append(game.clone())
            legal, sensible = game.legal_actions(), rng.random() < 0.8
            game.play(greedy.choose_action(game.state, 0) if sensible else int(rng.choice(legal)))
    return found[::3]


@pytest.fixture(scope="module")
def inputs(games):
    return Nmbr9Network.encode(np.concatenate([game.state for game in games]))[0]


def left_of(game, round_of_game):
    """How many cards of each digit come after a number of tiles."""
    return np.bincount(game.deck[round_of_game:], minlength=10)


def fits_of(game, left):
    """The placements of each digit that is left on each level above the table, ``(22, 10)``."""
    fits = np.zeros((22, 10), np.int64)
    for digit in np.flatnonzero(left):
        state = game.state.copy()
        state["num_rounds"], state["num_cards"] = 20, 20
        state["deck"][0, game.round] = digit
        changed = Game.from_state(state)
        for action in changed.legal_actions():
            fits[engine.level_of(changed.state, 0, int(action)), digit] += 1
    fits[0] = 0
    return fits


def best_of(fits):
    """The highest level that has room for each digit."""
    return np.array([max(np.flatnonzero(of_digit), default=0) for of_digit in fits.T])


def dents_of(cells):
    """The numbers of empty cells with at least two, three and four neighbors among cells."""
    near = {(r + dr, c + dc) for r, c in cells for dr, dc in BESIDE} - cells
    counts = [sum((r + dr, c + dc) in cells for dr, dc in BESIDE) for r, c in near]
    return np.array([sum(count >= least for count in counts) for least in (2, 3, 4)])


def cells_of(game, level):
    return set().union(*(move.cells for move in game.placements(0) if move.level == level))


def spread_of(cells):
    return sum(max(axis) + 1 - min(axis) for axis in zip(*cells, strict=True))


def test_positions(games, inputs):
    positions = position_features(inputs.observations).numpy()
    assert positions.shape == (len(games), POSITION_FEATURES)
    for row in range(0, len(games), 4):
        game, left = games[row], left_of(games[row], games[row].round)
        fits, moves = fits_of(game, left), game.placements(0)
        covered = [len(cells_of(game, level)) for level in range(LEVELS + 1)]
        for level in range(LEVELS):
            found = positions[row, level * OF_LEVEL : (level + 1) * OF_LEVEL]
            tiles = sum(move.level == level for move in moves)
            open_cells = covered[level] - covered[level + 1]
            expected = [tiles / 5, covered[level] / 40, open_cells / 20, *np.log1p(fits[level]) / 2]
            np.testing.assert_allclose(found, expected, atol=1e-6)
        best = best_of(fits)
        points = (left * best * np.arange(10)).sum()
        cells = cells_of(game, 0)
        sides = sorted(max(axis) + 1 - min(axis) for axis in zip(*cells, strict=True)) if cells else [0, 0]
        expected = [*best / 3, points / 100, points / 10 / left.sum(), left.sum() / 10, sides[1] / 10]
        np.testing.assert_allclose(positions[row, LEVELS * OF_LEVEL : -1], expected, atol=1e-6)
        assert positions[row, -1] == pytest.approx(sides[0] / 10)


def test_placements(games, inputs):
    placements, rows = features_of(*inputs).placements.numpy(), inputs.rows.numpy()
    assert placements.shape == (len(inputs.actions), PLACEMENT_FEATURES)
    assert placements[:, 0].all()
    likely = placements[:, IS_LIKELY] > 0
    assert_most_contact_is_likely(placements, rows, likely)
    assert not placements[~likely, IS_LIKELY:].any()
    for k in np.random.default_rng(2).choice(np.flatnonzero(likely), 30, replace=False):
        game, action = games[rows[k]], int(inputs.actions[k])
        move, left = game.decode(action), left_of(game, game.round + 1)
        number = max((tile.level for tile in game.placements(0)), default=-1) + 1
        _, edges = contact_of(game, action)
        after = game.clone()
        before, cells = fits_of(game, left), cells_of(game, move.level)
        if game.round < 19:
            after.play(action)
            later = fits_of(after, left)
        else:
            later = before
        above = np.log1p(later[move.level + 1]) - np.log1p(before[move.level + 1])
        same = np.log1p(later[move.level]) - np.log1p(before[move.level])
        higher = best_of(later) - best_of(before)
        dents = (dents_of(cells | move.cells) - dents_of(cells)) / (4, 2, 1)
        spread = spread_of(cells | move.cells) - (spread_of(cells) if cells else 0)
        weight = left * np.arange(10)
        expected = [
            1,
            move.level * move.digit / 10,
            move.level / 2,
            move.level == number,
            move.level == 0,
            edges / 5,
            1,
            *dents,
            spread / 3,
            (weight * above).sum() * (move.level + 1) / 100,
            (weight * same).sum() * move.level / 100,
            (weight * higher).sum() / 20,
            (left * above).sum() / 20,
            (left * same).sum() / 20,
            *above / 2,
            *same / 2,
            *higher,
        ]
        np.testing.assert_allclose(placements[k], expected, atol=1e-5)


def assert_most_contact_is_likely(placements, rows, likely):
    levels, contacts = placements[:, 2], placements[:, 5]
    for row in np.unique(rows)[::5]:
        for level in np.unique(levels[rows == row]):
            here = (rows == row) & (levels == level)
            sixth = sorted(contacts[here], reverse=True)[:LIKELY][-1]
            np.testing.assert_array_equal(likely[here], contacts[here] >= sixth)


def test_choices_of_a_digit_have_no_features():
    game = Game(seed=2, order="free")
    inputs, _ = Nmbr9Network.encode(game.state)
    assert (inputs.actions >= FIRST_CHOICE).all()
    assert not features_of(*inputs).placements.any()
    game.play(FIRST_CHOICE + 7)
    features = features_of(*Nmbr9Network.encode(game.state)[0])
    assert features.placements.any()
    assert features.positions[0, LEVELS * OF_LEVEL + 12] == 2  # 20 tiles, the chosen one among them


def test_arrays_that_are_no_observations_have_features_all_the_same():
    rng = np.random.default_rng(5)
    size = len(Game(seed=1).observation())
    observations = rng.normal(size=(60, size)).astype(np.float32) * 30
    observations[rng.random(observations.shape) < 0.3] = np.nan
    observations[::5] = np.inf
    observations[::3] = rng.random((20, size))
    actions = torch.from_numpy(np.sort(rng.choice(16394, (60, 500))).reshape(-1))
    rows = torch.arange(60).repeat_interleave(500)
    features = features_of(torch.from_numpy(observations), rows, actions)
    assert all(torch.isfinite(part).all() for part in features)
