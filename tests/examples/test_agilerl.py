"""AgileRL on the batch of Gymnasium.

Runs where AgileRL is installed: ``make test-older``.
"""

import pytest

pytest.importorskip("agilerl")

pytestmark = pytest.mark.older


def test_it_trains_and_plays(start):
    said = start("agilerl_ppo.py", "--steps", "2048", "--games", "4", ignored="ignore")  # it warns of itself
    assert "4 games" in said
    assert "greedy" in said
