"""Several matches of different lengths, whose games processes share and a folder keeps, block by block."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from patchwork_env.agents import Agent
from patchwork_env.games import PATCHWORK
from patchwork_env.learning.distributed.workers import Workers
from patchwork_env.learning.evaluation.matches import BLOCK_SIZE, Task, join, play_tasks, split
from patchwork_env.learning.evaluation.paired_games import Played
from patchwork_env.learning.evaluation.results import Result
from patchwork_env.learning.evaluation.store import BlockStore, Settings, open_store


class Entrant(NamedTuple):
    """Who takes part.

    Attributes:
        name: Its spec, or the name of the function.
        weights: SHA-256 of its weights; None if it has none on disk.
        player: Itself.
    """

    name: str
    weights: str | None
    player: Agent


class Pairing(NamedTuple):
    """A match of Patchwork.

    Attributes:
        agent: Index of the entrant whom the result is about.
        opponent: That of the other one.
        games: Their number, even.
        circles_per_block: How many are played at once.
        folder: Name of the folder that keeps the games.
    """

    agent: int
    opponent: int
    games: int
    circles_per_block: int = BLOCK_SIZE
    folder: str = ""


def play_pairings(
    entrants: Sequence[Entrant],
    pairings: Sequence[Pairing],
    seed: int,
    special_patches: str,
    *,
    workers: Workers = 1,
    folder: Path | None = None,
    progress: Callable[[int], object] | None = None,
) -> list[Result]:
    """Plays what has not been played yet of matches; they have the same circles, as far as each goes.

    Args:
        entrants: Whom the pairings name.
        pairings: What is played.
        seed: Of the circles, and of the agents' random numbers.
        special_patches: Print of the time track.
        workers: Processes that share the games, or a cluster; with more than one, the agents must allow
            pickling.
        folder: Where the games are kept, in a folder per pairing; None to keep nothing.
        progress: Called with numbers of games, at first of those that had been played before.

    Returns:
        The result of each pairing.

    Raises:
        OtherSettingsError: The folder holds matches of other settings.
        InUseError: Another process plays these matches.
        StorageError: The folder cannot be written.
        IllegalActionError: An agent chose an action that is not legal.
        WorkerError: A process was killed.
    """
    tasks = {
        pairing: [
            Task(pairing.agent, pairing.opponent, block)
            for block in split(
                PATCHWORK, special_patches, pairing.games, seed, block_size=pairing.circles_per_block
            )
        ]
        for pairing in pairings
    }
    with ExitStack() as stack:
        stores = {}
        if folder is not None:
            for pairing in pairings:
                settings = _settings(entrants, pairing, seed, special_patches)
                stores[pairing] = stack.enter_context(open_store(folder / pairing.folder, settings))
        parts = _play([entrant.player for entrant in entrants], tasks, stores, workers, progress)
    results = []
    for pairing in pairings:
        whole = join([parts[task] for task in tasks[pairing]])
        names = entrants[pairing.agent].name, entrants[pairing.opponent].name
        results.append(Result(*names, seed, special_patches, whole.games, seconds=whole.seconds))
    return results


def folder_name(spec: str) -> str:
    """A spec as a name that every file system takes."""
    return re.sub(r"[^\w.=-]", "_", spec)


def _settings(entrants: Sequence[Entrant], pairing: Pairing, seed: int, special_patches: str) -> Settings:
    sides = entrants[pairing.agent], entrants[pairing.opponent]
    return Settings(
        tuple(side.name for side in sides),
        tuple(side.weights for side in sides),
        pairing.games,
        seed,
        special_patches,
        block_size=pairing.circles_per_block,
    )


def _play(
    players: Sequence[Agent],
    tasks: Mapping[Pairing, Sequence[Task]],
    stores: Mapping[Pairing, BlockStore],
    workers: Workers,
    progress: Callable[[int], object] | None,
) -> dict[Task, Played]:
    """The games of all tasks; those that the stores do not hold yet are played."""
    report = progress or (lambda games: None)
    store_of = {task: store for pairing, store in stores.items() for task in tasks[pairing]}
    parts = {
        task: store.read(_in_store(task)) for task, store in store_of.items() if store.has(_in_store(task))
    }
    report(sum(len(part.games) for part in parts.values()))
    left = [task for pairing in tasks for task in tasks[pairing] if task not in parts]
    for number, played in play_tasks(players, left, workers):
        task = left[number]
        if task in store_of:
            store_of[task].write(_in_store(task), played)
        parts[task] = played
        report(len(played.games))
    return parts


def _in_store(task: Task) -> Task:
    """A store of one pairing knows two agents."""
    return Task(0, 1, task.block)
