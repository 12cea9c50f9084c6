"""A batch of games with one learner each, in which the others play until it is the learner's turn."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.error import ResetNeeded

from patchwork_env.core import batches
from patchwork_env.core.batches import SCORE, Actions, Games, list_games, loop
from patchwork_env.core.checks import check_actions, seed_streams
from patchwork_env.core.game import BaseGame
from patchwork_env.core.names import short_repr
from patchwork_env.core.rules import Rules, SetUp
from patchwork_env.envs.dealing import Dealer
from patchwork_env.envs.opponents import Opponent, Opponents
from patchwork_env.envs.options import MOST_DEALS, NO_TURN
from patchwork_env.errors import IllegalActionError, OpponentError

_NOT_BEGUN = "no game is on: call reset()"
_BROKEN = (
    "the last call was interrupted, or an opponent failed in it, and left the games in the middle of a step: "
    "call reset(); for a model of Stable-Baselines3, model.set_env(env)"
)


class LearnerBatch:
    """``n`` games with one learner each. Between two calls it is the learner's turn, or the game is over.

    Callers validate actions and options, and change games within :meth:`changing`.

    Args:
        rules: The rules of the games.
        num_games: The number of games.
        options: All options of the game.
        seat: The learner's player number, see :class:`~patchwork_env.envs.dealing.Dealer`.
        opponents: The agents that play for all others, None if the learner plays alone.
        reward_kind: ``OUTCOME``, ``MARGIN`` or ``SCORE``.
        skips_forced: Whether turns with one legal action are played at once, also the learner's.

    Attributes:
        states: ``(n,)`` records of the games.
        seats: int64 ``(n,)``, the learner's player number in each game.
        decisions: int64 ``(n,)``, the number of the learner's actions in each game.
        turns: The number of turns of all players in all games.
    """

    def __init__(
        self,
        rules: Rules,
        num_games: int,
        options: Mapping[str, Any],
        *,
        seat: int | str = 0,
        opponents: Opponents | None,
        reward_kind: int,
        skips_forced: bool = False,
    ) -> None:
        self.rules, self.opponents, self.reward_kind = rules, opponents, reward_kind
        self.dealer = Dealer(rules, num_games, options, seat)
        self.states = rules.empty_states(num_games)
        self.seats = self.dealer.fixed_seats.copy()
        self.decisions = np.zeros(num_games, np.int64)
        self.turns = 0
        self.all_games = np.arange(num_games)
        self._skips_forced = skips_forced
        self._scores = np.zeros(num_games, np.int64)  # the learners' before the step, for ``SCORE``
        self._reset_reason: str | None = _NOT_BEGUN

    def require_ready(self) -> None:
        """Raise ResetNeeded before the first reset, or if the last call did not finish."""
        if self._reset_reason is not None:
            raise ResetNeeded(self._reset_reason)

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Require a reset unless the block ends without an error."""
        self._reset_reason = _BROKEN
        yield
        self._reset_reason = None

    def games(self) -> list[BaseGame]:
        """Return copies of all games."""
        self.require_ready()
        return [self.rules.game.unchecked(self.states, i) for i in range(len(self.states))]

    def change_opponents(
        self,
        agents: Sequence[Opponent],
        numbers: npt.ArrayLike | None = None,
        *,
        shares: Sequence[float] | None = None,
        at_once: bool = False,
    ) -> None:
        """Change the opponents, at once if no game is on; see :meth:`Opponents.change`.

        ValueError if the games are for one player.
        """
        if self.opponents is None:
            raise ValueError(f"opponents are {short_repr(agents)}; a game for one player has none")
        at_once = at_once or self._reset_reason is not None
        self.opponents.change(agents, numbers, shares=shares, at_once=at_once)

    # --- playing ------------------------------------------------------------------------------------------

    def reseed_all(self, seed: int) -> None:
        """Restart the random numbers of all games, as those of a ``SelfPlayBatch``, and of the opponents."""
        self.dealer.streams[:] = seed_streams(seed, len(self.states))
        if self.opponents is not None:
            self.opponents.reseed(seed)

    def reseed(self, seeds: Mapping[int, int | None]) -> None:
        """Restart the random numbers of games with a seed and, if all games are listed, of the opponents.

        The opponents get the first seed. Otherwise they continue, since games that go on share them.
        """
        given = {game: seed for game, seed in seeds.items() if seed is not None}
        for game, seed in given.items():
            self.dealer.reseed(game, seed)
        if given and len(seeds) == len(self.states) and self.opponents is not None:
            self.opponents.reseed(next(iter(given.values())))

    def legality(self, actions: npt.ArrayLike) -> tuple[Actions, npt.NDArray[np.bool_]]:
        """Return the learners' actions, int64 ``(n,)``, and which of them are legal, bool ``(n,)``."""
        self.require_ready()
        checked, legal = check_actions(actions, len(self.states)), np.empty(len(self.states), np.bool_)
        loop(batches.check_actions, self.rules)(self.states, checked, legal)
        return checked, legal

    def begin(self, games: Games, set_up: SetUp | None = None) -> None:
        """Start new games at the listed indices, and play to the learner's first turn.

        Games that end before that turn are replaced. OpponentError after ``MOST_DEALS`` such rounds.
        """
        self._deal(games, set_up)
        self.play_on(self._untouched, set_up)

    def play(self, games: Games, actions: Actions) -> None:
        """Play legal actions ``(k,)`` of the learners in the listed games."""
        if self.reward_kind == SCORE:
            loop(batches.write_own_scores, self.rules)(self.states, games, self.seats, self._scores)
        self.decisions[games] += 1
        self._play(games, actions)

    def play_on(self, renewed: Callable[[Games], Games] | None = None, set_up: SetUp | None = None) -> None:
        """Play the turns of others, and forced ones, until each game is at its learner's turn or over.

        ``renewed`` gets the indices of the games that are over, and returns those to start anew at once.
        """
        rounds = 0
        while True:
            if self._skips_forced:
                self.turns += loop(batches.play_forced, self.rules)(self.states)
            if renewed is not None:
                over = self.over()
                games = renewed(over) if len(over) else over
                if len(games):
                    rounds += 1
                    if rounds > MOST_DEALS and not self.decisions[games].any():
                        raise OpponentError(NO_TURN)
                    self._deal(games, set_up)
                    continue
            if self.opponents is None:
                return
            waiting = list_games(batches.list_waiting, self.rules, self.states, self.seats)
            if not len(waiting):
                return
            self._play(waiting, self.opponents.answers(self.states.take(waiting), waiting))

    def over(self) -> Games:
        """Return the indices of the games that are over."""
        return list_games(batches.list_over, self.rules, self.states)

    def write_rewards(self, games: Games, rewards: npt.NDArray[np.float64]) -> None:
        """Write the learners' rewards since :meth:`play` to ``rewards``, ``(n,)``, for the listed games."""
        loop(batches.write_rewards, self.rules)(
            self.states, games, self.seats, self.reward_kind, self._scores, rewards
        )

    def _untouched(self, games: Games) -> Games:
        """Return the indices among ``games`` in which the learner has not moved yet."""
        untouched: Games = games[self.decisions[games] == 0]
        return untouched

    def _deal(self, games: Games, set_up: SetUp | None) -> None:
        self.decisions[games] = 0
        self.dealer.deal(self.states, games, set_up)
        self.dealer.assign_seats(self.seats, games)
        if self.opponents is not None:
            self.opponents.begin(games)

    def _play(self, games: Games, actions: Actions) -> None:
        loop(batches.play_listed, self.rules)(self.states, games, actions)
        self.turns += len(games)


def refuse(actions: Actions, wrong: npt.NDArray[np.bool_], hint: str = "") -> None:
    """Raise an IllegalActionError that names the first ``wrong`` action, bool ``(n,)``, if there is one."""
    if np.count_nonzero(wrong):
        game = int(wrong.argmax())
        raise IllegalActionError(
            f"action {actions[game]} of game {game} is not legal; no game was changed{hint}"
        )
