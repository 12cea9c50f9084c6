"""Perceptrons and a buffer that skip illegal actions: what MaskablePPO's own would give."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sb3_contrib import MaskablePPO

from patchwork_env.errors import DivergenceError
from patchwork_env.integrations.sb3 import policy as policies
from patchwork_env.integrations.sb3.policy import BoolMaskBuffer, LegalMlpPolicy
from patchwork_env.integrations.sb3.vec_env import SelfPlayVecEnv

ACTIONS = 2026


def draw_as_torch_does(evaluated):
    """With the random numbers that MaskablePPO's own distribution takes."""
    return torch.multinomial(evaluated.dense(ACTIONS).exp(), 1, True)[:, 0]


def own_model(threads=1, **options):
    sizes = {"network": {"net_arch": (24,)}, "threads": threads}
    return make_model(LegalMlpPolicy, sizes, **options)


def their_model():
    return make_model("MlpPolicy", {"net_arch": [24], "activation_fn": torch.nn.ReLU})


def make_model(policy, policy_kwargs, **options):
    env = SelfPlayVecEnv(6, ["random", "greedy"], seed=1)
    return MaskablePPO(
        policy, env, n_steps=40, batch_size=60, n_epochs=2, ent_coef=0.01, learning_rate=3e-3, seed=2,
        device="cpu", policy_kwargs=policy_kwargs, **options,
    )  # fmt: skip


@pytest.mark.parametrize("threads", [1, 2])
def test_learns_what_maskable_ppo_learns(monkeypatch, threads):
    """The same rollouts and, up to rounding, the same weights, with the same random numbers."""
    monkeypatch.setattr(policies, "draw", draw_as_torch_does)
    own = own_model(threads, rollout_buffer_class=BoolMaskBuffer)
    own.set_random_seed(7)
    own.learn(240)
    theirs = their_model()
    theirs.set_random_seed(7)
    theirs.learn(240)
    for name in ("observations", "actions", "action_masks", "rewards", "episode_starts"):
        one, other = getattr(own.rollout_buffer, name), getattr(theirs.rollout_buffer, name)
        np.testing.assert_array_equal(one, other, name)
    assert own.rollout_buffer.action_masks.dtype == np.bool_
    for name in ("values", "log_probs"):
        one, other = getattr(own.rollout_buffer, name), getattr(theirs.rollout_buffer, name)
        np.testing.assert_allclose(one, other, atol=1e-5, err_msg=name)
    before = their_model().policy.state_dict()
    for name, weights in theirs.policy.state_dict().items():
        torch.testing.assert_close(own.policy.network.state_dict()[name], weights, atol=2e-5, rtol=1e-4)
        assert (weights != before[name]).any()


def test_a_policy_that_is_not_finite_is_told():
    own = own_model()
    with torch.no_grad():
        own.policy.network.action_net.weight[3, 5] = torch.nan
    masks = torch.ones(6, ACTIONS, dtype=torch.bool)
    observations = torch.ones(6, *own.observation_space.shape)
    with pytest.raises(DivergenceError, match="log-probabilities nan"):
        own.policy.evaluate_actions(observations, torch.zeros(6, dtype=torch.long), masks)
