"""Matches between two agents: every circle is played twice, with seats and the first turn swapped."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np

from patchwork_env import agents
from patchwork_env.agents import Agent
from patchwork_env.patchwork.options import as_integer, check_at_least_one, check_seed, check_variant
from training.paired_games import Block, Played, play_block
from training.results import Games, Result
from training.workers import do_jobs

__all__ = [
    "Player",
    "Result",
    "Task",
    "check_games",
    "join",
    "name_of",
    "play_matches",
    "play_tasks",
    "split",
]

Player = str | Agent | Callable[..., Any]
"""A spec, an agent, or a function from a game to an action."""

BLOCK_SIZE = 64
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
    games, workers, seed = check_games(games), check_at_least_one(workers, "workers"), check_seed(seed)
    blocks = split(games, seed, special_patches, _check_keep(keep, games))
    players = agents.as_agent(agent), agents.as_agent(opponent)
    tasks = [Task(0, 1, block) for block in blocks]
    parts = {}
    for number, played in play_tasks(players, tasks, workers):
        parts[number] = played
        if progress is not None:
            progress(len(played.games))
    whole = join([parts[number] for number in range(len(tasks))])
    names = name_of(agent), name_of(opponent)
    return Result(*names, seed, special_patches, whole.games, whole.kept, whole.seconds)


class Task(NamedTuple):
    """A block of pairs for two of some players, named by their indices."""

    agent: int
    opponent: int
    block: Block


def play_tasks(players: Sequence[Agent], tasks: Sequence[Task], workers: int) -> Iterator[tuple[int, Played]]:
    """Plays blocks of pairs; yields the index and the games of every task as it ends, in any order.

    Args:
        players: Whom the tasks name.
        tasks: What is played.
        workers: Processes that share the work, at least 1.

    Raises:
        IllegalActionError: An agent chose an action that is not legal.
        ValueError: An agent did not give one action per game.
    """
    return do_jobs(_play_task, players, tasks, workers)


def _play_task(players: Sequence[Agent], task: Task) -> Played:
    return play_block((players[task.agent], players[task.opponent]), task.block)


def split(games: int, seed: int, special_patches: str, keep: int = 0) -> list[Block]:
    """The blocks of a match, of whose games the first ``keep`` are kept.

    Raises:
        ValueError: There is no such print of the time track.
    """
    pairs, variant = games // 2, check_variant(special_patches)
    return [Block(seed, variant, k, min(k + BLOCK_SIZE, pairs), keep) for k in range(0, pairs, BLOCK_SIZE)]


def join(parts: Sequence[Played]) -> Played:
    """The games of all parts in order."""
    names = [field.name for field in fields(Games)]
    games = Games(*(np.concatenate([getattr(part.games, name) for part in parts]) for name in names))
    seconds = sum(part.seconds[0] for part in parts), sum(part.seconds[1] for part in parts)
    return Played(games, seconds, tuple(game for part in parts for game in part.kept))


def check_games(games: Any) -> int:
    """A number of paired games, even and at least 2."""
    number = as_integer(games, "games")
    if number < 2 or number % 2:
        raise ValueError(
            f"games is {number}; it must be even and at least 2, for every circle is played from both seats"
        )
    return number


def _check_keep(keep: Any, games: int) -> int:
    number = as_integer(keep, "keep")
    if not 0 <= number <= games:
        raise ValueError(f"keep is {number}; it must be from 0 to the number of games, {games}")
    return number


def name_of(player: Player) -> str:
    """The spec, or the name of the agent."""
    return player if isinstance(player, str) else agents.as_agent(player).name
