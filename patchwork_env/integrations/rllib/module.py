"""The project's networks as modules of RLlib."""

from __future__ import annotations

from typing import Any

import torch
from ray.rllib.core.columns import Columns
from ray.rllib.core.distribution.distribution import Distribution
from ray.rllib.core.rl_module.apis.value_function_api import ValueFunctionAPI
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.core.rl_module.torch import TorchRLModule
from torch import Tensor

from patchwork_env.agents.network_config import NetworkConfig
from patchwork_env.agents.networks import PolicyNetwork, network_class
from patchwork_env.envs.spaces import GameSpaces
from patchwork_env.games import rules_of
from patchwork_env.integrations.masked_policy import Evaluated, draw, evaluate, likeliest

Batch = dict[str, Any]


class ChosenActions(Distribution):
    """A distribution that knows only the chosen actions: a summary instead of thousands of logits.

    RLlib stores the inputs of the distribution of every step. These are two numbers instead of up to 16,394
    logits: the log-probability of the chosen action, and the entropy in nats.
    """

    def __init__(self, summaries: Tensor) -> None:
        self._log_probabilities, self._entropies = summaries.unbind(1)

    @classmethod
    def from_logits(cls, logits: Tensor, **_: Any) -> ChosenActions:
        """Return the distribution whose summaries RLlib passes as ``logits``."""
        return cls(logits)

    @staticmethod
    def required_input_dim(space: Any, **_: Any) -> int:
        """Return the number of values of a summary."""
        return 2

    def logp(self, value: Tensor, **_: Any) -> Tensor:
        """Return the log-probabilities ``(n,)`` of the chosen actions, which ``value`` must hold."""
        return self._log_probabilities

    def entropy(self, **_: Any) -> Tensor:
        """Return the entropies ``(n,)``."""
        return self._entropies

    def kl(self, other: ChosenActions, **_: Any) -> Tensor:
        """Return unbiased estimates ``(n,)`` of the divergence, ``r - 1 - log r`` (Schulman 2020)."""
        log_ratio = other._log_probabilities - self._log_probabilities
        return log_ratio.exp() - 1 - log_ratio

    def sample(self, **_: Any) -> Any:
        """Raise NotImplementedError, because the module draws the actions."""
        raise NotImplementedError("PolicyModule draws the actions; this distribution cannot")

    rsample = sample


class PolicyModule(TorchRLModule, ValueFunctionAPI):
    """Policy and value of the player to move, of either game, for the observations of ``GameMultiAgentEnv``.

    It scores only the legal actions and draws from these itself. The values are computed together with the
    policy, and reach the loss as RLlib's embeddings. Its ``model_config`` has the name of the ``game`` and
    the settings of the ``network``.
    """

    network: PolicyNetwork

    def setup(self) -> None:
        """Create the network."""
        config = NetworkConfig(**self.model_config["network"])
        self.network = network_class(self.model_config["game"])(config)

    def evaluate(self, batch: Batch) -> Evaluated:
        """Return the network's output for the observations of a batch."""
        seen = batch[Columns.OBS]
        return evaluate(self.network, seen["observation"], seen["action_mask"])

    def _forward_train(self, batch: Batch, **_: Any) -> Batch:
        evaluated = self.evaluate(batch)
        summaries = _summaries(evaluated, batch[Columns.ACTIONS].long())
        return {Columns.ACTION_DIST_INPUTS: summaries, Columns.EMBEDDINGS: evaluated.output.values}

    def _forward_exploration(self, batch: Batch, **_: Any) -> Batch:
        with torch.no_grad():
            evaluated = self.evaluate(batch)
            return _choice(evaluated, draw(evaluated))

    def _forward_inference(self, batch: Batch, **_: Any) -> Batch:
        with torch.no_grad():
            evaluated = self.evaluate(batch)
            return _choice(evaluated, likeliest(self.network, evaluated))

    def compute_values(self, batch: Batch, embeddings: Tensor | None = None) -> Tensor:
        """Return the expected returns ``(n,)`` of the players to move: the embeddings, if there are any."""
        if embeddings is not None:
            return embeddings
        with torch.no_grad():  # for advantages; the loss uses the embeddings
            return self.network.values(batch[Columns.OBS]["observation"])

    def get_inference_action_dist_cls(self) -> type[ChosenActions]:
        """Return the class of the distribution, the same in all phases."""
        return ChosenActions


def _summaries(evaluated: Evaluated, actions: Tensor) -> Tensor:
    return torch.stack([evaluated.log_probabilities_of(actions), evaluated.output.entropies], 1)


def _choice(evaluated: Evaluated, actions: Tensor) -> Batch:
    summaries = _summaries(evaluated, actions)
    return {
        Columns.ACTIONS: actions,
        Columns.ACTION_LOGP: summaries[:, 0],
        Columns.ACTION_DIST_INPUTS: summaries,
    }


def module_spec(game: str, network: NetworkConfig | None = None) -> RLModuleSpec:
    """Return RLlib's specification of a :class:`PolicyModule` for a game."""
    network = network or NetworkConfig()
    spaces = GameSpaces(rules_of(game))
    return RLModuleSpec(
        module_class=PolicyModule,
        observation_space=spaces.masked_space(named=False),
        action_space=spaces.action_space(),
        model_config={"game": game, "network": network.model_dump()},
    )
