"""Matches between two agents: every circle is played twice, with seats and the first turn swapped."""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import fields
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env import agents
from patchwork_env._compile import kernel
from patchwork_env.agents import Agent
from patchwork_env.patchwork import Game, IllegalActionError, engine
from patchwork_env.patchwork.components import NUM_PLAYERS
from patchwork_env.patchwork.engine import is_over
from patchwork_env.patchwork.options import as_integer, check_seed, check_variant, seed_streams
from patchwork_env.patchwork.state import States, empty_states
from training.results import AGENT, Games, Result
from training.statistics import FROM_ADVANCING, FROM_INCOME, SPENT, apply_counting

__all__ = ["Player", "Result", "play_matches"]

Player = str | Agent | Callable[..., Any]
"""A spec, an agent, or a function from a game to an action."""

_BLOCK = 64
"""Pairs that are played at once. Random numbers start anew in every block, so that its games are the same
whichever process plays them."""


def play_matches(
    agent: Player,
    opponent: Player,
    games: int,
    seed: int | None = 0,
    *,
    special_patches: str = "revised",
    workers: int = 1,
    progress: Callable[[int], object] | None = None,
    keep: int = 0,
) -> Result:
    """Plays paired games and measures ``agent`` against ``opponent``.

    A pair is two games with one circle in which the same seat has the first turn. The agent takes seat 0 in
    one and seat 1 in the other, so it starts one of them. The circle of pair ``k`` depends on ``seed`` and
    ``k`` alone: all agents meet the same circles. Both agents are reseeded; equal seeds give equal results.

    Args:
        agent: Who is measured: a spec, an agent or a function.
        opponent: Whom it is measured against.
        games: Their number, even and at least 2.
        seed: ``0 ... 2**64 - 1``; None for a fresh one, which the result names.
        special_patches: Print of the time track, ``"revised"`` or ``"2014"``.
        workers: Processes that share the work; with more than one, agents and functions must allow pickling.
        progress: Called with the number of games that ended since the last call.
        keep: Number of games, the first ones, that the result holds move by move.

    Raises:
        ValueError: An argument is not of these.
        FileNotFoundError: A spec names no checkpoint.
        IllegalActionError: An agent chose an action that is not legal.
    """
    pairs, workers, keep = _check_games(games) // 2, _check_workers(workers), _check_keep(keep, games)
    seed, variant = check_seed(seed), check_variant(special_patches)
    sides = agents.as_agent(agent), agents.as_agent(opponent)
    blocks = [_Block(seed, variant, k, min(k + _BLOCK, pairs), keep) for k in range(0, pairs, _BLOCK)]
    parts, kept = [], []
    for part in _play_all(sides, blocks, workers):
        parts.append(part.games)
        kept += part.kept
        if progress is not None:
            progress(len(part.games))
    return Result(_name(agent), _name(opponent), seed, special_patches, _join(parts), tuple(kept))


class _Block(NamedTuple):
    """The pairs ``begin ... end - 1`` of a match, of whose games the first ``keep`` are kept."""

    seed: int
    variant: int
    begin: int
    end: int
    keep: int


class _Part(NamedTuple):
    """Figures of the games of a block, and those of its games that are kept."""

    games: Games
    kept: list[Game]


_Sides = tuple[Agent, Agent]


def _check_games(games: Any) -> int:
    number = as_integer(games, "games")
    if number < 2 or number % 2:
        raise ValueError(
            f"games is {number}; it must be even and at least 2, for every circle is played from both seats"
        )
    return number


def _check_workers(workers: Any) -> int:
    number = as_integer(workers, "workers")
    if number < 1:
        raise ValueError(f"workers is {number}; it must be at least 1")
    return number


def _check_keep(keep: Any, games: int) -> int:
    number = as_integer(keep, "keep")
    if not 0 <= number <= games:
        raise ValueError(f"keep is {number}; it must be from 0 to the number of games, {games}")
    return number


def _name(player: Player) -> str:
    return player if isinstance(player, str) else agents.as_agent(player).name


# --- processes --------------------------------------------------------------------------------------------


_sides_of_worker: _Sides


def _play_all(sides: _Sides, blocks: list[_Block], workers: int) -> Iterator[_Part]:
    """Plays all blocks and yields what they give in order."""
    if workers == 1:
        yield from map(partial(_play, sides), blocks)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(workers, len(blocks)), context, _start_worker, sides) as pool:
        yield from pool.map(_play_in_worker, blocks)


def _start_worker(agent: Agent, opponent: Agent) -> None:
    global _sides_of_worker
    _sides_of_worker = agent, opponent
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)  # the processes have the cores already


def _play_in_worker(block: _Block) -> _Part:
    return _play(_sides_of_worker, block)


# --- games ------------------------------------------------------------------------------------------------


def _play(sides: _Sides, block: _Block) -> _Part:
    """Plays a block of pairs."""
    for side, agent in enumerate(sides):
        agent.reseed(_seed_of_agent(block, side))
    states = _set_up(block)
    seats = np.tile(np.arange(NUM_PLAYERS), block.end - block.begin)
    agent_starts = states["current_player"] == seats
    count = min(max(block.keep - NUM_PLAYERS * block.begin, 0), len(states))
    kept = [Game.from_state(states, i) for i in range(count)]
    turns, economy = _play_to_the_end(sides, states, seats, kept)
    return _Part(_figures(states, seats, agent_starts, turns, economy), kept)


def _seed_of_agent(block: _Block, side: int) -> int:
    return int(np.random.SeedSequence([block.seed, block.begin, side]).generate_state(1, np.uint64)[0])


def _set_up(block: _Block) -> States:
    """The first positions of the block's games, ``(2 * pairs,)``, those of a pair side by side."""
    streams = seed_streams(block.seed, block.end)[block.begin :]
    circles = empty_states(len(streams))
    for k in range(len(circles)):
        engine.restart(circles, k, streams, block.variant, (block.begin + k) % NUM_PLAYERS)
    return np.repeat(circles, 2)


def _play_to_the_end(
    sides: _Sides, states: States, seats: npt.NDArray[np.int64], kept: list[Game]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Plays all games in place, the first ones also move by move in ``kept``.

    Returns:
        The turns that each side had, ``(n, 2)``, and the buttons that each moved, ``(2, n, 3)``; see
        :func:`~training.statistics.apply_counting`.
    """
    turns = np.zeros((len(states), len(sides)), np.int64)
    economy = np.zeros((len(sides), len(states), 3), np.int64)
    running = np.arange(len(states))
    while len(running):
        agent_moves = states["current_player"][running] == seats[running]
        for side, agent in enumerate(sides):
            games = running[agent_moves == (side == AGENT)]
            if len(games):
                actions = _choose(agent, states[games])
                _apply_all(states, games, actions, economy[side])
                turns[games, side] += 1
                for game, action in zip(games[games < len(kept)], actions, strict=False):
                    kept[game].play(action)
        over = np.empty(len(running), np.bool_)
        _find_finished(states, running, over)
        running = running[~over]
    return turns, economy


def _choose(agent: Agent, states: States) -> npt.NDArray[np.int64]:
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
def _apply_all(
    states: States,
    games: npt.NDArray[np.int64],
    actions: npt.NDArray[np.int64],
    economy: npt.NDArray[np.int64],
) -> None:
    for k in range(len(games)):
        apply_counting(states, games[k], actions[k], economy[games[k]])


@kernel
def _find_finished(states: States, games: npt.NDArray[np.int64], over: npt.NDArray[np.bool_]) -> None:
    for k in range(len(games)):
        over[k] = is_over(states, games[k])


# --- figures ----------------------------------------------------------------------------------------------


def _figures(
    states: States,
    seats: npt.NDArray[np.int64],
    agent_starts: npt.NDArray[np.bool_],
    turns: npt.NDArray[np.int64],
    economy: npt.NDArray[np.int64],
) -> Games:
    """Figures of games that are over."""
    players = np.stack([seats, 1 - seats], axis=1)
    return Games(
        seats=seats,
        agent_starts=agent_starts,
        agent_wins=np.array([engine.winner(states, i) for i in range(len(states))]) == seats,
        scores=_of_players(engine.score, states, players),
        empty_cells=_of_players(engine.empty_cells, states, players),
        bonus_tiles=states["bonus_owner"][:, None] == players,
        incomes=np.take_along_axis(states["income"], players, axis=1).astype(np.int64),
        buttons=np.take_along_axis(states["buttons"], players, axis=1).astype(np.int64),
        spent=economy[..., SPENT].T,
        from_income=economy[..., FROM_INCOME].T,
        from_advancing=economy[..., FROM_ADVANCING].T,
        turns=turns,
    )


def _of_players(
    figure: Callable[..., int], states: States, players: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """A figure of the agent and of the opponent in every game, ``(n, 2)``."""
    rows = [[figure(states, i, player) for player in row] for i, row in enumerate(players)]
    return np.array(rows, np.int64)


def _join(parts: list[Games]) -> Games:
    return Games(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(Games)))
