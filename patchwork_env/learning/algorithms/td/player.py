"""Games of Patchwork played by workers."""

from __future__ import annotations

from patchwork_env.agents.value.network import new_weights
from training.config import RunConfig
from training.crew import Crew
from training.td.self_play import SelfPlay
from training.td.shared_games import ValuePlayer


class TdPlayer(ValuePlayer):
    """Plays the games of ``td``."""

    def __init__(self, config: RunConfig) -> None:
        super().__init__(SelfPlay(config.td, config.reward, config.special_patches, Crew()), new_weights(0))
