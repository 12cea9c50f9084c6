"""A policy and value network of Row, which reads its observation alone."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from patchwork_env.agents import networks
from patchwork_env.agents.network_config import NetworkConfig
from patchwork_env.agents.ragged_policy import hierarchical_policy
from tests.toy.engine import NUM_ACTIONS


class RowNetwork(networks.PolicyNetwork):
    """Scores all actions, and keeps the legal ones."""

    game = "row"

    def __init__(self, config: NetworkConfig | None = None, reads: Sequence[str] = ()) -> None:
        super().__init__(config, reads)
        self.trunk = networks.new_trunk(self.num_read, self.config)
        self.policy = nn.Linear(self.config.width, NUM_ACTIONS, **networks.NEW)
        self.value = nn.Linear(self.config.width, 1, **networks.NEW)

    def features_of(self, inputs: networks.Inputs) -> None:
        """There are no features."""

    def forward(
        self, inputs: networks.Inputs, successor_values: Tensor | None = None, features: Any = None
    ) -> networks.Output:
        observations, rows, actions = inputs
        trunk = self._trunk_of(observations)
        scores = self.policy(trunk).view(-1).index_select(0, rows * NUM_ACTIONS + actions)
        one_kind = trunk.new_zeros(len(observations), 1)
        policy = hierarchical_policy(one_kind, scores, rows, torch.zeros_like(rows))
        ahead = trunk.new_zeros(len(observations), *self.successor_values_shape)
        return networks.Output(*policy, self.value(trunk).squeeze(1), ahead)

    def values(self, observations: Tensor) -> Tensor:
        values: Tensor = self.value(self._trunk_of(observations))
        return values.squeeze(1)

    def _trunk_of(self, observations: Tensor) -> Tensor:
        return self.trunk(torch.cat(self.tensors_of(observations), 1))
