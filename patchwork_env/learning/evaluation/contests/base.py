"""Games of two agents side by side: what all games have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env.core.batches import first_refused, loop, write_over
from patchwork_env.core.game import BaseGame
from patchwork_env.core.rules import States
from patchwork_env.games import rules_of
from patchwork_env.learning.evaluation.results import BaseGames, Kind

Integers = npt.NDArray[np.int64]


class Block(NamedTuple):
    """The set-ups ``begin ... end - 1`` of a match, of whose games the first ``keep`` are kept.

    Attributes:
        game: Its name.
        variant: What is played of it; one of the contest's ``variants``.
        seed: Of the match.
        begin: First set-up.
        end: Behind the last one.
        keep: Of the whole match.
    """

    game: str
    variant: str
    seed: int
    begin: int
    end: int
    keep: int = 0


class Contest(ABC):
    """The games of a block, from their set-ups to their figures.

    Attributes:
        kind: What results say of the game.
        games_type: The figures of its games.
        variants: What can be played, the usual one first.
        states: Records ``(n,)``.
        seats: ``(n,)``, of the agent that is measured.
        agent_starts: bool ``(n,)``.
        turns: ``(n, 2)``, of each side so far.
        kept: The first games once more, move by move.

    Args:
        block: What is played.
    """

    kind: ClassVar[Kind]
    games_type: ClassVar[type[BaseGames]]
    variants: ClassVar[tuple[str, ...]]
    states: States
    seats: Integers

    def __init__(self, block: Block) -> None:
        self._set_up(block)
        self.agent_starts = self.states["current_player"] == self.seats
        self.turns = np.zeros((len(self.states), 2), np.int64)
        game, first = rules_of(self.kind.game).game, self.kind.games_per_set_up * block.begin
        number = min(max(block.keep - first, 0), len(self.states))
        self.kept: tuple[BaseGame, ...] = tuple(game.from_state(self.states, i) for i in range(number))

    @abstractmethod
    def _set_up(self, block: Block) -> None:
        """Sets ``states`` and ``seats``; those of one set-up side by side."""

    def shown(self, games: Integers) -> States:
        """What an agent is shown of the listed games: records of its own."""
        return self.states[games]

    def first_refused(self, states: States, actions: Integers) -> int:
        """Index of the first game whose action, any integer, cannot be played, or -1."""
        return int(loop(first_refused, rules_of(self.kind.game))(states, actions))

    def play(self, games: Integers, actions: Integers, side: int) -> None:
        """Plays actions of one side in the listed games."""
        self._apply(games, actions, side)
        self.turns[games, side] += 1
        for game, action in zip(games[games < len(self.kept)], actions, strict=False):
            self.kept[game].play(action)

    @abstractmethod
    def _apply(self, games: Integers, actions: Integers, side: int) -> None:
        """Plays the actions on the records, and counts what is to be counted."""

    def over(self, games: Integers) -> npt.NDArray[np.bool_]:
        """Which of the listed games are over."""
        over = np.empty(len(games), np.bool_)
        loop(write_over, rules_of(self.kind.game))(self.states, games, over)
        return over

    @abstractmethod
    def figures(self) -> BaseGames:
        """Figures of the games, all of which are over."""

    @staticmethod
    @abstractmethod
    def winner(game: BaseGame) -> int | None:
        """Who has won a game that is over; None if nobody alone has."""

    @property
    def players(self) -> Integers:
        """The numbers of the agent and of its opponent in every game, ``(n, 2)``."""
        return np.stack([self.seats, 1 - self.seats], axis=1)

    def _of_players(self, figure: Callable[..., int]) -> Integers:
        """A figure of the agent and of the opponent in every game, ``(n, 2)``."""
        rows = [[figure(self.states, i, player) for player in row] for i, row in enumerate(self.players)]
        return np.array(rows, np.int64)
