"""The rules of a game, as environments, agents and commands use them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
import numpy.typing as npt

from patchwork_env.core import names, storage
from patchwork_env.core.kernels import Kernels, States, keep, kernels_of
from patchwork_env.core.tensors import Layout

RENDER_MODES = ("human", "ansi", "rgb_array")
_UNKNOWN = object()  # sentinel that no option has as its default


class Pictures(Protocol):
    """The functions that draw the games of one kind."""

    def text(self, game: Any) -> str:
        """Return the game as plain text."""

    def svg(self, game: Any, names: Any = ...) -> str:
        """Return the game as an SVG document."""

    def rgb_array(self, game: Any, width: int = ..., names: Any = ...) -> npt.NDArray[np.uint8]:
        """Return the game as pixels, uint8 ``(height, width, 3)``."""


class SetUp(NamedTuple):
    """The start of the games of an environment."""

    initial_state: States  # ``(1,)``, the record of a game before anything is drawn
    flags: int  # tells the kernel ``deal`` what to draw
    players: int


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Rules:
    """The rules and facts of one game, and the validation of its records.

    Attributes:
        name: The name of the game in specs, checkpoints, configurations, results and notation.
        title: The name of the game in texts and messages.
        module: The name of the module whose ``Game`` is the class :attr:`game`.
        engine: The modules that hold the :class:`~patchwork_env.core.kernels.Kernels` of the game.
        dtype: The type of the records.
        max_legal_actions: An upper bound on the number of legal actions of a state.
        legal_shape: The shape of legal sets; None for one row of bits.
        layout: The names, shapes, order and bounds of the tensors of an observation.
        set_up: ``(options, reset_options)`` returns the :class:`SetUp` for all options of an environment and
            those of one ``reset``, which take precedence; ValueError for values that are not allowed.
        options: The options of environments with their defaults.
        reset_options: The names of the options of one ``reset``.
        is_simultaneous: Whether all players act at once. At the beginning of a round, the legal actions of
            any player are then those of the record with this player as ``current_player``.
        magic: The first four bytes of stored records.
        find_contradiction: Returns the reason why the record in an array ``(1,)``, whose values are within
            the limits, cannot be a state of a game; None if it can.
        limits: Returns the lowest and the highest value of fields for an array of records. With limits, only
            a sample of a large batch is checked completely.
    """

    name: str
    title: str
    module: str
    engine: tuple[ModuleType, ...]
    dtype: np.dtype[np.void]
    max_players: int
    num_actions: int
    max_legal_actions: int
    legal_shape: tuple[int, int] | None = None
    layout: Layout
    set_up: Callable[[Mapping[str, Any], Mapping[str, Any]], SetUp]
    options: Mapping[str, Any] = field(default_factory=dict)
    reset_options: tuple[str, ...] = ()
    is_simultaneous: bool = False
    magic: bytes
    find_contradiction: Callable[[States], str | None]
    limits: Callable[[States], storage.Limits] | None = None

    @cached_property
    def kernels(self) -> Kernels:
        """The compiled rules; ``game`` in templates."""
        shape = self.legal_shape or (1, -(-self.num_actions // 64))
        return kernels_of(self.name, self.engine, shape, self.max_players)

    @cached_property
    def game(self) -> type[Any]:
        """The class of one game, a :class:`~patchwork_env.core.game.BaseGame`."""
        return cast("type[Any]", import_module(self.module).Game)

    @cached_property
    def defaults(self) -> Mapping[str, Any]:
        """All options of a game with their defaults; None for those of ``reset`` alone."""
        return {**dict.fromkeys((*self.options, *self.reset_options)), **self.options}

    @cached_property
    def usual_set_up(self) -> SetUp:
        """The set-up with all options at their defaults."""
        return self.set_up(self.options, {})

    def set_up_of(self, caller: str, options: Mapping[str, Any]) -> SetUp:
        """Return the set-up of a game with some options; if all are defaults, without validating them.

        Raises:
            ValueError, UnknownOptionError: A value is not allowed, or ``caller`` has no such option.
        """
        if all(value is self.defaults.get(name, _UNKNOWN) for name, value in options.items()):
            return self.usual_set_up
        for name in options:
            if name not in self.defaults:
                raise names.unknown_option(caller, name, ("seed", *self.defaults))
        chosen = {name: options.get(name, default) for name, default in self.options.items()}
        return self.set_up(chosen, {name: options[name] for name in options if name not in self.options})

    @property
    def has_hidden_information(self) -> bool:
        """Whether records may hold information that the current player does not have."""
        return self.kernels.determinize is not keep

    @property
    def render_modes(self) -> tuple[str, ...]:
        """The :data:`RENDER_MODES` of the game; without pictures, only text."""
        return ("ansi",) if self.game.pictures is None else RENDER_MODES

    @property
    def pictures(self) -> Pictures:
        """The pictures of games as SVG and as pixels; ValueError if there are none."""
        if self.game.pictures is None:
            raise ValueError(f"there are no pictures of {self.title}")
        return cast(Pictures, self.game.pictures)

    def empty_states(self, n: int) -> States:
        """Return ``n`` records of zeros, which kernels set up."""
        return np.zeros(n, self.dtype)

    def check_type(self, states: Any) -> States:
        """Return ``states`` if it is an array ``(n,)`` of records of the game, else ValueError."""
        if not isinstance(states, np.ndarray) or states.ndim != 1 or states.dtype != self.dtype:
            raise ValueError(
                f"states must be an array (n,) of records of {self.title}, not {names.short_repr(states)}"
            )
        return states

    def check_ranges(self, states: Any) -> States:
        """Return the same records if all values are within the limits, else ValueError."""
        self.check_type(states)
        problem = self.limits and storage.out_of_range(states, self.limits(states))
        if problem:
            raise self._unreachable(len(states), *problem)
        return cast(States, states)

    def check_states(self, states: Any) -> States:
        """Return the same records if games can reach all of them, else ValueError."""
        for i in range(len(self.check_ranges(states))):
            problem = self.find_contradiction(states[i : i + 1])
            if problem:
                raise self._unreachable(len(states), i, problem)
        return cast(States, states)

    def _unreachable(self, number: int, i: int, problem: str) -> ValueError:
        which = "this state" if number == 1 else f"state {i} of {number}"
        return ValueError(f"no game of {self.title} reaches {which}: {problem}")

    def check_many(self, states: Any) -> States:
        """Check the ranges of all records, and every 1024th record by :meth:`check_states`."""
        self.check_states(self.check_ranges(states)[:: 1024 if self.limits else 1])
        return cast(States, states)

    def __repr__(self) -> str:
        return f"<rules of {self.title}>"

    def __reduce__(self) -> tuple[Callable[[str], Rules], tuple[str]]:
        """Make copies and pickles refer to the rules where they are defined."""
        return load, (self.module,)


def load(module: str) -> Rules:
    """Return the rules of the class ``Game`` of a module."""
    return cast(Rules, import_module(module).Game.rules)
