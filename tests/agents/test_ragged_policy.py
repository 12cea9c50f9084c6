"""Policies over lists: the compiled operations and their gradients against PyTorch's own."""

from __future__ import annotations

import torch

from patchwork_env.agents.ragged_policy import hierarchical_policy, ragged_products, scattered_policy

ROWS = torch.tensor([0, 0, 0, 0, 2, 3, 3, 3, 3, 3])
KINDS = torch.tensor([0, 1, 1, 2, 1, 0, 1, 1, 2, 2])


def leaves(*shapes):
    generator = torch.Generator().manual_seed(7)
    return [(3 * torch.randn(shape, generator=generator)).requires_grad_() for shape in shapes]


def outcome(policy, weights_of_entropies):
    """The results of a policy, and the gradients of a sum over all of them."""
    kind_logits, scores = leaves((5, 3), (10,))
    logs, entropies = policy(kind_logits, scores, ROWS, KINDS)
    total = (logs * torch.linspace(-1, 2, 10)).sum() + (entropies * weights_of_entropies).sum()
    return [logs, entropies, *torch.autograd.grad(total, [kind_logits, scores])]


def test_policies_and_their_gradients():
    for weights in (torch.zeros(5), torch.linspace(-2, 1, 5)):
        found, expected = outcome(hierarchical_policy, weights), outcome(scattered_policy, weights)
        for one, other in zip(found, expected, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_rows_without_actions_have_no_entropy_and_no_gradient():
    _, entropies, of_kinds, _ = outcome(hierarchical_policy, torch.ones(5))
    assert entropies[[1, 4]].tolist() == [0, 0]
    assert not of_kinds[[1, 4]].any()


def test_scores_far_apart():
    scores = torch.tensor([0.0, -1000.0, 1000.0, 0.0])
    rows, kinds = torch.zeros(4, dtype=torch.int64), torch.tensor([0, 0, 1, 1])
    scores.requires_grad_()
    logs, entropies = hierarchical_policy(torch.zeros(1, 2), scores, rows, kinds)
    torch.testing.assert_close(logs.exp(), torch.tensor([0.5, 0, 0.5, 0]))
    torch.testing.assert_close(entropies, torch.tensor([0.5]).log().neg())
    entropies.sum().backward()
    assert torch.isfinite(scores.grad).all()


def test_products_and_their_gradients():
    features = torch.linspace(-1, 1, 40).view(10, 4)
    (weights,) = leaves((5, 4))
    products = ragged_products(weights, features, ROWS)
    expected = (weights.index_select(0, ROWS) * features).sum(1)
    torch.testing.assert_close(products, expected)
    factors = torch.linspace(1, 2, 10)
    found, other = (torch.autograd.grad((p * factors).sum(), weights)[0] for p in (products, expected))
    torch.testing.assert_close(found, other)
