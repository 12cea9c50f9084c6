"""What the ``Game`` classes of both games have in common: a shell around one state record."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import ModuleType
from typing import Any, ClassVar, Self, SupportsIndex

import numpy as np
import numpy.typing as npt

from patchwork_env.core import checks, storage
from patchwork_env.errors import IllegalActionError

States = npt.NDArray[np.void]


class BaseGame(ABC):
    """One game: its state, the state in which this object began, and the actions played since then."""

    __slots__ = ("_history", "_origin", "_state")

    _engine: ClassVar[ModuleType]
    """The rules, with the kernels ``legal``, ``is_legal``, ``legal_mask``, ``apply``, ``play`` and so on."""
    _serialization: ClassVar[ModuleType]
    """``to_bytes`` and ``from_bytes``."""
    _num_actions: ClassVar[int]
    _legal_shape: ClassVar[tuple[int, int]]
    """Of the engine's legal sets."""
    _format: ClassVar[str]
    """The name of the notation."""
    _set_ups: ClassVar[tuple[set[str], ...]]
    """The sets of fields that make a set-up in the notation."""

    _state: States
    _origin: States
    _history: list[int]

    @classmethod
    def from_state(cls, states: States, i: int = 0) -> Self:
        """A game that goes on from a copy of record ``i`` of a batch."""
        game = cls.__new__(cls)
        game._state = states[i : i + 1].copy()
        game._origin = game._state.copy()
        game._history = []
        return game

    @property
    def state(self) -> States:
        """The state record, shape ``(1,)``; for compiled code, which must leave it as it is."""
        return self._state

    @property
    def current_player(self) -> int:
        """Who is to move, counted from 0."""
        return int(self._state[0]["current_player"])

    @property
    def history(self) -> tuple[int, ...]:
        """The actions played on this object so far."""
        return tuple(self._history)

    @property
    def is_over(self) -> bool:
        """Whether the game has ended."""
        return bool(self._engine.is_over(self._state, 0))

    @abstractmethod
    def scores(self) -> tuple[int, ...]:
        """All players' scores as they are now."""

    # --- playing ------------------------------------------------------------------------------------------

    def legal_actions(self) -> npt.NDArray[np.int16]:
        """Legal actions, int16, ascending; empty when the game is over."""
        legal_set = np.empty(self._legal_shape, np.uint64)
        count = self._engine.legal(self._state, 0, legal_set)
        actions = np.empty(count, np.int16)
        if count:
            self._engine.write_actions(legal_set, actions)
        return actions

    def action_mask(self) -> npt.NDArray[np.int8]:
        """1 for the legal actions, int8, shape ``(NUM_ACTIONS,)``; all zeros when the game is over."""
        mask = np.empty(self._num_actions, np.int8)
        self._engine.legal_mask(self._state, 0, mask)
        return mask

    def play(self, action: SupportsIndex) -> None:
        """Plays a legal action of the current player.

        Raises:
            IllegalActionError: The action is not legal, or the game is over; the game is left as it was.
        """
        index = checks.check_action(action, self._num_actions)
        if not self._engine.play(self._state, 0, index):
            raise self._why_refused(index)
        self._history.append(index)

    def _require_legal(self, action: SupportsIndex) -> int:
        index = checks.check_action(action, self._num_actions)
        if not self._engine.is_legal(self._state, 0, index):
            raise IllegalActionError(self._why_illegal(index))
        return index

    def _why_refused(self, action: int) -> Exception:
        """Why the engine does not play an action."""
        return IllegalActionError(self._why_illegal(action))

    def _why_illegal(self, action: int) -> str:
        if self.is_over:
            return f"action {action} comes after the end of the game"
        count = len(self.legal_actions())
        return (
            f"action {action} is not legal for player {self.current_player} now; "
            f"legal_actions() lists the {count} that are"
        )

    # --- copying and storing ------------------------------------------------------------------------------

    def clone(self) -> Self:
        """An independent copy, history included."""
        game = type(self).__new__(type(self))
        game._state = self._state.copy()
        game._origin = self._origin
        game._history = self._history.copy()
        return game

    def to_bytes(self) -> bytes:
        """The state as bytes, with version and checksum; the history is not part of it."""
        data: bytes = self._serialization.to_bytes(self._state)
        return data

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The inverse of :meth:`to_bytes`.

        Raises:
            ValueError: The bytes are foreign, damaged, of another version, or no state that a game reaches.
        """
        return cls.from_state(cls._serialization.from_bytes(data))

    def __eq__(self, other: object) -> bool:
        """Games are equal if their states are; how they came there does not matter."""
        if not isinstance(other, type(self)):
            return NotImplemented
        return self._state.tobytes() == other._state.tobytes()

    __hash__ = None  # type: ignore[assignment]

    # --- notation -----------------------------------------------------------------------------------------

    def move_text(self, action: SupportsIndex) -> str:
        """The word for a legal action in the game's notation."""
        return self._word(self._require_legal(action))

    def parse_move(self, text: str) -> int:
        """The legal action of a word, the inverse of :meth:`move_text`.

        Raises:
            IllegalActionError: The word is no legal move.
        """
        try:
            index = self._parse_word(text)
        except ValueError as error:
            raise IllegalActionError(str(error)) from None
        if not self._engine.is_legal(self._state, 0, index):
            raise IllegalActionError(f"{text!r}: {self._why_illegal(index)}")
        return index

    def notation(self) -> str:
        """The game as text: its set-up and all moves of :attr:`history`."""
        game = self.from_state(self._origin)
        words = []
        for action in self._history:
            words.append(game._word(action))
            self._engine.apply(game._state, 0, action)
        return storage.game_text(self._format, self._set_up(), words)

    @classmethod
    def from_notation(cls, text: str) -> Self:
        """Replays a game from its notation, the inverse of :meth:`notation`.

        Raises:
            ValueError: The text is no such game; names the first word that is wrong.
        """
        set_up, words = storage.parse_game(cls._format, text, cls._set_ups)
        game = cls._from_set_up(set_up)
        for number, word in enumerate(words, 1):
            try:
                game.play(game.parse_move(word))
            except IllegalActionError as error:
                raise ValueError(f"move {number}: {error}") from None
        return game

    def _set_up(self) -> dict[str, str]:
        """The fields of a set-up from which the object's first state comes, or the state itself."""
        origin = self.from_state(self._origin)
        fields = origin._set_up_fields()
        if fields is not None and self._from_set_up(fields) == origin:
            return fields
        return {"state": origin.to_bytes().hex()}

    @classmethod
    def _from_set_up(cls, fields: dict[str, str]) -> Self:
        if "state" in fields:
            return cls.from_bytes(storage.parse_hexadecimal(fields["state"]))
        return cls(**cls._read_set_up(fields))

    @abstractmethod
    def _word(self, action: int) -> str:
        """The word of a legal action."""

    @abstractmethod
    def _parse_word(self, text: str) -> int:
        """The action of a word, which may still be illegal; ValueError if it is none."""

    @abstractmethod
    def _set_up_fields(self) -> dict[str, str] | None:
        """Fields that describe the state if it is the first of a game, else anything or None."""

    @classmethod
    @abstractmethod
    def _read_set_up(cls, fields: dict[str, str]) -> dict[str, Any]:
        """The arguments of the constructor from the fields; ValueError if they are none."""
