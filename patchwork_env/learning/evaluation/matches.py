"""Participants of evaluations, and matches between them."""

from __future__ import annotations

import copy
import hashlib
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, cast

from patchwork_env import agents
from patchwork_env.agents import Agent
from patchwork_env.agents.checkpoints import read_weights_file
from patchwork_env.agents.specs import import_agent, is_import
from patchwork_env.core.checks import as_integer, check_at_least_one, check_between, check_seed
from patchwork_env.core.names import short_repr
from patchwork_env.errors import IllegalActionError, OpponentError
from patchwork_env.games import PATCHWORK
from patchwork_env.learning.distributed import Workers, check_workers, do_jobs
from patchwork_env.learning.evaluation import runners
from patchwork_env.learning.evaluation.results import MatchResult
from patchwork_env.learning.evaluation.sequential import UNDECIDED, SequentialTest
from patchwork_env.learning.evaluation.store import GameStore

Player = str | Agent | Callable[..., Any]  # a spec, an agent, or a function from a game to an action
Progress = Callable[[int], object]  # called with the number of games that ended since the last call

MOST_GAMES = 10**6  # the most games of a match


class Participant(NamedTuple):
    """A participant of an evaluation: its name, a spec or ``module:name``, and the agent.

    ``weights`` is the SHA-256 of the agent's weights; None if it has no weights on disk.
    """

    name: str
    weights: str | None
    agent: Agent

    @classmethod
    def load(cls, text: str) -> Participant:
        """Load an agent as :func:`load_player` does."""
        agent = load_player(text)
        return cls(text, fingerprint(text), agent)

    def against(self, other: Participant) -> str:
        """Return the key of the match against another participant in a store of games."""
        sides = (json.dumps([one.name, one.weights]).encode() for one in (self, other))
        return "_against_".join(hashlib.sha256(side).hexdigest()[:16] for side in sides)


def load_player(text: str) -> Agent:
    """Load an agent from a spec or ``module:name``, which becomes the agent's name.

    For specs see :mod:`patchwork_env.agents`. ``module:name`` is an agent, a class of agents, or a function
    from a game to an action.

    Raises:
        ValueError, FileNotFoundError, ImportError: There is no such agent, checkpoint or module.
    """
    if not isinstance(text, str):
        raise ValueError(f"an agent is {short_repr(text)}; it must be a str")
    agent = import_agent(text) if is_import(text) else agents.load(text)
    agent.name = text
    return agent


def fingerprint(text: str) -> str | None:
    """Return the SHA-256 of the weights of an agent, or of the file of its imported module, else None."""
    if is_import(text):
        path = getattr(sys.modules.get(text.partition(":")[0]), "__file__", None)
    else:
        path = agents.path_of(text)
    return None if path is None else hash_of_weights(Path(path))


def hash_of_weights(path: Path) -> str:
    """Return the SHA-256 of a file of weights, or of that in the folder of a checkpoint."""
    if path.is_dir():
        return hashlib.sha256(read_weights_file(path)).hexdigest()
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


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
    sprt: tuple[float, float] | None = None,
    **variant: Any,
) -> MatchResult:
    """Play games and measure ``agent`` against ``opponent``.

    In Patchwork games come in pairs with the same circle and the same first seat, one for the agent in each
    seat. In NMBR 9 both play the same deck, each on a table of its own. Circle or deck ``k`` depends on
    ``seed`` and ``k`` alone. Both agents are reseeded; equal seeds give equal results. A function, or an
    agent without an ``act_batch`` of its own, gets copies of whole games, with all moves.

    Args:
        agent: The agent that is measured: a spec, an agent or a function from a game to an action.
        opponent: The agent that it is measured against.
        games: The number of games, at least 1; for Patchwork even. With ``sprt`` the most games.
        seed: The seed of the circles or decks and of both agents, ``0 ... 2**64 - 1``; None for a random
            one, which the result has.
        game: The name of the game; None for the only one that both play, or else Patchwork.
        workers: The number of processes that share the work, or a cluster; with more than one, agents and
            functions must allow pickling.
        progress: Called with the number of games that ended since the last call.
        keep: The number of first games that the result holds with all moves.
        sprt: The Elo of H0 and of H1 of a sequential test, which ends the match once it decides; see
            :mod:`patchwork_env.learning.evaluation.sequential`.
        variant: Patchwork's ``special_patches``, ``"revised"`` or ``"2014"``; NMBR 9's ``order``,
            ``"unknown"``, ``"known"`` or ``"free"``.

    Raises:
        ValueError: An argument has a value that is not allowed, an agent does not play the game, or its
            answer is not one integer for each game.
        FileNotFoundError: A spec names no checkpoint.
        IllegalActionError: An agent chose an action that is not legal.
        OpponentError: An agent raised another error, which is the cause, or a program failed.
    """
    players = agents.as_agent(agent), agents.as_agent(opponent)
    game = runners.common_game(players, game)
    what = runners.check_variant(game, variant)
    games, workers, seed = check_games(games, game), check_workers(workers), check_seed(seed)
    match = runners.Match(
        (0, 1),
        (name_of(agent), name_of(opponent)),
        game,
        what,
        games,
        seed,
        keep=check_between(keep, 0, games, "keep"),
        test=None if sprt is None else SequentialTest.between(sprt),
    )
    [result] = play_all(players, [match], workers, progress)
    return result


def play_all(
    players: Sequence[Agent],
    matches: Sequence[runners.Match],
    workers: Workers = 1,
    progress: Progress | None = None,
    store: GameStore | None = None,
    watch: Callable[[SequentialTest], object] | None = None,
) -> Iterator[MatchResult]:
    """Play several matches between the players, except games that a store holds.

    Yields the results in order, each as soon as it and those before it are complete. If an agent fails and
    there is a store, all games without it are played first. ``progress`` is called with the number of games
    that ended since the last call, at first those of the store. Matches with a sequential test are played one
    after another, without a store; before each call of ``progress``, ``watch`` is called with the test.
    """
    report, watch = progress or (lambda games: None), watch or (lambda test: None)
    if matches[0].test:
        yield from (_play_until_decided(players, match, workers, report, watch) for match in matches)
        return
    blocks = [match.blocks() for match in matches]
    parts: list[dict[int, MatchResult]] = [{} for _ in matches]
    ended = 0
    for match, place, part in _parts(players, blocks, workers, report, store):
        parts[match][place] = part
        while ended < len(matches) and len(parts[ended]) == len(blocks[ended]):
            yield MatchResult.joined([parts[ended][place] for place in range(len(blocks[ended]))])
            ended += 1


def _play_until_decided(
    players: Sequence[Agent],
    match: runners.Match,
    workers: Workers,
    report: Progress,
    watch: Callable[[SequentialTest], object],
) -> MatchResult:
    """Play the blocks of a match until a sequential test decides, or all games are played.

    The test counts the blocks in order, so the result does not depend on the number of workers.
    """
    ended: dict[int, _Outcome] = {}
    parts: list[MatchResult] = []
    test = cast(SequentialTest, match.test)
    for index, outcome in do_jobs(_try_block, players, match.blocks(), workers):
        ended[index] = outcome
        while len(parts) in ended and test.decision == UNDECIDED:
            part = ended.pop(len(parts))
            if not isinstance(part, MatchResult):
                raise part
            parts.append(part)
            test = test.count(part.by_set_up(part.games.agent_wins))
            watch(test)
            report(len(part.games))
        if test.decision != UNDECIDED:
            break
    return replace(MatchResult.joined(parts), test=test)


def _parts(
    players: Sequence[Agent],
    blocks: Sequence[Sequence[runners.MatchBlock]],
    workers: Workers,
    report: Progress,
    store: GameStore | None,
) -> Iterator[tuple[int, int, MatchResult]]:
    """Yield the results of all blocks with the indices of match and block, stored results first."""
    left: list[tuple[int, int, runners.MatchBlock]] = []
    games_kept = 0
    for match, of_match in enumerate(blocks):
        for place, block in enumerate(of_match):
            if store and store.has(block.key):
                result = store.read(block.key, partial(_read_block, block))
                if block.match.forfeits or not result.games.forfeits.any():
                    games_kept += block.games
                    yield match, place, result
                    continue
            left.append((match, place, block))
    if store:
        report(games_kept)
    failures: list[IllegalActionError | OpponentError] = []
    for index, outcome in do_jobs(_try_block, players, [block for *_, block in left], workers):
        match, place, block = left[index]
        if not isinstance(outcome, MatchResult):
            if not store:
                raise outcome
            failures.append(outcome)
            continue
        if store:
            store.write(block.key, {"seconds": outcome.seconds, "games": outcome.games.as_dict()})
        report(block.games)
        yield match, place, outcome
    if failures:
        reasons = "; ".join(dict.fromkeys(map(str, failures)))
        raise type(failures[0])(
            f"{len(failures)} of {sum(map(len, blocks))} blocks of games are missing: {reasons}"
        ) from failures[0]


_Outcome = MatchResult | IllegalActionError | OpponentError


def _try_block(players: Sequence[Agent], block: runners.MatchBlock) -> _Outcome:
    """Return the result of a block, or the failure of an agent."""
    match = block.match
    agent, opponent = (players[side] for side in match.sides)
    if agent is opponent:  # each has its own random numbers
        opponent = copy.deepcopy(agent)
    try:
        runner = runners.MatchRunner((agent, opponent), block)
        games = runner.run()
    except (IllegalActionError, OpponentError) as error:
        return error
    (first, second), (own, others) = runner.seconds, runner.usage
    return MatchResult(
        *match.names, match.seed, match.variant, games, (first, second), runner.kept, (own, others)
    )


def _read_block(block: runners.MatchBlock, contents: Any) -> MatchResult:
    match, (first, second) = block.match, contents["seconds"]
    games = runners.MatchGames.from_dict(contents["games"], match.game)
    return MatchResult(*match.names, match.seed, match.variant, games, (first, second))


def check_games(games: Any, game: str = PATCHWORK) -> int:
    """Check a number of games: 1 to a million, and even where every set-up is played from both seats."""
    number = as_integer(games, "games")
    if number > MOST_GAMES:
        raise ValueError(f"games is {short_repr(number)}; it must be at most {MOST_GAMES:,}")
    part = runners.match_part(game)
    if part.is_noninteractive:
        return check_at_least_one(number, "games")
    if number < 2 or number % 2:
        why = f"every {part.set_up} is played from both seats"
        raise ValueError(f"games is {number}; it must be even and at least 2, for {why}")
    return number


def name_of(player: Player) -> str:
    """Return the name of a player in results: its spec, or the name of the agent."""
    return player if isinstance(player, str) else agents.as_agent(player).name
