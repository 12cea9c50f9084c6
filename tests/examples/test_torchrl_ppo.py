"""The example for TorchRL: it trains, saves and measures.

Runs where TorchRL is installed: ``make test-libraries``.
"""

import pytest
import torch

pytest.importorskip("torchrl")

from patchwork_env import agents
from patchwork_env.agents.patchwork.policy.agent import load_policy
from patchwork_env.agents.patchwork.policy.network import PatchworkNetwork
from patchwork_env.patchwork import Game

pytestmark = pytest.mark.libraries

IGNORED = "ignore:Creating :DeprecationWarning"  # TorchRL, of classes of its own, when it is imported


def test_it_trains_saves_and_measures(start, tmp_path):
    arguments = ["--steps", "1100", "--num-envs", "16", "--games", "4", "--out", "policy"]
    printed = start("torchrl_ppo.py", *arguments, ignored=IGNORED)
    assert "steps     1024" in printed
    for opponent in ("random", "greedy"):
        assert f"TorchRL's PPO against {opponent}: 4 games" in printed
    assert agents.load(tmp_path / "policy").act(Game(seed=1)) in Game(seed=1).legal_actions()
    torch.manual_seed(0)  # the example's own seed
    before, (network, info) = PatchworkNetwork().state_dict(), load_policy(tmp_path / "policy")
    after = network.state_dict()
    assert info["steps"] == 1024
    assert all(bool(torch.isfinite(tensor).all()) for tensor in after.values())
    assert not any(torch.equal(before[name], after[name]) for name in before)
