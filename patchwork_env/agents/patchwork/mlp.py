"""Policies of Stable-Baselines3's ``MlpPolicy`` with action masks, played without Stable-Baselines3.

Two multilayer perceptrons read the flat observation, one for the policy and one for the value. Tensors have
the names that Stable-Baselines3 gives them, so that weights can be copied as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from patchwork_env.agents import ragged
from patchwork_env.agents.base import Actions, SamplingAgent
from patchwork_env.agents.checkpoints import CHECKPOINT_FILE, MASKABLE_PPO, read_description, write_checkpoint
from patchwork_env.agents.networks import MOST_LAYERS, MOST_UNITS
from patchwork_env.agents.policy import read_module
from patchwork_env.agents.ragged import LegalLists, legal_lists, observations_of
from patchwork_env.core.checks import check_between, check_one_of
from patchwork_env.core.compile import kernel
from patchwork_env.core.names import short_repr
from patchwork_env.games import PATCHWORK
from patchwork_env.patchwork.actions import NUM_ACTIONS
from patchwork_env.patchwork.observation import OBSERVATION_SIZE
from patchwork_env.patchwork.state import States

ACTIVATIONS: dict[str, type[nn.Module]] = {"relu": nn.ReLU, "tanh": nn.Tanh}


@dataclass(frozen=True)
class MlpConfig:
    """The shape of the two perceptrons.

    Attributes:
        net_arch: The units of each hidden layer, 1 to ``MOST_UNITS``; both perceptrons have the same layers.
        activation: The name of the activation function, one of :data:`ACTIVATIONS`.
    """

    net_arch: tuple[int, ...] = (256, 256)
    activation: str = "relu"

    def __post_init__(self) -> None:
        check_between(len(self.net_arch), 0, MOST_LAYERS, "the number of layers of net_arch")
        for units in self.net_arch:
            check_between(units, 1, MOST_UNITS, "a layer of net_arch")
        check_one_of(self.activation, ACTIVATIONS, "activation")


class MlpNetwork(nn.Module):
    """Policy and value of the current player, with the tensors of ``MaskableActorCriticPolicy``."""

    def __init__(self, config: MlpConfig | None = None) -> None:
        super().__init__()
        self.config = config = config or MlpConfig()
        names = ("policy_net", "value_net")
        self.mlp_extractor = nn.ModuleDict({name: _hidden_layers(config) for name in names})
        width = config.net_arch[-1] if config.net_arch else OBSERVATION_SIZE
        self.action_net = nn.Linear(width, NUM_ACTIONS)
        self.value_net = nn.Linear(width, 1)

    @property
    def device(self) -> torch.device:
        """The device that holds the weights."""
        return self.action_net.weight.device

    def logits(self, observations: Tensor) -> Tensor:
        """The logits of all actions, ``(n, NUM_ACTIONS)``, for observations ``(n, OBSERVATION_SIZE)``."""
        logits: Tensor = self.action_net(self.mlp_extractor["policy_net"](observations))
        return logits

    def values(self, observations: Tensor) -> Tensor:
        """The return that the current player expects, ``(n,)``."""
        values: Tensor = self.value_net(self.mlp_extractor["value_net"](observations))
        return values.squeeze(1)


def _hidden_layers(config: MlpConfig) -> nn.Sequential:
    layers: list[nn.Module] = []
    size = OBSERVATION_SIZE
    for units in config.net_arch:
        layers += [nn.Linear(size, units), ACTIVATIONS[config.activation]()]
        size = units
    return nn.Sequential(*layers)


class MlpAgent(SamplingAgent):
    """Plays the present weights of a :class:`MlpNetwork`, on any device, also while it learns.

    For the arguments see :class:`~patchwork_env.agents.base.SamplingAgent`; unless it samples, it plays the
    most probable action.
    """

    games = (PATCHWORK,)

    def __init__(
        self, network: MlpNetwork, name: str = "mlp", *, sample: bool = False, seed: int | None = None
    ) -> None:
        super().__init__(name, sample, seed)
        self.network = network

    def act_batch(self, states: States) -> Actions:
        """A legal action for the current player of every game, int64 ``(n,)``."""
        self.check_states(states)
        legal, log_probabilities = self.policy(states)
        if self.sample:
            chosen = ragged.sample(legal.counts, log_probabilities, self._random.random(len(states)))
        else:
            chosen = _most_probable(legal.counts, log_probabilities)
        return legal.actions[chosen]

    def policy(self, states: States) -> tuple[LegalLists, npt.NDArray[np.float32]]:
        """The legal actions of states, none of which is over, and their log-probabilities ``(total,)``."""
        observations, legal = torch.from_numpy(observations_of(states)), legal_lists(states)
        with torch.inference_mode():
            logits = self.network.logits(observations.to(self.network.device))
        return legal, _log_softmax(legal.counts, legal.actions, logits.cpu().numpy())


@kernel(allocates=True)
def _log_softmax(
    counts: npt.NDArray[np.int64], actions: npt.NDArray[np.int64], logits: npt.NDArray[np.float32]
) -> npt.NDArray[np.float32]:
    """Log-probabilities ``(total,)`` of listed actions, from logits ``(n, NUM_ACTIONS)``."""
    result = np.empty(len(actions), np.float32)
    begin = 0
    for row in range(len(counts)):
        end = begin + counts[row]
        highest, total = np.float32(-np.inf), 0.0
        for k in range(begin, end):
            result[k] = logits[row, actions[k]]
            highest = max(highest, result[k])
        for k in range(begin, end):
            total += np.exp(result[k] - highest)
        normalizer = highest + np.float32(np.log(total))
        for k in range(begin, end):
            result[k] -= normalizer
        begin = end
    return result


@kernel(allocates=True)
def _most_probable(
    counts: npt.NDArray[np.int64], log_probabilities: npt.NDArray[np.float32]
) -> npt.NDArray[np.int64]:
    """The position ``(n,)`` of the highest entry of every row; ties go to the first one."""
    positions = np.empty(len(counts), np.int64)
    begin = 0
    for row in range(len(counts)):
        end = begin + counts[row]
        positions[row] = begin + np.argmax(log_probabilities[begin:end])
        begin = end
    return positions


# --- on disk ----------------------------------------------------------------------------------------------


def write_policy(folder: Path, network: MlpNetwork, info: dict[str, Any] | None = None) -> None:
    """Writes the two files of a policy into an existing folder."""
    write_checkpoint(folder, PATCHWORK, MASKABLE_PPO, asdict(network.config), network.state_dict(), info)


def load_policy(folder: Path) -> tuple[MlpNetwork, dict[str, Any]]:
    """Reads a policy and what was remembered of its making; raises FileNotFoundError or ValueError."""
    description = read_description(folder, PATCHWORK, MASKABLE_PPO)
    config = _config(description.get("network"), folder / CHECKPOINT_FILE)
    network = read_module(folder, lambda: MlpNetwork(config), f"a network of {config}")
    return network, description["info"]


def load(path: str | Path, seed: int | None = None, *, sample: bool = False) -> MlpAgent:
    """The agent that plays the policy of a checkpoint folder; for errors see :func:`load_policy`."""
    network, _ = load_policy(Path(path))
    return MlpAgent(network, Path(path).name, sample=sample, seed=seed)


def _config(given: Any, source: Path) -> MlpConfig:
    names = [field.name for field in fields(MlpConfig)]
    if not isinstance(given, dict) or set(given) != set(names):
        raise ValueError(f"{source}: network is {short_repr(given)}; it must give {', '.join(names)}")
    layers = given["net_arch"]
    if not isinstance(layers, Sequence) or isinstance(layers, str):
        raise ValueError(f"{source}: net_arch is {short_repr(layers)}; it must list the units of the layers")
    try:
        return MlpConfig(tuple(layers), given["activation"])
    except (ValueError, TypeError) as error:
        raise ValueError(f"{source}: {error}") from None
