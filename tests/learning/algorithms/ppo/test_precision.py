"""Training with a trunk in bfloat16; weights and evaluations are in float32."""

from pathlib import Path

import pytest
import torch

from patchwork_env.agents.network_config import NetworkConfig
from patchwork_env.agents.networks import NetworkEvaluator, new_trunk
from patchwork_env.learning.algorithms.common.trainer import make_trainer
from patchwork_env.learning.algorithms.ppo import trainer as ppo_trainer
from patchwork_env.learning.config import load_config
from patchwork_env.learning.system import multiplies_bfloat16
from tests.agents.positions import many_states

SMALL = [
    *("network.width=16", "network.depth=1", "ppo.num_envs=8", "ppo.rollout_steps=16", "threads=2", "seed=3"),
    *("league.fraction=0.5", "league.snapshot_every=1", "total_steps=256"),
]


def trained(precision):
    trainer = make_trainer(load_config("ppo", [*SMALL, f"ppo.precision={precision}"]))
    for _ in range(2):
        trainer.step()
    return trainer


def test_only_products_are_in_bfloat16():
    torch.manual_seed(0)
    trunk, inputs = new_trunk(20, NetworkConfig(width=16, depth=2)), torch.randn(8, 20)
    exact = trunk(inputs)
    trunk.dtype = torch.bfloat16
    rounded = trunk(inputs)
    rounded.sum().backward()
    assert rounded.dtype == torch.float32
    assert not torch.equal(rounded, exact)
    torch.testing.assert_close(rounded, exact, rtol=0.02, atol=0.02)
    assert trunk[0].weight.dtype == trunk[0].weight.grad.dtype == torch.float32


def test_runs_in_bfloat16_repeat_themselves_and_play_in_float32():
    first, second, exact = trained("bfloat16"), trained("bfloat16"), trained("float32")
    weights = first.network.state_dict()
    assert all(torch.equal(tensor, second.network.state_dict()[name]) for name, tensor in weights.items())
    assert any(not torch.equal(tensor, exact.network.state_dict()[name]) for name, tensor in weights.items())
    assert {tensor.dtype for tensor in weights.values()} == {torch.float32}
    assert {policy.trunk.dtype for policy in first.pool.policies.values()} == {torch.bfloat16}
    assert first.network.trunk.dtype == torch.bfloat16
    assert first.agent().network.trunk.dtype == exact.network.trunk.dtype == torch.float32
    states = many_states()[:20]
    evaluation = NetworkEvaluator(first.network, torch.float32)(states)
    with torch.inference_mode():
        expected = first.network(first.network.encode(states)[0])
    assert evaluation.log_probabilities.tolist() == expected.log_probabilities.tolist()
    assert evaluation.values.tolist() == expected.values.tolist()


@pytest.mark.parametrize(
    ("flags", "expected"), [("fma avx512_bf16 sha_ni", torch.bfloat16), ("fma avx512f", torch.float32)]
)
def test_auto_chooses_by_the_flags_of_the_processor(monkeypatch, flags, expected):
    config = load_config("ppo", [*SMALL, "ppo.precision=auto"])
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: f"model name : X\nflags : {flags}\n")
    has = multiplies_bfloat16()
    monkeypatch.undo()
    monkeypatch.setattr(ppo_trainer, "multiplies_bfloat16", lambda: has)
    assert make_trainer(config).network.trunk.dtype == expected
