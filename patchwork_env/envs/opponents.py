"""The opponents of a learner: one, or one in each game of a batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol, SupportsIndex

import numpy as np
import numpy.typing as npt

from patchwork_env.core import batches, checks
from patchwork_env.core.game import BaseGame
from patchwork_env.core.kernels import States, copy_of
from patchwork_env.core.names import short_repr
from patchwork_env.core.random import Streams
from patchwork_env.core.rules import Rules
from patchwork_env.errors import IllegalActionError, OpponentError
from patchwork_env.games import rules_of

_LAST_SEED = 2**64 - 1


class Opponent(Protocol):
    """The interface of opponents, which every :class:`patchwork_env.agents.Agent` has."""

    name: str

    def act(self, game: Any) -> SupportsIndex:
        """Return a legal action for the current player of a game, without changing the game."""

    def act_batch(self, states: States) -> npt.NDArray[np.int64]:
        """Return legal actions for many games, int64 ``(n,)``."""

    def reseed(self, seed: int | None = None) -> None:
        """Restart the opponent's random numbers."""


def opponent_seed(seed: int) -> int:
    """Return the seed of the opponent's random numbers, which differs from that of the games."""
    return _LAST_SEED - seed


def require_opponent(opponent: Any, players: int) -> Opponent | None:
    """Return the opponent of a learner after validating it; it must be None in games for one player."""
    if players == 1 and opponent is not None:
        raise ValueError(f"opponent is {short_repr(opponent)}; a game for one player has none")
    if opponent is None:
        if players > 1:
            raise ValueError(f"opponent is None; the learner of a game for {players} players needs one")
    elif not all(hasattr(opponent, name) for name in ("name", "act", "act_batch", "reseed")):
        raise ValueError(
            f"opponent is {short_repr(opponent)}; it must be an agent: see patchwork_env.agents.as_agent"
        )
    return opponent  # type: ignore[no-any-return]


class Opponents:
    """The opponents of ``num_envs`` games. Each game has one, which it keeps to its end.

    >>> import numpy as np
    >>> from patchwork_env import agents
    >>> from patchwork_env.patchwork_v0 import SelfPlayBatch
    >>> env, seats = SelfPlayBatch(8, seed=7), np.arange(8) % 2
    >>> opponents = Opponents(8, [agents.load("greedy"), agents.load("random")], shares=[0.75, 0.25])
    >>> for _ in range(100):
    ...     actions = env.random_actions.copy()  # here the learner asks its policy
    ...     theirs = np.flatnonzero(env.current_players != seats)
    ...     actions[theirs] = opponents.answers(env.states[theirs], theirs)
    ...     env.step(actions)
    ...     opponents.begin(np.flatnonzero(env.terminations))

    ``shares`` and errors are those of :meth:`change`. ``players`` is the number of players of a game, and of
    neighboring games with the same opponent, one for each seat of the learner.

    Attributes:
        agents: The opponents.
        numbers: int64 ``(num_envs,)``, the index of each game's opponent.
    """

    def __init__(
        self,
        num_envs: int,
        agents: Sequence[Opponent],
        *,
        shares: Sequence[float] | None = None,
        players: int = 2,
    ) -> None:
        self._players = players
        self._streams = checks.determinization_streams(None, num_envs)
        self.agents: list[Opponent] = []
        self.numbers = self._next_numbers = np.zeros(num_envs, np.int64)
        self.change(agents, shares=shares, at_once=True)

    def change(
        self,
        agents: Sequence[Opponent],
        numbers: npt.ArrayLike | None = None,
        *,
        shares: Sequence[float] | None = None,
        at_once: bool = False,
    ) -> None:
        """Change the opponents of games that begin from now on, or of all games ``at_once``.

        A game that is on keeps its opponent, which gets a number after the new ones unless it is one of them.

        Args:
            agents: The opponents, at least one.
            numbers: Integers ``(num_envs,)``: the index of each game's opponent.
            shares: Instead, the relative share of the games for each agent, rounded to whole games, at least
                one where the share is not 0. Without numbers and shares, the games are shared evenly.
            at_once: Whether games that are on change their opponents, too.

        ValueError if agents, numbers or shares do not fit. An error changes nothing.
        """
        count, games = checks.check_at_least_one(len(agents), "the number of opponents"), len(self.numbers)
        for agent in agents:
            require_opponent(agent, self._players)
        if numbers is not None and shares is not None:
            raise ValueError(f"the shares are {short_repr(shares)} and there are numbers; give one of them")
        checked = self._shared_out(shares, count) if numbers is None else np.asarray(numbers)
        is_fitting = checked.shape == (games,) and checked.dtype.kind in "iu"
        if not (is_fitting and ((checked >= 0) & (checked < count)).all()):
            raise ValueError(
                f"the numbers of the opponents are {short_repr(numbers)}; "
                f"they must be {games} integers from 0 to {count - 1}"
            )
        known, then = list(agents), checked.astype(np.int64)
        now = then.copy()
        if not at_once:
            playing = [self.agents[number] for number in self.numbers]
            known = list({id(agent): agent for agent in (*agents, *playing)}.values())
            places = {id(agent): place for place, agent in enumerate(known)}
            then = np.array([places[id(agents[number])] for number in then.tolist()])
            now = np.array([places[id(agent)] for agent in playing])
        self.__dict__.update(agents=known, numbers=now, _next_numbers=then)  # one change, for interrupts

    def begin(self, games: npt.NDArray[np.int64]) -> None:
        """Assign the opponents of the last :meth:`change` to the listed games, which begin now."""
        self.numbers[games] = self._next_numbers[games]

    def answers(self, states: States, games: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the opponents' actions in some games, int64 ``(k,)``, all legal.

        The records ``(k,)`` are those of ``games`` ``(k,)`` of the batch. Opponents get copies in which
        hidden information is sampled anew. OpponentError if an answer is not one legal action per game.
        """
        rules = rules_of(states)
        if rules.has_hidden_information:
            states = batches.determinized(rules, states, self._streams, games)
        if len(self.agents) == 1:
            return answers(self.agents[0], rules, states, games)
        numbers, actions = self.numbers[games], np.empty(len(games), np.int64)
        for number in np.unique(numbers):
            asked = np.flatnonzero(numbers == number)
            actions[asked] = answers(self.agents[number], rules, states.take(asked), games[asked])
        return actions

    def reseed(self, seed: int) -> None:
        """Restart the opponents' random numbers, each with another seed, from the seed of the games."""
        self._streams[:] = checks.determinization_streams(opponent_seed(seed), len(self._streams))
        for number, agent in enumerate(self.agents):
            agent.reseed(opponent_seed(checks.offset_seed(seed, number)))

    def _shared_out(self, shares: Any, count: int) -> npt.NDArray[np.int64]:
        """Return the index of the opponent in each game, int64 ``(num_envs,)``, by relative shares."""
        games, weights = len(self.numbers), np.ones(count)
        if shares is None:
            neighbors = min(self._players, max(1, games // count))
            numbers = np.arange(games) // neighbors % count
        else:
            weights = _check_shares(shares, count)
            ends = np.rint(np.cumsum(weights / weights.sum()) * games)
            numbers = np.searchsorted(ends, np.arange(games), side="right")
        missing = np.setdiff1d(np.flatnonzero(weights), numbers)
        if len(missing):
            raise ValueError(
                f"opponent {missing[0]} of {count} has a share, but none of the {games} games; "
                "take more games or fewer opponents"
            )
        return numbers.astype(np.int64)


def opponents_of(
    given: Opponent | Sequence[Opponent] | None, num_envs: int, players: int, shares: Sequence[float] | None
) -> Opponents | None:
    """Return the opponents of a batch, from an agent or several; None, which is required, for one player."""
    if players > 1:
        listed: Any = given if isinstance(given, list | tuple) else [given]
        return Opponents(num_envs, listed, shares=shares, players=players)
    require_opponent(given, players)
    if shares is not None:
        raise ValueError(f"opponent_shares is {short_repr(shares)}; a game for one player has no opponents")
    return None


def _check_shares(shares: Any, count: int) -> npt.NDArray[np.float64]:
    try:
        weights = np.asarray(shares, np.float64)
    except (TypeError, ValueError):
        weights = np.array(np.nan)
    if weights.shape != (count,) or not (np.isfinite(weights).all() and weights.min() >= 0 < weights.sum()):
        raise ValueError(
            f"the shares of the opponents are {short_repr(shares)}; "
            f"they must be {count} numbers from 0 on that are not all 0"
        )
    return weights


def play_answer(opponent: Opponent, rules: Rules, game: BaseGame, streams: Streams) -> None:
    """Play the opponent's action in a game.

    Hidden information is sampled anew for the opponent from ``streams``, ``(1,)``. After an OpponentError
    the game may have changed: discard it.
    """
    seen = game
    if rules.has_hidden_information:
        seen = rules.game.unchecked(batches.determinized(rules, game.state, streams, batches.ONE_GAME))
    shown = seen.state.tobytes()
    try:
        action = checks.check_action(opponent.act(seen), rules.num_actions)
        if seen.state.tobytes() != shown:
            raise OpponentError(f"opponent {opponent.name!r} changed the game that it was shown")
        game.play(action)
    except IllegalActionError as error:
        raise OpponentError(f"opponent {opponent.name!r}: {error}") from error


def turns_of_others(game: BaseGame, seat: int) -> Iterator[BaseGame]:
    """Yield the game while another player than ``seat`` is to move; the caller plays each move."""
    while not game.is_over and game.current_player != seat:
        yield game


def seed_of_move(seed: int, game: BaseGame) -> int:
    """Return an opponent's seed for a move; it depends on the seed of the game and the number of moves."""
    return checks.offset_seed(opponent_seed(seed), game.num_moves)


def answers(
    opponent: Opponent, rules: Rules, states: States, games: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Return the opponent's actions in some games of a batch, int64 ``(k,)``, all legal."""
    try:
        actions = checks.check_actions(opponent.act_batch(copy_of(states)), len(states))
    except IllegalActionError as error:
        raise OpponentError(f"opponent {opponent.name!r}: {error}") from error
    illegal = batches.loop(batches.first_illegal, rules)(states, actions)
    if illegal >= 0:
        raise OpponentError(
            f"opponent {opponent.name!r}: action {actions[illegal]} is not legal in game {games[illegal]}"
        )
    return actions
