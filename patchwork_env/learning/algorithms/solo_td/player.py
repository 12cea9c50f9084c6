"""Games of NMBR 9 played by workers."""

from __future__ import annotations

from patchwork_env.agents.nmbr9.value.network import new_weights
from patchwork_env.learning.algorithms.common.threads import Crew
from patchwork_env.learning.algorithms.common.value_games import ValuePlayer
from patchwork_env.learning.algorithms.solo_td.config import SoloTdConfig
from patchwork_env.learning.algorithms.solo_td.self_play import SelfPlay


class SoloTdPlayer(ValuePlayer):
    """Plays the games of ``solo_td``."""

    def __init__(self, config: SoloTdConfig) -> None:
        super().__init__(SelfPlay(config.solo_td, Crew()), new_weights(0))
