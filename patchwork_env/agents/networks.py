"""Policy networks: their base class, encoded batches, the agent that plays one, evaluation, and files."""

from __future__ import annotations

import copy
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from patchwork_env.agents import checkpoints
from patchwork_env.agents.base import Actions, SamplingAgent
from patchwork_env.agents.network_config import NetworkConfig
from patchwork_env.agents.ragged import (
    LegalLists,
    begins_of,
    copy_lists,
    legal_lists,
    most_probable,
    observations_of,
    positions_of,
    sample,
)
from patchwork_env.core.files import write_folder
from patchwork_env.core.kernels import States
from patchwork_env.core.sections import read_section
from patchwork_env.games import part_of, rules_of
from patchwork_env.search import Evaluation

HEAD_GAIN = 0.01  # the initial gain of output layers
NEW: Mapping[str, Any] = {"device": "cpu", "dtype": torch.float32}
"""Arguments for new tensors, so that no network depends on the user's default device and dtype."""


class Inputs(NamedTuple):
    """The inputs of a network for ``n`` states with ``total`` legal actions."""

    observations: Tensor  # float32 (n, size), of the players to move
    rows: Tensor  # int64 (total,), the state of each legal action, ascending
    actions: Tensor  # int64 (total,)


class Encoded(NamedTuple):
    """The inputs of a network for a batch of states, with their features and legal actions."""

    inputs: Inputs
    features: Any
    counts: npt.NDArray[np.int64]  # (n,), the legal actions of each state
    actions: npt.NDArray[np.int64]  # (total,), those of the inputs

    def part(self, first: int, end: int) -> Encoded:
        """Return the states ``first ... end - 1``."""
        counts, (observations, rows, actions) = self.counts, self.inputs
        states, own = slice(first, end), slice(counts[:first].sum(), counts[:end].sum())
        return Encoded(
            Inputs(observations[states], rows[own] - first, actions[own]),
            _picked(self.features, lambda of_states: of_states[states], lambda of_actions: of_actions[own]),
            counts[states],
            self.actions[own],
        )


class KeptStates(NamedTuple):
    """A compact copy of ``n`` encoded states with ``total`` legal actions, on the same device."""

    counts: npt.NDArray[np.int64]  # (n,), the legal actions of each state
    observations: Tensor  # float32 (n, size)
    actions: Tensor  # int16 (total,)
    features: Any  # packed; with None, the network computes them again

    def read(self, chosen: npt.NDArray[np.int64]) -> tuple[Inputs, Any]:
        """Return the inputs and features of some states, by their indices ``(k,)``."""
        counts, begins = self.counts[chosen], begins_of(self.counts)[chosen]
        total, device = int(counts.sum()), self.observations.device
        arrays = chosen, counts, begins - begins_of(counts)
        states, numbers, shifts = moved(_Chosen(*map(torch.from_numpy, arrays)), device)
        rows = torch.arange(len(chosen), device=device).repeat_interleave(numbers, output_size=total)

        def of_states(tensor: Tensor) -> Tensor:
            return tensor.index_select(0, states)

        def of_actions(tensor: Tensor) -> Tensor:
            if device.type == "cpu":
                lists, width = tensor.new_empty(total, *tensor.shape[1:]), tensor[:1].numel()
                copy_lists(tensor.view(-1).numpy(), width * begins, width * counts, lists.view(-1).numpy())
                return lists
            return tensor.index_select(0, torch.arange(total, device=device) + shifts.index_select(0, rows))

        inputs = Inputs(of_states(self.observations), rows, of_actions(self.actions).long())
        packed = _picked(self.features, of_states, of_actions)
        return inputs, packed and packed.unpacked()

    def positions_of(self, actions: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the position of one legal action of each state, ``(n,)``, among those of its state."""
        positions = positions_of(self.counts, self.actions.cpu().long().numpy(), actions)
        return positions - begins_of(self.counts)


class _Chosen(NamedTuple):
    states: Tensor  # int64 (k,)
    counts: Tensor  # int64 (k,), the numbers of their actions
    shifts: Tensor  # int64 (k,), the index of the first action in the copy, minus that in the result


def kept(encoded: Encoded) -> KeptStates:
    """Return a compact copy of encoded states."""
    observations, _, actions = encoded.inputs
    packed = encoded.features and encoded.features.packed()
    return KeptStates(encoded.counts, observations, actions.short(), packed)


def joined(parts: Sequence[KeptStates]) -> KeptStates:
    """Concatenate parts of kept states."""
    counts, observations, actions, features = zip(*parts, strict=True)
    together = np.concatenate(counts), torch.cat(observations), torch.cat(actions)
    return KeptStates(*together, _joined_features(features))


def _picked(
    features: Any, of_states: Callable[[Tensor], Tensor], of_actions: Callable[[Tensor], Tensor]
) -> Any:
    """Select rows of features: of the last tensor by ``of_actions``, of the others by ``of_states``."""
    if features is None:
        return None
    *first, last = features
    return features._make([*map(of_states, first), of_actions(last)])


def _joined_features(parts: Sequence[Any]) -> Any:
    return parts[0] and parts[0]._make(map(torch.cat, zip(*parts, strict=True)))


_Tensors = TypeVar("_Tensors", bound="tuple[Tensor, ...] | None")


def moved(tensors: _Tensors, device: torch.device) -> _Tensors:
    """Return a named tuple of tensors on a device; copies to a GPU are asynchronous."""
    if tensors is None or device.type == "cpu":
        return tensors
    if device.type == "cuda":
        tensors = tensors._make(tensor.pin_memory() for tensor in tensors)  # type: ignore[attr-defined]
    return tensors._make(tensor.to(device, non_blocking=True) for tensor in tensors)  # type: ignore


Shared = Callable[[Callable[[States], Encoded], States], Sequence[Encoded]]
"""Calls a function for consecutive parts of the states, perhaps in parallel."""


class Output(NamedTuple):
    """The output of a network for ``n`` states with ``total`` legal actions."""

    log_probabilities: Tensor  # (total,)
    entropies: Tensor  # (n,), in nats
    values: Tensor  # (n,), the expected returns of the players to move
    successor_values: Tensor  # (n, *successor_values_shape), after each kind of move, without gradients


class PolicyNetwork(nn.Module, ABC):
    """A network for the policy and the value of the player to move; ``config`` has its settings.

    Policy and value share the layers ``trunk``; :meth:`kinds_of` numbers ``num_kinds`` kinds of action.
    ``reads`` names the observation tensors that the trunk reads unchanged: by default ``default_reads``, or
    all tensors if that is empty.
    """

    game: ClassVar[str]
    num_kinds: ClassVar[int] = 1
    default_reads: ClassVar[tuple[str, ...]] = ()
    trunk: Trunk

    def __init__(self, config: NetworkConfig | None = None, reads: Sequence[str] = ()) -> None:
        super().__init__()
        self.config = config or NetworkConfig()
        self.config.check_game(self.game)
        layout = rules_of(self.game).layout
        self.reads = tuple(reads or self.default_reads or layout.shapes)
        self._columns = [layout.slices[name] for name in self.reads]
        self.num_read = sum(part.stop - part.start for part in self._columns)

    def tensors_of(self, observations: Tensor) -> list[Tensor]:
        """Return the tensors of observations ``(n, size)`` that the trunk reads unchanged, in its order."""
        return [observations[:, part] for part in self._columns]

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    @abstractmethod
    def forward(self, inputs: Inputs, successor_values: Tensor | None = None, features: Any = None) -> Output:
        """Evaluate a batch, in which states may have no legal actions.

        ``successor_values`` are those of an earlier evaluation; with None, a network may look ahead now.
        ``features`` are those of :meth:`features_of`; with None, they are computed now.
        """

    @abstractmethod
    def features_of(self, inputs: Inputs) -> Any:
        """Compute the features of inputs: a named tuple of tensors on the same device, or None.

        The last tensor has a row for each legal action, the others one for each state. The tuple's
        ``packed()`` returns a smaller copy, which has ``unpacked()``, or None to compute them again.
        """

    @abstractmethod
    def values(self, observations: Tensor) -> Tensor:
        """Return the values ``(n,)`` without computing the policy."""

    @property
    def looks_ahead(self) -> bool:
        """Whether the policy depends on the values of successors, with the current weights."""
        return False

    @property
    def successor_values_shape(self) -> tuple[int, int]:
        """The number of kinds of action, and that of values for each: 0 without look-ahead."""
        return self.num_kinds, 0

    def look_ahead(self, factor: float) -> None:
        """Set the addition to a kind's logit for a successor with the value 1; 0 turns look-ahead off."""
        raise NotImplementedError(f"networks for {self.game} do not look ahead")

    def prepare_maps(self, dtype: torch.dtype) -> None:
        """Precompute factors of placement maps, if any, for a dtype; the weights must not change later."""

    @staticmethod
    def kinds_of(actions: Any) -> Any:
        """Return the kind of each action of an array or a tensor, ``0 ... num_kinds - 1``."""
        return 0 * actions

    @staticmethod
    def encode(states: States) -> tuple[Inputs, LegalLists]:
        """Return the inputs for states of running games, and their legal actions."""
        legal = legal_lists(states)
        return Inputs(*map(torch.from_numpy, (observations_of(states), legal.rows, legal.actions))), legal

    def encode_fully(self, states: States, shared: Shared | None = None) -> Encoded:
        """Encode states with features, on the network's device; ``shared`` divides the work."""
        device = self.device

        def encode(states: States) -> Encoded:
            inputs, legal = self.encode(states)
            features = moved(self.features_of(inputs), device)
            return Encoded(moved(inputs, device), features, legal.counts, legal.actions)

        parts = [encode(states)] if shared is None else shared(encode, states)
        return parts[0] if len(parts) == 1 else _joined(parts)


def _joined(parts: Sequence[Encoded]) -> Encoded:
    """Join the encodings of consecutive parts of states."""
    inputs, features, counts, actions = zip(*parts, strict=True)
    firsts = np.cumsum([0, *map(len, counts[:-1])]).tolist()
    shifted = [one._replace(rows=one.rows + first) for one, first in zip(inputs, firsts, strict=True)]
    joined_inputs = Inputs(*map(torch.cat, zip(*shifted, strict=True)))
    return Encoded(joined_inputs, _joined_features(features), np.concatenate(counts), np.concatenate(actions))


def network_class(game: str) -> type[PolicyNetwork]:
    """Return the policy network of a game; ValueError if it has none."""
    network: type[PolicyNetwork] = part_of(game, "network")
    return network


class Trunk(nn.Sequential):
    """The layers that policy and value share. Matrix products have the ``dtype``, all else is float32.

    Products in bfloat16 take a third of the time on processors with instructions for them.
    """

    dtype = torch.float32

    def forward(self, inputs: Tensor) -> Tensor:
        through_layers: Callable[[Tensor], Tensor] = super().forward
        if self.dtype == torch.float32:
            return through_layers(inputs)
        with torch.autocast(inputs.device.type, self.dtype):
            return through_layers(inputs).float()


def new_trunk(inputs: int, config: NetworkConfig) -> Trunk:
    """Return fully connected layers with ReLU, of a configuration's ``width`` and ``depth``."""
    sizes = pairwise([inputs, *[config.width] * config.depth])
    layers = ((nn.Linear(*pair, **NEW), nn.ReLU()) for pair in sizes)
    return Trunk(*(module for layer in layers for module in layer))


def initialize(layers: Iterable[nn.Module], gain: float = 2**0.5) -> None:
    """Draw orthogonal weights for fully connected layers, by default with the gain for ReLU."""
    for layer in layers:
        if isinstance(layer, nn.Linear):
            nn.init.orthogonal_(layer.weight, gain)
            nn.init.zeros_(layer.bias)


# --- networks in use ----------------------------------------------------------------------------------------


class PolicyAgent(SamplingAgent):
    """Plays the current weights of a policy network without search, also during training.

    Unless it samples, it plays the most probable action of the most probable kind.
    """

    def __init__(
        self, network: PolicyNetwork, name: str = "policy", *, sample: bool = False, seed: int | None = None
    ) -> None:
        super().__init__(name, sample, seed)
        self.network, self.games = network, (network.game,)

    def act_batch(self, states: States) -> Actions:
        self.check_states(states)
        network = self.network
        inputs, features, counts, actions = network.encode_fully(states)
        with torch.inference_mode():
            log_probabilities = network(inputs, features=features).log_probabilities.cpu().numpy()
        if self.sample:
            chosen = sample(counts, log_probabilities, self._random.random(len(states)))
        else:
            chosen = most_probable(counts, network.kinds_of(actions), log_probabilities, network.num_kinds)
        return actions[chosen]


class NetworkEvaluator:
    """Evaluates states with a copy of a network's current weights, on the same device.

    ``dtype`` is that of the products in placement maps: bfloat16 takes less time on a CPU with AVX-512
    BF16.
    """

    def __init__(self, network: PolicyNetwork, dtype: torch.dtype = torch.bfloat16) -> None:
        self.network = copy.deepcopy(network).eval().requires_grad_(False)
        self.network.prepare_maps(dtype)
        self.network.trunk.to(self.network.trunk.dtype)  # once, instead of at every evaluation

    def __call__(self, states: States) -> Evaluation:
        """Return the policy and the values of states of running games; there may be none."""
        return self.with_successor_values(self.network.encode_fully(states))[0]

    def with_successor_values(self, encoded: Encoded) -> tuple[Evaluation, npt.NDArray[np.float32]]:
        """Evaluate states; also return successor values, float32 ``(n, *successor_values_shape)``."""
        with torch.inference_mode():
            output = self.network(encoded.inputs, features=encoded.features)
        log_probabilities, _, values, successor_values = (tensor.cpu().numpy() for tensor in output)
        return Evaluation(encoded.counts, encoded.actions, log_probabilities, values), successor_values


# --- files --------------------------------------------------------------------------------------------------

_Network = TypeVar("_Network", bound=PolicyNetwork)
_Module = TypeVar("_Module", bound=nn.Module)


def save_policy(
    folder: str | os.PathLike[str], network: PolicyNetwork, info: dict[str, Any] | None = None
) -> None:
    """Write a policy atomically as a new checkpoint folder; ``info``, JSON, says how it was made."""
    write_folder(Path(folder), lambda target: write_policy(target, network, info))


def write_policy(folder: Path, network: PolicyNetwork, info: dict[str, Any] | None = None) -> None:
    """Write the two files of a policy into an existing folder."""
    config, weights = network.config.model_dump(), network.state_dict()
    checkpoints.write_checkpoint(
        folder, network.game, checkpoints.NETWORK, config, weights, info, network.reads
    )


def read_network(checkpoint: checkpoints.Checkpoint, network: type[_Network]) -> _Network:
    """Read a policy network of a class; for errors see :class:`Checkpoint`."""
    checkpoint.check(network.game, checkpoints.NETWORK)
    config = read_section(NetworkConfig, checkpoint.network, "network", str(checkpoint.file))
    make = partial(network, config, checkpoint.reads)
    return with_weights(make, checkpoint.arrays(weight_shapes(make), f"a network of {config!r}"))


def load(checkpoint: checkpoints.Checkpoint, seed: int | None = None, *, sample: bool = False) -> PolicyAgent:
    """Return the agent that plays the policy of a checkpoint of any game."""
    network = read_network(checkpoint, network_class(checkpoint.game))
    return PolicyAgent(network, checkpoint.name, sample=sample, seed=seed)


def weight_shapes(make: Callable[[], nn.Module]) -> checkpoints.Shapes:
    """Return the shapes of a module's weights by name, without allocating them."""
    with _NothingAllocated():
        return {name: tuple(tensor.shape) for name, tensor in make().state_dict().items()}


class _NothingAllocated(TorchFunctionMode):
    """Creates tensors on the device "meta", and skips normal distributions.

    On that device they would import PyTorch's compiler.
    """

    def __torch_function__(self, function: Any, types: Any, arguments: Any = (), options: Any = None) -> Any:
        options = options or {}
        if function is nn.init.normal_:
            return options["tensor"]
        if function is Tensor.normal_:
            return arguments[0]
        return function(*arguments, **(options | {"device": "meta"} if "device" in options else options))


def with_weights(make: Callable[[], _Module], weights: Mapping[str, npt.NDArray[np.float32]]) -> _Module:
    """Make a module with these weights, in evaluation mode."""
    module = make()
    module.load_state_dict({name: torch.from_numpy(array) for name, array in weights.items()})
    return module.eval()
