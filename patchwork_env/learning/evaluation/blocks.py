"""Matches are played block by block: processes share the blocks, and a folder keeps those that were played.

Random numbers start anew in every block, so that its games are the same whichever process plays them.
"""

from __future__ import annotations

import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from time import perf_counter
from traceback import extract_tb
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env.agents import Agent
from patchwork_env.core.batches import first_illegal, loop
from patchwork_env.core.checks import as_integer, as_number
from patchwork_env.core.documents import one_line
from patchwork_env.core.game import BaseGame
from patchwork_env.core.names import short_repr
from patchwork_env.core.records import records_at
from patchwork_env.core.rules import States
from patchwork_env.errors import IllegalActionError, OpponentError
from patchwork_env.games import rules_of
from patchwork_env.learning.evaluation.contests import AGENT, Block, Contest, Integers, MatchGames, contest_of

BLOCK_SIZE = 64
"""The number of set-ups (circles or decks) that are played at once."""


class Task(NamedTuple):
    """A block of games that is to be played by two of several players, which are given by their indices.

    With ``forfeits`` a player that fails loses the game; see :func:`play_block`.
    """

    agent: int
    opponent: int
    block: Block
    forfeits: bool = False


class PlayedBlock(NamedTuple):
    """The games of a block that was played, or of several blocks together.

    Attributes:
        games: The figures of all games.
        seconds: The time in seconds that the agent and the opponent took to choose their actions.
        kept: The games that are kept move by move.
    """

    games: MatchGames
    seconds: tuple[float, float]
    kept: tuple[BaseGame[Any], ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """The figures and the seconds as plain data, for JSON."""
        return {"seconds": self.seconds, "games": self.games.as_dict()}

    @classmethod
    def from_dict(cls, contents: Mapping[str, Any], block: Block) -> PlayedBlock:
        """The inverse of :meth:`as_dict`.

        Raises:
            ValueError, TypeError, KeyError: The contents have another form, or another number of games.
        """
        games = MatchGames.from_dict(contents["games"], block.game, games_in(block))
        if games.figures.keys() != contest_of(block.game).figures.keys():
            raise ValueError(f"the figures are {short_repr(list(games.figures), 300)}")
        first, second = (as_number(seconds, "seconds", least=0) for seconds in contents["seconds"])
        return cls(games, (first, second))


def split(
    game: str, variant: str, games: int, seed: int, keep: int = 0, *, block_size: int = BLOCK_SIZE
) -> list[Block]:
    """Divides a match into blocks of ``block_size`` set-ups, the last of which may have fewer.

    The first ``keep`` games of the match are kept move by move.
    """
    set_ups = games // contest_of(game).games_per_set_up
    return [
        Block(game, variant, seed, k, min(k + block_size, set_ups), keep)
        for k in range(0, set_ups, block_size)
    ]


def games_in(block: Block) -> int:
    """How many games a block has."""
    return contest_of(block.game).games_per_set_up * (block.end - block.begin)


def join(parts: Sequence[PlayedBlock]) -> PlayedBlock:
    """Puts the games of all parts together, in order."""
    games = MatchGames.joined([part.games for part in parts])
    seconds = sum(part.seconds[0] for part in parts), sum(part.seconds[1] for part in parts)
    return PlayedBlock(games, seconds, tuple(game for part in parts for game in part.kept))


Failure = IllegalActionError | OpponentError
"""How an agent fails: by an illegal action, or by an error of its own or its program; see :func:`blamed`."""
_LIBRARIES = (
    Path(__file__).parents[2],
    *(Path(sysconfig.get_path(kind)) for kind in ("stdlib", "purelib", "platlib")),
)
"""Where the code is that users did not write."""


def try_task(players: Sequence[Agent], task: Task) -> PlayedBlock | Failure:
    """Plays the block of a task, whose indices refer to the players, or gives the error of one that fails."""
    try:
        return play_block((players[task.agent], players[task.opponent]), task.block, task.forfeits)
    except (IllegalActionError, OpponentError) as error:
        return error


@contextmanager
def blamed(agent: Agent) -> Iterator[None]:
    """Within the block, whatever is raised is a failure of the agent, and its cause; signals go through.

    Raises:
        IllegalActionError: The agent played an illegal action, in the game that it was shown or a copy.
        OpponentError: The agent is a program that failed, or raised another error, also ``SystemExit``; the
            message tells where.
    """
    try:
        yield
    except OpponentError:  # programs are named already
        raise
    except IllegalActionError as error:
        raise IllegalActionError(f"agent {agent.name!r}: {error}") from error
    except (Exception, SystemExit) as error:
        frames = extract_tb(error.__traceback__)
        theirs = [frame for frame in frames if not _in_library(Path(frame.filename))]
        place = (theirs or frames)[-1]
        what = one_line(f"{type(error).__name__}: {error}")
        raise OpponentError(
            f"agent {agent.name!r} failed: {what} ({place.filename}, line {place.lineno})"
        ) from error


def _in_library(file: Path) -> bool:
    return any(file.is_relative_to(folder) for folder in _LIBRARIES)


def play_block(sides: tuple[Agent, Agent], block: Block, forfeits: bool = False) -> PlayedBlock:
    """Plays all games of a block between the agent that is measured and its opponent.

    Both are reseeded first, so that the games depend on the agents and the block alone. With ``forfeits`` an
    agent that fails in a game loses it, and the game ends there.

    Raises:
        IllegalActionError: An agent chose an action that is not legal, or gave something else than one
            integer for each game.
        OpponentError: An agent failed; see :func:`blamed`.
    """
    for side, agent in enumerate(sides):
        with blamed(agent):
            agent.reseed(_seed_of_agent(block, side))
    contest = contest_of(block.game)(block, tracks_all=any(map(_takes_games, sides)))
    seconds = _play_to_the_end(sides, contest, forfeits)
    return PlayedBlock(contest.result(), seconds, contest.kept)


def _seed_of_agent(block: Block, side: int) -> int:
    return int(np.random.SeedSequence([block.seed, block.begin, side]).generate_state(1, np.uint64)[0])


def _takes_games(agent: Agent) -> bool:
    """Whether an agent chooses for one game at a time; if so, it is given games with all of their moves."""
    return type(agent).act_batch is Agent.act_batch


def _play_to_the_end(sides: tuple[Agent, Agent], contest: Contest, forfeits: bool) -> tuple[float, float]:
    """Plays all games to their ends; returns the seconds that each side took to choose its actions."""
    states, seconds = contest.states, [0.0, 0.0]
    running = np.arange(len(states))
    while len(running):
        agent_moves = states["current_player"][running] == contest.seats[running]
        for side, agent in enumerate(sides):
            games = running[agent_moves == (side == AGENT)]
            if len(games):
                seconds[side] += _take_turns(agent, contest, games, side, forfeits)
        running = running[~contest.over(running)]
    return seconds[0], seconds[1]


def _take_turns(agent: Agent, contest: Contest, games: Integers, side: int, forfeits: bool) -> float:
    """Plays an agent's actions in the listed games; returns the seconds that it took to choose them."""
    apart = partial(_take_turns_apart, agent, contest, games, side)
    if forfeits and len(games) > 1 and _takes_games(agent):
        return apart()
    try:
        given, took = _answers(agent, contest, games)
        actions = check_actions(given, agent, records_at(contest.states, games))
    except (IllegalActionError, OpponentError):
        if not forfeits:
            raise
        if len(games) > 1:  # to find the games in which it fails
            return apart()
        contest.forfeits[games, side] = True
        return 0.0
    contest.play(games, actions, side)
    return took


def _take_turns_apart(agent: Agent, contest: Contest, games: Integers, side: int) -> float:
    return sum(_take_turns(agent, contest, games[k : k + 1], side, True) for k in range(len(games)))


def _answers(agent: Agent, contest: Contest, games: Integers) -> tuple[npt.NDArray[Any], float]:
    """What an agent answers in the listed games, and the seconds that it took."""
    shown = contest.shown(games)
    if not _takes_games(agent):
        with blamed(agent):
            began = perf_counter()
            answers = agent.act_batch(shown)
            took = perf_counter() - began
            return np.asarray(answers), took
    copies = [contest.game_for_agent(i, shown, k) for k, i in enumerate(games)]
    with blamed(agent):
        began = perf_counter()
        listed = [agent.act(game) for game in copies]
        took = perf_counter() - began
    what = f"the action of agent {agent.name!r}"
    try:
        return np.array([as_integer(action, what) for action in listed]), took
    except ValueError as error:
        raise IllegalActionError(str(error)) from None


def check_actions(given: Any, agent: Agent, states: States) -> Integers:
    """What an agent answered to ``(n,)`` records as int64 ``(n,)``, checked to be legal.

    Raises:
        IllegalActionError: The agent did not give one integer for each game, or an action is not legal.
    """
    answer = np.asarray(given)
    if answer.shape != states.shape or answer.dtype.kind not in "iu":
        raise IllegalActionError(
            f"agent {agent.name!r} gave {answer.dtype} of shape {answer.shape} as actions; "
            f"{len(states)} games need integers of shape {states.shape}"
        )
    rules, actions = rules_of(states), np.ascontiguousarray(answer, np.int64)
    illegal = int(loop(first_illegal, rules)(states, actions))
    if illegal >= 0:
        _raise_refusal(rules.game._of_record(states, illegal), int(answer[illegal]), agent)
    return actions


def _raise_refusal(game: BaseGame[Any], action: int, agent: Agent) -> None:
    """Raises the error of a refused action again, with the names of the agent and the position."""
    before = repr(game)
    try:
        game.play(action)
    except IllegalActionError as error:
        raise IllegalActionError(
            f"agent {agent.name!r} chose action {action}, not legal in {before}: {error}"
        ) from None
