"""The features of policies for all actions at once, against those that compiled code counts for lists."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from patchwork_env.agents.patchwork.dense_features import DenseFeatures
from patchwork_env.agents.patchwork.policy_features import (
    KIND_FEATURES,
    POSITION_FEATURES,
    features_of,
)
from patchwork_env.agents.patchwork.policy_network import PatchworkNetwork
from patchwork_env.patchwork.actions import ADVANCE, FIRST_BUY, NUM_ACTIONS
from patchwork_env.patchwork.state import NOBODY
from tests.agents.positions import many_states, with_short_circles


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
