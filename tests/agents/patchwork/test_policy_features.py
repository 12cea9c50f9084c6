"""The features of policies, by compiled code and by operations on tensors."""

import numpy as np
import pytest
import torch

from patchwork_env.agents.patchwork.policy.dense import DenseFeatures
from patchwork_env.agents.patchwork.policy.features import (
    KIND_FEATURES,
    NUM_KINDS,
    POSITION_FEATURES,
    features_of,
)
from patchwork_env.agents.patchwork.policy.network import PatchworkNetwork
from patchwork_env.patchwork import Game
from patchwork_env.patchwork.actions import ADVANCE, FIRST_BUY, NUM_ACTIONS
from patchwork_env.patchwork.components import PATCHES
from patchwork_env.patchwork.observation import read_observation
from patchwork_env.patchwork.state import NOBODY, empty_states
from patchwork_env.patchwork.tables import FULL_WORD
from tests.agents.positions import many_states, with_short_circles


@pytest.mark.parametrize("special_patches", ["revised", "2014"])
def test_compiled_code_and_tensor_operations_agree(special_patches):
    states = with_short_circles(many_states(6, special_patches)[::3])
    first = states[:1]  # the smallest patch fills the quilt and reaches a space with a special patch
    first["quilt"], first["position"], first["buttons"] = [FULL_WORD - np.uint64(3), FULL_WORD], 25, 40
    first["income"], first["circle"][:, 0] = 31, min(range(33), key=lambda patch: PATCHES[patch].size)
    assert min((states["pending_special"] == 1).sum(), (states["first_finisher"] != NOBODY).sum()) > 10
    assert (states["num_patches"] < 8).any()
    inputs = PatchworkNetwork.encode(states)[0]
    legal = torch.zeros(len(states), NUM_ACTIONS, dtype=torch.bool)
    legal[inputs.rows, inputs.actions] = True
    with torch.inference_mode(), torch.device("meta"):  # tensors are on the device of the observations
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
    assert not expected.placements[~is_placement].any()
    np.testing.assert_allclose(dense.placements[rows, places], placements, atol=1e-6, rtol=0)


def test_arrays_that_are_no_observations_have_finite_features():
    generator = torch.Generator().manual_seed(5)
    size = len(PatchworkNetwork.encode(Game(seed=1).state)[0].observations[0])
    observations = 1000 * torch.randn(200, size, generator=generator)
    observations[::7] = torch.nan
    observations[::5] = torch.inf
    observations[::3] = torch.rand(observations[::3].shape, generator=generator)
    rows = torch.arange(200).repeat_interleave(2026)
    features = features_of(observations, rows, torch.arange(2026).repeat(200), offers=True)
    assert all(torch.isfinite(part).all() for part in features)
    states, kinds = empty_states(200), np.arange(NUM_KINDS)
    for i, observation in enumerate(observations.numpy()):
        read_observation(observation, states, i)
    for found, state in zip(features.kinds.any(2).tolist(), states, strict=True):
        possible = kinds == 4 if state["pending_special"] else kinds <= min(state["num_patches"], 3)
        assert found == possible.tolist()
    assert 50 < states["pending_special"].sum() < 150
