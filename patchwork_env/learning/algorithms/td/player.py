"""Games of Patchwork played by workers."""

from __future__ import annotations

from patchwork_env.agents.patchwork.value.network import new_weights
from patchwork_env.learning.algorithms.common.threads import Crew
from patchwork_env.learning.algorithms.common.value_games import ValuePlayer
from patchwork_env.learning.algorithms.td.config import TdConfig
from patchwork_env.learning.algorithms.td.self_play import SelfPlay


class TdPlayer(ValuePlayer):
    """Plays the games of ``td``."""

    def __init__(self, config: TdConfig) -> None:
        super().__init__(SelfPlay(config.td, config.reward, config.special_patches, Crew()), new_weights(0))
