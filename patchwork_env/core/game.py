"""The base class of one game."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, Self, SupportsIndex, cast

import numpy as np
import numpy.typing as npt

from patchwork_env.core import checks, names, storage
from patchwork_env.core.kernels import ILLEGAL, OVER, Kernels, States, copy_of
from patchwork_env.core.rules import Pictures, Rules
from patchwork_env.core.tensors import Observation
from patchwork_env.errors import IllegalActionError

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    M = TypeVar("M", default=Any)
else:
    from typing import TypeVar

    M = TypeVar("M")


class _Position(NamedTuple):
    """An immutable position: a state and the move that led to it."""

    states: States  # the record, ``(1,)``
    number: int = 0  # actions since the first position
    action: int = -1  # the last action; -1 in the first position
    before: _Position | None = None  # the position before it; None in the first position
    to_move: int | None = None  # the next player, or ``OVER``; None if not computed yet


class BaseGame(Generic[M]):
    """One game: its position, with all positions before it since this object began.

    Only :meth:`play` and :meth:`undo` change a game, each by one assignment: an interrupt leaves it as it was
    before such a call or as it is after it. Stored values are properties; computed ones are methods.

    A derived class needs its :attr:`rules`. Unless it overrides more, its moves are the numbers of its
    actions, and positions are written as stored states.

    Games are equal, with the same hash, if their positions are equal; their histories do not matter. The hash
    changes with every move: as the key of a dict, use a :meth:`clone` or a :meth:`position_text`.

    Args:
        seed: The seed of all random decisions, ``0 ... 2**64 - 1``; None for a fresh random game.
        options: Options of environments, and of their ``reset``; the others keep their defaults.

    Raises:
        ValueError, UnknownOptionError: A value is not allowed, or there is no such option.
    """

    __slots__ = ("_position",)

    rules: ClassVar[Rules]
    """The rules that are played."""
    pictures: ClassVar[Pictures | None] = None
    """The pictures for ``print``, notebooks and environments; set by the package of the game, since modules
    of pictures import this class. Without them, :meth:`__str__` is shown."""
    set_ups: ClassVar[tuple[tuple[str, ...], ...]] = (("state",),)
    """The fields that make a set-up in the notation: of a new game, of a position, of a stored state."""

    _kernels: ClassVar[Kernels]
    _position: _Position

    def __init_subclass__(cls) -> None:
        """Store the kernels, since a lookup in the rules takes longer than a call."""
        cls._kernels = cls.rules.kernels

    def __init__(self, seed: int | None = None, **options: Any) -> None:
        initial_state, flags, _ = self.rules.set_up_of(type(self).__name__, options)
        states = self.rules.empty_states(1)
        self._kernels.deal(states, 0, checks.seed_streams(seed), initial_state, flags)
        self._position = _Position(states)

    @classmethod
    def unchecked(cls, states: States, i: int = 0) -> Self:
        """Return :meth:`from_state` without validation, for records written by compiled rules."""
        game = cls.__new__(cls)
        game._position = _Position(copy_of(states[i : i + 1]))
        return game

    @classmethod
    def from_state(cls, states: States, i: int = 0) -> Self:
        """Return a game at a copy of record ``i`` of ``(n,)``; ValueError if no game can reach it."""
        i = checks.check_between(i, 0, len(cls.rules.check_type(states)) - 1, "the index of the record")
        return cls.unchecked(cls.check_states(states[i : i + 1]))

    @classmethod
    def check_states(cls, states: States) -> States:
        """Return the records if games can reach all of them, else ValueError."""
        return cls.rules.check_states(states)

    @property
    def state(self) -> States:
        """The state record, shape ``(1,)``, for compiled code, which must not change it."""
        return self._position.states

    @property
    def current_player(self) -> int:
        """The player to move, counted from 0."""
        position = self._position
        if position.to_move is None or position.to_move == OVER:
            return int(position.states["current_player"][0])
        return position.to_move

    @property
    def history(self) -> tuple[int, ...]:
        """The actions played on this object so far, without those that were undone."""
        return tuple(position.action for position in self._positions()[1:])

    @property
    def num_moves(self) -> int:
        """The length of :attr:`history`."""
        return self._position.number

    @property
    def is_over(self) -> bool:
        """Whether the game has ended."""
        position = self._position
        if position.to_move is None:
            return bool(self._kernels.is_over(position.states, 0))
        return position.to_move == OVER

    @property
    def num_players(self) -> int:
        """The number of players."""
        return int(self._kernels.num_players(self._position.states, 0))

    def scores(self) -> tuple[int, ...]:
        """Return the scores of all players as if the game ended now."""
        score = self._kernels.score
        return tuple(int(score(self.state, 0, player)) for player in range(self.num_players))

    def winners(self) -> tuple[int, ...]:
        """Return the players with the highest score, who share the win; empty until the game is over."""
        scores = self.scores()
        best = max(scores)
        return tuple(player for player, score in enumerate(scores) if score == best) if self.is_over else ()

    def observation(self, player: int | None = None) -> Observation:
        """Return the observation of a player, by default the current one.

        float32 ``(OBSERVATION_SIZE,)``; the module ``observation`` of each game describes its entries.
        """
        vector = np.empty(self.rules.layout.size, np.float32)
        observer = self.current_player if player is None else self._check_player(player)
        self._kernels.write_observation(self.state, 0, observer, vector)
        return vector

    def _check_player(self, player: int) -> int:
        return checks.check_between(player, 0, self.num_players - 1, "player")

    # --- hidden information --------------------------------------------------------------------------------

    def determinize(self, seed: int | None = None) -> Self:
        """Return a copy in which the information hidden from the current player is sampled anew.

        The seed is one of ``0 ... 2**64 - 1``, or None for a fresh random one. Copies of games with
        hidden information have no history, which would reveal it.
        """
        if not self.rules.has_hidden_information:
            return self.clone()
        states = copy_of(self.state)
        self._kernels.determinize(states, 0, checks.determinization_streams(seed))
        return self.unchecked(states)

    def public(self) -> Self:
        """Return a copy of the game without the moves that some players do not know yet."""
        return self.clone()

    @property
    def num_public_moves(self) -> int:
        """The number of moves at the beginning of :attr:`history` that all players know."""
        return self.num_moves

    # --- playing ------------------------------------------------------------------------------------------

    def legal_actions(self) -> npt.NDArray[np.int16]:
        """Return the legal actions as an int16 array, ascending; empty when the game is over."""
        kernels = self._kernels
        legal_set = np.empty(kernels.legal_shape, np.uint64)
        count = kernels.legal(self.state, 0, legal_set)
        actions = np.empty(count, np.int16)
        if count:
            kernels.write_actions(legal_set, actions)
        return actions

    def legal_moves(self) -> list[M]:
        """Return the legal moves, in the order of their actions."""
        return self._decode(self.legal_actions().tolist())

    def action_mask(self) -> npt.NDArray[np.int8]:
        """Return the action mask, int8 ``(NUM_ACTIONS,)``: 1 for legal actions; zeros if the game is over."""
        mask = np.empty(self.rules.num_actions, np.int8)
        self._kernels.legal_mask(self.state, 0, mask)
        return mask

    def play(self, action: SupportsIndex) -> None:
        """Play a legal action of the current player; an IllegalActionError leaves the game as it was."""
        index, before = checks.check_action(action, self.rules.num_actions), self._position
        states = copy_of(before.states)
        to_move = self._kernels.play(states, 0, index)
        if to_move == ILLEGAL:
            raise IllegalActionError(self._why_illegal(index))
        self._position = _Position(states, before.number + 1, index, before, to_move)

    def undo(self) -> int:
        """Undo the last action and return it; IndexError if no action was played on this object."""
        last = self._position
        if last.before is None:
            raise IndexError("there is no action to undo: no action was played on this game")
        self._position = last.before
        return last.action

    def _positions(self) -> list[_Position]:
        """Return all positions since this object began, the present one last."""
        positions = [self._position]
        while (before := positions[-1].before) is not None:
            positions.append(before)
        return positions[::-1]

    def root(self) -> Self:
        """Return the game as it was when this object began, with nothing played."""
        return self.unchecked(self._positions()[0].states)

    def _replay(self) -> Iterator[tuple[Self, int]]:
        """Yield the actions of the history with the game before each, always the same object."""
        game = self.clone()
        for before, after in pairwise(self._positions()):
            game._position = before
            yield game, after.action

    def _require_legal(self, action: SupportsIndex) -> int:
        index = checks.check_action(action, self.rules.num_actions)
        if not self._kernels.is_legal(self.state, 0, index):
            raise IllegalActionError(self._why_illegal(index))
        return index

    def _why_illegal(self, action: int) -> str:
        if self.is_over:
            return f"action {action} comes after the end of the game"
        refusal = f"action {action} is not legal for player {self.current_player} now"
        return f"{refusal}; legal_actions() lists the {len(self.legal_actions())} that are"

    def _why_unknown(self, move: Any, error: ValueError) -> str:
        return f"{names.short_repr(move)} comes after the end of the game" if self.is_over else str(error)

    # --- moves --------------------------------------------------------------------------------------------

    def decode(self, action: SupportsIndex) -> M:
        """Return the ``Move`` that a legal action means; for any other, IllegalActionError."""
        return self._decode([self._require_legal(action)])[0]

    def decode_all(self, actions: Iterable[SupportsIndex]) -> list[M]:
        """Return the moves that legal actions mean, in their order; much faster than decoding one by one.

        The actions are any iterable of integers. IllegalActionError if one of them is not legal.
        """
        allowed: set[int] = set(self.legal_actions().tolist())
        try:
            listed = list(actions)
        except TypeError:
            raise IllegalActionError(
                f"actions must be a list of integers, not {names.short_repr(actions)}"
            ) from None
        indices = [checks.check_action(action, self.rules.num_actions) for action in listed]
        for index in indices:
            if index not in allowed:
                raise IllegalActionError(self._why_illegal(index))
        return self._decode(indices)

    def encode(self, move: M) -> int:
        """Return the action of a legal move of :meth:`decode`; IllegalActionError for others."""
        try:
            index = self._encode(move)
        except ValueError as error:
            raise IllegalActionError(self._why_unknown(move, error)) from None
        return self._require_legal(index)

    def _decode(self, actions: list[int]) -> list[M]:
        """Return the moves of actions that are known to be legal."""
        return cast("list[M]", actions)

    def _encode(self, move: M) -> int:
        """Return the action of a move, which may still be illegal; ValueError if the value is not a move."""
        return cast(int, move)

    # --- copying and storing ------------------------------------------------------------------------------

    def clone(self) -> Self:
        """Return an independent copy, with the history."""
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
        """Return the state as bytes, with version and checksum; the history is not part of it."""
        return storage.pack(self.rules.magic, self.state)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Return the game that :meth:`to_bytes` stored; ValueError for other bytes or unreachable states."""
        rules = cls.rules
        return cls.unchecked(cls.check_states(storage.unpack(rules.title, rules.magic, rules.dtype, data)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        return self.state.tobytes() == other.state.tobytes()

    def __hash__(self) -> int:
        return hash(self.state.tobytes())

    # --- notation -----------------------------------------------------------------------------------------

    def move_text(self, action: SupportsIndex) -> str:
        """Return the word for a legal action in the game's notation."""
        return self._word(self._require_legal(action))

    def parse_move(self, text: str) -> int:
        """Return the legal action of a word of :meth:`move_text`; IllegalActionError for others."""
        if not isinstance(text, str):
            raise IllegalActionError(f"a move must be a word, not {names.short_repr(text)}")
        try:
            index = self._parse_word(text)
        except ValueError as error:
            raise IllegalActionError(self._why_unknown(text, error)) from None
        if not self._kernels.is_legal(self.state, 0, index):
            raise IllegalActionError(f"{text!r}: {self._why_illegal(index)}")
        return index

    def notation(self) -> str:
        """Return the game as text: its set-up and all moves of :attr:`history`."""
        words = [game._word(action) for game, action in self._replay()]
        return storage.game_text(self.rules.name, self._set_up(), words)

    @classmethod
    def from_notation(cls, text: str) -> Self:
        """Replay a game, the inverse of :meth:`notation`; a ValueError names the first wrong word."""
        set_up, words = storage.parse_game(cls.rules.name, text, cls.set_ups)
        game = cls._from_set_up(set_up)
        for number, word in enumerate(words, 1):
            try:
                game.play(game.parse_move(word))
            except IllegalActionError as error:
                raise ValueError(f"move {number}: {error}") from None
        return game

    def position_text(self) -> str:
        """Return the position as one readable line, with the whole state and no history."""
        return storage.game_text(self.rules.name, self._position_fields(), ()).strip()

    @classmethod
    def from_position(cls, text: str) -> Self:
        """Return a game that begins with a position; the inverse of :meth:`position_text`.

        The first line of a :meth:`notation` is such a text, too. ValueError for other texts.
        """
        set_up, words = storage.parse_game(cls.rules.name, text, cls.set_ups)
        if words:
            raise ValueError(f"a position is one line; after it comes {names.short_repr(words[0])}")
        return cls._from_set_up(set_up)

    def _set_up(self) -> dict[str, str]:
        """Return the fields of the set-up that leads to the first state, or else that state as a field."""
        origin = self.root()
        fields = origin._set_up_fields()
        if fields is not None and self._from_set_up(fields) == origin:
            return fields
        return {"state": origin.to_bytes().hex()}

    @classmethod
    def _from_set_up(cls, fields: dict[str, str]) -> Self:
        if "state" in fields:
            return cls.from_bytes(storage.parse_hexadecimal(fields["state"]))
        if set(fields) == set(cls.set_ups[1]):
            return cls.from_state(cls._read_position(fields))
        return cls(**cls._read_set_up(fields))

    def _word(self, action: int) -> str:
        return str(action)

    def _parse_word(self, text: str) -> int:
        """Return the action of a word, which may still be illegal; ValueError if there is no such action."""
        return storage.parse_number(text)

    def _set_up_fields(self) -> dict[str, str] | None:
        """Return the fields of a set-up if a game can begin with this state; otherwise any fields."""
        return None

    @classmethod
    def _read_set_up(cls, fields: dict[str, str]) -> dict[str, Any]:
        """Return the constructor arguments for the fields of a set-up; ValueError if a field is wrong."""
        raise NotImplementedError

    def _position_fields(self) -> dict[str, str]:
        """Return the fields of a position; they describe every state."""
        return {"state": self.to_bytes().hex()}

    @classmethod
    def _read_position(cls, fields: dict[str, str]) -> States:
        """Return the unchecked state for the fields of a position; ValueError if a field is wrong."""
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
        return f"<{self.rules.title} game: {self._progress()}, scores {self.scores()}, {turn}>"

    def _progress(self) -> str:
        return names.counted(self.num_moves, "move")

    def _repr_svg_(self) -> str | None:
        """Return the picture for notebooks, or None: then they show the text."""
        draw = getattr(self.pictures, "svg", None)
        return None if draw is None else str(draw(self))


def _replayed(kind: type[BaseGame], origin: bytes, actions: tuple[int, ...]) -> BaseGame:
    """Return a game from a pickle by playing its actions again, which validates all of them."""
    game = kind.from_bytes(origin)
    for action in actions:
        game.play(action)
    return game
