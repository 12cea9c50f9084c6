"""The interface of agents, and agents without a search and without weights."""

from __future__ import annotations

import functools
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Concatenate, ParamSpec, Protocol, Self, SupportsIndex, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt

from patchwork_env.core.batches import first_finished, loop, sample_actions, write_views
from patchwork_env.core.checks import as_action, check_action, check_actions, check_seed, seed_streams
from patchwork_env.core.game import BaseGame
from patchwork_env.core.kernels import States
from patchwork_env.core.names import short_repr
from patchwork_env.core.random import Streams
from patchwork_env.core.rules import Rules
from patchwork_env.core.tensors import Observation
from patchwork_env.games import GAMES, PATCHWORK, games_with, part_of, rules_of

Actions = npt.NDArray[np.int64]  # array of actions, shape `(n,)`
Masks = npt.NDArray[np.int8]  # action masks, shape `(n, num_actions)`: 1 for the legal actions, else 0

_P = ParamSpec("_P")
_R = TypeVar("_R")
_A = TypeVar("_A", bound="Agent")
_SERIALIZED = ("act", "act_batch", "reseed")


def serialized(method: Callable[Concatenate[_A, _P], _R]) -> Callable[Concatenate[_A, _P], _R]:
    """Make calls of an agent's serialized methods by several threads run one after the other."""

    @functools.wraps(method)
    def in_turn(self: _A, /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        with self._lock:
            return method(self, *args, **kwargs)

    return in_turn


class Agent(ABC):
    """Chooses an action for the current player of a game.

    **Threads.** Calls of :meth:`act`, :meth:`act_batch` and :meth:`reseed` by several threads run one after
    the other. To play in parallel, give each thread its own agent: ``copy.deepcopy(agent)``, or load it
    again.

    **Interrupts.** After Ctrl-C an agent is in the state before the call or after it. Random numbers and
    memories of earlier moves change together, at the end of a call.

    **Copies and pickles** leave out the workspace: search buffers that hold nothing between moves.

    Attributes:
        name: The name of the agent in tables and messages.
        games: The games that it plays, by default all.
    """

    __slots__ = ("__dict__", "__weakref__", "_lock", "_workspace")

    name: str
    games: Sequence[str] = GAMES

    _lock: threading.RLock
    _workspace: Any

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Give an agent its lock, even if a subclass does not call ``super().__init__``."""
        agent = super().__new__(cls)
        agent._lock, agent._workspace = threading.RLock(), None
        return agent

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Serialize the methods that a subclass defines."""
        super().__init_subclass__(**kwargs)
        for name in _SERIALIZED:
            if name in cls.__dict__:
                setattr(cls, name, serialized(cls.__dict__[name]))

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes; copies and pickles get their own lock and workspace."""
        return self.__dict__.copy()

    @abstractmethod
    def act(self, game: Any) -> int:  # Any: agents of one game narrow it to that game's class
        """Return a legal action for ``game.current_player``; the game is not changed.

        ValueError if the game is over, or is not one of :attr:`games`.
        """

    def act_batch(self, states: States) -> Actions:
        """Return actions for many games, int64 ``(n,)``, as :meth:`act` would choose them in turn.

        The states are records ``(n,)`` of one of :attr:`games`. They are not changed, and not validated
        (``Game.check_states`` does that). Errors are those of :meth:`act`.
        """
        rules = rules_of(self.check_states(states))
        games = (rules.game.unchecked(states, i) for i in range(len(states)))
        return np.array([check_action(self.act(game), rules.num_actions) for game in games], np.int64)

    def reseed(self, seed: int | None = None) -> None:
        """Restart the random numbers of the agent, if it draws any, from a seed; None for a fresh one."""
        check_seed(seed)

    def workspace(self) -> Any:
        """Return the agent's search buffers, which are made on first use."""
        if self._workspace is None:
            self._workspace = self._new_workspace()
        return self._workspace

    def _new_workspace(self) -> Any:
        raise NotImplementedError

    def check_game(self, game: str) -> None:
        """Raise ValueError if the agent does not play the game of a name, such as ``"patchwork"``."""
        if not isinstance(game, str) or game not in self.games:
            given = game[:60] if isinstance(game, str) else short_repr(game)
            raise ValueError(f"agent {self.name!r} plays {' and '.join(self.games)}, not {given}")

    def check_states(self, states: States) -> str:
        """Return the name of the game of some states; ValueError if it is not played here, or one is over."""
        game = check_running(states).name
        self.check_game(game)
        return game

    def __repr__(self) -> str:
        return f"<agent {self.name}>"


class BatchAgent(Agent):
    """An agent that handles many games in one call, and a single one as a batch of one."""

    def act(self, game: BaseGame) -> int:
        return int(check_actions(self.act_batch(record_of(game)), 1)[0])

    @abstractmethod
    def act_batch(self, states: States) -> Actions: ...


class DrawingAgent(BatchAgent):
    """An agent that draws random numbers; its stream advances only when a call has chosen all actions."""

    _stream: Streams

    def __init__(self, seed: int | None = None) -> None:
        self.reseed(seed)

    def reseed(self, seed: int | None = None) -> None:
        self._stream = seed_streams(seed)

    def act_batch(self, states: States) -> Actions:
        self.check_states(states)
        stream, actions = self._stream.copy(), np.empty(len(states), np.int64)
        self._choose(states, stream, actions)
        self._stream = stream
        return actions

    @abstractmethod
    def _choose(self, states: States, stream: Streams, actions: Actions) -> None:
        """Write an action for each game, with random numbers of ``stream[0]``."""


class SamplingAgent(BatchAgent):
    """An agent with a policy; it draws actions if ``sample`` is true, else plays the most probable."""

    def __init__(self, name: str, sample: bool, seed: int | None) -> None:
        self.name, self.sample = name, sample
        self.reseed(seed)

    def reseed(self, seed: int | None = None) -> None:
        self._random = np.random.default_rng(check_seed(seed))


def record_of(game: Any) -> States:
    """Return the state record of a game, ``(1,)``; ValueError if ``game`` is not a game."""
    try:
        return game.state  # type: ignore[no-any-return]
    except AttributeError:
        raise ValueError(f"a game is an object of the class Game, not {short_repr(game)}") from None


def check_running(states: States) -> Rules:
    """Return the rules of some states; ValueError if a game is over."""
    rules = rules_of(states)
    finished = int(loop(first_finished, rules)(states))
    if finished >= 0:
        which = f"game {finished} of the batch" if len(states) > 1 else "the game"
        raise ValueError(f"{which} is over; agents act only in games that are not over")
    return rules


# --- random and greedy play, and functions of the user ------------------------------------------------------


class RandomAgent(DrawingAgent):
    """Plays each legal action of any game with the same probability."""

    name = "random"

    def _choose(self, states: States, stream: Streams, actions: Actions) -> None:
        loop(sample_actions, rules_of(states))(states, stream, actions)


class GreedyAgent(BatchAgent):
    """Plays the move that looks best without looking ahead, by the part ``greedy`` of a game."""

    name = "greedy"
    games = games_with("greedy")

    def __init__(self, seed: int | None = None) -> None:
        """Accept a seed like all agents; choices need no random numbers."""

    def act_batch(self, states: States) -> Actions:
        game = self.check_states(states)
        actions = np.empty(len(states), np.int64)
        part_of(game, "greedy")(states, actions)
        return actions


class CallableAgent(Agent):
    """Plays the actions of a function from a ``Game`` to an integer.

    The function gets a copy of the game and may play on it. The agent's name is by default the function's.
    """

    def __init__(self, function: Callable[[Any], SupportsIndex], name: str | None = None) -> None:
        if not callable(function):
            raise ValueError(f"{short_repr(function)} is not a function from a game to an action")
        self.name = name_of(function, name)
        self._function = function

    def act(self, game: BaseGame) -> int:
        """Return the function's action; the game checks whether it is legal."""
        check_running(record_of(game))
        return as_action(self._function(game.clone()), f"the action of agent {self.name!r}")


class ObservingAgent(BatchAgent):
    """Plays the actions that a function, such as your own network, chooses from observations and masks.

    >>> from patchwork_env.agents import ObservingAgent
    >>> from patchwork_env.patchwork import Game
    >>> agent = ObservingAgent(lambda observations, masks: masks.argmax(axis=1), "first action")
    >>> agent.act(Game(seed=7)) == int(Game(seed=7).legal_actions()[0])
    True

    Args:
        choose: The function from observations of the players to move, float32 ``(n, size)``, and masks,
            int8 ``(n, num_actions)``, to legal actions, integers ``(n,)``.
        name: The name of the agent in tables and messages; by default the function's.
        game: The name of the game.
    """

    def __init__(
        self, choose: Callable[[Observation, Masks], Any], name: str | None = None, game: str = PATCHWORK
    ) -> None:
        if not callable(choose) or isinstance(choose, type):
            raise ValueError(f"{short_repr(choose)} is not a function from observations and masks to actions")
        self.name = name_of(choose, name)
        self.games = (rules_of(game).name,)
        self._choose = choose

    def act_batch(self, states: States) -> Actions:
        """Return the function's actions, int64 ``(n,)``; the games check whether they are legal."""
        self.check_states(states)
        return check_actions(self._choose(*views_of(states)), len(states))


def views_of(states: States) -> tuple[Observation, Masks]:
    """Return observations, float32, and masks, int8, of the players to move; row ``i`` is for state ``i``."""
    rules, count = rules_of(states), len(states)
    observations = np.empty((count, rules.layout.size), np.float32)
    masks = np.empty((count, rules.num_actions), np.int8)
    players = states["current_player"].astype(np.int64)
    loop(write_views, rules)(states, np.arange(count), players, masks, observations)
    return observations, masks


def name_of(function: Callable[..., Any], name: str | None) -> str:
    """Return the name of an agent that calls a function: the given one, or that of the function."""
    if not isinstance(name, str | None):
        raise ValueError(f"the name of an agent must be text, not {short_repr(name)}")
    return name or str(getattr(function, "__name__", type(function).__name__))


# --- the usage of language models ---------------------------------------------------------------------------


@dataclass
class Usage:
    """Counts over the decisions of a language model."""

    decisions: int = 0  # moves that the model had to choose
    calls: int = 0  # one per decision, and one more after each question or illegal answer
    questions: int = 0  # answers that ask for something, such as the list of placements
    illegal_answers: int = 0  # answers that are neither a legal move nor a question
    retries: int = 0  # calls after an illegal answer
    fallbacks: int = 0  # moves of the fallback agent, after the last illegal answer
    prompt_characters: int = 0
    answer_characters: int = 0
    seconds: float = 0.0  # sum over all calls and threads

    def add(self, other: Usage) -> None:
        """Add the counts of another object."""
        for name, value in asdict(other).items():
            setattr(self, name, getattr(self, name) + value)


@runtime_checkable
class MeteredAgent(Protocol):
    """An agent that reports its usage, which matches add to their results."""

    def act_and_count(self, states: States) -> tuple[Actions, Usage]:
        """Return legal actions for many games, as ``act_batch`` does, and the usage of this call."""
