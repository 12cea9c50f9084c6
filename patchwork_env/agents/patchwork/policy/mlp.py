"""Policies of Stable-Baselines3's ``MlpPolicy`` with action masks, played without Stable-Baselines3.

Two perceptrons read the flat observation, one for the policy and one for the value. Tensors have the names
that Stable-Baselines3 gives them.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal

import torch
from pydantic import BeforeValidator, Field
from torch import Tensor, nn

from patchwork_env.agents.base import Actions, SamplingAgent, views_of
from patchwork_env.agents.checkpoints import MASKABLE_PPO, Checkpoint, write_checkpoint
from patchwork_env.agents.network_config import MOST_LAYERS, Units
from patchwork_env.agents.networks import NEW, read_module
from patchwork_env.agents.ragged import sample_legal
from patchwork_env.core.sections import Section, read_section
from patchwork_env.games import PATCHWORK
from patchwork_env.patchwork.actions import NUM_ACTIONS
from patchwork_env.patchwork.observation import OBSERVATION_SIZE
from patchwork_env.patchwork.state import States

ACTIVATIONS: dict[str, type[nn.Module]] = {"relu": nn.ReLU, "tanh": nn.Tanh}


def _as_tuple(units: Any) -> Any:
    return tuple(units) if isinstance(units, list) else units  # JSON has lists


_HiddenLayers = Annotated[tuple[Units, ...], Field(max_length=MOST_LAYERS), BeforeValidator(_as_tuple)]


class MlpConfig(Section):
    """The shape of both perceptrons: the units of each hidden layer, and what follows each."""

    net_arch: _HiddenLayers = (256, 256)
    activation: Literal["relu", "tanh"] = "relu"


class MlpNetwork(nn.Module):
    """Policy and value of the current player, with the tensors of ``MaskableActorCriticPolicy``."""

    def __init__(self, config: MlpConfig | None = None) -> None:
        super().__init__()
        self.config = config = config or MlpConfig()
        names = ("policy_net", "value_net")
        self.mlp_extractor = nn.ModuleDict({name: _hidden_layers(config) for name in names})
        width = config.net_arch[-1] if config.net_arch else OBSERVATION_SIZE
        self.action_net = nn.Linear(width, NUM_ACTIONS, **NEW)
        self.value_net = nn.Linear(width, 1, **NEW)

    @property
    def device(self) -> torch.device:
        return self.action_net.weight.device

    def forward(self, observation: Tensor, action_mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the most probable actions; for the arguments see :meth:`.DensePolicy.forward`."""
        logits = self.logits(observation).masked_fill(action_mask == 0, -torch.inf)
        log_probabilities = logits - logits.logsumexp(1, keepdim=True)  # with the ties of Stable-Baselines3
        return log_probabilities.argmax(1), log_probabilities, self.values(observation)

    def logits(self, observations: Tensor) -> Tensor:
        """Return logits of all actions, ``(n, NUM_ACTIONS)``, for observations ``(n, OBSERVATION_SIZE)``."""
        logits: Tensor = self.action_net(self.mlp_extractor["policy_net"](observations))
        return logits

    def values(self, observations: Tensor) -> Tensor:
        """Return the return that the current player expects, ``(n,)``."""
        values: Tensor = self.value_net(self.mlp_extractor["value_net"](observations))
        return values.squeeze(1)


def _hidden_layers(config: MlpConfig) -> nn.Sequential:
    sizes = pairwise([OBSERVATION_SIZE, *config.net_arch])
    layers = ((nn.Linear(*pair, **NEW), ACTIVATIONS[config.activation]()) for pair in sizes)
    return nn.Sequential(*(module for layer in layers for module in layer))


class MlpAgent(SamplingAgent):
    """Plays the present weights of a :class:`MlpNetwork`; unless it samples, the most probable action."""

    games = (PATCHWORK,)

    def __init__(
        self, network: MlpNetwork, name: str = "mlp", *, sample: bool = False, seed: int | None = None
    ) -> None:
        super().__init__(name, sample, seed)
        self.network = network

    def act_batch(self, states: States) -> Actions:
        self.check_states(states)
        inputs = (torch.from_numpy(array).to(self.network.device) for array in views_of(states))
        with torch.inference_mode():
            actions, log_probabilities, _ = (tensor.cpu().numpy() for tensor in self.network(*inputs))
        return sample_legal(states, log_probabilities, self._random) if self.sample else actions


# --- on disk ----------------------------------------------------------------------------------------------


def write_policy(folder: Path, network: MlpNetwork, info: dict[str, Any] | None = None) -> None:
    """Write the two files of a policy into an existing folder."""
    write_checkpoint(folder, PATCHWORK, MASKABLE_PPO, network.config.model_dump(), network.state_dict(), info)


def read_network(checkpoint: Checkpoint) -> MlpNetwork:
    """Read the network of a checkpoint; for errors see :class:`Checkpoint`."""
    checkpoint.check(PATCHWORK, MASKABLE_PPO)
    config = read_section(MlpConfig, checkpoint.network, "network", str(checkpoint.file))
    return read_module(checkpoint, lambda: MlpNetwork(config), f"a network of {config!r}")


def load(checkpoint: Checkpoint, seed: int | None = None, *, sample: bool = False) -> MlpAgent:
    """Return the agent that plays the policy of a checkpoint."""
    return MlpAgent(read_network(checkpoint), checkpoint.name, sample=sample, seed=seed)
