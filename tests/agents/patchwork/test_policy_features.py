"""The features of policies, against counts over cells and the game itself."""

import math

import numpy as np
import pytest
import torch

from patchwork_env.agents.patchwork.greedy import patch_value
from patchwork_env.agents.patchwork.policy.dense import DenseFeatures
from patchwork_env.agents.patchwork.policy.features import (
    KIND_FEATURES,
    KIND_OFFERS,
    NEXT,
    NUM_KINDS,
    PLACEMENT_FEATURES,
    POSITION_FEATURES,
    POSITION_OFFERS,
    SOON,
    features_of,
    position_features,
)
from patchwork_env.agents.patchwork.policy.network import PatchworkNetwork
from patchwork_env.patchwork import PATCHES, Game
from patchwork_env.patchwork.actions import ADVANCE, FIRST_BUY, NUM_ACTIONS
from patchwork_env.patchwork.engine import count_placements
from patchwork_env.patchwork.state import NOBODY
from tests.agents.positions import joints_of, many_states, places_of, with_short_circles

BESIDE = ((0, 1), (1, 0), (0, -1), (-1, 0))


@pytest.fixture(scope="module")
def states():
    return many_states()[::5]


@pytest.fixture(scope="module")
def inputs(states):
    return PatchworkNetwork.encode(states)[0]


def figures(quilt):
    """The figures of a quilt, cell by cell."""
    empty = {(r, c) for r in range(9) for c in range(9) if not quilt[r, c]}
    neighbors = {
        (r, c): sum((r + dr, c + dc) in empty for dr, dc in BESIDE) for r in range(9) for c in range(9)
    }
    numbers = [sum(neighbors[cell] == k for cell in empty) for k in range(5)]
    numbers += [sum(neighbors[cell] == k for cell in neighbors if cell not in empty) for k in range(2)]
    numbers.append(joints_of(quilt))
    squares = [quilt[r : r + 7, c : c + 7] for r in range(3) for c in range(3)]
    return np.array([*numbers, min(49 - int(square.sum()) for square in squares)])


def projected(game, player):
    marks_ahead = sum(mark > game.positions[player] for mark in (5, 11, 17, 23, 29, 35, 41, 47, 53))
    return game.buttons[player] + marks_ahead * game.incomes[player]


def test_positions(states, inputs):
    positions = position_features(inputs.observations).numpy()
    assert positions.shape == (len(states), POSITION_FEATURES)
    for i in range(0, len(states), 6):
        game = Game.from_state(states, i)
        for k, player in enumerate((game.current_player, 1 - game.current_player)):
            expected = [*figures(game.quilt(player)) / 20]
            ahead = game.circle[:NEXT]
            counts = [len(places_of(game.quilt(player), patch)) for patch in ahead]
            expected += [math.log(1 + n) / 5 for n in counts] + [0] * (NEXT - len(ahead))
            expected.append(projected(game, player) / 40)
            half = POSITION_FEATURES // 2
            np.testing.assert_allclose(positions[i, k * half : (k + 1) * half], expected, atol=1e-6)


def test_placements_change_the_figures(states, inputs):
    features = features_of(*inputs).placements.numpy()
    assert features.shape == (len(inputs.actions), PLACEMENT_FEATURES)
    for k in range(0, len(inputs.actions), 97):
        game = Game.from_state(states, int(inputs.rows[k]))
        player = game.current_player
        before = figures(game.quilt(player))
        game.play(int(inputs.actions[k]))
        np.testing.assert_allclose(features[k], (figures(game.quilt(player)) - before) / 4, atol=1e-6)


def test_kinds_are_what_a_move_changes(states, inputs):
    features = features_of(*inputs)
    kinds = PatchworkNetwork.kinds_of(inputs.actions)
    assert features.kinds.shape == (len(states), NUM_KINDS, KIND_FEATURES)
    seen = set()
    for row in range(len(states)):
        for kind in range(NUM_KINDS):
            actions = inputs.actions[(inputs.rows == row) & (kinds == kind)].tolist()
            found = features.kinds[row, kind].numpy()
            if not actions:
                assert not found.any()
                continue
            seen.add(kind)
            game, after = Game.from_state(states, row), Game.from_state(states, row)
            player = game.current_player
            after.play(actions[-1])
            earned = after.buttons[player] - game.buttons[player]
            covered = after.quilt(player).sum() - game.quilt(player).sum()
            target = after.positions[player]
            again = not after.is_over and after.current_player == player
            expected = [
                1,
                after.buttons[player] / 30,
                earned / 10,
                (after.incomes[player] - game.incomes[player]) / 3,
                (projected(after, player) - projected(game, player)) / 20,
                covered / 8,
                covered * target / 212,
                (target - game.positions[player]) / 6,
                (game.positions[1 - player] - target) / 10,
                again + after.state[0]["pending_special"],
            ]
            if not after.is_over:
                np.testing.assert_allclose(found[:10], expected, atol=1e-5)
            placements = features.placements[(inputs.rows == row) & (kinds == kind)].numpy()
            compact = ((2 * placements[:, 5] + placements[:, 6]) / 4).max()
            joints = placements[:, 7].max() / 4 + 3
            best = [0, 0, 0] if kind == 0 else [compact, joints, 0.01 * len(actions)]
            np.testing.assert_allclose(found[10:], best, atol=1e-4)
    assert seen == set(range(NUM_KINDS))


def test_arrays_that_are_no_observations_have_features_all_the_same():
    generator = torch.Generator().manual_seed(5)
    observations = 1000 * torch.randn(
        200, len(PatchworkNetwork.encode(Game(seed=1).state)[0].observations[0]), generator=generator
    )
    observations[::7] = torch.nan
    observations[::5] = torch.inf
    observations[::3] = torch.rand(observations[::3].shape, generator=generator)
    rows = torch.arange(200).repeat_interleave(2026)
    features = features_of(observations, rows, torch.arange(2026).repeat(200), offers=True)
    assert all(torch.isfinite(part).all() for part in features)


# --- offers -----------------------------------------------------------------------------------------------


def judged(game, player, patch):
    """What a patch is worth for a player, and whether it can be paid."""
    state = game.state.copy()
    state["current_player"] = player
    return [patch_value(state, 0, patch) / 10, game.buttons[player] >= PATCHES[patch].buttons]


def offers_of(game, players, before):
    """The features of what is offered in a game that was at ``before`` when a player chose."""
    found = []
    for patch in game.circle[:3]:
        found += [PATCHES[patch].size / 8, PATCHES[patch].time / 6]
        for player in players:
            quilt = before.state[0]["quilt"][player]
            placements = count_placements(quilt[0], quilt[1], patch)
            found += [*judged(game, player, patch), math.log(1 + placements) / 5]
    return found + [0] * (KIND_OFFERS - len(found))


def test_offers_of_positions(states, inputs):
    positions = position_features(inputs.observations, offers=True).numpy()
    assert positions.shape == (len(states), POSITION_FEATURES + POSITION_OFFERS)
    for row in range(len(states)):
        game = Game.from_state(states, row)
        expected = []
        for player in (game.current_player, 1 - game.current_player):
            soon = [number for patch in game.circle[:SOON] for number in judged(game, player, patch)]
            expected += soon + [0] * (2 * SOON - len(soon))
        np.testing.assert_allclose(positions[row, POSITION_FEATURES:], expected, atol=1e-6)


def test_offers_of_kinds(states, inputs):
    features = features_of(*inputs, offers=True)
    kinds, found = (PatchworkNetwork.kinds_of(inputs.actions), features.kinds[:, :, KIND_FEATURES:].numpy())
    assert features.positions.shape == (len(states), POSITION_FEATURES + POSITION_OFFERS)
    seen = set()
    for row in range(0, len(states), 2):
        for kind in range(NUM_KINDS):
            actions = inputs.actions[(inputs.rows == row) & (kinds == kind)].tolist()
            if not actions:
                assert not found[row, kind].any()
                continue
            game, after = Game.from_state(states, row), Game.from_state(states, row)
            after.play(actions[-1])
            players = game.current_player, 1 - game.current_player
            np.testing.assert_allclose(found[row, kind], offers_of(after, players, game), atol=1e-5)
            seen.add(kind)
    assert seen == set(range(NUM_KINDS))


# --- all actions at once ----------------------------------------------------------------------------------


@pytest.mark.parametrize("special_patches", ["revised", "2014"])
def test_the_features_are_those_of_the_compiled_code(special_patches):
    states = with_short_circles(many_states(6, special_patches)[::3])
    assert (states["pending_special"] == 1).sum() > 10
    assert (states["first_finisher"] != NOBODY).sum() > 10
    assert (states["num_patches"] < 8).any()
    inputs = PatchworkNetwork.encode(states)[0]
    legal = torch.zeros(len(states), NUM_ACTIONS, dtype=torch.bool)
    legal[inputs.rows, inputs.actions] = True
    with torch.inference_mode():
        dense = DenseFeatures(offers=True)(inputs.observations, legal)
        without_offers = DenseFeatures()(inputs.observations, legal)
    expected = features_of(*inputs, offers=True)
    assert torch.equal(without_offers.kinds, dense.kinds[:, :, :KIND_FEATURES])
    assert torch.equal(without_offers.positions, dense.positions[:, :POSITION_FEATURES])
    assert (expected.kinds[:, :, 9] == 2).any()  # a move that takes a special patch
    np.testing.assert_allclose(dense.positions, expected.positions, atol=1e-6, rtol=0)
    np.testing.assert_allclose(dense.kinds, expected.kinds, atol=1e-4, rtol=0)
    np.testing.assert_allclose(dense.kinds[:, :, :12], expected.kinds[:, :, :12], atol=1e-6, rtol=0)
    is_placement = inputs.actions != ADVANCE
    rows, places = inputs.rows[is_placement], inputs.actions[is_placement] - FIRST_BUY
    placements = expected.placements[is_placement]
    np.testing.assert_allclose(dense.placements[rows, places], placements, atol=1e-6, rtol=0)
