"""Plays games and writes what the players saw and did as a dataset."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from minari import MinariDataset

from patchwork_env.core.names import short_repr
from patchwork_env.integrations.minari.episodes import episodes_of, replay
from patchwork_env.integrations.minari.games import PlayedGame, play_block
from patchwork_env.integrations.minari.places import DATA, Place
from patchwork_env.integrations.minari.plan import Plan
from patchwork_env.integrations.minari.storage import EpisodeFile, write_dataset
from patchwork_env.learning.distributed.jobs import Workers, check_workers, do_jobs
from patchwork_env.learning.evaluation.matches import Player, Progress


def record(
    agents: Player | Sequence[Player],
    games: int,
    dataset_id: str,
    *,
    game: str | None = None,
    seed: int | None = 0,
    rewards: str | None = None,
    workers: Workers = 1,
    progress: Progress | None = None,
    root: Any = None,
    author: str | None = None,
    code_permalink: str | None = None,
    description: str | None = None,
    **options: Any,
) -> MinariDataset:
    """Plays games and writes what the players saw and did as a dataset.

    An episode is what one player sees and does in one game, as in the game's Gymnasium environment. The
    agents take seats by turns: in game ``k``, seat ``s`` is that of agent ``k + s``, counted in a circle.
    Equal arguments give equal files. After an error or an interrupt there is no dataset, and nothing is left
    behind.

    Args:
        agents: Specs, agents or functions from a game to an action; a single one plays against itself.
        games: The number of games, 1 to a million.
        dataset_id: The id of the dataset, such as ``"patchwork/self-play/champion-v0"``.
        game: The name of the game; None for the only one that all agents play, or else Patchwork.
        seed: The seed of the games and of the agents, ``0 ... 2**64 - 1``; None for a fresh one, which the
            metadata name.
        rewards: The kind of rewards, ``"outcome"``, ``"margin"`` or ``"score"``; None for the outcome with
            several players, for the score with one.
        workers: The number of processes that play, or a cluster. The dataset does not depend on it.
        progress: Called with the number of games that were written since the last call.
        root: The folder of all datasets; None for Minari's own.
        author: Who made the dataset, for its metadata.
        code_permalink: The address of the code that made it, for its metadata.
        description: What the dataset holds; None for a sentence that says so.
        options: Options of the game, as its environments take them. NMBR 9 has as many ``players`` as there
            are agents, unless a number is given.

    Returns:
        The dataset; ``minari.load_dataset(dataset_id)`` loads it again.

    Raises:
        ValueError: An argument has a value that is not allowed, an agent does not play the game, or it did
            not give one integer for each game.
        UnknownOptionError: The game has no such option.
        FileNotFoundError: A spec names no checkpoint.
        FileExistsError: There is a dataset of this id, which is left as it is.
        StorageError: The files cannot be written.
        IllegalActionError: An agent chose an action that is not legal.
        OpponentError: An agent failed: it raised another error, or is a program.
        WorkerError: A process was killed.
    """
    plan = Plan.of(agents, games, game, seed, rewards, options)
    about = _texts(author=author, code_permalink=code_permalink, description=description)
    workers, place = check_workers(workers), Place.of_new(dataset_id, root)
    played = _in_order(do_jobs(play_block, plan.agents, plan.blocks, workers))
    fill = partial(_write_games, plan, played, progress)
    write_dataset(place, plan.rules, plan.environment(), {**plan.metadata(), **about}, fill)
    return MinariDataset(place.folder / DATA)


def _texts(**given: Any) -> dict[str, Any]:
    """The metadata that are texts, as far as they were given; the author as Minari wants it, in a set."""
    texts = {name: text for name, text in given.items() if text is not None}
    for name, text in texts.items():
        if not isinstance(text, str):
            raise ValueError(f"{name} must be text, not {short_repr(text)}")
    return texts | ({"author": {texts["author"]}} if "author" in texts else {})


def _in_order(results: Iterable[tuple[int, list[PlayedGame]]]) -> Iterator[PlayedGame]:
    """The games of all blocks in the order of their numbers, whichever block was done first."""
    waiting: dict[int, list[PlayedGame]] = {}
    following = 0
    for index, played in results:
        waiting[index] = played
        while following in waiting:
            yield from waiting.pop(following)
            following += 1


def _write_games(
    plan: Plan, played: Iterable[PlayedGame], progress: Progress | None, file: EpisodeFile
) -> None:
    """Writes the episodes of all games, one game after the other."""
    for one in played:
        game, states = replay(plan.rules, one)
        seated = [plan.names[agent] for agent in one.seating]
        about = {
            "seed": one.seed,
            "game": one.number,
            "agents": seated,
            "scores": np.array(game.scores(), np.int16),
            "winners": np.array(game.winners(), np.int8),
            "notation": game.notation(),
        }
        for episode in episodes_of(plan.rules, one, states, plan.rewards):
            file.append(episode, {**about, "seat": episode.seat, "agent": seated[episode.seat]})
        if progress:
            progress(1)
