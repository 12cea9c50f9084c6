"""Patchwork games in pairs, from the set-up to the figures: all that matches need to know of the game."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env._compile import kernel
from patchwork_env.agents import Agent
from patchwork_env.patchwork import Game, IllegalActionError, engine
from patchwork_env.patchwork.actions import ADVANCE, FIRST_SPECIAL
from patchwork_env.patchwork.components import NUM_PLAYERS
from patchwork_env.patchwork.engine import is_over
from patchwork_env.patchwork.options import seed_streams
from patchwork_env.patchwork.state import States, empty_states
from training.results import AGENT, Games
from training.statistics import FROM_ADVANCING, FROM_INCOME, SPENT, apply_counting

GAME = "patchwork"
"""What results call the game."""

Sides = tuple[Agent, Agent]
"""The agent that is measured and its opponent."""
Integers = npt.NDArray[np.int64]

_PATCHES, _SPECIALS = 3, 4
_NUM_COUNTED = 5
"""What is counted while games are played: the columns of an economy, patches and special patches."""


class Block(NamedTuple):
    """The pairs ``begin ... end - 1`` of a match, of whose games the first ``keep`` are kept."""

    seed: int
    variant: int
    begin: int
    end: int
    keep: int = 0


class Played(NamedTuple):
    """What was played.

    Attributes:
        games: Figures of the games.
        seconds: What each side took to choose its actions.
        kept: The games that are kept, move by move.
    """

    games: Games
    seconds: tuple[float, float]
    kept: tuple[Game, ...] = ()


def play_block(sides: Sides, block: Block) -> Played:
    """Plays a block of pairs.

    Both agents are reseeded first, so that the games depend on the agents and the block alone.

    Raises:
        IllegalActionError: An agent chose an action that is not legal.
        ValueError: An agent did not give one action per game.
    """
    for side, agent in enumerate(sides):
        agent.reseed(_seed_of_agent(block, side))
    table = _set_up(block)
    seconds = _play_to_the_end(sides, table)
    return Played(_figures(table), seconds, table.kept)


class _Table(NamedTuple):
    """Games that are played side by side.

    Attributes:
        states: Records ``(n,)``.
        seats: ``(n,)``, of the agent that is measured.
        agent_starts: bool ``(n,)``.
        counts: ``(2, n, 5)``, what is counted of each side while the games are played.
        turns: ``(n, 2)``, of each side.
        kept: The first games once more, move by move.
    """

    states: States
    seats: Integers
    agent_starts: npt.NDArray[np.bool_]
    counts: Integers
    turns: Integers
    kept: tuple[Game, ...]


def _seed_of_agent(block: Block, side: int) -> int:
    return int(np.random.SeedSequence([block.seed, block.begin, side]).generate_state(1, np.uint64)[0])


def _set_up(block: Block) -> _Table:
    """The first positions of the block's games, ``(2 * pairs,)``, those of a pair side by side."""
    streams = seed_streams(block.seed, block.end)[block.begin :]
    circles = empty_states(len(streams))
    for k in range(len(circles)):
        engine.restart(circles, k, streams, block.variant, (block.begin + k) % NUM_PLAYERS)
    states = np.repeat(circles, 2)
    seats = np.tile(np.arange(NUM_PLAYERS), len(circles))
    return _Table(
        states,
        seats,
        agent_starts=states["current_player"] == seats,
        counts=np.zeros((NUM_PLAYERS, len(states), _NUM_COUNTED), np.int64),
        turns=np.zeros((len(states), NUM_PLAYERS), np.int64),
        kept=tuple(Game.from_state(states, i) for i in range(_number_kept(block))),
    )


def _number_kept(block: Block) -> int:
    return min(max(block.keep - 2 * block.begin, 0), 2 * (block.end - block.begin))


def _play_to_the_end(sides: Sides, table: _Table) -> tuple[float, float]:
    """Plays all games in place; returns the seconds that each side took."""
    states, seconds = table.states, [0.0, 0.0]
    running = np.arange(len(states))
    while len(running):
        agent_moves = states["current_player"][running] == table.seats[running]
        for side, agent in enumerate(sides):
            games = running[agent_moves == (side == AGENT)]
            if len(games):
                began = perf_counter()
                actions = _choose(agent, states[games])
                seconds[side] += perf_counter() - began
                _play_all(states, games, actions, table.counts[side])
                table.turns[games, side] += 1
                for game, action in zip(games[games < len(table.kept)], actions, strict=False):
                    table.kept[game].play(action)
        over = np.empty(len(running), np.bool_)
        _find_finished(states, running, over)
        running = running[~over]
    return seconds[0], seconds[1]


def _choose(agent: Agent, states: States) -> Integers:
    """The agent's actions, checked."""
    actions = np.ascontiguousarray(agent.act_batch(states.copy()), np.int64)
    if actions.shape != states.shape:
        raise ValueError(
            f"agent {agent.name!r} gave actions of shape {actions.shape} for {len(states)} games"
        )
    illegal = int(engine.first_illegal(states, actions))
    if illegal >= 0:
        game = Game.from_state(states, illegal)
        raise IllegalActionError(
            f"agent {agent.name!r} chose action {actions[illegal]}, not legal in {game!r}"
        )
    return actions


@kernel
def _play_all(states: States, games: Integers, actions: Integers, counts: Integers) -> None:
    for k in range(len(games)):
        action, counted = actions[k], counts[games[k]]
        apply_counting(states, games[k], action, counted)
        counted[_PATCHES] += ADVANCE < action < FIRST_SPECIAL
        counted[_SPECIALS] += action >= FIRST_SPECIAL


@kernel
def _find_finished(states: States, games: Integers, over: npt.NDArray[np.bool_]) -> None:
    for k in range(len(games)):
        over[k] = is_over(states, games[k])


def _figures(table: _Table) -> Games:
    """Figures of games that are over."""
    states, seats = table.states, table.seats
    players = np.stack([seats, 1 - seats], axis=1)
    return Games(
        seats=seats,
        agent_starts=table.agent_starts,
        agent_wins=np.array([engine.winner(states, i) for i in range(len(states))]) == seats,
        scores=_of_players(engine.score, states, players),
        empty_cells=_of_players(engine.empty_cells, states, players),
        bonus_tiles=states["bonus_owner"][:, None] == players,
        incomes=np.take_along_axis(states["income"], players, axis=1).astype(np.int64),
        buttons=np.take_along_axis(states["buttons"], players, axis=1).astype(np.int64),
        spent=table.counts[..., SPENT].T,
        from_income=table.counts[..., FROM_INCOME].T,
        from_advancing=table.counts[..., FROM_ADVANCING].T,
        patches=table.counts[..., _PATCHES].T,
        special_patches=table.counts[..., _SPECIALS].T,
        turns=table.turns,
    )


def _of_players(figure: Callable[..., int], states: States, players: Integers) -> Integers:
    """A figure of the agent and of the opponent in every game, ``(n, 2)``."""
    rows = [[figure(states, i, player) for player in row] for i, row in enumerate(players)]
    return np.array(rows, np.int64)
