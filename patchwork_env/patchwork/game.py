"""One game of Patchwork: for people, tests and search; a thin shell around one state record."""

from __future__ import annotations

from collections.abc import Iterable
from typing import SupportsIndex

import numpy as np
import numpy.typing as npt

from patchwork_env import _options, _storage
from patchwork_env.errors import IllegalActionError
from patchwork_env.patchwork import engine, notation, serialization
from patchwork_env.patchwork.actions import NUM_ACTIONS, Move, decode, encode
from patchwork_env.patchwork.components import (
    NUM_OFFERED,
    NUM_PATCHES,
    QUILT_SIZE,
    SPECIAL_SPACES,
    START_PATCH,
    VARIANTS,
)
from patchwork_env.patchwork.observation import OBSERVATION_SIZE, Observation, write_observation
from patchwork_env.patchwork.options import (
    check_circle,
    check_player,
    check_variant,
    seed_streams,
)
from patchwork_env.patchwork.state import NOBODY, States, empty_states
from patchwork_env.patchwork.tables import SECOND_WORD_ROW

__all__ = ["Game", "IllegalActionError", "check_action"]

EMPTY = -1
SPECIAL_PATCH = NUM_PATCHES
UNKNOWN_PIECE = NUM_PATCHES + 1
"""What :meth:`Game.layout` says of a cell beside the index of a patch."""


class Game:
    """A game of Patchwork, fully determined by the circle of patches and by who starts.

    >>> game = Game(seed=7)
    >>> while not game.is_over:
    ...     game.play(game.legal_actions()[0])
    >>> game.winner() in (0, 1)
    True

    Args:
        seed: Of the random circle, ``0 ... 2**64 - 1``; None for a fresh random game.
        circle: Instead of a seed: all 33 patches clockwise from the neutral token, the 1x2 patch (0) last.
        first_player: 0 or 1.
        special_patches: Print of the time track, ``"revised"`` or ``"2014"``.

    Raises:
        ValueError: An argument is not of these.
    """

    __slots__ = ("_history", "_origin", "_state")

    def __init__(
        self,
        seed: int | None = None,
        *,
        circle: Iterable[int] | None = None,
        first_player: int = 0,
        special_patches: str = "revised",
    ) -> None:
        if seed is not None and circle is not None:
            raise ValueError("give a seed or a circle, not both")
        self._state = empty_states(1)
        engine.new(self._state, 0, check_variant(special_patches), check_player(first_player, "first_player"))
        if circle is None:
            engine.shuffle(self._state, 0, seed_streams(seed))
        else:
            self._state["circle"][0, :NUM_PATCHES] = check_circle(circle)
        self._origin = self._state.copy()
        self._history: list[int] = []

    @classmethod
    def from_state(cls, states: States, i: int = 0) -> Game:
        """A game that goes on from a copy of record ``i`` of a batch."""
        game = cls.__new__(cls)
        game._state = states[i : i + 1].copy()
        game._origin = game._state.copy()
        game._history = []
        return game

    # --- what is on the table -----------------------------------------------------------------------------

    @property
    def state(self) -> States:
        """The state record, shape ``(1,)``; for compiled code, which must leave it as it is."""
        return self._state

    @property
    def current_player(self) -> int:
        """Who is to move: 0 or 1."""
        return int(self._state[0]["current_player"])

    @property
    def positions(self) -> tuple[int, int]:
        """Both players' spaces on the time track, 0-53."""
        return self._pair("position")

    @property
    def buttons(self) -> tuple[int, int]:
        """Both players' buttons."""
        return self._pair("buttons")

    @property
    def incomes(self) -> tuple[int, int]:
        """Both players' income buttons: what each receives at an income mark."""
        return self._pair("income")

    @property
    def bonus_owner(self) -> int | None:
        """Who owns the 7x7 bonus tile."""
        return self._player_or_none("bonus_owner")

    @property
    def first_finisher(self) -> int | None:
        """Who reached the last space first; wins on equal scores."""
        return self._player_or_none("first_finisher")

    @property
    def pending_special(self) -> bool:
        """Whether the current player must place a special patch now."""
        return bool(self._state[0]["pending_special"])

    @property
    def circle(self) -> tuple[int, ...]:
        """The patches that are left, clockwise from the neutral token."""
        record = self._state[0]
        return tuple(record["circle"][: record["num_patches"]].tolist())

    @property
    def offered(self) -> tuple[int, ...]:
        """The patches that may be bought: the first three of the circle."""
        return self.circle[:NUM_OFFERED]

    @property
    def special_patches(self) -> str:
        """The print of the time track: ``"revised"`` or ``"2014"``."""
        return VARIANTS[int(self._state[0]["variant"])]

    @property
    def special_spaces(self) -> tuple[int, ...]:
        """Spaces of the special patches that nobody has taken yet."""
        return tuple(space for space in SPECIAL_SPACES[self.special_patches] if space > max(self.positions))

    def quilt(self, player: int) -> npt.NDArray[np.bool_]:
        """Covered cells of a player's quilt, bool, shape ``(9, 9)``."""
        upper, lower = self._state[0]["quilt"][check_player(player)].tolist()
        bits = upper | lower << SECOND_WORD_ROW * QUILT_SIZE
        return np.array([bits >> cell & 1 for cell in range(QUILT_SIZE**2)], bool).reshape(
            QUILT_SIZE, QUILT_SIZE
        )

    def layout(self, player: int) -> npt.NDArray[np.int8]:
        """Which piece covers each cell, int8, shape ``(9, 9)``.

        -1 empty, 0-32 a patch, 33 a special patch; 34 for pieces that lay there when this object began with a
        stored state, which holds covered cells only.
        """
        game = Game.from_state(self._origin)
        layout = np.where(game.quilt(player), UNKNOWN_PIECE, EMPTY).astype(np.int8)
        for action in self._history:
            if game.current_player == player:
                patch, cells = game.decode(action)[1:]
                for cell in cells:
                    layout[cell] = SPECIAL_PATCH if patch is None else patch
            engine.apply(game._state, 0, action)
        return layout

    # --- playing ------------------------------------------------------------------------------------------

    def legal_actions(self) -> npt.NDArray[np.int16]:
        """Legal actions, int16, ascending; empty when the game is over."""
        anchors = np.empty((2, engine.NUM_MAPS), np.uint64)
        count = engine.legal(self._state, 0, anchors)
        actions = np.empty(count, np.int16)
        if count:
            engine.write_actions(anchors, actions)
        return actions

    def action_mask(self) -> npt.NDArray[np.int8]:
        """1 for the legal actions, int8, shape ``(2026,)``; all zeros when the game is over."""
        mask = np.empty(NUM_ACTIONS, np.int8)
        engine.legal_mask(self._state, 0, mask)
        return mask

    def observation(self, player: int | None = None) -> Observation:
        """What a player sees, the current one by default, as environments show it.

        Args:
            player: 0 or 1.

        Returns:
            float32 ``(OBSERVATION_SIZE,)``; see :mod:`~patchwork_env.patchwork.observation`.
        """
        vector = np.empty(OBSERVATION_SIZE, np.float32)
        observer = self.current_player if player is None else check_player(player)
        write_observation(self._state, 0, observer, vector)
        return vector

    def play(self, action: SupportsIndex) -> None:
        """Plays a legal action of the current player.

        Raises:
            IllegalActionError: The action is not legal, or the game is over; the game is left as it was.
        """
        index = check_action(action)
        if not engine.play(self._state, 0, index):
            raise IllegalActionError(self._why_illegal(index))
        self._history.append(index)

    def decode(self, action: SupportsIndex) -> Move:
        """What a legal action means.

        Raises:
            IllegalActionError: The action is not legal.
        """
        index = check_action(action)
        if not engine.is_legal(self._state, 0, index):
            raise IllegalActionError(self._why_illegal(index))
        return decode(index, self.offered)

    def encode(self, move: Move) -> int:
        """The action of a legal move, the inverse of :meth:`decode`.

        Raises:
            IllegalActionError: The move is not legal, or no move at all.
        """
        try:
            index = encode(move, self.offered)
        except ValueError as error:
            raise IllegalActionError(str(error)) from None
        if not engine.is_legal(self._state, 0, index):
            raise IllegalActionError(self._why_illegal(index))
        return index

    @property
    def history(self) -> tuple[int, ...]:
        """The actions played on this object so far."""
        return tuple(self._history)

    @property
    def is_over(self) -> bool:
        """Whether both tokens are on the last space and no special patch is left to place."""
        return bool(engine.is_over(self._state, 0))

    def scores(self) -> tuple[int, int]:
        """Both players' scores as if the game ended now: buttons + bonus - 2 per empty cell."""
        return int(engine.score(self._state, 0, 0)), int(engine.score(self._state, 0, 1))

    def winner(self) -> int | None:
        """The winner, 0 or 1; None until the game is over."""
        return int(engine.winner(self._state, 0)) if self.is_over else None

    # --- copying and storing ------------------------------------------------------------------------------

    def clone(self) -> Game:
        """An independent copy, history included."""
        game = Game.__new__(Game)
        game._state = self._state.copy()
        game._origin = self._origin
        game._history = self._history.copy()
        return game

    def to_bytes(self) -> bytes:
        """The state as bytes, with version and checksum; the history is not part of it."""
        return serialization.to_bytes(self._state)

    @classmethod
    def from_bytes(cls, data: bytes) -> Game:
        """The inverse of :meth:`to_bytes`.

        Raises:
            ValueError: The bytes are foreign, damaged, of another version, or no state that a game reaches.
        """
        return cls.from_state(serialization.from_bytes(data))

    def move_text(self, action: SupportsIndex) -> str:
        """The word for a legal action; see :mod:`~patchwork_env.patchwork.notation`."""
        self.decode(action)
        return notation.move_text(check_action(action), self.offered)

    def parse_move(self, text: str) -> int:
        """The legal action of a word, the inverse of :meth:`move_text`.

        Raises:
            IllegalActionError: The word is no legal move.
        """
        try:
            index = notation.parse_move(text, self.offered)
        except ValueError as error:
            raise IllegalActionError(str(error)) from None
        if not engine.is_legal(self._state, 0, index):
            raise IllegalActionError(f"{text!r}: {self._why_illegal(index)}")
        return index

    def notation(self) -> str:
        """The game as text: its set-up and all moves of :attr:`history`."""
        game = Game.from_state(self._origin)
        words = []
        for action in self._history:
            words.append(notation.move_text(action, game.offered))
            engine.apply(game._state, 0, action)
        return _storage.game_text(notation.FORMAT, self._set_up(), words)

    @classmethod
    def from_notation(cls, text: str) -> Game:
        """Replays a game from its notation, the inverse of :meth:`notation`.

        Raises:
            ValueError: The text is no game of Patchwork; names the first word that is wrong.
        """
        set_up, words = _storage.parse_game(notation.FORMAT, text, notation.SET_UPS)
        game = _set_up_game(set_up)
        for number, word in enumerate(words, 1):
            try:
                game.play(game.parse_move(word))
            except IllegalActionError as error:
                raise ValueError(f"move {number}: {error}") from None
        return game

    def _set_up(self) -> dict[str, str]:
        origin = Game.from_state(self._origin)
        fields = {"variant": origin.special_patches, "first": str(origin.current_player)}
        fields["circle"] = ",".join(map(str, origin.circle))
        if (
            len(origin.circle) == NUM_PATCHES
            and origin.circle[-1] == START_PATCH
            and _set_up_game(fields) == origin
        ):
            return fields
        return {"state": origin.to_bytes().hex()}

    def __eq__(self, other: object) -> bool:
        """Games are equal if their states are; how they came there does not matter."""
        return self._state.tobytes() == other._state.tobytes() if isinstance(other, Game) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        from patchwork_env.patchwork.render import text

        return text(self)

    def __repr__(self) -> str:
        over = (
            f"over, won by player {self.winner()}"
            if self.is_over
            else f"player {self.current_player} to move"
        )
        return f"<Patchwork game: positions {self.positions}, scores {self.scores()}, {over}>"

    # --- details ------------------------------------------------------------------------------------------

    def _pair(self, name: str) -> tuple[int, int]:
        first, second = self._state[0][name].tolist()
        return first, second

    def _player_or_none(self, name: str) -> int | None:
        player = int(self._state[0][name])
        return None if player == NOBODY else player

    def _why_illegal(self, action: int) -> str:
        if self.is_over:
            return f"action {action} comes after the end of the game"
        count = len(self.legal_actions())
        return (
            f"action {action} is not legal for player {self.current_player} now; "
            f"legal_actions() lists the {count} that are"
        )


def check_action(action: SupportsIndex) -> int:
    """``action`` as an int.

    Raises:
        IllegalActionError: It is not an integer of ``0 ... NUM_ACTIONS - 1``.
    """
    return _options.check_action(action, NUM_ACTIONS)


def _set_up_game(fields: dict[str, str]) -> Game:
    """A game from the set-up fields of the notation."""
    if "state" in fields:
        return Game.from_bytes(_storage.parse_hexadecimal(fields["state"]))
    circle = [_storage.parse_number(patch) for patch in fields["circle"].split(",")]
    first = _storage.parse_number(fields["first"])
    return Game(circle=circle, first_player=first, special_patches=fields["variant"])
