"""Configuration of temporal-difference learning of Patchwork."""

from __future__ import annotations

from typing import ClassVar, Literal

from patchwork_env.games import PATCHWORK
from patchwork_env.learning.algorithms.common.value_config import TdLearning, ValueRun
from patchwork_env.learning.config.run_config import RewardedRun
from patchwork_env.learning.config.sections import Fraction, NonNegative


class Td(TdLearning):
    """Temporal-difference learning of a compiled value by greedy self-play (Tesauro 1995)."""

    openings: Fraction = 0.3
    """Share of the games, 0 to 1, in which guests make the first turns; guests play the quick policy of
    ``mcts``."""
    guests: Fraction = 0.2
    """Share of the games, 0 to 1, in which a guest plays one side to the end."""
    denial: Fraction = 1.0
    """Weight of the opponent's points when actions are chosen in self-play; with 1, players may block each
    other for whole games."""
    score_coefficient: NonNegative = 1.0
    """Weight of the errors of the predicted scores and empty cells in the loss."""


class TdConfig(ValueRun, RewardedRun):
    """A run of temporal-difference learning of Patchwork."""

    GAMES: ClassVar[tuple[str, ...]] = (PATCHWORK,)
    TRAINER: ClassVar[str] = "patchwork_env.learning.algorithms.td.trainer:TdTrainer"

    BYTES_OF_GAME: ClassVar[int] = 3000

    algorithm: Literal["td"] = "td"
    """The algorithm that learns."""
    td: Td = Td()


CONFIG = TdConfig
