"""The policy and the buffer that skip illegal actions: what MaskablePPO's own would give."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.distributions import MaskableCategorical

from patchwork_env.errors import DivergenceError
from patchwork_env.integrations.sb3 import mlp_policy as policies
from patchwork_env.integrations.sb3.mlp_policy import (
    BoolMaskBuffer,
    LegalMlpPolicy,
    legal_softmax,
)
from patchwork_env.integrations.sb3.threads import in_parallel
from patchwork_env.integrations.sb3.vec_env import SelfPlayVecEnv
from patchwork_env.learning.algorithms.common.threads import ThreadPool

ACTIONS = 2026


def some_masks(rows, generator):
    masks = torch.rand(rows, ACTIONS, generator=generator) < 0.04
    masks[0] = False
    masks[0, 7] = True  # a single legal action
    masks[1] = True
    masks[:, 11] |= ~masks.any(1)
    return masks


@pytest.fixture
def batch():
    """Logits of all sizes, masks and legal actions."""
    generator = torch.Generator().manual_seed(3)
    logits = 8 * torch.randn(9, ACTIONS, generator=generator)
    masks = some_masks(9, generator)
    return logits.requires_grad_(), masks, torch.multinomial(masks.float(), 1, generator=generator)[:, 0]


def test_softmax_is_that_of_the_masked_distribution(batch):
    logits, masks, actions = batch
    theirs = MaskableCategorical(logits=logits, masks=masks)
    ours = legal_softmax(logits, masks)
    log_probabilities = logits.gather(1, actions[:, None])[:, 0] - ours.normalizers
    torch.testing.assert_close(ours.log_probabilities, theirs.logits[masks])
    torch.testing.assert_close(log_probabilities, theirs.log_prob(actions))
    torch.testing.assert_close(ours.entropies, theirs.entropy(), atol=1e-5, rtol=1e-5)
    assert ours.entropies[0] == 0
    gradients = [
        torch.autograd.grad((logs * weights + 0.3 * entropies).sum(), logits, retain_graph=True)[0]
        for weights in [torch.linspace(-1, 1, 9)]
        for logs, entropies in [
            (log_probabilities, ours.entropies),
            (theirs.log_prob(actions), theirs.entropy()),
        ]
    ]
    torch.testing.assert_close(*gradients, atol=1e-6, rtol=1e-5)


def test_draws_follow_the_distribution():
    logits = torch.log(torch.tensor([[0.5, 0.25, 9.0, 0.25], [9.0, 0.1, 0.9, 9.0]]))
    masks = torch.tensor([[True, True, False, True], [False, True, True, False]])
    few, many = (torch.zeros(1, ACTIONS), torch.zeros(1, ACTIONS, dtype=torch.bool))
    few, many = few.repeat(2, 1), many.repeat(2, 1)
    few[:, :4], many[:, :4] = logits, masks
    softmax = legal_softmax(few.repeat(2000, 1), many.repeat(2000, 1))
    torch.manual_seed(1)
    drawn = policies._draw(softmax).view(2000, 2)
    shares = torch.stack([torch.bincount(drawn[:, k], minlength=4) / 2000 for k in range(2)])
    expected = torch.tensor([[0.5, 0.25, 0.0, 0.25], [0.0, 0.1, 0.9, 0.0]])
    torch.testing.assert_close(shares, expected, atol=0.04, rtol=0)
    assert (shares[expected == 0] == 0).all()


# --- as a part of MaskablePPO -------------------------------------------------------------------------------


def draw_as_torch_does(softmax):
    """With the random numbers that MaskablePPO's own distribution takes."""
    probabilities = torch.zeros(len(softmax.normalizers) * ACTIONS)
    probabilities[softmax.positions] = softmax.log_probabilities.exp()
    return torch.multinomial(probabilities.view(-1, ACTIONS), 1, True)[:, 0]


def make_model(policy, **options):
    env = SelfPlayVecEnv(6, ["random", "greedy"], seed=1)
    kwargs = {"net_arch": [24], "activation_fn": torch.nn.ReLU} | options.pop("policy_kwargs", {})
    return MaskablePPO(
        policy, env, n_steps=40, batch_size=60, n_epochs=2, ent_coef=0.01, learning_rate=3e-3, seed=2,
        device="cpu", policy_kwargs=kwargs, **options,
    )  # fmt: skip


@pytest.mark.parametrize("threads", [1, 2])
def test_learns_what_maskable_ppo_learns(monkeypatch, threads):
    """The same rollouts and, up to rounding, the same weights, with the same random numbers."""
    monkeypatch.setattr(policies, "_draw", draw_as_torch_does)
    own = make_model(
        LegalMlpPolicy, rollout_buffer_class=BoolMaskBuffer, policy_kwargs={"threads": ThreadPool(threads)}
    )
    own.set_random_seed(7)
    own.learn(240)
    theirs = make_model("MlpPolicy")
    theirs.set_random_seed(7)
    theirs.learn(240)
    for name in ("observations", "actions", "action_masks", "rewards", "values", "episode_starts"):
        one, other = getattr(own.rollout_buffer, name), getattr(theirs.rollout_buffer, name)
        np.testing.assert_array_equal(one, other, name)
    assert own.rollout_buffer.action_masks.dtype == np.bool_
    np.testing.assert_allclose(own.rollout_buffer.log_probs, theirs.rollout_buffer.log_probs, atol=1e-5)
    before = make_model("MlpPolicy").policy.state_dict()
    for name, weights in theirs.policy.state_dict().items():
        torch.testing.assert_close(own.policy.state_dict()[name], weights, atol=2e-5, rtol=1e-4)
        assert (weights != before[name]).any()


def test_without_masks_and_deterministic_it_is_the_original():
    own, theirs = make_model(LegalMlpPolicy), make_model("MlpPolicy")
    own.policy.load_state_dict(theirs.policy.state_dict())
    observations = own.env.reset()
    masks = own.env.action_masks()
    tensor = torch.from_numpy(observations)
    for arguments in ({"deterministic": True}, {"deterministic": True, "action_masks": masks}):
        for one, other in zip(
            own.policy(tensor, **arguments), theirs.policy(tensor, **arguments), strict=True
        ):
            assert (one == other).all()
    actions = torch.zeros(6, dtype=torch.long)
    for one, other in zip(
        own.policy.evaluate_actions(tensor, actions),
        theirs.policy.evaluate_actions(tensor, actions),
        strict=True,
    ):
        assert (one == other).all()
    predicted = [m.predict(observations, action_masks=masks, deterministic=True)[0] for m in (own, theirs)]
    assert (predicted[0] == predicted[1]).all()


def test_a_policy_that_is_not_finite_is_told():
    own = make_model(LegalMlpPolicy)
    with torch.no_grad():
        own.policy.action_net.weight[3, 5] = torch.nan
    own.env.reset()
    masks = torch.ones(6, ACTIONS, dtype=torch.bool)
    observations = torch.ones(6, *own.observation_space.shape)
    with pytest.raises(DivergenceError, match="log-probabilities nan"):
        own.policy.evaluate_actions(observations, torch.zeros(6, dtype=torch.long), masks)


def test_gradients_in_parallel():
    """Also of samples that do not divide evenly, and of outputs with different weights in the loss."""
    torch.manual_seed(1)
    layer, inputs, factors = torch.nn.Linear(5, 3), torch.randn(7, 5), torch.randn(7)

    def evaluate(rows, factor):
        outputs = layer(rows).tanh()
        return outputs, (outputs.square().sum(1) * factor)

    results = []
    for threads in (ThreadPool(), ThreadPool(3)):
        layer.zero_grad()
        outputs, sums = in_parallel(threads, evaluate, list(layer.parameters()), (inputs, factors))
        (outputs.mean() + 0.2 * sums.max()).backward()
        results.append((outputs, sums, *(parameter.grad.clone() for parameter in layer.parameters())))
    for alone, together in zip(*results, strict=True):
        torch.testing.assert_close(alone, together)
    with torch.no_grad():
        assert not in_parallel(ThreadPool(2), evaluate, list(layer.parameters()), (inputs, factors))[
            0
        ].requires_grad
