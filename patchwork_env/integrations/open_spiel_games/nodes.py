"""The nodes of a game tree, which copies of a state share."""

from __future__ import annotations

from collections.abc import Callable
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
        return type(self.game)._of_record(self.game.state)

    def legal(self, find: Callable[[BaseGame], list[int]]) -> list[int]:
        """The legal actions, which ``find`` lists once for all copies."""
        if self._legal is None:
            self._legal = find(self.game)
        return self._legal

    def __copy__(self) -> Node:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Node:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        state = self.game.state
        return _restored, (rules_of(state).name, state.tobytes(), self.dealing)


def _restored(name: str, record: bytes, dealing: int | None) -> Node:
    rules = rules_of(name)
    return Node(rules.game._of_record(np.frombuffer(record, rules.dtype)), dealing)
