"""The environment with TorchRL's actors, collectors, buffers and losses."""

from __future__ import annotations

import pytest
import torch

pytest.importorskip("torchrl")

from tensordict.nn import TensorDictModule
from torch import nn
from torchrl.collectors import Collector
from torchrl.data import LazyTensorStorage, SamplerWithoutReplacement, TensorDictReplayBuffer
from torchrl.modules import MaskedCategorical, ProbabilisticActor
from torchrl.objectives import ClipPPOLoss

from patchwork_env.integrations import torchrl

pytestmark = pytest.mark.libraries


def actor():
    torch.manual_seed(1)
    return ProbabilisticActor(
        TensorDictModule(nn.Linear(307, 2026), in_keys=["observation"], out_keys=["logits"]),
        in_keys={"logits": "logits", "mask": "action_mask"},
        distribution_class=MaskedCategorical,
        return_log_prob=True,
    )


@pytest.mark.parametrize("opponent", [None, "random"])
def test_collecting_estimating_and_learning(opponent):
    policy = actor()
    critic = TensorDictModule(nn.Linear(307, 1), in_keys=["observation"], out_keys=["state_value"])
    env = torchrl.make_env(num_envs=8, opponent=opponent, seed=1)
    frames = {"frames_per_batch": 8 * 30, "total_frames": 2 * 8 * 30}
    collector = Collector(env, policy, auto_register_policy_transforms=False, **frames)
    loss = ClipPPOLoss(policy, critic)
    if opponent is None:
        loss.make_value_estimator(torchrl.TurnGAE, gamma=1.0, lmbda=0.95, value_network=critic)
    buffer = TensorDictReplayBuffer(
        storage=LazyTensorStorage(240), sampler=SamplerWithoutReplacement(), batch_size=60
    )
    optimizer = torch.optim.Adam(loss.parameters())
    before = [parameter.detach().clone() for parameter in loss.parameters()]
    for data in collector:
        assert data.shape == (8, 30)
        assert bool(data["action_mask"].gather(-1, data["action"].unsqueeze(-1)).all())
        loss.value_estimator(data)
        buffer.extend(data.reshape(-1))
        for sample in buffer:
            parts = loss(sample)
            sum(part for name, part in parts.items() if name.startswith("loss_")).backward()
            optimizer.step()
            optimizer.zero_grad()
    collector.shutdown()
    assert all(bool(torch.isfinite(parameter).all()) for parameter in loss.parameters())
    assert not any(torch.equal(*pair) for pair in zip(before, loss.parameters(), strict=True))
