"""Lists of legal actions, and choices from them."""

from math import exp

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from patchwork_env.agents import ragged
from patchwork_env.agents.ragged_policy import hierarchical_policy, ragged_products, scattered_policy
from patchwork_env.patchwork import Game
from tests.agents.positions import many_states


def rows_of(legal):
    """The list, split by state."""
    return np.split(legal.actions, np.cumsum(legal.counts)[:-1])


def test_lists_are_the_legal_actions():
    states = many_states()
    before = states.copy()
    legal = ragged.legal_lists(states)
    for i, actions in enumerate(rows_of(legal)):
        assert actions.tolist() == Game.from_state(states, i).legal_actions().tolist()
    assert legal.rows.tolist() == np.repeat(np.arange(len(states)), legal.counts).tolist()
    assert legal.counts.min() == 1  # some have no choice
    assert legal.counts.max() > 200
    assert (states == before).all()


def test_no_states():
    legal = ragged.legal_lists(many_states()[:0])
    assert [len(array) for array in legal] == [0, 0, 0]
    nothing = np.empty(0, np.int64)
    assert len(legal.position_of(nothing)) == 0
    assert len(ragged.sample(legal.counts, np.empty(0, np.float32), np.empty(0))) == 0


def test_position_of():
    legal = ragged.legal_lists(many_states())
    for which in (np.zeros_like(legal.counts), legal.counts // 2, legal.counts - 1):
        begins = np.cumsum(legal.counts) - legal.counts
        actions = np.array([row[k] for row, k in zip(rows_of(legal), which, strict=True)])
        positions = legal.position_of(actions)
        assert positions.tolist() == (begins + which).tolist()
        assert legal.actions[positions].tolist() == actions.tolist()


def test_samples_follow_the_distribution():
    # Rows of three lengths in turn, so that a draw that leaves its row would be noticed.
    distributions = [np.array([0.1, 0.0, 0.2, 0.3, 0.4]), np.array([1.0]), np.array([0.75, 0.25])]
    repeats = 20_000
    counts = np.tile([len(d) for d in distributions], repeats)
    with np.errstate(divide="ignore"):
        logs = np.tile(np.log(np.concatenate(distributions)), repeats).astype(np.float32)
    positions = ragged.sample(counts, logs, np.random.default_rng(5).random(len(counts)))
    within = (positions - (np.cumsum(counts) - counts)).reshape(repeats, len(distributions))
    for row, distribution in enumerate(distributions):
        frequencies = np.bincount(within[:, row], minlength=len(distribution)) / repeats
        assert len(frequencies) == len(distribution)
        standard_errors = np.sqrt(distribution * (1 - distribution) / repeats)
        assert (np.abs(frequencies - distribution) <= 3.5 * standard_errors).all()


@pytest.mark.parametrize(
    ("uniform", "expected"), [(0.0, 1), (0.2, 1), (0.26, 2), (0.74, 2), (0.76, 3), (1 - 2**-53, 3)]
)
def test_sample_at_the_edges(uniform, expected):
    # The first entry is impossible. Rounded to float32 the probabilities do not add up to 1.
    with np.errstate(divide="ignore"):
        logs = np.log(np.array([0.0, 0.25, 0.5, 0.2499])).astype(np.float32)
    assert ragged.sample(np.array([4]), logs, np.array([uniform])).tolist() == [expected]


@st.composite
def policies(draw):
    counts = draw(st.lists(st.integers(1, 6), min_size=1, max_size=5))
    total = sum(counts)
    kinds = draw(st.lists(st.integers(0, 3), min_size=total, max_size=total))
    logs = draw(st.lists(st.sampled_from([-4.0, -1.5, -1.0, -0.5]), min_size=total, max_size=total))
    return counts, kinds, logs


@settings(max_examples=40)
@given(policies())
def test_most_probable(policy):
    counts, kinds, logs = policy
    chosen = ragged.most_probable(np.array(counts), np.array(kinds), np.array(logs, np.float32), 4)
    begin = 0
    for number, position in zip(counts, chosen.tolist(), strict=True):
        row = range(begin, begin + number)
        assert position in row
        sums = [sum(exp(logs[p]) for p in row if kinds[p] == kind) for kind in range(4)]
        assert sums[kinds[position]] == pytest.approx(max(sums))
        of_kind = [p for p in row if kinds[p] == kinds[position]]
        assert position == max(of_kind, key=lambda p: (logs[p], -p))  # the first one on ties
        begin += number


@pytest.mark.parametrize(
    ("kinds", "logs", "expected"),
    [
        ([1, 0, 1, 1, 1], [-3.0, -2.00001, -2.00002, -2.0, -2.00003], 2),  # rounding decides nothing
        ([0, 1, 1, 1], np.log([0.3, 0.2, 0.25, 0.25]), 2),  # a likely kind before a likely action
    ],
)
def test_choices_between_nearly_equal_actions(kinds, logs, expected):
    chosen = ragged.most_probable(np.array([len(kinds)]), np.array(kinds), np.array(logs, np.float32), 2)
    assert chosen.tolist() == [expected]


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
    kind_logits = torch.tensor([[1000.0, 1000.0, 2000.0]])  # no action is of the last kind
    logs, entropies = hierarchical_policy(kind_logits, scores, rows, kinds)
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
    assert ragged_products(*(one.to("meta") for one in (weights, features, ROWS))).shape == (10,)
    factors = torch.linspace(1, 2, 10)
    found, other = (torch.autograd.grad((p * factors).sum(), weights)[0] for p in (products, expected))
    torch.testing.assert_close(found, other)
