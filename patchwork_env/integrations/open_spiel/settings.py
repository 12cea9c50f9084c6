"""What the parameters of a game say, and what OpenSpiel is told of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import pyspiel

from patchwork_env.core import storage
from patchwork_env.core.batches import MARGIN, MARGIN_SCALE, OUTCOME
from patchwork_env.core.checks import check_between

_Information = pyspiel.GameType.Information
_Utility = pyspiel.GameType.Utility
_ChanceMode = pyspiel.GameType.ChanceMode


class Setting(NamedTuple):
    """What the parameters of a game say.

    Attributes:
        players: The number of players.
        rewards: The kind of returns: ``OUTCOME``, ``MARGIN`` or ``SCORE``.
        scores: The lowest and the highest score that a player can have, or bounds of them.
        turns: An upper bound on the number of decisions of players.
        deals: The number of decisions of chance.
        hides: Whether players do not know all that has been decided.
    """

    players: int
    rewards: int
    scores: tuple[int, int]
    turns: int
    deals: int
    hides: bool = False

    def utilities(self) -> tuple[float, float, float | None]:
        """The lowest and the highest return of a player, and the sum of all returns if that is fixed."""
        lowest, highest = self.scores
        if self.rewards == OUTCOME:
            return -1.0 / (self.players - 1), 1.0, 0.0
        if self.rewards == MARGIN:
            most = (highest - lowest) / MARGIN_SCALE
            return -most, most, 0.0 if self.players == 2 else None
        return float(lowest), float(highest), None


class Kind(NamedTuple):
    """What OpenSpiel registers.

    Attributes:
        short_name: The name in ``pyspiel.load_game``.
        long_name: The name that people read.
        players: The lowest and the highest number of players.
        parameters: The parameters with their defaults, which are numbers or texts.
    """

    short_name: str
    long_name: str
    players: tuple[int, int]
    parameters: Mapping[str, int | str]

    def type_of(self, setting: Setting) -> pyspiel.GameType:
        """The type of a game with given parameters."""
        is_zero_sum = setting.utilities()[2] == 0
        return pyspiel.GameType(
            short_name=self.short_name,
            long_name=self.long_name,
            dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
            chance_mode=_ChanceMode.EXPLICIT_STOCHASTIC if setting.deals else _ChanceMode.DETERMINISTIC,
            information=_Information.IMPERFECT_INFORMATION
            if setting.hides
            else _Information.PERFECT_INFORMATION,
            utility=_Utility.ZERO_SUM if is_zero_sum else _Utility.GENERAL_SUM,
            reward_model=pyspiel.GameType.RewardModel.TERMINAL,
            min_num_players=self.players[0],
            max_num_players=self.players[1],
            provides_information_state_string=True,
            provides_information_state_tensor=True,
            provides_observation_string=True,
            provides_observation_tensor=True,
            provides_factored_observation_string=True,
            parameter_specification=dict(self.parameters),
        )


def set_up_of(params: Mapping[str, Any], name: str) -> tuple[list[int] | None, int | None]:
    """The circle or the deck, whose parameter has this ``name``, and the seed; None for what is not given.

    Raises:
        ValueError: One of them is no number, or no list of numbers with spaces between them.
    """
    seed = check_between(params["seed"], -1, 2**31 - 1, "seed, if not -1 for none,")
    listed = [storage.parse_number(word) for word in params[name].split()]
    return listed or None, None if seed < 0 else seed
