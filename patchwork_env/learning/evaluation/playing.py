"""The loop that plays games for measurements and recordings, and attributes errors to agents.

Every block of games has its own random numbers, so results do not depend on the process that plays it.
"""

from __future__ import annotations

import sysconfig
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from traceback import extract_tb
from typing import Any

import numpy as np
import numpy.typing as npt

from patchwork_env.agents import Agent
from patchwork_env.agents.base import MeteredAgent, Usage
from patchwork_env.core.batches import determinized, first_illegal, loop, play_listed, write_over
from patchwork_env.core.checks import as_action, check_actions
from patchwork_env.core.documents import one_line
from patchwork_env.core.game import BaseGame
from patchwork_env.core.kernels import States
from patchwork_env.core.random import Streams
from patchwork_env.errors import IllegalActionError, OpponentError
from patchwork_env.games import rules_of
from patchwork_env.learning.system import stop_if_asked

Integers = npt.NDArray[np.int64]

BLOCK_SIZE = 64  # the number of games, or of circles or decks, that are played at once
_LIBRARIES = (
    Path(__file__).parents[2],
    *(Path(sysconfig.get_path(kind)) for kind in ("stdlib", "purelib", "platlib")),
)
"""The folders of code that users did not write: this package and libraries."""


class GamesInPlay:
    """Simultaneous games of several agents, from their first positions to their ends.

    Hidden information is drawn anew for each agent, from one of the ``streams`` for each game.

    Attributes:
        states: The records of all games, ``(n,)``.
        seating: The index of the agent in each seat, int64 ``(n, players)``.
        turns: The number of actions of each agent so far, int64 ``(n, agents)``.
        forfeits: Whether each agent lost the game by a failure, bool ``(n, agents)``.
        seconds: The time that each agent took to choose its actions.
        usage: The usage of each agent; all zeros unless it is a :class:`MeteredAgent`.
        kept: The first ``keep`` games with all moves.
    """

    def __init__(
        self, agents: Sequence[Agent], states: States, streams: Streams, seating: Integers, keep: int = 0
    ) -> None:
        self.agents, self.states, self.seating = agents, states, seating
        self.rules = rules_of(states)
        self._streams = streams
        self.turns = np.zeros((len(states), len(agents)), np.int64)
        self.forfeits = np.zeros((len(states), len(agents)), np.bool_)
        self.seconds = [0.0] * len(agents)
        self.usage = [Usage() for _ in agents]
        tracked = len(states) if any(map(_takes_games, agents)) else keep
        of_record = self.rules.game.unchecked
        self._tracked: tuple[BaseGame[Any], ...] = tuple(of_record(states, i) for i in range(tracked))
        self.kept = self._tracked[:keep]

    def play(self, seeds: Sequence[int], *, forfeits: bool = False) -> None:
        """Play all games to their ends; the seeds are those of the agents' random numbers.

        With ``forfeits``, an agent that fails loses the game. Otherwise the failure is raised: an
        IllegalActionError, also for answers that are not one integer for each game, or an OpponentError.
        """
        for agent, seed in zip(self.agents, seeds, strict=True):
            with attribute_errors(agent):
                agent.reseed(seed)
        running = np.arange(len(self.states))
        while len(running):
            stop_if_asked()
            movers = self.seating[running, self.states["current_player"][running]]
            for number in range(len(self.agents)):
                games = running[movers == number]
                if len(games):
                    self._take_turns(number, games, forfeits)
            over = np.empty(len(running), np.bool_)
            loop(write_over, self.rules)(self.states, running, over)
            if forfeits:
                over |= self.forfeits[running].any(1)
            running = running[~over]

    def _take_turns(self, number: int, games: Integers, forfeits: bool) -> None:
        """Play an agent's actions in the listed games; after a failure with forfeits, game by game."""
        agent = self.agents[number]
        if not (forfeits and len(games) > 1 and _takes_games(agent)):
            try:
                actions, seconds, usage = self._ask(agent, games)
                _check_legal(actions, agent, self.states.take(games))
            except (IllegalActionError, OpponentError):
                if not forfeits:
                    raise
                if len(games) == 1:
                    self.forfeits[games, number] = True
                    return
            else:
                self.seconds[number] += seconds
                self.usage[number].add(usage)
                self.turns[games, number] += 1
                self._apply(games, actions, number)
                if self._tracked:
                    for i, action in zip(games[games < len(self._tracked)], actions, strict=False):
                        self._tracked[i].play(action)
                return
        for k in range(len(games)):
            self._take_turns(number, games[k : k + 1], forfeits)

    def _apply(self, games: Integers, actions: Integers, number: int) -> None:
        loop(play_listed, self.rules)(self.states, games, actions)

    def _ask(self, agent: Agent, games: Integers) -> tuple[Integers, float, Usage]:
        """Return an agent's actions in copies of the listed games, its seconds and its usage.

        The copies have no hidden information. An agent without ``act_batch`` gets games, with all moves if
        the game hides nothing.
        """
        usage = Usage()
        records = determinized(self.rules, self.states.take(games), self._streams, games)
        what = f"the actions of agent {agent.name!r}"
        if not _takes_games(agent):
            with attribute_errors(agent):
                began = perf_counter()
                if isinstance(agent, MeteredAgent):
                    answers, usage = agent.act_and_count(records)
                else:
                    answers = agent.act_batch(records)
                seconds = perf_counter() - began
            return check_actions(answers, len(games), what), seconds, usage
        of_record = self.rules.game.unchecked
        copies = [
            of_record(records, k) if self.rules.has_hidden_information else self._tracked[i].clone()
            for k, i in enumerate(games)
        ]
        with attribute_errors(agent):
            began = perf_counter()
            listed = [agent.act(game) for game in copies]
            seconds = perf_counter() - began
        checked = [as_action(action, f"the action of agent {agent.name!r}") for action in listed]
        return check_actions(checked, len(games), what), seconds, usage


def spawn_seed(*words: int) -> int:
    """Return a seed that depends on all of the numbers."""
    return int(np.random.SeedSequence(words).generate_state(1, np.uint64).item())


def _takes_games(agent: Agent) -> bool:
    return type(agent).act_batch is Agent.act_batch


@contextmanager
def attribute_errors(agent: Agent) -> Iterator[None]:
    """Attribute errors within the block to the agent; signals pass through.

    An IllegalActionError keeps its class. Other errors, including ``SystemExit``, become an OpponentError
    that names file and line.
    """
    try:
        yield
    except OpponentError:  # the message names the program
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


def _check_legal(actions: Integers, agent: Agent, states: States) -> None:
    """Raise IllegalActionError unless all of an agent's actions in ``(n,)`` records are legal."""
    rules = rules_of(states)
    illegal = int(loop(first_illegal, rules)(states, actions))
    if illegal >= 0:
        game, action = rules.game.unchecked(states, illegal), int(actions[illegal])
        before = repr(game)
        try:
            game.play(action)
        except IllegalActionError as error:
            raise IllegalActionError(
                f"agent {agent.name!r} chose action {action}, not legal in {before}: {error}"
            ) from None
