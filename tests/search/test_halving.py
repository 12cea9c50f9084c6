"""Sequential Halving: who is visited when."""

from __future__ import annotations

from collections import Counter
from itertools import chain

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from patchwork_env.search.gumbel import considered_visits, considered_visits_table
from tests.search.reference import schedule


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
def test_phases_have_the_lengths_of_the_paper(actions, simulations, phases) -> None:
    assert considered_visits(actions, simulations).tolist() == list(chain(*phases))


@settings(max_examples=50)
@given(st.integers(1, 40), st.integers(1, 300))
def test_the_schedule_is_that_of_mctx_and_can_be_followed(actions, simulations) -> None:
    visits = considered_visits(actions, simulations).tolist()
    assert visits == schedule(actions, simulations)
    assert considered_visits_table(actions, simulations)[-1].tolist() == visits
    # Followed, every visit finds an action that has been visited so often.
    have = Counter({0: actions})
    for number in visits:
        assert have[number] > 0
        have[number] -= 1
        have[number + 1] += 1
