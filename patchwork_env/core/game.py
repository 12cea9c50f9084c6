"""What the ``Game`` classes of all games have in common: a shell around one state record.

A property says what lies on the table; a method takes arguments or works something out. Only
:meth:`BaseGame.play` and :meth:`BaseGame.undo` change a game, each by one assignment: an interrupt leaves it
as it was before such a call or as it is after it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator
from itertools import pairwise
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, Protocol, Self, SupportsIndex, cast

import numpy as np
import numpy.typing as npt

from patchwork_env.core import checks, names, storage
from patchwork_env.core.records import States, copy_of
from patchwork_env.core.tensors import Observation
from patchwork_env.errors import IllegalActionError

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    M = TypeVar("M", default=Any)
else:
    from typing import TypeVar

    M = TypeVar("M")


class Pictures(Protocol):
    """What draws the games of one kind; only ``text`` is needed for the render mode ``"ansi"``."""

    def text(self, game: Any) -> str:
        """The game as plain text."""

    def svg(self, game: Any, names: Any = ...) -> str:
        """The game as an SVG document."""

    def rgb_array(self, game: Any, width: int = ..., names: Any = ...) -> npt.NDArray[np.uint8]:
        """The game as pixels, uint8 ``(height, width, 3)``."""


class _Position(NamedTuple):
    """A state of a game and how it came about; neither changes once it is made.

    Attributes:
        states: The record, shape ``(1,)``.
        number: How many actions were played since the first position.
        action: The action that led here; -1 in the first position.
        before: The position in which it was played; None in the first position.
    """

    states: States
    number: int = 0
    action: int = -1
    before: _Position | None = None


class LegalMoves(Collection[M], Generic[M]):
    """The legal moves of one position, in the order of their actions; decoded when they are asked for.

    Playing on in the game does not change them.
    """

    __slots__ = ("_actions", "_game")

    def __init__(self, game: BaseGame[M]) -> None:
        self._game = game.clone()
        self._actions = game.legal_actions()

    def __len__(self) -> int:
        return len(self._actions)

    def __iter__(self) -> Iterator[M]:
        return iter(self._game.decode_all())

    def __contains__(self, move: object) -> bool:
        try:
            self._game.encode(move)  # type: ignore[arg-type]  # which refuses anything else
        except IllegalActionError:
            return False
        return True

    def __repr__(self) -> str:
        words = [self._game.move_text(action) for action in self._actions[:8].tolist()]
        return f"<{len(self)} legal moves: {', '.join(words)}{', …' * (len(self) > len(words))}>"


class BaseGame(ABC, Generic[M]):
    """One game: its position, with all positions before it since this object began.

    A derived class needs a constructor that calls ``_begin``, the property ``num_players``, and the class
    attributes below. Unless it overrides more, its moves are the numbers of its actions, and positions are
    written as stored states.

    Games are equal if their positions are equal, and then have the same hash; how the positions came about
    does not matter. A game that is a key of a dictionary or an element of a set must not be played on: use a
    :meth:`clone` of it, or its :meth:`position_text`, as the key.
    """

    __slots__ = ("_position",)

    pictures: ClassVar[Pictures | None] = None
    """What draws the game for ``print`` and notebooks; set by the package of the game, since modules of
    pictures import this class. Without it ``print`` shows the position as text."""

    _engine: ClassVar[ModuleType]
    """The module of the rules, with the kernels ``is_over``, ``legal``, ``write_actions``, ``legal_mask``,
    ``is_legal``, ``play`` and ``score``."""
    _observation: ClassVar[ModuleType]
    """The module of observations, with the kernel ``write_observation`` and ``OBSERVATION_SIZE``."""
    _storage: ClassVar[storage.ByteFormat]
    """The type of the records, how they are stored, and how they are checked."""
    _num_actions: ClassVar[int]
    _legal_shape: ClassVar[tuple[int, int]]
    """The shape of the engine's legal sets."""
    _notation: ClassVar[str]
    """The name of the notation, with which its texts begin."""
    _set_ups: ClassVar[tuple[tuple[str, ...], ...]] = (("state",),)
    """The fields that make a set-up in the notation: of a new game, of a position, of a stored state."""

    _position: _Position

    def _begin(self, state: bytes) -> None:
        """Sets the first position to a state, the bytes of one record."""
        self._position = _Position(np.ndarray(1, self._storage.dtype, bytearray(state)))

    @classmethod
    def _of_record(cls, states: States, i: int = 0) -> Self:
        """:meth:`from_state` without its checks, for records that only compiled rules have written."""
        game = cls.__new__(cls)
        game._begin(states[i : i + 1].tobytes())
        return game

    @classmethod
    def from_state(cls, states: States, i: int = 0) -> Self:
        """A game that goes on from a copy of record ``i`` of a batch.

        Args:
            states: ``(n,)`` records of the game.
            i: The index of the record.

        Raises:
            ValueError: There is no such record, these are not records of the game, or no game can reach the
                state.
        """
        cls._require_records(states)
        i = checks.check_between(i, 0, len(states) - 1, "the index of the record")
        return cls._of_record(cls._storage.check(states[i : i + 1]))

    @classmethod
    def check_states(cls, states: States) -> States:
        """Returns the same records if all are states that games can reach; for records from outside.

        Raises:
            ValueError: These are not records of the game, or one of them is impossible; the message says why.
        """
        cls._require_records(states)
        return cls._storage.check(states)

    @classmethod
    def _check_many(cls, states: States) -> States:
        """:meth:`check_states` for the many records that workers send: see :meth:`ByteFormat.check_many`."""
        cls._require_records(states)
        return cls._storage.check_many(states)

    @classmethod
    def _require_records(cls, states: Any) -> None:
        if not isinstance(states, np.ndarray) or states.ndim != 1 or states.dtype != cls._storage.dtype:
            given = names.short_repr(states)
            raise ValueError(f"states are an array (n,) of records of {cls._storage.game}, not {given}")

    @property
    def state(self) -> States:
        """The state record, shape ``(1,)``, for compiled code, which must not change it."""
        return self._position.states

    @property
    def current_player(self) -> int:
        """The player who is to move, counted from 0."""
        return int(self._position.states["current_player"][0])

    @property
    def history(self) -> tuple[int, ...]:
        """The actions played on this object so far, without those that were taken back."""
        return tuple(position.action for position in self._positions()[1:])

    @property
    def num_moves(self) -> int:
        """The length of :attr:`history`."""
        return self._position.number

    @property
    def is_over(self) -> bool:
        """Whether the game has ended."""
        return bool(self._engine.is_over(self._position.states, 0))

    @property
    @abstractmethod
    def num_players(self) -> int:
        """The number of players."""

    def scores(self) -> tuple[int, ...]:
        """The scores of all players as if the game ended now."""
        return tuple(int(self._engine.score(self.state, 0, player)) for player in range(self.num_players))

    def winners(self) -> tuple[int, ...]:
        """The players with the highest score, who share the win; empty until the game is over."""
        scores = self.scores()
        best = max(scores)
        return tuple(player for player, score in enumerate(scores) if score == best) if self.is_over else ()

    def observation(self, player: int | None = None) -> Observation:
        """What a player sees, as environments show it.

        Args:
            player: The number of the player, counted from 0; None for the current player.

        Returns:
            float32 ``(OBSERVATION_SIZE,)``; the module ``observation`` of each game says what is in it.
        """
        vector = np.empty(self._observation.OBSERVATION_SIZE, np.float32)
        observer = self.current_player if player is None else self._check_player(player)
        self._observation.write_observation(self.state, 0, observer, vector)
        return vector

    def _check_player(self, player: int) -> int:
        return checks.check_between(player, 0, self.num_players - 1, "player")

    # --- what players know --------------------------------------------------------------------------------

    def imagine(self, seed: int | None = None) -> Self:
        """A game that the current player cannot tell from this one: what they cannot know is drawn anew.

        Args:
            seed: The seed of what is drawn, ``0 ... 2**64 - 1``; None for a fresh random one.

        Returns:
            A copy; of games that hide something it has no history, which would betray it.
        """
        return self.clone()

    def public(self) -> Self:
        """The game as far as all players know it, in which hidden moves are not made yet; a copy."""
        return self.clone()

    @property
    def num_public_moves(self) -> int:
        """How many moves of :attr:`history`, from the first one on, all players know."""
        return self.num_moves

    # --- playing ------------------------------------------------------------------------------------------

    def legal_actions(self) -> npt.NDArray[np.int16]:
        """The legal actions as an int16 array, ascending; empty when the game is over."""
        legal_set = np.empty(self._legal_shape, np.uint64)
        count = self._engine.legal(self.state, 0, legal_set)
        actions = np.empty(count, np.int16)
        if count:
            self._engine.write_actions(legal_set, actions)
        return actions

    @property
    def legal_moves(self) -> LegalMoves[M]:
        """The legal moves: sized and iterable; ``move in game.legal_moves`` says whether a move is legal."""
        return LegalMoves(self)

    def action_mask(self) -> npt.NDArray[np.int8]:
        """The action mask, int8 ``(NUM_ACTIONS,)``: 1 for legal actions; all zeros when the game is over."""
        mask = np.empty(self._num_actions, np.int8)
        self._engine.legal_mask(self.state, 0, mask)
        return mask

    def play(self, action: SupportsIndex) -> None:
        """Plays a legal action of the current player.

        Raises:
            IllegalActionError: The action is not legal, or the game is over; the game is left as it was.
        """
        index, before = checks.check_action(action, self._num_actions), self._position
        states = copy_of(before.states)
        if not self._engine.play(states, 0, index):
            raise IllegalActionError(self._why_illegal(index))
        self._position = _Position(states, before.number + 1, index, before)

    def undo(self) -> int:
        """Takes the last action back and returns it; the game is then exactly as it was before.

        Raises:
            IndexError: Nothing was played on this object, or everything was taken back.
        """
        last = self._position
        if last.before is None:
            raise IndexError("there is no action to take back: nothing was played on this game")
        self._position = last.before
        return last.action

    def _positions(self) -> list[_Position]:
        """All positions since this object began, the present one last."""
        position: _Position | None = self._position
        found = []
        while position is not None:
            found.append(position)
            position = position.before
        return found[::-1]

    def root(self) -> Self:
        """The game as it was when this object began, with nothing played."""
        return self._of_record(self._positions()[0].states)

    def _replay(self) -> Iterator[tuple[Self, int]]:
        """The actions of the history, each with the game before it, which is one object that goes on."""
        game = self.clone()
        for before, after in pairwise(self._positions()):
            game._position = before
            yield game, after.action

    def _require_legal(self, action: SupportsIndex) -> int:
        index = checks.check_action(action, self._num_actions)
        if not self._engine.is_legal(self.state, 0, index):
            raise IllegalActionError(self._why_illegal(index))
        return index

    def _why_illegal(self, action: int) -> str:
        if self.is_over:
            return f"action {action} comes after the end of the game"
        count = len(self.legal_actions())
        return (
            f"action {action} is not legal for player {self.current_player} now; "
            f"legal_actions() lists the {count} that are"
        )

    # --- moves --------------------------------------------------------------------------------------------

    def decode(self, action: SupportsIndex) -> M:
        """The ``Move`` that a legal action means.

        Raises:
            IllegalActionError: The action is not legal.
        """
        return self._decode([self._require_legal(action)])[0]

    def decode_all(self, actions: Iterable[SupportsIndex] | None = None) -> list[M]:
        """The moves that legal actions mean, in the same order; much faster than decoding one by one.

        Args:
            actions: The actions, any integers, for example an array; None for all legal actions.

        Raises:
            IllegalActionError: One of them is not legal.
        """
        legal: list[int] = self.legal_actions().tolist()
        if actions is None:
            return self._decode(legal)
        allowed = set(legal)
        try:
            asked = list(actions)
        except Exception:  # whatever a foreign iterator raises
            raise IllegalActionError(f"actions must list integers, not {names.short_repr(actions)}") from None
        indices = [checks.check_action(action, self._num_actions) for action in asked]
        for index in indices:
            if index not in allowed:
                raise IllegalActionError(self._why_illegal(index))
        return self._decode(indices)

    def encode(self, move: M) -> int:
        """The action of a legal move, the inverse of :meth:`decode`.

        Raises:
            IllegalActionError: The move is not legal, or the value is no move at all.
        """
        return self._require_legal(cast(int, move))

    def _decode(self, actions: list[int]) -> list[M]:
        """The moves of actions that are known to be legal."""
        return cast("list[M]", actions)

    # --- copying and storing ------------------------------------------------------------------------------

    def clone(self) -> Self:
        """An independent copy, with the history."""
        game = type(self).__new__(type(self))
        game._position = self._position
        return game

    def __copy__(self) -> Self:
        return self.clone()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.clone()

    def __reduce__(self) -> tuple[Any, ...]:
        return _replayed, (type(self), self.root().to_bytes(), self.history)

    def to_bytes(self) -> bytes:
        """The state as bytes, with version and checksum; the history is not part of it."""
        return self._storage.pack(self.state)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The inverse of :meth:`to_bytes`.

        Raises:
            ValueError: The bytes are foreign, damaged or of another version, or no game can reach the state.
        """
        return cls._of_record(cls._storage.unpack(data))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        return self.state.tobytes() == other.state.tobytes()

    def __hash__(self) -> int:
        return hash(self.state.tobytes())

    # --- notation -----------------------------------------------------------------------------------------

    def move_text(self, action: SupportsIndex) -> str:
        """The word for a legal action in the game's notation."""
        return self._word(self._require_legal(action))

    def parse_move(self, text: str) -> int:
        """The legal action of a word, the inverse of :meth:`move_text`.

        Raises:
            IllegalActionError: The word is no legal move.
        """
        if not isinstance(text, str):
            raise IllegalActionError(f"a move is a word, not {names.short_repr(text)}")
        try:
            index = self._parse_word(text)
        except ValueError as error:
            raise IllegalActionError(str(error)) from None
        if not self._engine.is_legal(self.state, 0, index):
            raise IllegalActionError(f"{text!r}: {self._why_illegal(index)}")
        return index

    def notation(self) -> str:
        """The game as text: its set-up and all moves of :attr:`history`."""
        words = [game._word(action) for game, action in self._replay()]
        return storage.game_text(self._notation, self._set_up(), words)

    @classmethod
    def from_notation(cls, text: str) -> Self:
        """Replays a game from its notation, the inverse of :meth:`notation`.

        Raises:
            ValueError: The text is not the notation of a game; the message names the first wrong word.
        """
        set_up, words = storage.parse_game(cls._notation, text, cls._set_ups)
        game = cls._from_set_up(set_up)
        for number, word in enumerate(words, 1):
            try:
                game.play(game.parse_move(word))
            except IllegalActionError as error:
                raise ValueError(f"move {number}: {error}") from None
        return game

    def position_text(self) -> str:
        """The position as one line for people to read and edit; it holds the whole state, but no history."""
        return storage.game_text(self._notation, self._position_fields(), ()).strip()

    @classmethod
    def from_position(cls, text: str) -> Self:
        """A game that begins with a position; the inverse of :meth:`position_text`.

        The first line of a :meth:`notation` is such a text as well.

        Raises:
            ValueError: The text is no position, or no game can reach it; the message says why.
        """
        set_up, words = storage.parse_game(cls._notation, text, cls._set_ups)
        if words:
            raise ValueError(f"a position is one line; after it comes {names.short_repr(words[0])}")
        return cls._from_set_up(set_up)

    def _set_up(self) -> dict[str, str]:
        """The fields of the set-up that leads to the first state of this object, or else that state."""
        origin = self.root()
        fields = origin._set_up_fields()
        if fields is not None and self._from_set_up(fields) == origin:
            return fields
        return {"state": origin.to_bytes().hex()}

    @classmethod
    def _from_set_up(cls, fields: dict[str, str]) -> Self:
        if "state" in fields:
            return cls.from_bytes(storage.parse_hexadecimal(fields["state"]))
        if set(fields) == set(cls._set_ups[1]):
            return cls.from_state(cls._read_position(fields))
        return cls(**cls._read_set_up(fields))

    def _word(self, action: int) -> str:
        """The word of a legal action in the notation."""
        return str(action)

    def _parse_word(self, text: str) -> int:
        """The action of a word, which may still be illegal; ValueError if the word means no action."""
        return storage.parse_number(text)

    def _set_up_fields(self) -> dict[str, str] | None:
        """The fields of a set-up that leads to this state if a game can begin with it; else anything."""
        return None

    @classmethod
    def _read_set_up(cls, fields: dict[str, str]) -> dict[str, Any]:
        """The arguments of the constructor for the fields of a set-up; ValueError if a field is wrong."""
        raise NotImplementedError

    def _position_fields(self) -> dict[str, str]:
        """The fields of a position that describe the state, whatever it is."""
        return {"state": self.to_bytes().hex()}

    @classmethod
    def _read_position(cls, fields: dict[str, str]) -> States:
        """The state for the fields of a position, still to be checked; ValueError if a field is wrong."""
        raise NotImplementedError

    # --- pictures -----------------------------------------------------------------------------------------

    def __str__(self) -> str:
        return self.position_text() if self.pictures is None else self.pictures.text(self)

    def __repr__(self) -> str:
        if self.is_over:
            winners = " and ".join(f"player {player}" for player in self.winners())
            turn = f"over, won by {winners}" if self.num_players > 1 else "over"
        else:
            turn = f"player {self.current_player} to move"
        return f"<{self._storage.game} game: {self._progress()}, scores {self.scores()}, {turn}>"

    def _progress(self) -> str:
        """A few words about how far the game has come."""
        return names.counted(self.num_moves, "move")

    def _repr_svg_(self) -> str | None:
        """The picture that notebooks show; None, for which they show the text, where there is none."""
        draw = getattr(self.pictures, "svg", None)
        return None if draw is None else str(draw(self))


def _replayed(kind: type[BaseGame], origin: bytes, actions: tuple[int, ...]) -> BaseGame:
    """A game from a pickle: it plays its actions again, so that nothing in it goes unchecked."""
    game = kind.from_bytes(origin)
    for action in actions:
        game.play(action)
    return game
