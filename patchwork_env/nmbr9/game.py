"""The class of one game of NMBR 9, around one state record."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from patchwork_env.core.game import BaseGame
from patchwork_env.core.kernels import copy_of
from patchwork_env.errors import IllegalActionError
from patchwork_env.nmbr9 import decks, engine, notation
from patchwork_env.nmbr9.actions import FIRST_CHOICE, NUM_TURNS, TABLE_SIZE, Move, cells_at, encode, placement
from patchwork_env.nmbr9.components import COPIES, NUM_DIGITS, ORDERS
from patchwork_env.nmbr9.rules import RULES
from patchwork_env.nmbr9.state import FREE, NO_DIGIT, States


class Game(BaseGame[Move]):
    """A game of NMBR 9, determined by its deck.

    The players take turns to place the tile of the same card, each on a separate table.

    >>> game = Game(seed=7)
    >>> while not game.is_over:
    ...     game.play(game.legal_actions()[-1])
    >>> len(game.placements(0))
    20

    Args:
        seed: The seed of the random deck, ``0 ... 2**64 - 1``; None for a fresh random game.
        deck: The digits of 1-40 cards in the order in which they come, instead of a seed.
        players: The number of players, 1-4.
        order: The order of the tiles. With ``"unknown"`` no player knows the next cards, with
            ``"known"`` all players do, and with ``"free"`` each player chooses the next of the tiles left.
        max_digit: The highest digit in the random deck.
        copies: The number of cards of each digit in the random deck.
        deck_size: The number of tiles that each player places; None for as many as the deck has cards.

    Raises:
        ValueError: An argument has a value that is not allowed.
    """

    __slots__ = ()

    rules = RULES
    set_ups = notation.SET_UPS

    def __init__(
        self,
        seed: int | None = None,
        *,
        deck: Iterable[int] | None = None,
        players: int = 1,
        order: str = "unknown",
        max_digit: int = NUM_DIGITS - 1,
        copies: int = COPIES,
        deck_size: int | None = None,
        **unknown: Any,
    ) -> None:
        if seed is not None and deck is not None:
            raise ValueError("give a seed or a deck, not both")
        options = {"players": players, "order": order, "deck_size": deck_size, "deck": deck}
        super().__init__(seed, max_digit=max_digit, copies=copies, **options, **unknown)

    # --- the table -----------------------------------------------------------------------------

    @property
    def num_rounds(self) -> int:
        """The number of tiles that each player places in the whole game."""
        return int(self.state[0]["num_rounds"])

    @property
    def round(self) -> int:
        """The number of complete rounds, which is the number of tiles that every player has placed."""
        return int(self.state[0]["round"])

    @property
    def order(self) -> str:
        """The order of the tiles: ``"unknown"``, ``"known"`` or ``"free"``."""
        return ORDERS[int(self.state[0]["order"])]

    @property
    def deck(self) -> tuple[int, ...]:
        """All cards, even those that players may not know; in free order the supply, ascending."""
        record = self.state[0]
        return tuple(record["deck"][: record["num_cards"]].tolist())

    @property
    def digit(self) -> int | None:
        """The digit of the tile to be placed; None if a tile is to be chosen or the game is over."""
        digit = NO_DIGIT if self.is_over else engine.digit_to_place(self.state, 0)
        return None if digit == NO_DIGIT else int(digit)

    @property
    def upcoming(self) -> tuple[int, ...]:
        """The cards after the present one that the players know."""
        return self.deck[self.round + 1 : self.num_rounds] if self.order == "known" else ()

    def remaining(self, player: int = 0) -> tuple[int, ...]:
        """Return the number of tiles that are left of each digit, ten numbers.

        In free order these are the tiles from which the player may choose. Otherwise they are all cards that
        are not turned yet, even if the game ends before them, and the same for all players.
        """
        counts = np.zeros(NUM_DIGITS, np.int64)
        if self.state[0]["order"] == FREE:
            engine.supply(self.state, 0, self._check_player(player), counts)
        else:
            np.add.at(counts, list(self.deck[min(self.round + 1, self.num_rounds) :]), 1)
        return tuple(counts.tolist())

    def placements(self, player: int = 0) -> tuple[Move, ...]:
        """Return the tiles on a player's table in order, with cells in the coordinates of :meth:`decode`."""
        who, record = self._check_player(player), self.state[0]
        moves = []
        for t in range(engine.num_placed(self.state, 0, who)):
            digit, orientation = divmod(int(record["piece"][who, t]), NUM_TURNS)
            row, column = int(record["row"][who, t]), int(record["column"][who, t])
            cells = cells_at(digit, orientation, row, column)
            moves.append(Move(digit, int(record["level"][who, t]), cells))
        return tuple(moves)

    def heights(self, player: int = 0) -> npt.NDArray[np.int8]:
        """Return the number of tiles on each cell of a player's table, as an int8 array ``(64, 64)``."""
        heights = np.zeros((TABLE_SIZE, TABLE_SIZE), np.int8)
        for move in self.placements(player):
            for cell in move.cells:
                heights[cell] += 1
        return heights

    # --- playing ------------------------------------------------------------------------------------------

    def _decode(self, actions: list[int]) -> list[Move]:
        levels = np.empty((engine.MAX_LEVELS + 1, engine.NUM_ROWS), np.uint64)
        number = engine.paint(self.state, 0, self.current_player, levels)
        digit = 0 if self.is_over else int(engine.digit_to_place(self.state, 0))
        moves = []
        for action in actions:
            if action >= FIRST_CHOICE:
                moves.append(Move(action - FIRST_CHOICE))
            else:
                orientation, row, column = placement(action)
                level = engine.level_at(levels, number, NUM_TURNS * digit + orientation, row, column)
                moves.append(Move(digit, int(level), cells_at(digit, orientation, row, column)))
        return moves

    def _encode(self, move: Move) -> int:
        index = encode(move, self.digit)
        level = self.decode(index).level
        if level != move.level:
            raise IllegalActionError(f"the tile {move.digit} would be on level {level}, not on {move.level}")
        return index

    # --- hidden information --------------------------------------------------------------------------------

    def public(self) -> Game:
        """Return the game as all players know it: at the start of this round, with unknown cards sorted."""
        states = copy_of(self.state)
        if not self.is_over:
            decks.hide(states, 0)
        return Game.unchecked(states)

    @property
    def num_public_moves(self) -> int:
        """The number of moves of :attr:`history` that all players know: those of complete rounds."""
        player = self.current_player
        has_chosen = self.state[0]["chosen"][player] != NO_DIGIT
        return max(self.num_moves - player - self.num_players * int(has_chosen), 0)

    # --- details ------------------------------------------------------------------------------------------

    def _progress(self) -> str:
        return f"round {self.round} of {self.num_rounds}"

    def _first_corner(self) -> notation.Corner | None:
        """Return the top-left corner of the current player's first tile; None if there is no tile yet."""
        record, player = self.state[0], self.current_player
        if not engine.num_placed(self.state, 0, player):
            return None
        return int(record["row"][player, 0]), int(record["column"][player, 0])

    def _word(self, action: int) -> str:
        return notation.move_text(action, self.digit, self._first_corner())

    def _parse_word(self, text: str) -> int:
        return notation.parse_move(text, self.digit, self._first_corner())

    def _set_up_fields(self) -> dict[str, str]:
        return notation.write_set_up(self.state)

    @classmethod
    def _read_set_up(cls, fields: dict[str, str]) -> dict[str, Any]:
        return notation.read_set_up(fields)

    def _position_fields(self) -> dict[str, str]:
        return notation.write_position(self.state)

    @classmethod
    def _read_position(cls, fields: dict[str, str]) -> States:
        return notation.read_position(fields)
