"""Advantages along each player's own decisions, as a module of TorchRL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from tensordict import TensorDictBase
from tensordict.nn import dispatch
from torch import Tensor
from torchrl.objectives.utils import hold_out_net
from torchrl.objectives.value import GAE

from patchwork_env.learning.algorithms.common.advantages import Decisions, advantages


class TurnGAE(GAE):
    """Generalized advantage estimation for games in which turns need not alternate.

    It replaces TorchRL's ``GAE``, has its main arguments, and writes the same entries: ``"advantage"`` and
    ``"value_target"``. ``GAE`` compares each state with the next one, which may be the other player's. This
    class compares each decision with the next one *of the same player*, and adds this player's rewards in
    between. So the loser's last decision gets the reward of the defeat. See
    :func:`~patchwork_env.learning.algorithms.common.advantages.advantages`.

    Besides the value network's inputs it reads ``player``, ``("next", "player")``, ``("next", "rewards")``,
    ``("next", "done")`` and ``("next", "terminated")``, as :class:`.GamesEnv` writes them. Next states are
    evaluated only where a rollout ends or a game was truncated. There the players who are not to move share
    the negated value of the player to move. So the rewards of several players must add up to 0.

    Args:
        gamma: The discount for each own decision, 0 ... 1.
        value_network: The module that writes ``"state_value"``, the return that the player to move expects;
            None if root and next states have their values.
    """

    @dataclass
    class _AcceptedKeys(GAE._AcceptedKeys):  # type: ignore[misc, name-defined, unused-ignore]
        player: Any = "player"
        rewards: Any = "rewards"

    default_keys = _AcceptedKeys

    def __init__(
        self,
        *,
        gamma: float | Tensor,
        lmbda: float | Tensor,
        value_network: Any,
        average_gae: bool = False,
        time_dim: int | None = None,
        device: Any = None,
    ) -> None:
        super().__init__(
            gamma=gamma,
            lmbda=lmbda,
            value_network=value_network,
            average_gae=average_gae,
            time_dim=time_dim,
            device=device,
        )

    @property
    def in_keys(self) -> list[Any]:
        """All entries that are read."""
        keys = self.tensor_keys
        own = [keys.player, ("next", keys.player), ("next", keys.rewards)]
        own += [("next", keys.done), ("next", keys.terminated)]
        read = self.value_network.in_keys if self.value_network is not None else [keys.value]
        return [*read, *(("next", key) for key in read), *own]

    @dispatch
    def forward(
        self,
        tensordict: TensorDictBase,
        *,
        params: TensorDictBase | None = None,
        target_params: TensorDictBase | None = None,
        time_dim: int | None = None,
    ) -> TensorDictBase:
        """Write ``"advantage"`` and ``"value_target"``, float32 ``(*batch, time, 1)``, as ``GAE`` does."""
        dim = self._get_time_dim(time_dim, tensordict)
        with torch.no_grad():
            values = self._values(tensordict, params)
            params = params if target_params is None else target_params
            next_values = self._next_values(tensordict.get("next"), params, dim)
            estimates = self._estimates(tensordict, values, next_values, dim)
        tensordict.set(self.tensor_keys.value, values)
        tensordict.set(self.tensor_keys.value_target, estimates + values)
        if self.average_gae:
            estimates = self._normalize_advantage(estimates)
        tensordict.set(self.tensor_keys.advantage, estimates)
        return tensordict

    def value_estimate(self, tensordict: TensorDictBase, **options: Any) -> Tensor:
        """Return the targets of the values, float32 ``(*batch, time, 1)``."""
        return self(tensordict.copy(), **options).get(self.tensor_keys.value_target)

    def _next_values(self, next_: TensorDictBase, params: TensorDictBase | None, dim: int) -> Tensor:
        """Return the values of the players to move next, float32 ``(*batch, time)``; 0 where unused."""
        asked = self._truncated(next_)
        goes_on = ~next_.get(self.tensor_keys.done).squeeze(-1)
        asked.select(dim, -1).logical_or_(goes_on.select(dim, -1))
        values = torch.zeros(asked.shape, dtype=torch.float32, device=asked.device)
        if asked.any():
            values[asked] = self._values(next_[asked], params).squeeze(-1)
        return values

    def _truncated(self, next_: TensorDictBase) -> Tensor:
        """Return whether games were truncated, bool ``(*batch, time)``."""
        done = next_.get(self.tensor_keys.done)
        return (done & ~next_.get(self.tensor_keys.terminated, done)).squeeze(-1)

    def _estimates(self, data: TensorDictBase, values: Tensor, next_values: Tensor, dim: int) -> Tensor:
        """Return the advantages, float32 ``(*batch, time, 1)``."""
        keys, next_ = self.tensor_keys, data.get("next")
        rewards, next_players = next_.get(keys.rewards).float(), next_.get(keys.player)
        # The computation treats a truncated game as ended, with the expected return as a reward.
        expected = _shared(next_values, next_players, rewards.shape[-1])
        rewards = rewards + float(self.gamma) * self._truncated(next_).unsqueeze(-1) * expected
        decisions = Decisions(
            players=_turns(data.get(keys.player), dim).to(torch.uint8).numpy(),
            learner_mask=np.ones(_turns(next_values, dim).shape, np.bool_),
            values=_turns(values.squeeze(-1), dim).numpy(),
            rewards=_turns(rewards, dim, 1).numpy(),
            dones=_turns(next_.get(keys.done).squeeze(-1), dim).numpy(),
            bootstrap_players=_turns(next_players, dim)[-1].to(torch.uint8).numpy(),
            bootstrap_values=_turns(next_values, dim)[-1].numpy(),
        )
        estimates = torch.from_numpy(advantages(decisions, float(self.gamma), float(self.lmbda)))
        shape = next_values.movedim(dim, 0).shape
        return estimates.view(shape).movedim(0, dim).unsqueeze(-1).to(values.device)

    def _values(self, states: TensorDictBase, params: TensorDictBase | None) -> Tensor:
        """Return the values of states, float32 ``(*batch, 1)``."""
        network = self.value_network
        if network is None:
            return states.get(self.tensor_keys.value).float()
        used = hold_out_net(network) if params is None else params.to_module(network)
        with used:
            return network(states.select(*network.in_keys)).get(self.tensor_keys.value).float()


def _shared(values: Tensor, players: Tensor, count: int) -> Tensor:
    """Return the values of all players, ``(*batch, count)``, from those of the players to move."""
    if count == 1:
        return values.unsqueeze(-1)
    others = (-values / (count - 1)).unsqueeze(-1).repeat_interleave(count, -1)
    return others.scatter(-1, players.unsqueeze(-1), values.unsqueeze(-1))


def _turns(entries: Tensor, dim: int, features: int = 0) -> Tensor:
    """Return entries ``(*batch, time, *features)`` as ``(time, games, *features)``, on the CPU."""
    ordered = entries.movedim(dim, 0)
    shape = ordered.shape[ordered.ndim - features :]
    return ordered.reshape(len(ordered), -1, *shape).contiguous().cpu()
