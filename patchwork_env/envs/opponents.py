"""Who plays against the learner of a Gymnasium environment."""

from __future__ import annotations

from typing import Any, Protocol, SupportsIndex

import numpy as np
import numpy.typing as npt

from patchwork_env.core.batches import first_illegal, loop
from patchwork_env.core.checks import check_action, check_answer
from patchwork_env.core.game import BaseGame
from patchwork_env.core.names import shorten
from patchwork_env.core.rules import Rules, States
from patchwork_env.errors import IllegalActionError, OpponentError

_LAST_SEED = 2**64 - 1


class Opponent(Protocol):
    """What an opponent has to offer; every :class:`patchwork_env.agents.Agent` does."""

    name: str

    def act(self, game: Any) -> SupportsIndex:
        """A legal action for the current player of a game; the game itself is not changed."""

    def act_batch(self, states: States) -> npt.NDArray[np.int64]:
        """Legal actions for many games, int64 ``(n,)``."""

    def reseed(self, seed: int | None = None) -> None:
        """Starts the opponent's random numbers anew."""


def opponent_seed(seed: int) -> int:
    """The seed of the opponent's random numbers, which differs from the seed of the games."""
    return _LAST_SEED - seed


def require_opponent(opponent: Any, players: int) -> Opponent | None:
    """The opponent of a learner, or None where the learner plays alone.

    Raises:
        ValueError: There is no opponent, and the game has several players.
        TypeError: The opponent is no agent; a spec, for example, is understood by ``gymnasium.make`` alone.
    """
    if opponent is None:
        if players > 1:
            raise ValueError(f"opponent is None; the learner of a game for {players} players needs one")
    elif not all(hasattr(opponent, name) for name in ("name", "act", "act_batch", "reseed")):
        raise TypeError(
            f"opponent is {shorten(opponent)}; it must be an agent: see patchwork_env.agents.as_agent"
        )
    return opponent  # type: ignore[no-any-return]


def play_answer(opponent: Opponent, rules: Rules, game: BaseGame) -> bool:
    """Plays the opponent's action in a game, unless it cuts the game off; returns whether it does.

    Raises:
        OpponentError: The action is not legal, or the opponent changed the game that it was shown; so the
            game is to be thrown away.
    """
    shown = bytes(game._buffer)
    try:
        action = check_action(opponent.act(game), rules.num_actions)
        if game._buffer != shown:
            raise OpponentError(f"opponent {opponent.name!r} changed the game that it was shown")
        if rules.can_cut_off and rules.is_cut_off(game, action):
            return True
        game.play(action)
    except IllegalActionError as error:
        raise OpponentError(f"opponent {opponent.name!r}: {error}") from error
    return False


def answers(
    opponent: Opponent, rules: Rules, states: States, games: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """The opponent's actions in some games of a batch, int64 ``(k,)``, all legal.

    Args:
        opponent: The agent that is asked.
        rules: The rules of the game.
        states: The ``(k,)`` state records of these games; the opponent gets a copy.
        games: The ``(k,)`` indices of the games in the batch, for messages.

    Raises:
        OpponentError: The opponent did not answer with one legal action for each game.
    """
    try:
        actions = np.array(check_answer(opponent.act_batch(states.copy()), len(states)), np.int64)
    except IllegalActionError as error:
        raise OpponentError(f"opponent {opponent.name!r}: {error}") from error
    illegal = loop(first_illegal, rules)(states, actions)
    if illegal >= 0:
        raise OpponentError(
            f"opponent {opponent.name!r}: action {actions[illegal]} is not legal in game {games[illegal]}"
        )
    return actions
