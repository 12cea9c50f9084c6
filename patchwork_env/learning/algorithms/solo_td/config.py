"""Configuration of temporal-difference learning of NMBR 9."""

from __future__ import annotations

from typing import ClassVar, Literal

from patchwork_env.games import NMBR9
from patchwork_env.learning.algorithms.common.value_config import TdLearning, ValueRun
from patchwork_env.learning.config.sections import Rate


class SoloTd(TdLearning):
    """Temporal-difference learning of a value of NMBR 9, where all players play for their own score."""

    temperature: Rate = 1.0
    """Temperature of the softmax of ``exploration``, in points; higher ones draw more evenly."""


class SoloTdConfig(ValueRun):
    """A run of temporal-difference learning of NMBR 9."""

    GAMES: ClassVar[tuple[str, ...]] = (NMBR9,)
    TRAINER: ClassVar[str] = "patchwork_env.learning.algorithms.solo_td.trainer:SoloTdTrainer"

    BYTES_OF_GAME: ClassVar[int] = 13_000

    game: str = NMBR9
    """The game that is learned."""
    algorithm: Literal["solo_td"] = "solo_td"
    """The algorithm that learns."""
    solo_td: SoloTd = SoloTd()


CONFIG = SoloTdConfig
