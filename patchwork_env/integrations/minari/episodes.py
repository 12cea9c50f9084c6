"""Plays the games of a dataset block by block, and makes episodes of them: what each player sees and does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env.agents import Agent
from patchwork_env.core.batches import SCORE, Masks, deal_all, final_reward, loop, write_views
from patchwork_env.core.checks import seed_streams
from patchwork_env.core.game import BaseGame, Rules
from patchwork_env.core.kernels import States
from patchwork_env.core.tensors import Observation
from patchwork_env.games import rules_of
from patchwork_env.learning.evaluation.playing import Games, Integers, spawn_seed


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


def play_block(agents: Sequence[Agent], block: Block) -> list[PlayedGame]:
    """Plays all games of a block, which depend on the agents and the block alone."""
    numbers, rules = range(block.begin, block.end), rules_of(block.game)
    seeds = [spawn_seed(block.seed, number) for number in numbers]
    set_up, states = rules.set_up(block.options, {}), rules.empty_states(len(numbers))
    dealt = np.concatenate([seed_streams(seed) for seed in seeds])
    loop(deal_all, rules)(states, dealt, set_up.initial_state, set_up.flags)
    hidden = seed_streams(spawn_seed(block.seed, block.begin, len(agents)), len(numbers))
    seating = np.array([seats_of(number, set_up.players, len(agents)) for number in numbers])
    games = Games(agents, states, hidden, seating, keep=len(numbers))
    games.play([spawn_seed(block.seed, block.begin, place) for place in range(len(agents))])
    seated = map(tuple, seating.tolist())
    return list(map(PlayedGame, numbers, seeds, games.kept, seated))


def seats_of(number: int, players: int, agents: int) -> list[int]:
    """Which of the agents sits in each seat of a game: they move up by one seat from game to game."""
    return [(number + seat) % agents for seat in range(players)]


class Episode(NamedTuple):
    """What one player sees and does in a game, in which the player decides ``T`` times.

    The last entries of observations, masks and plies are those at the end of the game.
    """

    seat: int
    observations: Observation  # float32 ``(T + 1, size)``, from this player's view
    masks: Masks  # int8 ``(T + 1, num_actions)``; at the end all zeros
    actions: Integers  # int64 ``(T,)``
    rewards: npt.NDArray[np.float64]  # float64 ``(T,)``
    plies: npt.NDArray[np.int16]  # the actions of all players before, int16 ``(T + 1,)``


def _states_of(game: BaseGame[Any]) -> States:
    """The records of a game before every action and at the end, ``(plies + 1,)``."""
    position = game.root()
    states = np.repeat(position.state, len(game.history) + 1)
    for ply, action in enumerate(game.history, 1):
        position.play(action)
        states[ply] = position.state[0]
    return states


def episodes_of(rules: Rules, played: PlayedGame, rewards: int) -> Iterator[Episode]:
    """The episodes of all players of a game; rewards are of the kind ``rewards``."""
    actions, states = np.array(played.game.history, np.int64), _states_of(played.game)
    end = len(actions)
    movers = states["current_player"][:end]
    for seat in range(len(played.seating)):
        plies = np.append(np.flatnonzero(movers == seat), end)
        observations, masks = _views(rules, states[plies], seat)
        yield Episode(
            seat=seat,
            observations=observations,
            masks=masks,
            actions=actions[plies[:-1]],
            rewards=_rewards(rules, states[plies], seat, rewards),
            plies=plies.astype(np.int16),
        )


def _views(rules: Rules, states: States, seat: int) -> tuple[Observation, Masks]:
    count = len(states)
    observations = np.empty((count, rules.layout.size), np.float32)
    masks = np.empty((count, rules.num_actions), np.int8)
    loop(write_views, rules)(states, np.arange(count), np.full(count, seat), masks, observations)
    return observations, masks


def _rewards(rules: Rules, states: States, seat: int, kind: int) -> npt.NDArray[np.float64]:
    """A player's rewards, ``(T,)``, for ``T`` records in which it is to move, and the last one."""
    if kind == SCORE:
        score = rules.kernels.score
        return np.diff([float(score(states, i, seat)) for i in range(len(states))])
    rewards = np.zeros(len(states) - 1)
    rewards[-1] = loop(final_reward, rules)(states, len(states) - 1, seat, kind)
    return rewards
