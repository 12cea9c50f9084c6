"""The threads: every part is worked on once, results keep their order, and errors come through."""

import threading

import numpy as np
import pytest
import torch

from patchwork_env.agents.networks import NetworkConfig
from patchwork_env.agents.patchwork.policy_network import PatchworkNetwork
from patchwork_env.learning.algorithms.common.gradients import ThreadPool
from patchwork_env.learning.algorithms.ppo.config import Ppo
from patchwork_env.learning.algorithms.ppo.learner import PpoLearner
from patchwork_env.learning.algorithms.ppo.rollout import SelfPlay
from patchwork_env.learning.config import Reward
from patchwork_env.patchwork_v0 import SelfPlayVectorEnv


@pytest.mark.parametrize("size", [1, 2, 3])
def test_results_in_the_order_of_the_parts(size):
    assert ThreadPool(size).map(lambda part: part * 10, [1, 2, 3]) == [10, 20, 30]


def test_parts_are_worked_on_at_the_same_time():
    meeting = threading.Barrier(2, timeout=30)
    assert ThreadPool(2).map(lambda _: meeting.wait() >= 0, ["one", "other"]) == [True, True]


def test_errors_come_through():
    with pytest.raises(ZeroDivisionError):
        ThreadPool(2).map(lambda part: 1 / part, [1, 0])


def test_new_threads_round_as_the_others_do():
    generator = torch.Generator().manual_seed(0)
    inputs, weights = torch.randn(5, 500, generator=generator), torch.randn(16, 500, generator=generator)
    meeting = threading.Barrier(3, timeout=30)

    def product(_: int) -> torch.Tensor:
        meeting.wait()  # one part for each thread
        return inputs @ weights.T

    first, *others = ThreadPool(3).map(product, range(3))
    assert all(torch.equal(first, other) for other in others)


def learned(threads: ThreadPool) -> tuple[PatchworkNetwork, dict[str, float]]:
    torch.manual_seed(0)
    network = PatchworkNetwork(NetworkConfig(width=8, depth=1, channels=4))
    env = SelfPlayVectorEnv(16, seed=0, masks=False, observations=False)
    rollout = SelfPlay(env, Reward(), 0.0).collect(network, {}, 8, np.random.default_rng(0))
    metrics = PpoLearner(network, Ppo(minibatch_size=33), threads).update(
        rollout, 0.0, np.random.default_rng(0)
    )
    return network, metrics


def test_gradients_of_parts_add_up_to_that_of_the_minibatch():
    (alone, metrics_alone), (shared, metrics_shared) = learned(ThreadPool(1)), learned(ThreadPool(3))
    for name, weights in alone.state_dict().items():
        torch.testing.assert_close(shared.state_dict()[name], weights, rtol=1e-3, atol=2e-5)
    assert metrics_shared == pytest.approx(metrics_alone, rel=1e-3, abs=1e-5)
