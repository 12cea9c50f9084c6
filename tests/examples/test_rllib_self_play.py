"""The example for RLlib: it trains, saves and measures.

Runs where Ray is installed: ``make test-older``.
"""

import pytest

pytest.importorskip("ray")

from patchwork_env import agents
from patchwork_env.patchwork import Game

pytestmark = pytest.mark.older


def test_it_trains_saves_and_measures(start, tmp_path):
    arguments = ["--iterations", "2", "--turns", "512", "--games", "4", "--out", "policy"]
    printed = start("rllib_self_play.py", *arguments, ignored="ignore")
    assert "iteration   2  turns    1024" in printed
    for opponent in ("random", "greedy"):
        assert f"policy against {opponent}: 4 games" in printed
    assert agents.load(tmp_path / "policy").act(Game(seed=1)) in Game(seed=1).legal_actions()
