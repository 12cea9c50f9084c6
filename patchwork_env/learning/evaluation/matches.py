"""Matches between two agents, with the same circles or decks as all others; see ``contests``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np

from patchwork_env import agents
from patchwork_env.agents import Agent
from patchwork_env.core.checks import as_integer, check_at_least_one, check_seed
from patchwork_env.games import PATCHWORK
from patchwork_env.learning.distributed.workers import Workers, check_workers, do_jobs
from patchwork_env.learning.evaluation.contests import Block, check_variant, common_game, contest_of
from patchwork_env.learning.evaluation.paired_games import Played, play_block
from patchwork_env.learning.evaluation.results import Result

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
"""Set-ups that are played at once. Random numbers start anew in every block, so that its games are the same
whichever process plays them."""


def play_matches(
    agent: Player,
    opponent: Player,
    games: int,
    seed: int | None = 0,
    *,
    game: str | None = None,
    workers: Workers = 1,
    progress: Callable[[int], object] | None = None,
    keep: int = 0,
    **variant: Any,
) -> Result:
    """Plays games and measures ``agent`` against ``opponent``.

    In Patchwork games come in pairs, two with one circle in which the same seat has the first turn. The agent
    takes seat 0 in one and seat 1 in the other, so it starts one of them. In NMBR 9 both play the same deck.
    Circle or deck ``k`` depends on ``seed`` and ``k`` alone: all agents meet the same ones. Both agents are
    reseeded; equal seeds give equal results.

    Args:
        agent: Who is measured: a spec, an agent or a function.
        opponent: Whom it is measured against.
        games: Their number, at least 1; for Patchwork even.
        seed: ``0 ... 2**64 - 1``; None for a fresh one, which the result names.
        game: ``"patchwork"`` or ``"nmbr9"``; None for the only one that both play, or else Patchwork.
        workers: Processes that share the work, or a cluster; with more than one, agents and functions must
            allow pickling.
        progress: Called with the number of games that ended since the last call.
        keep: Number of games, the first ones, that the result holds move by move.
        variant: What is played. Of Patchwork ``special_patches``, the print of the time track, ``"revised"``
            or ``"2014"``; of NMBR 9 ``order``: ``"unknown"``, ``"known"`` or ``"free"``.

    Raises:
        ValueError: An argument is not of these, or an agent does not play the game.
        FileNotFoundError: A spec names no checkpoint.
        IllegalActionError: An agent chose an action that is not legal.
        TableEdgeError: An agent's tiles would spread further than the numbering of actions reaches.
    """
    players = agents.as_agent(agent), agents.as_agent(opponent)
    game = common_game(players, game)
    what = check_variant(game, variant)
    games, workers, seed = check_games(games, game), check_workers(workers), check_seed(seed)
    blocks = split(game, what, games, seed, _check_keep(keep, games))
    tasks = [Task(0, 1, block) for block in blocks]
    parts = {}
    for number, played in play_tasks(players, tasks, workers):
        parts[number] = played
        if progress is not None:
            progress(len(played.games))
    whole = join([parts[number] for number in range(len(tasks))])
    names = name_of(agent), name_of(opponent)
    return Result(*names, seed, what, whole.games, whole.kept, whole.seconds)


class Task(NamedTuple):
    """A block of games for two of some players, named by their indices."""

    agent: int
    opponent: int
    block: Block


def play_tasks(
    players: Sequence[Agent], tasks: Sequence[Task], workers: Workers
) -> Iterator[tuple[int, Played]]:
    """Plays blocks of games; yields the index and the games of every task as it ends, in any order.

    Args:
        players: Whom the tasks name.
        tasks: What is played.
        workers: Processes that share the work, at least 1, or a cluster.

    Raises:
        IllegalActionError: An agent chose an action that is not legal.
        ValueError: An agent did not give one action per game.
    """
    return do_jobs(_play_task, players, tasks, workers)


def _play_task(players: Sequence[Agent], task: Task) -> Played:
    return play_block((players[task.agent], players[task.opponent]), task.block)


def split(
    game: str, variant: str, games: int, seed: int, keep: int = 0, *, block_size: int = BLOCK_SIZE
) -> list[Block]:
    """The blocks of a match, of ``block_size`` set-ups, of whose games the first ``keep`` are kept."""
    set_ups = games // contest_of(game).kind.games_per_set_up
    return [
        Block(game, variant, seed, k, min(k + block_size, set_ups), keep)
        for k in range(0, set_ups, block_size)
    ]


def join(parts: Sequence[Played]) -> Played:
    """The games of all parts in order."""
    kind = type(parts[0].games)
    names = [field.name for field in fields(kind)]
    games = kind(*(np.concatenate([getattr(part.games, name) for part in parts]) for name in names))
    seconds = sum(part.seconds[0] for part in parts), sum(part.seconds[1] for part in parts)
    return Played(games, seconds, tuple(game for part in parts for game in part.kept))


def check_games(games: Any, game: str = PATCHWORK) -> int:
    """A number of games, at least 1; even where every set-up is played from both seats."""
    number = as_integer(games, "games")
    kind = contest_of(game).kind
    if kind.is_solitary:
        return check_at_least_one(number, "games")
    if number < 2 or number % 2:
        why = f"every {kind.set_up} is played from both seats"
        raise ValueError(f"games is {number}; it must be even and at least 2, for {why}")
    return number


def _check_keep(keep: Any, games: int) -> int:
    number = as_integer(keep, "keep")
    if not 0 <= number <= games:
        raise ValueError(f"keep is {number}; it must be from 0 to the number of games, {games}")
    return number


def name_of(player: Player) -> str:
    """The spec, or the name of the agent."""
    return player if isinstance(player, str) else agents.as_agent(player).name
