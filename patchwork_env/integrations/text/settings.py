"""What an episode in words is like: the game, the opponent, the rewards, and what happens to bad answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from patchwork_env.core.batches import REWARDS
from patchwork_env.core.checks import as_integer, as_number, check_between, check_one_of
from patchwork_env.core.game import BaseGame
from patchwork_env.core.names import did_you_mean, short_repr
from patchwork_env.games import NMBR9, PATCHWORK, rules_of
from patchwork_env.service.positions import known_game

FORFEITS = ("loss", "random", "greedy")
"""What too many bad answers may lead to: the game is lost, or a move is made by one of these agents."""
JUDGES = ("champion",)
"""Who may judge moves."""
MOST_TRIES = 1000
GAME_OPTIONS = {
    PATCHWORK: ("special_patches", "first_player", "circle"),
    NMBR9: ("players", "order", "deck", "max_digit", "copies", "deck_size"),
}
"""The options of games, which are those of the classes ``Game``."""
_DEALT = ("circle", "deck")
"""Options that stand instead of a seed."""


@dataclass(frozen=True)
class Settings:
    """The settings of an episode.

    Attributes:
        game: The name of the game.
        opponent: The spec of the agent that plays for all others; without meaning where a player is alone.
        seat: The player number of whoever answers; None for the seed's remainder on division by the number of
            players.
        rewards: The kind of rewards, ``"outcome"``, ``"margin"`` or ``"score"``, as in all environments; None
            for the outcome with several players, for the score with one.
        reward_scale: What rewards of the game and of the judge are multiplied with, above 0.
        requests: How many requests may be made before each move, 0-1000.
        mistakes: How many bad answers in a row are too many, 1-1000.
        penalty: What each bad answer takes from the reward, at least 0.
        forfeit: What too many bad answers lead to, one of :data:`FORFEITS`.
        shaping: ``"champion"`` to add to the reward how much worse the move is than the champion's best at a
            glance: its chance to win, or its points in NMBR 9; None for nothing.
        shaping_weight: What the judge's reward is multiplied with, at least 0.
        options: Options of the game, of :data:`GAME_OPTIONS`.

    Raises:
        ValueError: A value is not allowed.
    """

    game: str = PATCHWORK
    opponent: str = "greedy"
    seat: int | None = None
    rewards: str | None = None
    reward_scale: float = 1.0
    requests: int = 12
    mistakes: int = 3
    penalty: float = 0.1
    forfeit: str = "loss"
    shaping: str | None = None
    shaping_weight: float = 1.0
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        known_game(self.game)
        if not isinstance(self.opponent, str):
            raise ValueError(f"opponent is {short_repr(self.opponent)}; it must be the spec of an agent")
        if self.seat is not None:
            as_integer(self.seat, "seat")
        if self.rewards is not None:
            check_one_of(self.rewards, REWARDS, "rewards")
        if self.shaping is not None:
            check_one_of(self.shaping, JUDGES, "shaping")
        check_one_of(self.forfeit, FORFEITS, "forfeit")
        check_between(self.requests, 0, MOST_TRIES, "requests")
        check_between(self.mistakes, 1, MOST_TRIES, "mistakes")
        as_number(self.reward_scale, "reward_scale", above=0)
        as_number(self.penalty, "penalty", least=0)
        as_number(self.shaping_weight, "shaping_weight", least=0)
        _require_known(self.options, GAME_OPTIONS[self.game])
        self.new_game(0)  # tells what is not allowed

    def changed(self, given: Mapping[str, Any]) -> Settings:
        """These settings with others for one episode: any but ``game``, and options of the game."""
        own = tuple(entry.name for entry in fields(self) if entry.name not in ("game", "options"))
        _require_known(given, (*own, *GAME_OPTIONS[self.game]))
        changes = {name: value for name, value in given.items() if name in own}
        options = {name: value for name, value in given.items() if name not in own and value is not None}
        return replace(self, **changes, options={**self.options, **options})

    def new_game(self, seed: int) -> BaseGame:
        """The game of a seed, or of the circle or deck among the options."""
        dealing = {} if any(name in self.options for name in _DEALT) else {"seed": seed}
        return rules_of(self.game).game(**dealing, **self.options)


def _require_known(given: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for name in given:
        if name not in known:
            raise ValueError(f"there is no option {short_repr(name)}; {did_you_mean(str(name), known)}")
