"""Plays the games of a dataset block by block: which agents meet in a game, and what is dealt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from patchwork_env.agents import Agent
from patchwork_env.core.batches import deal_all, loop
from patchwork_env.core.checks import seed_streams
from patchwork_env.core.game import BaseGame
from patchwork_env.games import rules_of
from patchwork_env.learning.evaluation.playing import BLOCK_SIZE, Games, derived_seed


class Block(NamedTuple):
    """The games ``begin ... end - 1`` of a dataset, which are played side by side."""

    game: str
    options: Mapping[str, Any]
    seed: int  # of the dataset
    begin: int  # the number of the first game
    end: int


class PlayedGame(NamedTuple):
    """A game that was played to its end."""

    number: int  # in the dataset
    seed: int  # with which the game and environments deal it
    game: BaseGame[Any]
    seating: tuple[int, ...]  # which of the agents sat in each seat


def split(game: str, options: Mapping[str, Any], games: int, seed: int) -> list[Block]:
    """Divides the games of a dataset into blocks."""
    begins = range(0, games, BLOCK_SIZE)
    return [Block(game, options, seed, begin, min(begin + BLOCK_SIZE, games)) for begin in begins]


def play_block(agents: Sequence[Agent], block: Block) -> list[PlayedGame]:
    """Plays all games of a block, which depend on the agents and the block alone."""
    numbers, rules = range(block.begin, block.end), rules_of(block.game)
    seeds = [derived_seed(block.seed, number) for number in numbers]
    set_up, states = rules.set_up(block.options, {}), rules.empty_states(len(numbers))
    dealt = np.concatenate([seed_streams(seed) for seed in seeds])
    loop(deal_all, rules)(states, dealt, set_up.beginning, set_up.chance)
    hidden = seed_streams(derived_seed(block.seed, block.begin, len(agents)), len(numbers))
    seating = np.array([seats_of(number, set_up.players, len(agents)) for number in numbers])
    games = Games(agents, states, hidden, seating, keep=len(numbers))
    games.play([derived_seed(block.seed, block.begin, place) for place in range(len(agents))])
    seated = map(tuple, seating.tolist())
    return list(map(PlayedGame, numbers, seeds, games.kept, seated))


def seats_of(number: int, players: int, agents: int) -> list[int]:
    """Which of the agents sits in each seat of a game: they move up by one seat from game to game."""
    return [(number + seat) % agents for seat in range(players)]
