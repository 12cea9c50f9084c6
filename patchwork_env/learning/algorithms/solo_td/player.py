"""Games of NMBR 9 played by workers."""

from __future__ import annotations

from patchwork_env.agents.nmbr9.network import new_weights
from training.config import RunConfig
from training.crew import Crew
from training.solo_td.self_play import SelfPlay
from training.td.shared_games import ValuePlayer


class SoloTdPlayer(ValuePlayer):
    """Plays the games of ``solo_td``."""

    def __init__(self, config: RunConfig) -> None:
        super().__init__(SelfPlay(config.solo_td, Crew()), new_weights(0))
