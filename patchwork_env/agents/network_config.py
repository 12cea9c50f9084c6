"""The settings of policy networks, in configurations, checkpoints and Python. Needs pydantic."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from patchwork_env.core.sections import WHOLE, Fixed, Section
from patchwork_env.games import parts_of

MOST_LAYERS = 256  # the most hidden layers of a network
Units = Annotated[int, Field(ge=1, le=2**16), WHOLE]
Layers = Annotated[int, Field(ge=1, le=MOST_LAYERS), WHOLE]
Channels = Annotated[int, Field(ge=0, le=2**16), WHOLE]


class NetworkConfig(Section):
    """The sizes of a policy network, and the inputs that it reads."""

    width: Fixed[Units] = 256
    """Number of units in each hidden layer; more of them learn more and take more time."""
    depth: Fixed[Layers] = 2
    """Number of hidden layers."""
    channels: Fixed[Channels] = 0
    """Number of channels of the convolutions over quilts, in Patchwork; 0 leaves the convolutions out."""
    features: Fixed[bool] = True
    """Whether the network reads computed features: figures of the boards, and effects of actions."""
    offers: Fixed[bool] = False
    """Whether it also reads features of the patches offered after each move, in Patchwork; needs
    ``features``."""
    lookahead: bool = False
    """Whether its policy also depends on its value of the position after each kind of move, in Patchwork.
    Needs ``features`` and takes more time. PPO can turn it on late: ``ppo.lookahead_from``."""

    @model_validator(mode="after")
    def _check_parts(self) -> NetworkConfig:
        if not (self.channels or self.features):
            raise ValueError("network.channels is 0 and network.features is false; one of them is needed")
        for name in ("offers", "lookahead"):
            if getattr(self, name) and not self.features:
                raise ValueError(f"network.{name} is true and network.features is false; it needs features")
        return self

    def check_game(self, game: str) -> None:
        """Raise ValueError if the network of the game has no such setting."""
        for name in ("channels", "offers", "lookahead"):
            if (value := getattr(self, name)) and name not in parts_of(game).network_settings:
                raise ValueError(f"network.{name} is {value}; the network of {game} has no {name}")
