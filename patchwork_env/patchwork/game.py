"""The class of one game of Patchwork, around one state record."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from patchwork_env.core import storage
from patchwork_env.core.game import BaseGame
from patchwork_env.patchwork import components, engine, notation
from patchwork_env.patchwork.actions import Move, decode, encode
from patchwork_env.patchwork.rules import RULES
from patchwork_env.patchwork.state import NOBODY, States

EMPTY = -1
SPECIAL_PATCH = components.NUM_PATCHES
UNKNOWN_PIECE = components.NUM_PATCHES + 1
"""Entries of :meth:`Game.layout` for cells without a known patch: empty, a special patch, or unknown."""


class Game(BaseGame[Move]):
    """A game of Patchwork, determined by the circle of patches and the first player.

    >>> game = Game(seed=7)
    >>> while not game.is_over:
    ...     game.play(game.legal_actions()[0])
    >>> game.winner() in (0, 1)
    True

    Args:
        seed: The seed of the random circle, ``0 ... 2**64 - 1``; None for a fresh random game.
        circle: All 33 patches clockwise from the neutral token, the 1x2 patch (0) last, instead of a seed.
        first_player: The player who starts, 0, 1 or ``"random"``.
        special_patches: The print of the time track, ``"revised"`` or ``"2014"``.

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
        circle: Iterable[int] | None = None,
        first_player: int | str = 0,
        special_patches: str = "revised",
        **unknown: Any,
    ) -> None:
        if seed is not None and circle is not None:
            raise ValueError("give a seed or a circle, not both")
        options = {"circle": circle, "first_player": first_player, "special_patches": special_patches}
        super().__init__(seed, **options, **unknown)

    # --- the table -----------------------------------------------------------------------------

    @property
    def positions(self) -> tuple[int, int]:
        """The spaces of both players on the time track, 0-53."""
        return self._pair("position")

    @property
    def buttons(self) -> tuple[int, int]:
        """The buttons of both players."""
        return self._pair("buttons")

    @property
    def incomes(self) -> tuple[int, int]:
        """The income of both players at each income mark, in buttons."""
        return self._pair("income")

    @property
    def bonus_owner(self) -> int | None:
        """The player who owns the 7x7 bonus tile; None if neither does."""
        return self._player_or_none("bonus_owner")

    @property
    def first_finisher(self) -> int | None:
        """The player who reached the last space first and wins on equal scores; None if neither has."""
        return self._player_or_none("first_finisher")

    @property
    def pending_special(self) -> bool:
        """Whether the current player must place a special patch now."""
        return bool(self.state["pending_special"][0])

    @property
    def circle(self) -> tuple[int, ...]:
        """The patches that are left, clockwise from the neutral token."""
        return tuple(self.state["circle"][0, : self.state["num_patches"][0]].tolist())

    @property
    def offered(self) -> tuple[int, ...]:
        """The patches that may be bought: the first three of the circle."""
        return self.circle[: components.NUM_OFFERED]

    @property
    def special_patches(self) -> str:
        """The print of the time track: ``"revised"`` or ``"2014"``."""
        return components.VARIANTS[int(self.state["variant"][0])]

    @property
    def special_spaces(self) -> tuple[int, ...]:
        """The spaces of the special patches that are not taken yet."""
        return tuple(
            space for space in components.SPECIAL_SPACES[self.special_patches] if space > max(self.positions)
        )

    def quilt(self, player: int) -> npt.NDArray[np.bool_]:
        """Return the covered cells of a player's quilt as a bool array ``(9, 9)``."""
        bits = self.quilt_bits(player).to_bytes(11, "little")
        cells = np.unpackbits(np.frombuffer(bits, np.uint8), count=components.NUM_CELLS, bitorder="little")
        return cells.astype(bool).reshape(components.QUILT_SIZE, components.QUILT_SIZE)

    def quilt_bits(self, player: int) -> int:
        """Return the covered cells of a player's quilt as an integer with the bits ``9 * row + column``."""
        return notation.quilt_bits(self.state, self._check_player(player))

    def layout(self, player: int) -> npt.NDArray[np.int8]:
        """Return the piece that covers each cell of a player's quilt, as an int8 array ``(9, 9)``.

        Entries are -1 for an empty cell, 0-32 for a patch, 33 for a special patch, and 34 for an unknown
        piece: a cell that was covered already in the stored state with which this object began.
        """
        layout = np.where(self.root().quilt(player), UNKNOWN_PIECE, EMPTY).astype(np.int8)
        for game, action in self._replay():
            if game.current_player == player:
                _, patch, cells = decode(action, game.offered)
                for cell in cells:
                    layout[cell] = SPECIAL_PATCH if patch is None else patch
        return layout

    # --- playing ------------------------------------------------------------------------------------------

    def _decode(self, actions: list[int]) -> list[Move]:
        offered = self.offered
        return [decode(action, offered) for action in actions]

    def _encode(self, move: Move) -> int:
        return encode(move, self.offered)

    def winner(self) -> int | None:
        """Return the winner, 0 or 1; None until the game is over."""
        return int(engine.winner(self.state, 0)) if self.is_over else None

    def winners(self) -> tuple[int, ...]:
        """Return the winner as a tuple of one; empty until the game is over."""
        winner = self.winner()
        return () if winner is None else (winner,)

    # --- details ------------------------------------------------------------------------------------------

    def _progress(self) -> str:
        return f"positions {self.positions}"

    def _pair(self, name: str) -> tuple[int, int]:
        first, second = self.state[name][0].tolist()
        return first, second

    def _player_or_none(self, name: str) -> int | None:
        player = int(self.state[name][0])
        return None if player == NOBODY else player

    def _word(self, action: int) -> str:
        return notation.move_text(action, self.offered)

    def _parse_word(self, text: str) -> int:
        return notation.parse_move(text, self.offered)

    def _set_up_fields(self) -> dict[str, str] | None:
        if len(self.circle) < components.NUM_PATCHES or self.circle[-1] != components.START_PATCH:
            return None
        circle = storage.numbers_text(self.circle)
        return {"variant": self.special_patches, "first": str(self.current_player), "circle": circle}

    @classmethod
    def _read_set_up(cls, fields: dict[str, str]) -> dict[str, Any]:
        first = storage.parse_number(fields["first"])
        circle = storage.parse_numbers(fields["circle"])
        return {"circle": circle, "first_player": first, "special_patches": fields["variant"]}

    def _position_fields(self) -> dict[str, str]:
        return notation.write_position(self.state)

    @classmethod
    def _read_position(cls, fields: dict[str, str]) -> States:
        return notation.read_position(fields)
