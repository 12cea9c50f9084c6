"""What the policy networks of all games share: sizes, inputs, trunk, and a policy over legal actions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from patchwork_env.agents.ragged import LegalLists, legal_lists, observations_of
from patchwork_env.core.checks import check_between, check_flag
from patchwork_env.core.kernels import States
from patchwork_env.core.names import short_repr
from patchwork_env.games import NMBR9, PATCHWORK

MOST_UNITS = 2**16
"""The largest number of units of a layer."""
MOST_LAYERS = 256
"""The largest number of hidden layers."""
HEAD_GAIN = 0.01
"""The gain of layers whose outputs are those of the network."""
_NEED_FEATURES = ("offers", "lookahead")
"""What networks of Patchwork may do with features."""


@dataclass(frozen=True)
class NetworkConfig:
    """The sizes of a network, and what it reads; ValueError if they make no network.

    Attributes:
        width: The units of each hidden layer of the trunk, at most :data:`MOST_UNITS`.
        depth: The number of hidden layers of the trunk, 1 to :data:`MOST_LAYERS`.
        channels: The channels of the convolutions over quilts in a network of Patchwork, at most
            :data:`MOST_UNITS`; 0 leaves the convolutions out, which networks without features need.
        features: Whether the network reads the features of positions and actions; see that of each game.
        offers: Whether a network of Patchwork with features also reads the worth of the patches that are
            offered after every move.
        lookahead: Whether a network of Patchwork with features also judges every kind of move by its value
            of the position behind it, which takes twice the time.
    """

    width: int = 256
    depth: int = 2
    channels: int = 0
    features: bool = True
    offers: bool = False
    lookahead: bool = False

    def __post_init__(self) -> None:
        for name, most in (("width", MOST_UNITS), ("depth", MOST_LAYERS)):
            check_between(getattr(self, name), 1, most, f"network.{name}")
        check_between(self.channels, 0, MOST_UNITS, "network.channels")
        for name in ("features", *_NEED_FEATURES):
            check_flag(getattr(self, name), f"network.{name}")
        if not (self.channels or self.features):
            raise ValueError(
                "network.channels is 0 and network.features is False; a network needs one of them"
            )
        for name in _NEED_FEATURES:
            if getattr(self, name) and not self.features:
                raise ValueError(
                    f"network.{name} is True and network.features is False; {name} needs features"
                )


class Inputs(NamedTuple):
    """The inputs of a network for ``n`` states with ``total`` legal actions."""

    observations: Tensor  # float32 (n, size), what the players to move see
    rows: Tensor  # int64 (total,), the state of each legal action, ascending
    actions: Tensor  # int64 (total,)

    def to(self, device: torch.device) -> Inputs:
        """The same on another device."""
        return Inputs(*(tensor.to(device) for tensor in self))


class Output(NamedTuple):
    """The output of a network for ``n`` states with ``total`` legal actions."""

    log_probabilities: Tensor  # (total,)
    entropies: Tensor  # (n,), in nats
    values: Tensor  # (n,), the expected returns of the players to move
    outcomes: Tensor  # (n, *outcomes_shape), the values behind the kinds of moves, without gradients


class PolicyNetwork(nn.Module, ABC):
    """Policy and value of the player to move in a game, of the sizes ``config``.

    Attributes:
        game: The name of the game.
        num_kinds: The number of kinds of action; see :meth:`kinds_of`.
        trunk: The layers that policy and value share.
    """

    game: ClassVar[str]
    num_kinds: ClassVar[int] = 1
    trunk: Trunk

    def __init__(self, config: NetworkConfig | None = None) -> None:
        super().__init__()
        self.config = config or NetworkConfig()
        for name in ("channels", *_NEED_FEATURES):
            if self.game != PATCHWORK and (value := getattr(self.config, name)):
                raise ValueError(f"network.{name} is {value}; it is for Patchwork, not for {self.game}")

    @property
    def device(self) -> torch.device:
        """The device that holds the weights."""
        return next(self.parameters()).device

    @abstractmethod
    def forward(self, inputs: Inputs, outcomes: Tensor | None = None) -> Output:
        """Evaluates a batch; a state without legal actions is no error.

        ``outcomes`` are those of an earlier evaluation; with None, a network that looks ahead looks now.
        """

    @abstractmethod
    def values(self, observations: Tensor) -> Tensor:
        """The values ``(n,)`` alone, without the work on the policy."""

    @property
    def looks_ahead(self) -> bool:
        """Whether values of the positions behind moves are part of the policy at present."""
        return False

    @property
    def outcomes_shape(self) -> tuple[int, int]:
        """The kinds of moves of a state, and the numbers behind each: none without looking ahead."""
        return self.num_kinds, 0

    def look_ahead(self, factor: float) -> None:
        """Sets what a value of 1 behind a kind of move adds to its logit; with 0 nothing looks ahead."""
        raise NotImplementedError(f"networks for {self.game} do not look ahead")

    def prepare_maps(self, dtype: torch.dtype) -> None:
        """Makes maps of placements, if any, by products of this type; the weights must stay as they are."""

    @staticmethod
    def kinds_of(actions: Any) -> Any:
        """The kind of each action of an array or a tensor, ``0 ... num_kinds - 1``."""
        return 0 * actions

    @staticmethod
    def encode(states: States) -> tuple[Inputs, LegalLists]:
        """The network's inputs for states, none of which is over, and their legal actions."""
        legal = legal_lists(states)
        return Inputs(*map(torch.from_numpy, (observations_of(states), legal.rows, legal.actions))), legal


_CLASSES = {
    PATCHWORK: "patchwork_env.agents.patchwork.policy_network:PatchworkNetwork",
    NMBR9: "patchwork_env.agents.nmbr9.policy_network:Nmbr9Network",
}


def network_class(game: str) -> type[PolicyNetwork]:
    """The policy network of a game; ValueError if it has none."""
    if game not in _CLASSES:
        raise ValueError(
            f"there is no policy network for {short_repr(game)}; there are for {', '.join(_CLASSES)}"
        )
    module, _, name = _CLASSES[game].partition(":")
    return getattr(import_module(module), name)  # type: ignore[no-any-return]


class Trunk(nn.Sequential):
    """The layers that policy and value share.

    Attributes:
        dtype: The type of the products. Training in bfloat16 takes a third of the time on processors that
            have it; inputs, outputs and weights stay in float32.
    """

    dtype = torch.float32

    def forward(self, inputs: Tensor) -> Tensor:
        """The units of the last layer, float32."""
        if self.dtype == torch.float32:
            return self._through_layers(inputs)
        with torch.autocast(inputs.device.type, self.dtype):
            return self._through_layers(inputs).float()

    def _through_layers(self, inputs: Tensor) -> Tensor:
        for layer in self:
            inputs = layer(inputs)
        return inputs


def new_trunk(inputs: int, config: NetworkConfig) -> Trunk:
    """Fully connected layers of rectified units, with the ``width`` and ``depth`` of a configuration."""
    sizes = pairwise([inputs, *[config.width] * config.depth])
    layers = ((nn.Linear(*pair), nn.ReLU()) for pair in sizes)
    return Trunk(*(module for layer in layers for module in layer))


def initialize(layers: Iterable[nn.Module], gain: float = 2**0.5) -> None:
    """Draws the weights of the fully connected layers, by default those of rectified units."""
    for layer in layers:
        if isinstance(layer, nn.Linear):
            nn.init.orthogonal_(layer.weight, gain)
            nn.init.zeros_(layer.bias)
