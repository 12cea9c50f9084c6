"""Runners, which play the games of a match and compute their figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self, cast

import numpy as np
import numpy.typing as npt

from patchwork_env.agents import Agent
from patchwork_env.core.batches import deal_all, loop
from patchwork_env.core.checks import check_one_of, seed_streams
from patchwork_env.core.compile import kernel, template
from patchwork_env.core.kernels import Kernels, States
from patchwork_env.core.names import counted
from patchwork_env.core.random import Streams
from patchwork_env.games import GAMES, NMBR9, PATCHWORK, part_of, rules_of
from patchwork_env.learning.evaluation.playing import BLOCK_SIZE, GamesInPlay, Integers, spawn_seed
from patchwork_env.nmbr9.components import ORDERS
from patchwork_env.nmbr9.figures import player_figures as nmbr9_figures
from patchwork_env.patchwork import engine as patchwork
from patchwork_env.patchwork.actions import ADVANCE, FIRST_SPECIAL
from patchwork_env.patchwork.components import NUM_PLAYERS, VARIANTS
from patchwork_env.patchwork.figures import FROM_ADVANCING, FROM_INCOME, SPENT, apply_counting
from patchwork_env.patchwork.figures import player_figures as patchwork_figures

AGENT, OPPONENT = 0, 1  # columns of the figures that both sides have
SIDES = 2


class Match(NamedTuple):
    """A match between two of several players, and what decides its games."""

    sides: tuple[int, int]  # the indices of the player that is measured and of its opponent
    names: tuple[str, str]  # what the result calls them
    game: str
    variant: str  # one of the runner's `variants`
    games: int
    seed: int  # of the circles or decks and of both players' random numbers
    keep: int = 0  # how many games, the first ones, are kept move by move
    forfeits: bool = False  # whether a player that fails loses the game
    block_size: int = BLOCK_SIZE  # how many circles or decks are played at once
    key: str = ""  # the name of the match in a store of games

    def blocks(self) -> list[MatchBlock]:
        """Return the games in blocks of ``block_size`` circles or decks, the last of which may have fewer."""
        size, end = self.block_size, self.games // runner_of(self.game).games_per_set_up
        return [MatchBlock(self, k, min(k + size, end)) for k in range(0, end, size)]


class MatchBlock(NamedTuple):
    """The set-ups ``begin ... end - 1`` of a match: its circles or decks."""

    match: Match
    begin: int
    end: int

    @property
    def games(self) -> int:
        """The number of games."""
        return (self.end - self.begin) * runner_of(self.match.game).games_per_set_up

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
    agent_wins: npt.NDArray[Any]  # `(n,)`, bool, or float64 with 0.5 for a tie
    turns: Integers  # `(n, 2)`, the number of actions of agent and opponent
    forfeits: npt.NDArray[np.bool_]  # `(n, 2)`, whether agent or opponent failed, and lost so
    figures: Mapping[str, npt.NDArray[Any]]  # those of `MatchRunner.figures`, arrays `(n, 2)`

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
        figures = {name: np.array(contents["figures"][name]) for name in runner_of(game).figures}
        return cls(game, **arrays, figures=figures)


_ARRAYS = [field.name for field in fields(MatchGames) if field.name not in ("game", "figures")]


class Figure(NamedTuple):
    """A figure that results have of both sides, such as the score."""

    title: str | None = None  # in tables and pictures of many agents; None to leave it out there
    is_share: bool = False  # whether its mean is a share of the games
    of: Callable[[Any], npt.NDArray[Any]] | None = (
        None  # of a runner, `(n, 2)`; None for `runner.final(name)`
    )


class MatchRunner(GamesInPlay):
    """The games of a block of any game of two players between an agent and its opponent.

    Attributes:
        set_up: The common set-up of both sides, in a word: ``"circle"`` or ``"deck"``.
        variant, variants: The game's option for its variant, empty without variants, and its values, the
            usual one first.
        is_noninteractive: Whether every set-up is played once, as the sides do not interact, and not with
            seats swapped, too.
        metric: What agents are compared by: ``"win_rate"`` or ``"score"``.
        figures: The figures that results have of both sides, by name.
        players: The seats of the agent and of the opponent in every game, int64 ``(n, 2)``.
    """

    game: ClassVar[str]
    set_up: ClassVar[str] = "set-up"
    variant: ClassVar[str] = ""
    variants: ClassVar[tuple[str, ...]] = ("",)
    is_noninteractive: ClassVar[bool] = False
    metric: ClassVar[str] = "win_rate"
    games_per_set_up: ClassVar[int] = 2
    figures: ClassVar[Mapping[str, Figure]] = {
        "score": Figure("score"),
        "turns": Figure(of=lambda runner: runner.turns),
    }

    def __init__(self, agents: tuple[Agent, Agent], block: MatchBlock) -> None:
        match, times = block.match, self.games_per_set_up
        streams = seed_streams(match.seed, block.end)[block.begin :]
        states = np.repeat(self._deal(block, streams), times)
        in_turn = np.arange(len(states)) + (block.begin if self.is_noninteractive else 0)
        seats = in_turn % SIDES
        # Of two seats, where each side sits and who sits in each seat are the same numbers.
        self.players: Integers = np.stack([seats, 1 - seats], axis=1)
        keep = min(max(match.keep - times * block.begin, 0), len(states))
        super().__init__(agents, states, np.repeat(streams, times, axis=0), self.players, keep)
        self._agent_starts = states["current_player"] == seats
        self._seeds = [spawn_seed(match.seed, block.begin, side) for side in range(SIDES)]
        self._forfeits = match.forfeits

    @classmethod
    def _deal(cls, block: MatchBlock, streams: Streams) -> States:
        """Return the first record of every set-up; each is dealt from its own random stream."""
        rules = rules_of(cls.game)
        options = dict(rules.options)
        if cls.variant:
            options[cls.variant] = block.match.variant
        if "players" in options:
            options["players"] = SIDES
        set_up = rules.set_up(options, {})
        states = rules.empty_states(len(streams))
        loop(deal_all, rules)(states, streams, set_up.initial_state, set_up.flags)
        return states

    def run(self) -> MatchGames:
        """Play all games; the figures of forfeited ones are those of the last position."""
        self.play(self._seeds, forfeits=self._forfeits)
        figures = {
            name: figure.of(self) if figure.of else self.final(name) for name, figure in self.figures.items()
        }
        wins, are_forfeited = self._agent_wins(), self.forfeits.any(1)
        wins[are_forfeited] = self.forfeits[are_forfeited, OPPONENT]
        seats = self.players[:, AGENT]
        return MatchGames(self.game, seats, self._agent_starts, wins, self.turns, self.forfeits, figures)

    def _agent_wins(self) -> npt.NDArray[Any]:
        """Return the agent's share of each victory, ``(n,)``: 1, 0, or 0.5 for a tie."""
        outcomes = np.empty(len(self.states))
        loop(_write_outcomes, self.rules)(self.states, self.players[:, AGENT], outcomes)
        return (1 + np.sign(outcomes)) / 2

    def final(self, name: str) -> npt.NDArray[Any]:
        """Return one of :attr:`player_figures` of the agent and of the opponent, ``(n, 2)``."""
        return np.take_along_axis(self.player_figures[name], self.players, axis=1)

    @cached_property
    def player_figures(self) -> Mapping[str, npt.NDArray[Any]]:
        """Figures of the players by seat at the end of all games, by name, ``(n, 2)``."""
        score = self.rules.kernels.score
        rows = [[score(self.states, i, player) for player in range(SIDES)] for i in range(len(self.states))]
        return {"score": np.array(rows, np.int64)}


game = cast(Kernels, None)  # each game's kernels take its place


@template
def _write_outcomes(states: States, seats: Integers, outcomes: npt.NDArray[np.float64]) -> None:
    """Write the outcome of game ``i`` for the player in ``seats[i]``; it is positive for a victory."""
    for i in range(len(states)):
        outcomes[i] = game.outcome(states, i, seats[i])


# --- Patchwork ----------------------------------------------------------------------------------------------

_PATCHES, _SPECIALS = 3, 4
_NUM_COUNTED = 5
"""The columns of counts of a game: those of an economy, patches and special patches."""


class PatchworkRunner(MatchRunner):
    """Pairs of games in which the same seat has the first turn; the agent takes each seat once."""

    game = PATCHWORK
    set_up = "circle"
    variant = "special_patches"
    variants = VARIANTS
    figures: ClassVar[Mapping[str, Figure]] = {
        "score": Figure("score"),
        "empty_cells": Figure("empty cells"),
        "bonus_tile": Figure(is_share=True),
        "income": Figure(),
        "buttons": Figure(),
        "buttons_spent": Figure(of=lambda runner: runner.counts[..., SPENT].T),
        "buttons_from_income": Figure(of=lambda runner: runner.counts[..., FROM_INCOME].T),
        "buttons_from_advancing": Figure(of=lambda runner: runner.counts[..., FROM_ADVANCING].T),
        "patches": Figure(of=lambda runner: runner.counts[..., _PATCHES].T),
        "special_patches": Figure(of=lambda runner: runner.counts[..., _SPECIALS].T),
        "turns": Figure(of=lambda runner: runner.turns),
    }

    @cached_property
    def player_figures(self) -> Mapping[str, npt.NDArray[Any]]:
        """Figures of the players by seat at the end of all games, by name, ``(n, 2)``."""
        return patchwork_figures(self.states)

    def __init__(self, agents: tuple[Agent, Agent], block: MatchBlock) -> None:
        super().__init__(agents, block)
        self.counts: Integers = np.zeros((SIDES, len(self.states), _NUM_COUNTED), np.int64)

    @classmethod
    def _deal(cls, block: MatchBlock, streams: Streams) -> States:
        rules = rules_of(PATCHWORK)
        circles, deal = rules.empty_states(len(streams)), rules.kernels.deal
        options = {**rules.options, "special_patches": block.match.variant}
        by_first = [rules.set_up(options, {"first_player": first}) for first in range(NUM_PLAYERS)]
        for k in range(len(circles)):
            set_up = by_first[(block.begin + k) % NUM_PLAYERS]
            deal(circles, k, streams, set_up.initial_state, set_up.flags)
        return circles

    def _apply(self, games: Integers, actions: Integers, number: int) -> None:
        _play_counting(self.states, games, actions, self.counts[number])

    def _agent_wins(self) -> npt.NDArray[np.bool_]:
        """There are no draws."""
        winners = [patchwork.winner(self.states, i) for i in range(len(self.states))]
        return np.array(winners) == self.players[:, AGENT]


@kernel
def _play_counting(states: States, games: Integers, actions: Integers, counts: Integers) -> None:
    for k in range(len(games)):
        action, sums = actions[k], counts[games[k]]
        apply_counting(states, games[k], action, sums)
        sums[_PATCHES] += ADVANCE < action < FIRST_SPECIAL
        sums[_SPECIALS] += action >= FIRST_SPECIAL


# --- NMBR 9 -------------------------------------------------------------------------------------------------


class Nmbr9Runner(MatchRunner):
    """Games of two players with the same deck, each on a table of its own; seats change from deck to deck."""

    game = NMBR9
    set_up = "deck"
    variant = "order"
    variants = ORDERS
    is_noninteractive = True
    metric = "score"
    games_per_set_up = 1
    figures: ClassVar[Mapping[str, Figure]] = {
        "score": Figure("score"),
        "levels": Figure("levels"),
        "tiles_on_the_table": Figure(),
        "tiles_on_level_1": Figure(),
        "tiles_on_level_2": Figure(),
        "tiles_on_level_3": Figure(),
        "tiles_higher_up": Figure(),
    }

    @cached_property
    def player_figures(self) -> Mapping[str, npt.NDArray[Any]]:
        """Figures of the players by seat at the end of all games, by name, ``(n, 2)``."""
        return nmbr9_figures(self.states, SIDES)


def runner_of(game: str) -> type[MatchRunner]:
    """Return the runner of a game's matches; ValueError if the game has none, or there is no such game."""
    runner: type[MatchRunner] = part_of(game, "runner")
    return runner


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
    """Return the variant that an option names, such as ``{"order": "known"}``; the usual one by default."""
    runner = runner_of(game)
    name = runner.variant
    for key in options:
        if options[key] is not None and key != name:
            has = f"it has {name!r}" if name else "it has none"
            if key == "players":
                has = "a match is always between two players"
            raise ValueError(f"{game} has no option {key!r}; {has}")
    value: str = runner.variants[0] if options.get(name) is None else options[name]
    check_one_of(value, runner.variants, name)
    return value
