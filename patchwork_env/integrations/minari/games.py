"""Plays the games of a dataset block by block: which agents meet in a game, and what they played."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env.agents import Agent
from patchwork_env.core.batches import deal_all, imagined, loop, play_listed, write_over
from patchwork_env.core.checks import seed_streams
from patchwork_env.core.random import Streams
from patchwork_env.core.records import records_at
from patchwork_env.core.rules import Rules, States
from patchwork_env.games import rules_of
from patchwork_env.learning.evaluation.blocks import BLOCK_SIZE, blamed, check_actions

Integers = npt.NDArray[np.int64]


class Block(NamedTuple):
    """The games ``begin ... end - 1`` of a dataset, which are played side by side.

    Attributes:
        game: The name of the game.
        options: All options of the game, by name.
        seed: The seed of the dataset.
        begin: The number of the first game.
        end: The number after that of the last game.
    """

    game: str
    options: Mapping[str, Any]
    seed: int
    begin: int
    end: int


class PlayedGame(NamedTuple):
    """A game that was played to its end.

    Attributes:
        number: Its number in the dataset.
        seed: The seed with which the game and environments deal it.
        beginning: The record with which it began, ``(1,)``.
        actions: What was played, int64 ``(plies,)``.
        seating: Which of the agents sat in each seat.
    """

    number: int
    seed: int
    beginning: States
    actions: Integers
    seating: tuple[int, ...]


def split(game: str, options: Mapping[str, Any], games: int, seed: int) -> list[Block]:
    """Divides the games of a dataset into blocks."""
    begins = range(0, games, BLOCK_SIZE)
    return [Block(game, options, seed, begin, min(begin + BLOCK_SIZE, games)) for begin in begins]


def play_block(agents: Sequence[Agent], block: Block) -> list[PlayedGame]:
    """Plays all games of a block.

    The agents are reseeded first, so that the games depend on the agents and the block alone.

    Raises:
        IllegalActionError: An agent chose an action that is not legal.
        OpponentError: An agent failed: it raised another error, or is a program.
        ValueError: An agent did not give one integer for each game.
    """
    numbers = range(block.begin, block.end)
    for place, agent in enumerate(agents):
        agent.reseed(_derived(block.seed, block.begin, place))
    seeds = [_derived(block.seed, number) for number in numbers]
    rules = rules_of(block.game)
    beginnings, players = _deal(rules, block.options, seeds)
    seating = np.array([seats_of(number, players, len(agents)) for number in numbers])
    hidden = seed_streams(_derived(block.seed, block.begin, len(agents)), len(numbers))
    plies = list(_plies(rules, agents, beginnings.copy(), seating, hidden))
    return [
        PlayedGame(
            number,
            seeds[i],
            beginnings[i : i + 1],
            np.array([actions[i] for actions in plies if i in actions]),
            tuple(seating[i].tolist()),
        )
        for i, number in enumerate(numbers)
    ]


def seats_of(number: int, players: int, agents: int) -> list[int]:
    """Which of the agents sits in each seat of a game: they move up by one seat from game to game."""
    return [(number + seat) % agents for seat in range(players)]


def _derived(*words: int) -> int:
    """A seed that depends on all of the numbers."""
    return int(np.random.SeedSequence(words).generate_state(1, np.uint64)[0])


def _deal(rules: Rules, options: Mapping[str, Any], seeds: Sequence[int]) -> tuple[States, int]:
    """The first records of games, each that of ``Game(seed)``, and the number of players."""
    set_up = rules.set_up(options, {})
    states = rules.empty_states(len(seeds))
    streams = np.concatenate([seed_streams(seed) for seed in seeds])
    loop(deal_all, rules)(states, streams, set_up.beginning, set_up.chance)
    return states, set_up.players


def _plies(
    rules: Rules, agents: Sequence[Agent], states: States, seating: Integers, hidden: Streams
) -> Iterator[dict[int, int]]:
    """Plays all games to their ends; yields what is played in the games that go on, a ply at a time."""
    running = np.arange(len(states))
    while len(running):
        asked = seating[running, states["current_player"][running]]
        for place in np.unique(asked):
            games = running[asked == place]
            shown = imagined(rules, records_at(states, games), hidden, games)
            with blamed(agents[place]):
                answer = agents[place].act_batch(shown)
            actions = check_actions(answer, agents[place], records_at(states, games))
            loop(play_listed, rules)(states, games, actions)
            yield dict(zip(games.tolist(), actions.tolist(), strict=True))
        over = np.empty(len(running), np.bool_)
        loop(write_over, rules)(states, running, over)
        running = running[~over]
