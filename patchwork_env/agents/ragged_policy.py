"""Policies over the lists of :mod:`~patchwork_env.agents.ragged`, as operations of PyTorch with gradients.

On a CPU, compiled loops over the lists take a fraction of the time of scattering and gathering.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from patchwork_env.agents.ragged import Floats, Indices, end_of_row
from patchwork_env.core.compile import kernel


def array_of(tensor: Tensor) -> npt.NDArray[Any]:
    """Return a tensor of any device as a contiguous array, without its gradient."""
    return tensor.detach().cpu().contiguous().numpy()


def hierarchical_policy(
    kind_logits: Tensor, scores: Tensor, rows: Tensor, kinds: Tensor
) -> tuple[Tensor, Tensor]:
    """Return log-probabilities of legal actions, ``(total,)``, and entropies of states in nats, ``(n,)``.

    ``log p(action) = log p(kind) + log p(action | kind)``. States may have no legal actions.

    Args:
        kind_logits: ``(n, kinds)``, the logits of the kinds of action.
        scores: ``(total,)``, the logits of the legal actions within their kind.
        rows: ``(total,)``, the state that each legal action belongs to, ascending.
        kinds: ``(total,)``, the kind of each legal action.
    """
    if scores.device.type == "cpu":
        policy: tuple[Tensor, Tensor] = _CompiledPolicy.apply(  # type: ignore[no-untyped-call]
            kind_logits, scores, rows, kinds
        )
        return policy
    return scattered_policy(kind_logits, scores, rows, kinds)


def scattered_policy(
    kind_logits: Tensor, scores: Tensor, rows: Tensor, kinds: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the same as :func:`hierarchical_policy`, for any device."""
    groups = rows * kind_logits.shape[1] + kinds
    highest = scores.new_full((kind_logits.numel(),), -torch.inf)
    highest = highest.scatter_reduce(0, groups, scores.detach(), "amax")
    centered = scores - highest.index_select(0, groups)
    sums = torch.zeros_like(highest).index_add(0, groups, centered.exp())
    placement = centered - sums.clamp(min=1e-30).log().index_select(0, groups)
    placement_entropies = torch.zeros_like(highest).index_add(0, groups, -placement.exp() * placement)
    possible = (sums > 0).view_as(kind_logits)
    kind = torch.log_softmax(kind_logits.masked_fill(~possible, -1e9), 1)
    probabilities = kind.exp()
    entropies = (possible * probabilities * (placement_entropies.view_as(kind) - kind)).sum(1)
    return kind.view(-1).index_select(0, groups) + placement, entropies


def ragged_products(weights: Tensor, features: Tensor, rows: Tensor) -> Tensor:
    """Return the product of each action's features with the weights of its state, ``(total,)``.

    The weights are ``(n, k)``; the features, ``(total, k)``, are constants without a gradient. ``rows``,
    int64 ``(total,)``, has the state of each action, ascending.
    """
    if weights.device.type == "cpu":
        products: Tensor = _CompiledProducts.apply(weights, features, rows)  # type: ignore[no-untyped-call]
        return products
    return (weights.index_select(0, rows) * features).sum(1)


class _CompiledPolicy(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, kind_logits: Tensor, scores: Tensor, rows: Tensor, kinds: Tensor
    ) -> tuple[Tensor, Tensor]:
        ctx.rows, ctx.kinds, ctx.shape = rows.numpy(), kinds.numpy(), kind_logits.shape
        logits, of_actions = (tensor.detach().contiguous().numpy() for tensor in (kind_logits, scores))
        ctx.log_probabilities, ctx.probabilities = np.empty((2, len(of_actions)), np.float32)
        entropies = np.zeros(len(logits), np.float32)
        outputs = ctx.log_probabilities, ctx.probabilities, entropies
        _write_policy(logits, of_actions, ctx.rows, ctx.kinds, *outputs)
        return torch.from_numpy(ctx.log_probabilities), torch.from_numpy(entropies)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None, None]:
        of_logs, of_entropies = (gradient.contiguous().numpy() for gradient in gradients)
        of_kinds, of_scores = np.zeros(ctx.shape, np.float32), np.empty(len(ctx.rows), np.float32)
        policy = ctx.log_probabilities, ctx.probabilities, ctx.rows, ctx.kinds
        _write_gradients(*policy, of_logs, of_entropies, of_kinds, of_scores)
        return torch.from_numpy(of_kinds), torch.from_numpy(of_scores), None, None


class _CompiledProducts(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, weights: Tensor, features: Tensor, rows: Tensor) -> Tensor:
        ctx.features, ctx.rows, ctx.shape = features.numpy(), rows.numpy(), weights.shape
        products = np.empty(len(ctx.rows), np.float32)
        _write_products(weights.detach().contiguous().numpy(), ctx.features, ctx.rows, products)
        return torch.from_numpy(products)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        weights = np.zeros(ctx.shape, np.float32)
        _add_products(gradients[0].contiguous().numpy(), ctx.features, ctx.rows, weights)
        return torch.from_numpy(weights), None, None


@kernel(allocates=True)
def _write_policy(
    kind_logits: Floats,
    scores: Floats,
    rows: Indices,
    kinds: Indices,
    log_probabilities: Floats,
    probabilities: Floats,
    entropies: Floats,
) -> None:
    """Write a policy; each exponential is computed once, because they take most of the time."""
    highest, sums = np.empty(kind_logits.shape[1], np.float32), np.empty(kind_logits.shape[1], np.float32)
    begin = 0
    while begin < len(rows):
        end = end_of_row(rows, begin)
        highest[:] = -np.inf
        sums[:] = 0
        for k in range(begin, end):
            highest[kinds[k]] = max(highest[kinds[k]], scores[k])
        for k in range(begin, end):
            log_probabilities[k] = scores[k] - highest[kinds[k]]
            probabilities[k] = np.exp(log_probabilities[k])
            sums[kinds[k]] += probabilities[k]
        _compare_kinds(kind_logits[rows[begin]], sums)
        for kind in range(len(sums)):
            highest[kind] = np.exp(sums[kind])
        entropy = np.float32(0)
        for k in range(begin, end):
            log_probabilities[k] += sums[kinds[k]]
            probabilities[k] *= highest[kinds[k]]
            entropy -= probabilities[k] * log_probabilities[k]
        entropies[rows[begin]] = entropy
        begin = end


@kernel
def _compare_kinds(kind_logits: Floats, sums: Floats) -> None:
    """Turn the sum of each kind's exponentials into its offset from scores to log-probabilities."""
    best, total = np.float32(-np.inf), np.float32(0)
    for kind in range(len(sums)):
        if sums[kind] > 0:
            best = max(best, kind_logits[kind])
    for kind in range(len(sums)):
        if sums[kind] > 0:
            total += np.exp(kind_logits[kind] - best)
    for kind in range(len(sums)):
        if sums[kind] > 0:
            sums[kind] = kind_logits[kind] - best - np.log(total) - np.log(sums[kind])


@kernel(allocates=True)
def _write_gradients(
    log_probabilities: Floats,
    probabilities: Floats,
    rows: Indices,
    kinds: Indices,
    of_logs: Floats,
    of_entropies: Floats,
    of_kinds: Floats,
    of_scores: Floats,
) -> None:
    """Write the gradients of the logits of kinds, an array of zeros, and of the scores.

    With ``g`` the gradient of the log-probabilities, that of the entropies included, ``P`` the probability of
    a kind and ``q`` that of an action within its kind, ``dkind = sum(g in kind) - P * sum(g)`` and
    ``dscore = g - q * sum(g in kind)``.
    """
    shares, factors = np.empty((2, of_kinds.shape[1]), np.float32)
    begin = 0
    while begin < len(rows):
        end = end_of_row(rows, begin)
        sums = of_kinds[rows[begin]]
        shares[:] = 0
        total, of_entropy = np.float32(0), of_entropies[rows[begin]]
        for k in range(begin, end):
            # In float32 throughout: a literal 1 would make it float64, which is slower.
            factor = np.float32(1) + log_probabilities[k]
            of_scores[k] = of_logs[k] - of_entropy * probabilities[k] * factor
            shares[kinds[k]] += probabilities[k]
            sums[kinds[k]] += of_scores[k]
            total += of_scores[k]
        for kind in range(len(shares)):
            share = shares[kind]
            factors[kind] = sums[kind] / share if share > 0 else np.float32(0)
            sums[kind] -= share * total
        for k in range(begin, end):
            of_scores[k] -= probabilities[k] * factors[kinds[k]]
        begin = end


@kernel
def _write_products(weights: Floats, features: Floats, rows: Indices, out: Floats) -> None:
    for k in range(len(rows)):
        product = np.float32(0)
        for column in range(weights.shape[1]):
            product += weights[rows[k], column] * features[k, column]
        out[k] = product


@kernel
def _add_products(gradients: Floats, features: Floats, rows: Indices, weights: Floats) -> None:
    for k in range(len(rows)):
        for column in range(weights.shape[1]):
            weights[rows[k], column] += gradients[k] * features[k, column]
