"""Matches between two agents. All agents meet the same circles or decks; see ``contests``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from patchwork_env import agents
from patchwork_env.agents import Agent
from patchwork_env.core.checks import as_integer, check_at_least_one, check_seed
from patchwork_env.core.names import short_repr
from patchwork_env.games import PATCHWORK
from patchwork_env.learning.distributed.jobs import Workers, check_workers, do_jobs
from patchwork_env.learning.evaluation.blocks import (
    Failure,
    PlayedBlock,
    Task,
    games_in,
    join,
    split,
    try_task,
)
from patchwork_env.learning.evaluation.contests import Block, check_variant, common_game, contest_of
from patchwork_env.learning.evaluation.results import MatchResult
from patchwork_env.learning.evaluation.store import GameStore

Player = str | Agent | Callable[..., Any]
"""A spec, an agent, or a function from a game to an action."""
Progress = Callable[[int], object]
"""Called with the number of games that ended since the last call."""

MOST_GAMES = 10**6
"""The most games of a match."""


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

    In Patchwork games come in pairs: both games of a pair have the same circle, and in both the same seat has
    the first turn. The agent takes seat 0 in one and seat 1 in the other, so it starts one of them. In NMBR 9
    both play the same deck, each on a table of its own. Circle or deck ``k`` depends on ``seed`` and ``k``
    alone, so that all agents meet the same ones. Both agents are reseeded; equal seeds give equal results.

    A function, or an agent without an ``act_batch`` of its own, is given copies of whole games, with their
    first position and all moves, so that it can replay them elsewhere.

    Args:
        agent: The agent that is measured: a spec, an agent or a function.
        opponent: The agent that it is measured against.
        games: The number of games, at least 1; for Patchwork even.
        seed: The seed of the circles or decks and of both agents, ``0 ... 2**64 - 1``; None for a fresh one,
            which the result names.
        game: The name of the game; None for the only one that both play, or else Patchwork.
        workers: The number of processes that share the work, or a cluster; with more than one, agents and
            functions must allow pickling.
        progress: Called with the number of games that ended since the last call.
        keep: The number of games, the first ones, that the result holds move by move.
        variant: The option of the game that says what is played. Patchwork has ``special_patches``, the print
            of the time track, ``"revised"`` or ``"2014"``; NMBR 9 has ``order``, ``"unknown"``,
            ``"known"`` or ``"free"``.

    Raises:
        ValueError: An argument has a value that is not allowed, an agent does not play the game, or an agent
            did not give one integer for each game.
        FileNotFoundError: A spec names no checkpoint.
        IllegalActionError: An agent chose an action that is not legal.
        OpponentError: An agent failed: it raised another error, which is the cause, or is a program.
    """
    players = agents.as_agent(agent), agents.as_agent(opponent)
    game = common_game(players, game)
    what = check_variant(game, variant)
    games, workers, seed = check_games(games, game), check_workers(workers), check_seed(seed)
    pairing = Pairing(0, 1, split(game, what, games, seed, _check_keep(keep, games)))
    [result] = play_pairings((name_of(agent), name_of(opponent)), players, [pairing], workers, progress)
    return result


class Pairing(NamedTuple):
    """A match that is to be played between two of several players.

    Attributes:
        agent: The index of the player that is measured.
        opponent: The index of the other player.
        blocks: The games, block by block.
        store: The folder that keeps the games; None to keep nothing.
        name: What the store calls the match.
        forfeits: Whether an agent that fails loses the game.
    """

    agent: int
    opponent: int
    blocks: Sequence[Block]
    store: GameStore | None = None
    name: str = "match"
    forfeits: bool = False

    def part(self, block: Block) -> str:
        """The name of a block in the store."""
        return f"{self.name}_{block.begin:06d}"


def play_pairings(
    names: Sequence[str],
    players: Sequence[Agent],
    pairings: Sequence[Pairing],
    workers: Workers = 1,
    progress: Progress | None = None,
) -> Iterator[MatchResult]:
    """Plays several matches, as far as their stores do not hold the games already.

    Yields their results in order, each as soon as it and those before it have ended.

    If an agent fails in games that are stored, all games without it are played first.

    Args:
        names: What the results call the players.
        players: The agents to which the indices of the pairings refer.
        pairings: The matches, each of at least one block.
        workers: See :func:`play_matches`; the processes share the games of all matches.
        progress: See :func:`play_matches`; where games are stored, it is called at first with the number of
            those that had been played before.

    Raises:
        ValueError: A file in a store is damaged.
        StorageError: A store cannot be written.
        IllegalActionError: An agent chose an action that is not legal.
        OpponentError: An agent failed: it raised another error, or is a program.
        WorkerError: A process was killed.
    """
    parts: list[dict[int, PlayedBlock]] = [{} for _ in pairings]
    ended = 0
    for match, place, part in _parts(players, pairings, workers, progress or (lambda games: None)):
        parts[match][place] = part
        while ended < len(pairings) and len(parts[ended]) == len(pairings[ended].blocks):
            in_order = [parts[ended][place] for place in range(len(parts[ended]))]
            yield _result(names, pairings[ended], in_order)
            ended += 1


def _parts(
    players: Sequence[Agent], pairings: Sequence[Pairing], workers: Workers, report: Progress
) -> Iterator[tuple[int, int, PlayedBlock]]:
    """The played blocks of all matches, by the numbers of match and block; those of the stores come first."""
    left: list[tuple[int, int, Task]] = []
    games_there = 0
    for match, pairing in enumerate(pairings):
        for place, block in enumerate(pairing.blocks):
            name = pairing.part(block)
            if pairing.store and pairing.store.has(name):
                played = pairing.store.read(name, partial(PlayedBlock.from_dict, block=block))
                if pairing.forfeits or not played.games.forfeits.any():
                    games_there += games_in(block)
                    yield match, place, played
                    continue
            task = Task(pairing.agent, pairing.opponent, block, pairing.forfeits)
            left.append((match, place, task))
    if any(pairing.store for pairing in pairings):
        report(games_there)
    failures: list[Failure] = []
    for index, outcome in do_jobs(try_task, players, [task for *_, task in left], workers):
        match, place, task = left[index]
        store = pairings[match].store
        if not isinstance(outcome, PlayedBlock):
            if not store:
                raise outcome
            failures.append(outcome)
            continue
        if store:
            store.write(pairings[match].part(task.block), outcome.as_dict())
        report(len(outcome.games))
        yield match, place, outcome
    if failures:
        reasons = "; ".join(dict.fromkeys(map(str, failures)))
        number = sum(len(pairing.blocks) for pairing in pairings)
        raise type(failures[0])(
            f"{len(failures)} of {number} blocks of games are missing: {reasons}"
        ) from failures[0]


def _result(names: Sequence[str], pairing: Pairing, parts: Sequence[PlayedBlock]) -> MatchResult:
    match, block = join(parts), pairing.blocks[0]
    sides = names[pairing.agent], names[pairing.opponent]
    return MatchResult(*sides, block.seed, block.variant, match.games, match.kept, match.seconds)


def check_games(games: Any, game: str = PATCHWORK) -> int:
    """Checks a number of games: 1 to a million, and even where every set-up is played from both seats."""
    number = as_integer(games, "games")
    if number > MOST_GAMES:
        raise ValueError(f"games is {short_repr(number)}; it must be at most {MOST_GAMES:,}")
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
        raise ValueError(f"keep is {short_repr(number)}; it must be from 0 to the number of games, {games}")
    return number


def name_of(player: Player) -> str:
    """What results call a player: its spec, or the name of the agent."""
    return player if isinstance(player, str) else agents.as_agent(player).name
