"""The nodes of a game tree, which copies of a state share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyspiel

from patchwork_env.core.game import BaseGame
from patchwork_env.games import rules_of

CHANCE, TERMINAL = int(pyspiel.PlayerId.CHANCE), int(pyspiel.PlayerId.TERMINAL)


class Node:
    """A node of the game tree. It never changes, so that all copies of a state share it.

    Args:
        game: The position, which nobody must play on.
        dealing: Where chance is to decide something, how much of it is decided already; None elsewhere.

    Attributes:
        player: The player to move, or ``CHANCE`` or ``TERMINAL``.
    """

    __slots__ = ("_legal", "dealing", "game", "player")

    def __init__(self, game: BaseGame, dealing: int | None = None) -> None:
        self.game, self.dealing = game, dealing
        if dealing is not None:
            self.player = CHANCE
        else:
            self.player = TERMINAL if game.is_over else game.current_player
        self._legal: list[int] | None = None

    def copy_of_game(self) -> BaseGame:
        """A game at this position that may be played on, without what was played before."""
        return type(self.game).unchecked(self.game.state)

    @property
    def legal(self) -> list[int]:
        """The legal actions, ascending, which are listed once for all copies."""
        if self._legal is None:
            self._legal = self.game.legal_actions().tolist()
        return self._legal

    def __copy__(self) -> Node:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Node:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        state = self.game.state
        return _restored, (rules_of(state).name, state.tobytes(), self.dealing)


def _restored(name: str, record: bytes, dealing: int | None) -> Node:
    """A node from a stored state, whose set-up may be incomplete at a node of chance."""
    rules = rules_of(name)
    states = np.frombuffer(record, rules.dtype)
    if dealing is None:
        return Node(rules.game.from_state(states))
    return Node(rules.game.unchecked(rules.check_ranges(states)), dealing)
