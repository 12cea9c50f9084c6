"""The policy that is evaluated and stored is an average of the weights of a run, as its formula says."""

import pytest
import torch

from patchwork_env import agents
from patchwork_env.learning.algorithms.common.trainer import make_trainer
from patchwork_env.learning.config import load_config


@pytest.mark.parametrize(("algorithm", "plain"), [("ppo", {}), ("alphazero", {"evaluation_simulations": 0})])
def test_the_trained_policy_is_the_mean_of_iterations_by_a_power_of_their_number(algorithm, plain, tmp_path):
    own = plain | {"num_envs": 6, "rollout_steps": 8, "averaging_power": 2}
    settings = ["network.width=8", "network.depth=1", "threads=1"]
    settings += [f"{algorithm}.{key}={value}" for key, value in own.items()]
    trainer, path = make_trainer(load_config(algorithm, settings)), []
    for _ in range(4):
        trainer.step()
        path.append({name: tensor.clone() for name, tensor in trainer.network.state_dict().items()})
    trainer.write_policy(tmp_path)
    evaluated, stored = (agent.network.state_dict() for agent in (trainer.agent(), agents.load(tmp_path)))
    for name in path[0]:
        mean = sum((k**3 - (k - 1) ** 3) / 4**3 * weights[name] for k, weights in enumerate(path, 1))
        torch.testing.assert_close(evaluated[name], mean)
        assert torch.equal(evaluated[name], stored[name])
    assert not torch.equal(evaluated["trunk.0.weight"], trainer.network.trunk[0].weight)
