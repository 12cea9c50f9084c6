"""Policy networks of any game in use: the agent that plays one, its evaluations for searches, its files."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from patchwork_env.agents import ragged
from patchwork_env.agents.base import Actions, SamplingAgent
from patchwork_env.agents.checkpoints import (
    CHECKPOINT_FILE,
    NETWORK,
    Shapes,
    read_arrays,
    read_description,
    write_checkpoint,
)
from patchwork_env.agents.networks import NetworkConfig, PolicyNetwork
from patchwork_env.core.files import write_folder
from patchwork_env.core.kernels import States
from patchwork_env.core.names import short_repr
from patchwork_env.search import Evaluation

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_Network = TypeVar("_Network", bound=PolicyNetwork)
_Module = TypeVar("_Module", bound=nn.Module)
_Config = TypeVar("_Config", bound="DataclassInstance")


class PolicyAgent(SamplingAgent):
    """Plays the present weights of a policy network, on any device, without search, also while it learns.

    Unless it draws its actions, it plays the most probable one of the most probable kind.
    """

    def __init__(
        self, network: PolicyNetwork, name: str = "policy", *, sample: bool = False, seed: int | None = None
    ) -> None:
        super().__init__(name, sample, seed)
        self.network, self.games = network, (network.game,)

    def act_batch(self, states: States) -> Actions:
        """A legal action for the current player of every game, int64 ``(n,)``."""
        self.check_states(states)
        network = self.network
        inputs, legal = network.encode(states)
        with torch.inference_mode():
            log_probabilities = network(inputs.to(network.device)).log_probabilities.cpu().numpy()
        if self.sample:
            chosen = ragged.sample(legal.counts, log_probabilities, self._random.random(len(states)))
        else:
            kinds = network.kinds_of(legal.actions)
            chosen = ragged.most_probable(legal.counts, kinds, log_probabilities, network.num_kinds)
        return legal.actions[chosen]


class NetworkEvaluator:
    """Evaluates states, on the device of a network, with the weights that it has now.

    ``dtype`` is the type of the products that make maps of placements: bfloat16 takes half the time on a CPU
    with AVX-512 BF16. All else stays in float32.
    """

    def __init__(self, network: PolicyNetwork, dtype: torch.dtype = torch.bfloat16) -> None:
        self._network = copy.deepcopy(network).eval().requires_grad_(False)
        self._network.prepare_maps(dtype)
        self._network.trunk.to(self._network.trunk.dtype)  # once, instead of at every evaluation

    def __call__(self, states: States) -> Evaluation:
        """The policy and the values of states, if any, none of which is over."""
        return self.with_outcomes(states)[0]

    def with_outcomes(self, states: States) -> tuple[Evaluation, npt.NDArray[np.float32]]:
        """The same, and the values behind the kinds of moves, float32 ``(n, *outcomes_shape)``."""
        inputs, legal = self._network.encode(states)
        with torch.inference_mode():
            output = self._network(inputs.to(self._network.device))
        log_probabilities, _, values, outcomes = (tensor.cpu().numpy() for tensor in output)
        return Evaluation(legal.counts, legal.actions, log_probabilities, values), outcomes

    @property
    def outcomes_shape(self) -> tuple[int, int]:
        """See :attr:`PolicyNetwork.outcomes_shape`."""
        return self._network.outcomes_shape


# --- files ------------------------------------------------------------------------------------------------


def save_policy(
    folder: str | os.PathLike[str], network: PolicyNetwork, info: dict[str, Any] | None = None
) -> None:
    """Writes a policy as a new checkpoint folder, all of it or nothing; ``info``, JSON, is about its making.

    Raises:
        FileExistsError: The folder exists.
    """
    write_folder(Path(folder), lambda target: write_policy(target, network, info))


def write_policy(folder: Path, network: PolicyNetwork, info: dict[str, Any] | None = None) -> None:
    """Writes the two files of a policy into an existing folder."""
    write_checkpoint(folder, network.game, NETWORK, asdict(network.config), network.state_dict(), info)


def read_network(folder: Path, network: type[_Network]) -> tuple[_Network, dict[str, Any]]:
    """Reads a policy network of a class, and the facts on its making."""
    description = read_description(folder, network.game, NETWORK)
    config = config_of(NetworkConfig, description.get("network"), str(folder / CHECKPOINT_FILE))
    return read_module(folder, lambda: network(config), f"a network of {config}"), description["info"]


def read_module(folder: Path, make: Callable[[], _Module], what: str) -> _Module:
    """Makes a module and gives it the weights of a checkpoint; ``what`` is the module in messages."""
    return with_weights(make, read_arrays(folder, weight_shapes(make), what))


def weight_shapes(make: Callable[[], nn.Module]) -> Shapes:
    """The shapes of the weights of a module by name; nothing is allocated."""
    with torch.device("meta"):
        return {name: tuple(tensor.shape) for name, tensor in make().state_dict().items()}


def with_weights(make: Callable[[], _Module], weights: Mapping[str, npt.NDArray[np.float32]]) -> _Module:
    """Makes a module with these weights, ready to be evaluated."""
    module = make()
    module.load_state_dict({name: torch.from_numpy(array) for name, array in weights.items()})
    return module.eval()


def config_of(kind: type[_Config], sizes: Any, source: str) -> _Config:
    """The sizes in a description, which messages call ``source``, as a dataclass that checks them."""
    names = [field.name for field in fields(kind)]
    if not isinstance(sizes, dict) or set(sizes) != set(names):
        raise ValueError(f"{source}: network is {short_repr(sizes)}; it must give {', '.join(names)}")
    try:
        return kind(**sizes)
    except ValueError as error:
        raise ValueError(f"{source}: {error}") from None
