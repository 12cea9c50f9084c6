"""Matches between two agents, with the same circles or decks as all others; see ``contests``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from patchwork_env import agents
from patchwork_env.agents import Agent
from patchwork_env.core.checks import as_integer, check_at_least_one, check_seed
from patchwork_env.games import PATCHWORK
from patchwork_env.learning.distributed.jobs import Workers, check_workers
from patchwork_env.learning.evaluation.blocks import (
    BLOCK_SIZE,
    PlayedBlock,
    Task,
    games_in,
    join,
    play_tasks,
    split,
)
from patchwork_env.learning.evaluation.contests import Block, check_variant, common_game, contest_of
from patchwork_env.learning.evaluation.results import MatchResult
from patchwork_env.learning.evaluation.store import GameStore

Player = str | Agent | Callable[..., Any]
"""A spec, an agent, or a function from a game to an action."""
Progress = Callable[[int], object]
"""Called with the number of games that ended since the last call."""


def play_matches(
    agent: Player,
    opponent: Player,
    games: int,
    seed: int | None = 0,
    *,
    game: str | None = None,
    workers: Workers = 1,
    progress: Progress | None = None,
    keep: int = 0,
    **variant: Any,
) -> MatchResult:
    """Plays games and measures ``agent`` against ``opponent``.

    In Patchwork games come in pairs, two with one circle in which the same seat has the first turn. The agent
    takes seat 0 in one and seat 1 in the other, so it starts one of them. In NMBR 9 both play the same deck.
    Circle or deck ``k`` depends on ``seed`` and ``k`` alone: all agents meet the same ones. Both agents are
    reseeded; equal seeds give equal results.

    A function, or an agent without an ``act_batch`` of its own, is given copies of whole games: with their
    first position and all moves, so that it can replay them elsewhere.

    Args:
        agent: Who is measured: a spec, an agent or a function.
        opponent: Whom it is measured against.
        games: The number of games, at least 1; for Patchwork even.
        seed: ``0 ... 2**64 - 1``; None for a fresh one, which the result names.
        game: ``"patchwork"`` or ``"nmbr9"``; None for the only one that both play, or else Patchwork.
        workers: The number of processes that share the work, or a cluster; with more than one, agents and
            functions must allow pickling.
        progress: Called with the number of games that ended since the last call.
        keep: How many games, the first ones, the result holds move by move.
        variant: What is played. Of Patchwork ``special_patches``, the print of the time track, ``"revised"``
            or ``"2014"``; of NMBR 9 ``order``: ``"unknown"``, ``"known"`` or ``"free"``.

    Raises:
        ValueError: An argument is not of these, an agent does not play the game, or it did not give one
            integer for each game.
        FileNotFoundError: A spec names no checkpoint.
        IllegalActionError: An agent chose an action that is not legal.
        TableEdgeError: An agent's tiles would spread further than the numbering of actions reaches.
    """
    players = agents.as_agent(agent), agents.as_agent(opponent)
    game = common_game(players, game)
    what = check_variant(game, variant)
    games, workers, seed = check_games(games, game), check_workers(workers), check_seed(seed)
    pairing = Pairing(0, 1, split(game, what, games, seed, _check_keep(keep, games)))
    [played] = play_pairings(players, [pairing], workers, progress)
    names = name_of(agent), name_of(opponent)
    return MatchResult(*names, seed, what, played.games, played.kept, played.seconds)


class Pairing(NamedTuple):
    """A match between two of some players.

    Attributes:
        agent: Index of the player whom the result is about.
        opponent: Index of the other one.
        blocks: What is played.
        store: Keeps the games; None to keep nothing.
        place: The numbers of both in the store.
    """

    agent: int
    opponent: int
    blocks: Sequence[Block]
    store: GameStore | None = None
    place: tuple[int, int] = (0, 1)

    def part(self, block: Block) -> str:
        """The name of a block in the store."""
        return f"{self.place[0]:03d}_against_{self.place[1]:03d}_{block.begin:06d}"


def play_pairings(
    players: Sequence[Agent],
    pairings: Sequence[Pairing],
    workers: Workers = 1,
    progress: Progress | None = None,
) -> list[PlayedBlock]:
    """Plays what has not been played yet of several matches, whose games processes share.

    Args:
        players: The agents that the pairings name.
        pairings: What is played.
        workers: The number of processes that share the games, or a cluster; with more than one, the agents
            must allow pickling.
        progress: Called with numbers of games; where games are kept, at first with the number of those that
            had been played before.

    Returns:
        The games of each pairing.

    Raises:
        ValueError: A file of a store is damaged, or an agent did not give one integer for each game.
        StorageError: A store cannot be written.
        IllegalActionError: An agent chose an action that is not legal.
        WorkerError: A process was killed.
    """
    report = progress or (lambda games: None)
    everything = [(pairing, block) for pairing in pairings for block in pairing.blocks]
    parts = {}
    for number, (pairing, block) in enumerate(everything):
        if pairing.store and pairing.store.has(pairing.part(block)):
            parts[number] = _read(pairing.store, pairing, block)
    if any(pairing.store for pairing in pairings):
        report(sum(games_in(everything[number][1]) for number in parts))
    left = [number for number in range(len(everything)) if number not in parts]
    tasks = [Task(*everything[number][0][:2], everything[number][1]) for number in left]
    for index, played in play_tasks(players, tasks, workers):
        pairing, block = everything[left[index]]
        if pairing.store:
            pairing.store.write(pairing.part(block), played.as_dict())
        parts[left[index]] = played
        report(len(played.games))
    whole = iter(parts[number] for number in range(len(everything)))
    return [join([next(whole) for _ in pairing.blocks]) for pairing in pairings]


def _read(store: GameStore, pairing: Pairing, block: Block) -> PlayedBlock:
    return store.read(pairing.part(block), lambda contents: PlayedBlock.from_dict(contents, block))


def check_games(games: Any, game: str = PATCHWORK) -> int:
    """A number of games, at least 1; even where every set-up is played from both seats."""
    number = as_integer(games, "games")
    contest = contest_of(game)
    if contest.is_solitary:
        return check_at_least_one(number, "games")
    if number < 2 or number % 2:
        why = f"every {contest.set_up} is played from both seats"
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


__all__ = [
    "BLOCK_SIZE",
    "MatchResult",
    "Pairing",
    "Player",
    "Progress",
    "check_games",
    "name_of",
    "play_matches",
    "play_pairings",
    "split",
]
