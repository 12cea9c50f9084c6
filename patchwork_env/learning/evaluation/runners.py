"""Matches in blocks, the figures of their games, and the runner that plays a block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple, Self, cast

import numpy as np
import numpy.typing as npt

from patchwork_env.agents import Agent
from patchwork_env.core.batches import loop
from patchwork_env.core.checks import check_one_of, seed_streams
from patchwork_env.core.compile import template
from patchwork_env.core.kernels import Kernels, States
from patchwork_env.core.names import counted
from patchwork_env.core.parts import MatchPart
from patchwork_env.core.random import Streams
from patchwork_env.games import GAMES, part_of, rules_of
from patchwork_env.learning.evaluation.playing import BLOCK_SIZE, GamesInPlay, Integers, spawn_seed
from patchwork_env.learning.evaluation.sequential import SequentialTest

AGENT, OPPONENT = 0, 1  # columns of the figures that both sides have
SIDES = 2


class Match(NamedTuple):
    """A match between two of several players, with all settings of its games."""

    sides: tuple[int, int]  # the indices of the player that is measured and of its opponent
    names: tuple[str, str]  # their names in the result
    game: str
    variant: str  # one of the `variants` of the game's `MatchPart`
    games: int
    seed: int  # of the circles or decks and of both players' random numbers
    keep: int = 0  # the number of first games to keep with all moves
    forfeits: bool = False  # whether a player that fails loses the game
    block_size: int = BLOCK_SIZE  # the number of circles or decks that are played at once
    key: str = ""  # the name of the match in a store of games
    test: SequentialTest | None = None  # ends the match once it decides

    def blocks(self) -> list[MatchBlock]:
        """Return the games in blocks of ``block_size`` circles or decks, the last of which may have fewer."""
        size, end = self.block_size, self.games // match_part(self.game).games_per_set_up
        return [MatchBlock(self, k, min(k + size, end)) for k in range(0, end, size)]


class MatchBlock(NamedTuple):
    """The set-ups ``begin ... end - 1`` of a match: its circles or decks."""

    match: Match
    begin: int
    end: int

    @property
    def games(self) -> int:
        """The number of games."""
        return (self.end - self.begin) * match_part(self.match.game).games_per_set_up

    @property
    def key(self) -> str:
        """The name of the block in a store of games."""
        return f"{self.match.key}_{self.begin:06d}_{self.end:06d}"


@dataclass(frozen=True)
class MatchGames:
    """The figures of ``n`` games, all of a match; the games of a set-up are neighbors."""

    game: str  # its name
    seats: Integers  # `(n,)`, the agent's seat, 0 or 1
    agent_starts: npt.NDArray[np.bool_]  # `(n,)`, whether the agent has the first turn
    agent_wins: npt.NDArray[np.float64]  # `(n,)`, 1 for a victory, 0.5 for a tie
    turns: Integers  # `(n, 2)`, the number of actions of agent and opponent
    forfeits: npt.NDArray[np.bool_]  # `(n, 2)`, whether agent or opponent lost by a failure
    figures: Mapping[str, npt.NDArray[Any]]  # those of `MatchPart.figures`, arrays `(n, 2)`

    def __len__(self) -> int:
        return len(self.seats)

    def __repr__(self) -> str:
        return f"<MatchGames: {counted(len(self), 'game')} of {self.game}>"

    @property
    def scores(self) -> Integers:
        """The scores of the agent and of the opponent, ``(n, 2)``."""
        return self.figures["score"]

    @classmethod
    def joined(cls, parts: Sequence[MatchGames]) -> MatchGames:
        """Return the games of all parts together, in order."""
        arrays = {name: np.concatenate([getattr(part, name) for part in parts]) for name in _ARRAYS}
        names = parts[0].figures
        figures = {name: np.concatenate([part.figures[name] for part in parts]) for name in names}
        return cls(parts[0].game, **arrays, figures=figures)

    def as_dict(self) -> dict[str, Any]:
        """Return all figures as plain data, for JSON."""
        arrays: dict[str, Any] = {name: getattr(self, name).tolist() for name in _ARRAYS}
        return arrays | {"figures": {name: figure.tolist() for name, figure in self.figures.items()}}

    @classmethod
    def from_dict(cls, contents: Mapping[str, Any], game: str) -> Self:
        """Return the inverse of :meth:`as_dict`."""
        arrays = {name: np.array(contents[name]) for name in _ARRAYS}
        figures = {name: np.array(contents["figures"][name]) for name in match_part(game).figures}
        return cls(game, **arrays, figures=figures)


_ARRAYS = [field.name for field in fields(MatchGames) if field.name not in ("game", "figures")]


class MatchRunner(GamesInPlay):
    """The games of a block of a match between an agent and its opponent.

    Attributes:
        players: The seats of the agent and of the opponent in every game, int64 ``(n, 2)``.
    """

    def __init__(self, agents: tuple[Agent, Agent], block: MatchBlock) -> None:
        self._match, self._part = block.match, match_part(block.match.game)
        times = self._part.games_per_set_up
        streams = seed_streams(self._match.seed, block.end)[block.begin :]
        states = np.repeat(_deal(block, streams), times)
        in_turn = np.arange(len(states)) + (block.begin if self._part.is_noninteractive else 0)
        seats = in_turn % SIDES
        # With two seats, this array also has the side in each seat.
        self.players: Integers = np.stack([seats, 1 - seats], axis=1)
        keep = min(max(self._match.keep - times * block.begin, 0), len(states))
        super().__init__(agents, states, np.repeat(streams, times, axis=0), self.players, keep)
        self._agent_starts = states["current_player"] == seats
        self._seeds = [spawn_seed(self._match.seed, block.begin, side) for side in range(SIDES)]
        self._counts: Integers = np.zeros((SIDES, len(states), len(self._part.counted)), np.int64)

    def run(self) -> MatchGames:
        """Play all games; the figures of forfeited ones are those of the last position."""
        self.play(self._seeds, forfeits=self._match.forfeits)
        seats = self.players[:, AGENT]
        outcomes = np.empty(len(self.states))
        loop(_write_outcomes, self.rules)(self.states, seats, outcomes)
        wins, are_forfeited = (1 + np.sign(outcomes)) / 2, self.forfeits.any(1)
        wins[are_forfeited] = self.forfeits[are_forfeited, OPPONENT]
        by_seat = (self._part.figures_of or self._scores)(self.states)
        known = {name: np.take_along_axis(of, self.players, axis=1) for name, of in by_seat.items()}
        known |= dict(zip(self._part.counted, self._counts.T, strict=True))
        known["turns"] = self.turns
        figures = {name: known[name] for name in self._part.figures}
        return MatchGames(
            self._match.game, seats, self._agent_starts, wins, self.turns, self.forfeits, figures
        )

    def _apply(self, games: Integers, actions: Integers, number: int) -> None:
        if self._part.count:
            self._part.count(self.states, games, actions, self._counts[number])
        else:
            super()._apply(games, actions, number)

    def _scores(self, states: States) -> dict[str, Integers]:
        score = self.rules.kernels.score
        rows = [[score(states, i, player) for player in range(SIDES)] for i in range(len(states))]
        return {"score": np.array(rows, np.int64)}


def _deal(block: MatchBlock, streams: Streams) -> States:
    """Return the first record of every set-up, dealt from its own random stream.

    If a game has the option ``first_player``, both seats start in turn.
    """
    match, rules = block.match, rules_of(block.match.game)
    options = dict(rules.options)
    if variant := match_part(match.game).variant:
        options[variant] = match.variant
    if "players" in options:
        options["players"] = SIDES
    starts = [{"first_player": seat} for seat in range(SIDES)] if "first_player" in rules.defaults else [{}]
    set_ups = [rules.set_up(options, start) for start in starts]
    states = rules.empty_states(len(streams))
    for k in range(len(states)):
        set_up = set_ups[(block.begin + k) % len(set_ups)]
        rules.kernels.deal(states, k, streams, set_up.initial_state, set_up.flags)
    return states


game = cast(Kernels, None)  # each game's kernels take its place


@template
def _write_outcomes(states: States, seats: Integers, outcomes: npt.NDArray[np.float64]) -> None:
    """Write the outcome of game ``i`` for the player in ``seats[i]``; it is positive for a victory."""
    for i in range(len(states)):
        outcomes[i] = game.outcome(states, i, seats[i])


def match_part(game: str) -> MatchPart:
    """Return the part ``matches`` of a game; ValueError if the game has none or does not exist."""
    part: MatchPart = part_of(game, "matches")
    return part


def common_game(agents: Sequence[Agent], asked: str | None = None) -> str:
    """Return the game of a match: that asked for, the only one that all agents play, or else Patchwork."""
    if asked is not None:
        check_one_of(asked, GAMES, "game")
        for agent in agents:
            agent.check_game(asked)
        return asked
    common = [game for game in GAMES if all(game in agent.games for agent in agents)]
    if not common:
        they = ", ".join(f"{agent.name!r} plays {' and '.join(agent.games)}" for agent in agents)
        raise ValueError(f"agents of different games cannot meet: {they}")
    return common[0]


def check_variant(game: str, options: Mapping[str, Any]) -> str:
    """Return the variant that an option names, such as ``{"order": "known"}``; the first one by default."""
    part = match_part(game)
    name = part.variant
    for key in options:
        if options[key] is not None and key != name:
            has = f"it has {name!r}" if name else "it has none"
            raise ValueError(f"matches of {game} have no option {key!r}; {has}")
    value: str = part.variants[0] if options.get(name) is None else options[name]
    check_one_of(value, part.variants, name)
    return value
