"""What is offered after every kind of move, against the game itself."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from patchwork_env.agents.networks import NetworkConfig
from patchwork_env.agents.patchwork.greedy import patch_value
from patchwork_env.agents.patchwork.policy_features import (
    KIND_FEATURES,
    KIND_OFFERS,
    NUM_KINDS,
    POSITION_FEATURES,
    POSITION_OFFERS,
    SOON,
    features_of,
    position_features,
)
from patchwork_env.agents.patchwork.policy_network import PatchworkNetwork
from patchwork_env.patchwork import PATCHES, Game
from patchwork_env.patchwork.engine import count_placements
from tests.agents.positions import many_states


@pytest.fixture(scope="module")
def states():
    return many_states()[::3]


@pytest.fixture(scope="module")
def inputs(states):
    return PatchworkNetwork.encode(states)[0]


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


def test_positions(states, inputs):
    positions = position_features(inputs.observations, offers=True).numpy()
    assert positions.shape == (len(states), POSITION_FEATURES + POSITION_OFFERS)
    for row in range(0, len(states), 3):
        game = Game.from_state(states, row)
        expected = []
        for player in (game.current_player, 1 - game.current_player):
            soon = [number for patch in game.circle[:SOON] for number in judged(game, player, patch)]
            expected += soon + [0] * (2 * SOON - len(soon))
        np.testing.assert_allclose(positions[row, POSITION_FEATURES:], expected, atol=1e-6)


def test_kinds(states, inputs):
    features = features_of(*inputs, offers=True)
    kinds, found = PatchworkNetwork.kinds_of(inputs.actions), features.kinds[:, :, KIND_FEATURES:].numpy()
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


def test_arrays_that_are_no_observations_have_features():
    """What players send is checked elsewhere; nothing may be written outside of the arrays meanwhile."""
    random = np.random.default_rng(0)
    observations = torch.from_numpy(random.uniform(-1, 2, (64, 307)).astype(np.float32))
    rows, actions = torch.arange(64).repeat_interleave(30), torch.arange(0, 1920) % 2026
    features = features_of(observations, rows, actions, offers=True)
    assert features.kinds.shape == (64, NUM_KINDS, KIND_FEATURES + KIND_OFFERS)


@pytest.mark.parametrize("name", ["offers", "lookahead"])
def test_they_need_features(name):
    with pytest.raises(ValueError, match=rf"network\.{name} is True and network\.features is False"):
        NetworkConfig(channels=4, features=False, **{name: True})
