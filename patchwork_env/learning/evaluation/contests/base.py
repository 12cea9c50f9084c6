"""Plays games of two agents side by side: what the matches of all games have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, NamedTuple, Self, cast

import numpy as np
import numpy.typing as npt

from patchwork_env.core.batches import deal_all, imagined, loop, play_listed, write_over
from patchwork_env.core.checks import seed_streams
from patchwork_env.core.compile import template
from patchwork_env.core.game import BaseGame
from patchwork_env.core.names import counted
from patchwork_env.core.records import records_at
from patchwork_env.core.rules import Kernels, Rules, States
from patchwork_env.games import rules_of

Integers = npt.NDArray[np.int64]

AGENT, OPPONENT = 0, 1
"""Columns of the figures that both sides have."""
SIDES = 2


class Block(NamedTuple):
    """The set-ups ``begin ... end - 1`` of a match.

    Attributes:
        game: The name of the game.
        variant: What is played of it; one of the contest's ``variants``.
        seed: The seed of the match.
        begin: The number of the first set-up.
        end: The number after that of the last set-up.
        keep: How many games of the whole match, the first ones, are kept move by move.
    """

    game: str
    variant: str
    seed: int
    begin: int
    end: int
    keep: int = 0


@dataclass(frozen=True)
class MatchGames:
    """The figures of every game of a match; the games of a set-up are neighbors.

    Attributes:
        game: The name of the game.
        seats: The agent's seat, 0 or 1, int64 ``(n,)``.
        agent_starts: Whether the agent has the first turn, bool ``(n,)``.
        agent_wins: What the agent won, ``(n,)``: bool, or float64 with 0.5 for a tie.
        turns: The number of actions of the agent and of the opponent, int64 ``(n, 2)``.
        forfeits: Whether the agent, or the opponent, failed and so lost the game, which ended there, bool
            ``(n, 2)``.
        figures: The figures of the agent and of the opponent by name, arrays ``(n, 2)``; see
            :attr:`Contest.figures`.
    """

    game: str
    seats: Integers
    agent_starts: npt.NDArray[np.bool_]
    agent_wins: npt.NDArray[Any]
    turns: Integers
    forfeits: npt.NDArray[np.bool_]
    figures: Mapping[str, npt.NDArray[Any]]

    def __len__(self) -> int:
        return len(self.seats)

    def __repr__(self) -> str:
        return f"<MatchGames: {counted(len(self), 'game')} of {self.game}>"

    @property
    def scores(self) -> Integers:
        """The scores of the agent and of the opponent, int64 ``(n, 2)``."""
        return self.figures["score"]

    @classmethod
    def joined(cls, parts: Sequence[MatchGames]) -> MatchGames:
        """Puts the games of all parts together, in order."""
        arrays = {name: np.concatenate([getattr(part, name) for part in parts]) for name in _ARRAYS}
        names = parts[0].figures
        figures = {name: np.concatenate([part.figures[name] for part in parts]) for name in names}
        return cls(parts[0].game, **arrays, figures=figures)

    def as_dict(self) -> dict[str, Any]:
        """All figures as plain data, for JSON."""
        arrays: dict[str, Any] = {name: getattr(self, name).tolist() for name in _ARRAYS}
        return arrays | {"figures": {name: figure.tolist() for name, figure in self.figures.items()}}

    @classmethod
    def from_dict(cls, contents: Mapping[str, Any], game: str, number: int) -> Self:
        """The inverse of :meth:`as_dict`.

        Raises:
            ValueError, TypeError, KeyError: The contents have another form, or another number of games.
        """
        both = (number, SIDES)
        one = (number,)
        shapes = {"seats": one, "agent_starts": one, "agent_wins": one, "turns": both, "forfeits": both}
        arrays = {name: _checked(contents[name], name, shape) for name, shape in shapes.items()}
        if not ((arrays["agent_wins"] >= 0) & (arrays["agent_wins"] <= 1)).all():
            raise ValueError("agent_wins are not 0 to 1")
        if not (arrays["turns"] >= 0).all():
            raise ValueError("turns are below 0")
        figures = {name: _checked(values, name, both) for name, values in contents["figures"].items()}
        return cls(game, **arrays, figures=figures)


_ARRAYS = [field.name for field in fields(MatchGames) if field.name not in ("game", "figures")]
_KINDS = {"seats": "i", "agent_starts": "b", "turns": "i", "forfeits": "b"}
"""The kinds of types that arrays must have that were read; all others may hold any numbers."""


def _checked(values: Any, name: str, shape: tuple[int, ...]) -> npt.NDArray[Any]:
    array = np.array(values)
    if array.shape != shape or array.dtype.kind not in _KINDS.get(name, "bif"):
        raise ValueError(f"{name} is an array of {array.dtype} {array.shape}; it must have the shape {shape}")
    return array


class Figure(NamedTuple):
    """A figure that results have of both sides, such as the score.

    Attributes:
        of: A function from a contest whose games are over to the values of the agent and of the opponent in
            all games, ``(n, 2)``.
        title: The name of the figure in tables of many agents and in pictures of distributions; None to leave
            it out there.
        is_share: Whether the mean of the figure is a share of the games.
    """

    of: Callable[[Any], npt.NDArray[Any]]
    title: str | None = None
    is_share: bool = False


class Contest:
    """The games of a block, from their set-ups to their figures.

    It serves any game of two players; a class derived from it adds what is special to one game.

    Attributes:
        game: The name of the game.
        set_up: What both sides have in common, in a word: ``"circle"`` or ``"deck"``.
        variant: The name of the game's option that says what is played; empty if there is none.
        variants: The values of this option, the usual one first.
        is_solitary: Whether the sides do not interact. If so, every set-up is played once, there are ties,
            and the mean score of a side does not depend on the other. If not, every set-up is played twice,
            with seats and the first turn swapped.
        metric: What agents are compared by: ``"win_rate"``, or ``"score"`` where the sides do not interact.
        games_per_set_up: The number of games with each set-up.
        figures: The figures that results have of both sides, by name.
        states: The records of all games, ``(n,)``; those of one set-up are neighbors.
        seats: The seat of the agent that is measured, int64 ``(n,)``.
        agent_starts: Whether this agent has the first turn, bool ``(n,)``.
        turns: The number of actions of each side so far, int64 ``(n, 2)``.
        forfeits: Whether each side has forfeited, bool ``(n, 2)``.
        kept: The games that are kept move by move, the first ones of the match.

    Args:
        block: The set-ups that are played.
        tracks_all: Whether to follow all games move by move, for agents that are given their moves.
    """

    game: ClassVar[str]
    set_up: ClassVar[str] = "set-up"
    variant: ClassVar[str] = ""
    variants: ClassVar[tuple[str, ...]] = ("",)
    is_solitary: ClassVar[bool] = False
    metric: ClassVar[str] = "win_rate"
    games_per_set_up: ClassVar[int] = 2
    figures: ClassVar[Mapping[str, Figure]] = {
        "score": Figure(lambda contest: contest.of_players(contest.rules.kernels.score), "score"),
        "turns": Figure(lambda contest: contest.turns),
    }

    def __init__(self, block: Block, *, tracks_all: bool = False) -> None:
        self.rules: Rules = rules_of(self.game)
        self._streams = seed_streams(block.seed, block.end)[block.begin :]
        times, set_ups = self.games_per_set_up, self._deal(block)
        self.states: States = np.repeat(set_ups, times)
        in_turn = np.arange(block.begin, block.end) if self.is_solitary else np.arange(len(self.states))
        self.seats: Integers = in_turn % SIDES
        self.agent_starts = self.states["current_player"] == self.seats
        self.turns = np.zeros((len(self.states), SIDES), np.int64)
        self.forfeits = np.zeros((len(self.states), SIDES), np.bool_)
        number = min(max(block.keep - times * block.begin, 0), len(self.states))
        tracked, of_record = len(self.states) if tracks_all else number, self.rules.game._of_record
        self._tracked: tuple[BaseGame[Any], ...] = tuple(of_record(self.states, i) for i in range(tracked))
        self.kept = self._tracked[:number]

    def _deal(self, block: Block) -> States:
        """The first record of every set-up; each is dealt from its own random stream."""
        options = dict(self.rules.options)
        if self.variant:
            options[self.variant] = block.variant
        if "players" in options:
            options["players"] = SIDES
        beginning = self.rules.set_up(options, {})
        states = self.rules.empty_states(len(self._streams))
        loop(deal_all, self.rules)(states, self._streams, beginning.beginning, beginning.chance)
        return states

    def shown(self, games: Integers) -> States:
        """The records that an agent is shown of the listed games: copies that betray nothing hidden."""
        return imagined(self.rules, records_at(self.states, games), self._streams, games)

    def game_for_agent(self, i: int, shown: States, k: int) -> BaseGame[Any]:
        """A copy of a game for an agent that chooses game by game; with all moves, if none is hidden.

        Args:
            i: The number of the game; all games must be followed move by move.
            shown: The records from :meth:`shown`.
            k: The index of game ``i`` in these records.
        """
        return self.rules.game._of_record(shown, k) if self.rules.hides else self._tracked[i].clone()

    def play(self, games: Integers, actions: Integers, side: int) -> None:
        """Plays actions of one side in the listed games."""
        self._apply(games, actions, side)
        self.turns[games, side] += 1
        if self._tracked:
            for i, action in zip(games[games < len(self._tracked)], actions, strict=False):
                self._tracked[i].play(action)

    def _apply(self, games: Integers, actions: Integers, side: int) -> None:
        """Plays the actions on the records, and counts what the figures need."""
        loop(play_listed, self.rules)(self.states, games, actions)

    def over(self, games: Integers) -> npt.NDArray[np.bool_]:
        """Whether each of the listed games is over, or forfeited, bool ``(games,)``."""
        over = np.empty(len(games), np.bool_)
        loop(write_over, self.rules)(self.states, games, over)
        return over | self.forfeits[games].any(1)

    def result(self) -> MatchGames:
        """The figures of all games, which must be over; of forfeited ones, those of the last position."""
        figures = {name: figure.of(self) for name, figure in self.figures.items()}
        wins = self._agent_wins()
        wins[self.forfeits.any(1)] = self.forfeits[self.forfeits.any(1), OPPONENT]
        return MatchGames(self.game, self.seats, self.agent_starts, wins, self.turns, self.forfeits, figures)

    def _agent_wins(self) -> npt.NDArray[Any]:
        """What the agent won of each game, ``(n,)``: 1, 0, or 0.5 where the sides share the victory."""
        outcomes = np.empty(len(self.states))
        loop(_write_outcomes, self.rules)(self.states, self.seats, outcomes)
        return (1 + np.sign(outcomes)) / 2

    @property
    def players(self) -> Integers:
        """The seats of the agent and of the opponent in every game, ``(n, 2)``."""
        return np.stack([self.seats, 1 - self.seats], axis=1)

    def by_side(self, field: str) -> npt.NDArray[Any]:
        """A field that has an entry for each player, of the agent and of the opponent, ``(n, 2)``."""
        return np.take_along_axis(self.states[field], self.players, axis=1).astype(np.int64)

    def of_players(self, figure: Callable[..., int]) -> Integers:
        """The figures of the agent and of the opponent, ``(n, 2)``, from a kernel of the game."""
        rows = [[figure(self.states, i, player) for player in row] for i, row in enumerate(self.players)]
        return np.array(rows, np.int64)


game = cast(Kernels, None)  # each game's kernels take its place


@template
def _write_outcomes(states: States, seats: Integers, outcomes: npt.NDArray[np.float64]) -> None:
    """Writes the outcome of game ``i`` for the player in ``seats[i]``; it is positive for a victory."""
    for i in range(len(states)):
        outcomes[i] = game.outcome(states, i, seats[i])
