"""Gumbel search, against a plain implementation of the paper's formulas."""

from itertools import chain

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from patchwork_env.search import GumbelSearch
from patchwork_env.search.gumbel import considered_visits
from tests.search.games import LastStoneLoses, RandomTree
from tests.search.reference import Reference, Settings


class Noise:
    """A generator whose Gumbel noise is known."""

    def __init__(self, numbers):
        self.numbers = np.array(numbers, float)

    def gumbel(self, size):
        assert size == len(self.numbers)
        return self.numbers


def rows(result):
    """The results of each game."""
    ends = np.cumsum(result.counts)
    own = [slice(end - count, end) for end, count in zip(ends, result.counts, strict=True)]
    return [
        (result.actions[k].tolist(), result.policy[k].tolist(), result.visits[k].tolist(), chosen, value)
        for k, chosen, value in zip(own, result.chosen, result.values, strict=True)
    ]


# --- the formulas ------------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(
    seed=st.integers(0, 10_000),
    simulations=st.integers(1, 70),
    max_considered=st.integers(1, 8),
    c_scale=st.sampled_from([0.1, 1.0, 3.0]),
    value_range=st.sampled_from([0.7, 2.0]),
    gumbel_scale=st.sampled_from([0.0, 0.5, 1.0]),
)
def test_search_does_what_the_paper_says(
    seed, simulations, max_considered, c_scale, value_range, gumbel_scale
):
    game = RandomTree(depth=6, most_actions=6)
    states = game.start(seed, 3)
    noise = [np.random.default_rng([seed, k]).gumbel(size=len(game.legal(s))) for k, s in enumerate(states)]
    search = GumbelSearch(
        game, simulations, max_considered, c_scale=c_scale, gumbel_scale=gumbel_scale, value_range=value_range
    )
    result = search.run(states, game.know_something, Noise(np.concatenate(noise)))
    for (actions, policy, visits, chosen, value), state, own in zip(rows(result), states, noise, strict=True):
        assert actions == game.legal(state)
        if len(actions) == 1:
            continue
        same = Settings(simulations, max_considered, c_scale, value_range)
        reference = Reference(game, state, same, gumbel_scale * own)
        assert visits == [reference.root.visits(k) for k in range(len(actions))]
        assert chosen == reference.chosen()
        np.testing.assert_allclose(policy, reference.root.improved_policy(same), rtol=1e-4, atol=1e-6)
        assert value == pytest.approx(reference.value(), abs=1e-5)


def test_a_prior_of_0_gives_finite_results():
    game = LastStoneLoses()

    def never_take_one(states):
        known = game.know_nothing(states)
        impossible = np.where(known.actions == 1, -np.inf, known.log_probabilities)
        return known._replace(log_probabilities=impossible.astype(np.float32))

    states = np.array([(20, 0), (7, 1), (2, 0)], game.dtype)
    result = GumbelSearch(game, 100, gumbel_scale=0).run(states, never_take_one)
    assert np.isfinite(result.policy).all()
    assert np.isfinite(result.values).all()
    np.testing.assert_allclose(np.add.reduceat(result.policy, [0, 3, 6]), 1, rtol=1e-5)


# --- batches, noise and memory -----------------------------------------------------------------------------


def test_memory_of_earlier_searches_leaves_no_trace():
    game = RandomTree(depth=7, most_actions=30)
    search = GumbelSearch(game, 20, gumbel_scale=0)
    kept = search.run(game.start(9, 2), game.know_something)
    before = rows(kept)
    for n in (5, 1, 40, 3):
        states = game.start(n, n)
        fresh = GumbelSearch(game, 20, gumbel_scale=0)
        assert rows(search.run(states, game.know_something)) == rows(fresh.run(states, game.know_something))
    assert rows(kept) == before


def test_lists_of_actions_may_be_long():
    game = RandomTree(depth=3, most_actions=1500)
    states = game.start(2, 2)
    result = GumbelSearch(game, 12, 6, gumbel_scale=0).run(states, game.know_something)
    same = Settings(12, 6)
    for (actions, policy, visits, chosen, _), state in zip(rows(result), states, strict=True):
        reference = Reference(game, state, same, np.zeros(len(actions)))
        assert visits == [reference.root.visits(k) for k in range(len(actions))]
        assert chosen == reference.chosen()
        np.testing.assert_allclose(policy, reference.root.improved_policy(same), rtol=1e-3, atol=1e-7)


def test_states_are_left_as_they_were_and_finished_ones_are_not_evaluated():
    game = RandomTree(depth=3)
    states = game.start(6, 10)
    before = states.copy()

    def evaluate(states):
        assert not game.finished(states).any()
        assert len(states)
        return game.know_something(states)

    GumbelSearch(game, 60, gumbel_scale=0).run(states, evaluate)
    np.testing.assert_array_equal(states, before)


# --- forced and finished roots -----------------------------------------------------------------------------


def test_finished_games_and_single_actions_need_no_search():
    game = LastStoneLoses()
    states = np.array([(0, 1), (1, 0), (2, 1), (0, 0)], game.dtype)
    calls = []

    def evaluate(states):
        calls.append(len(states))
        return game.know_nothing(states)

    result = GumbelSearch(game, 8, gumbel_scale=0).run(states, evaluate)
    assert result.counts.tolist() == [0, 1, 2, 0]
    assert result.actions.tolist() == [1, 1, 2]
    assert result.chosen.tolist() == [-1, 1, 1, -1]
    assert result.visits[0] == 0
    assert result.visits[1:].sum() == 8
    assert result.policy[0] == 1
    assert result.values[[0, 1, 3]].tolist() == [-1, 0, -1]  # of who took the last stone
    assert calls[0] == 2
    calls.clear()
    GumbelSearch(game, 8, gumbel_scale=0).run(states[:2], evaluate)
    assert calls == [1]
    assert GumbelSearch(game, 8, gumbel_scale=0).run(states[:0], evaluate).chosen.tolist() == []


# --- bad input ---------------------------------------------------------------------------------------------


def test_wrong_arguments_are_errors_that_say_what_is_allowed():
    for arguments, message in (
        ({"simulations": 0}, "simulations is 0; it must be at least 1"),
        ({"max_considered": 0}, "max_considered is 0; it must be at least 1"),
        ({"c_scale": 0.0}, r"c_scale is 0\.0; it must be a finite number above 0"),
        ({"gumbel_scale": -1.0}, r"gumbel_scale is -1\.0; it must be a finite number of at least 0"),
        ({"gumbel_scale": float("nan")}, "gumbel_scale is nan; it must be a finite number of at least 0"),
        ({"value_range": 0.0}, r"value_range is 0\.0; it must be a finite number above 0"),
    ):
        with pytest.raises(ValueError, match=message):
            GumbelSearch(LastStoneLoses(), **arguments)
    game = LastStoneLoses()
    with pytest.raises(ValueError, match="random is None"):
        GumbelSearch(game).run(np.array([(5, 0)], game.dtype), game.know_nothing)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda known: known._replace(counts=known.counts[:-1]),
        lambda known: known._replace(counts=known.counts + 1),
        lambda known: known._replace(counts=np.append(known.counts[:-2], [0, 6])),
        lambda known: known._replace(actions=known.actions[:-1]),
        lambda known: known._replace(log_probabilities=known.log_probabilities * np.nan),
        lambda known: known._replace(values=known.values[:-1]),
        lambda known: known._replace(values=known.values + np.inf),
    ],
)
def test_an_unsound_evaluation_is_an_error(spoil):
    game = LastStoneLoses()

    def evaluate(states):
        return spoil(game.know_nothing(states))

    with pytest.raises(ValueError, match=r"the evaluation of 3 states has .* it must have a count"):
        GumbelSearch(game, gumbel_scale=0).run(np.array([(7, 0), (8, 0), (9, 1)], game.dtype), evaluate)


# --- Sequential Halving -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("actions", "simulations", "phases"),
    [
        (8, 24, [8 * [0], 4 * [1], 4 * [2], [3, 3, 4, 4, 5, 5, 6, 6]]),
        (8, 13, [8 * [0], 4 * [1], [2]]),
        (8, 2, [[0, 0]]),
        (7, 24, [7 * [0], 3 * [1], 3 * [2], [3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8]]),
        (16, 32, [16 * [0], 8 * [1], 4 * [2], 4 * [3]]),
        (4, 16, [4 * [0], 4 * [1], [2, 2, 3, 3, 4, 4, 5, 5]]),
        (1, 4, [[0, 1, 2, 3]]),
    ],
)
def test_phases_have_the_lengths_of_the_paper(actions, simulations, phases):
    assert considered_visits(actions, simulations).tolist() == list(chain(*phases))
