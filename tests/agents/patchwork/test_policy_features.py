"""The features of policies, against counts over cells and the game itself."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from patchwork_env.agents.patchwork.greedy import patch_value
from patchwork_env.agents.patchwork.policy_features import (
    KIND_FEATURES,
    NEXT,
    NUM_KINDS,
    PLACEMENT_FEATURES,
    POSITION_FEATURES,
    features_of,
    position_features,
)
from patchwork_env.agents.patchwork.policy_network import PatchworkNetwork
from patchwork_env.patchwork import PATCHES, Game
from tests.agents.positions import many_states

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
    numbers.append(sum(neighbors[cell] for cell in empty) // 2)
    squares = [quilt[r : r + 7, c : c + 7] for r in range(3) for c in range(3)]
    return np.array([*numbers, min(49 - int(square.sum()) for square in squares)])


def placements_of(quilt, patch):
    """The number of distinct placements of a patch."""
    found = set()
    for flipped in (False, True):
        for turns in range(4):
            cells = [(r, -c if flipped else c) for r, c in PATCHES[patch].cells]
            for _ in range(turns):
                cells = [(c, -r) for r, c in cells]
            for row in range(-9, 18):
                for column in range(-9, 18):
                    placed = frozenset((r + row, c + column) for r, c in cells)
                    if all(0 <= r < 9 and 0 <= c < 9 and not quilt[r, c] for r, c in placed):
                        found.add(placed)
    return len(found)


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
            counts = [placements_of(game.quilt(player), patch) for patch in ahead]
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


def test_the_value_that_greedy_gives_a_patch_is_a_sum_of_features(states, inputs):
    features = features_of(*inputs).kinds.numpy()
    for row in range(0, len(states), 3):
        for slot, patch in enumerate(Game.from_state(states, row).offered):
            projection, penalty, spaces = features[row, 1 + slot, [4, 6, 7]] * (20, 8, 6)
            if features[row, 1 + slot, 0]:
                assert projection + penalty - spaces == pytest.approx(
                    patch_value(states, row, patch), abs=1e-3
                )


def test_arrays_that_are_no_observations_have_features_all_the_same():
    generator = torch.Generator().manual_seed(5)
    observations = 1000 * torch.randn(
        200, len(PatchworkNetwork.encode(Game(seed=1).state)[0].observations[0]), generator=generator
    )
    observations[::7] = torch.nan
    observations[::5] = torch.inf
    observations[::3] = torch.rand(observations[::3].shape, generator=generator)
    rows = torch.arange(200).repeat_interleave(2026)
    features = features_of(observations, rows, torch.arange(2026).repeat(200))
    assert all(torch.isfinite(part).all() for part in features)
