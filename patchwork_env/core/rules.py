"""What a game tells the rest of the library about itself, once: its :class:`Rules`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache, cached_property
from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
import numpy.typing as npt

from patchwork_env.core.compile import kernel
from patchwork_env.core.game import BaseGame
from patchwork_env.core.random import Streams
from patchwork_env.core.tensors import Layout, Observation

States = npt.NDArray[np.void]
"""Array of a game's records, shape ``(n,)``. The records of every game have a field ``current_player``."""
LegalSet = npt.NDArray[np.uint64]
"""The legal actions of one state, as the kernels of a game see fit to note them."""

RENDER_MODES = ("human", "ansi", "rgb_array")


@kernel(inline=True)
def never(states: States, i: int, action: int) -> bool:
    """Says of no action that it cuts a game off."""
    return False


@kernel
def keep(states: States, i: int, streams: Streams) -> None:
    """Redraws nothing: the players know everything but what is still to be decided."""


@dataclass(frozen=True)
class Kernels:
    """The compiled rules, which trust their arguments.

    The first two of those, ``(states, i)``, are an array of records and an index.

    Attributes:
        legal_shape: Shape of a legal set, an array of uint64.
        max_players: The most players that a game may have.
        is_over: Whether the game has ended.
        num_players: How many players take part.
        legal: ``(states, i, legal_set)`` writes the legal actions of the current player, none if the game is
            over, and returns their number.
        is_legal: ``(states, i, action)`` says of any integer whether the current player may play it.
        nth_legal: ``(legal_set, n)`` is the ``n``-th legal action in ascending order.
        write_actions: ``(legal_set, actions)`` lists the legal actions in ascending order in an int16 array
            and returns their number.
        write_mask: ``(states, i, legal_set, count, mask)`` writes the legal set of a state, of ``count``
            actions, as 0 and 1 to an int8 array ``(num_actions,)``.
        apply: ``(states, i, action)`` plays a legal action.
        score: ``(states, i, player)`` is a player's score at any time, an integer. A move changes only the
            score of the player who makes it.
        outcome: ``(states, i, player)`` is the reward for the end of a game: 1 for a sole winner, and 0 for
            all players together.
        deal: ``(states, i, streams, beginning, chance)`` begins a game; see :class:`SetUp`. Random numbers
            come from the stream of the same index.
        write_observation: ``(states, i, observer, out)`` writes what a player sees to a contiguous float32
            array ``(layout.size,)``.
        cuts_off: ``(states, i, action)`` says of a legal action whether it cannot be played to its end, so
            that it is not played and the game is cut off (truncated).
        redraw: ``(states, i, streams)`` draws anew what the record holds and the current player cannot know,
            such as the order of the cards to come; see :attr:`Rules.hides`.
    """

    legal_shape: tuple[int, ...]
    max_players: int
    is_over: Callable[[States, int], bool]
    num_players: Callable[[States, int], int]
    legal: Callable[[States, int, LegalSet], int]
    is_legal: Callable[[States, int, int], bool]
    nth_legal: Callable[[LegalSet, int], int]
    write_actions: Callable[[LegalSet, npt.NDArray[np.int16]], int]
    write_mask: Callable[[States, int, LegalSet, int, npt.NDArray[np.int8]], None]
    apply: Callable[[States, int, int], None]
    score: Callable[[States, int, int], int]
    outcome: Callable[[States, int, int], float]
    deal: Callable[[States, int, Streams, States, int], None]
    write_observation: Callable[[States, int, int, Observation], None]
    cuts_off: Callable[[States, int, int], bool] = never
    redraw: Callable[[States, int, Streams], None] = keep


class SetUp(NamedTuple):
    """How the games of an environment begin.

    Attributes:
        beginning: ``(1,)``, the record with which a game begins, but for what chance decides.
        chance: What chance decides, a number that the game's kernel ``deal`` understands.
        players: How many take part.
    """

    beginning: States
    chance: int
    players: int


class Pictures(Protocol):
    """The module that draws a game; only ``text`` is needed for the render mode ``"ansi"``."""

    def text(self, game: Any) -> str:
        """The game as text."""

    def svg(self, game: Any, names: Any = ...) -> str:
        """The game as an SVG document."""

    def rgb_array(self, game: Any, width: int = ..., names: Any = ...) -> npt.NDArray[np.uint8]:
        """The game as pixels, uint8 ``(height, width, 3)``."""


@dataclass(frozen=True, eq=False, repr=False)
class Rules:
    """All that environments, agents and commands need to know of a game.

    Attributes:
        name: What specs, checkpoints, configurations and results call the game.
        title: What people call it.
        module: The module in which these rules are called ``RULES``.
        game: The class of one game.
        dtype: Type of the records.
        kernels: The compiled rules.
        num_actions: Number of actions.
        max_legal_actions: A bound on the number of legal actions.
        layout: Names, shapes and order of the tensors of an observation.
        upper_bounds: float32 ``(layout.size,)``; no entry of an observation is larger, and none is below 0.
        set_up: ``(options, given)`` makes a :class:`SetUp` of the options of an environment, which are
            complete, and of those given to one ``reset``, which come first. It raises ValueError for values
            that are not allowed.
        options: Options of environments with their defaults.
        reset_options: Options of one ``reset``.
        turn_options: Defaults that differ in the environments of PettingZoo.
        batch_options: Defaults that differ in batched self-play.
        is_simultaneous: Whether all players act at once: at the beginning of a round every one of them may be
            made the ``current_player`` of a record to ask what it may do.
        pictures_module: The module that draws games, imported when a picture is asked for.
        render_modes: Those of :data:`RENDER_MODES` that it serves.
    """

    name: str
    title: str
    module: str
    game: type[BaseGame]
    dtype: np.dtype[np.void]
    kernels: Kernels
    num_actions: int
    max_legal_actions: int
    layout: Layout
    upper_bounds: Observation
    set_up: Callable[[Mapping[str, Any], Mapping[str, Any]], SetUp]
    pictures_module: str
    options: Mapping[str, Any] = field(default_factory=dict)
    reset_options: tuple[str, ...] = ()
    turn_options: Mapping[str, Any] = field(default_factory=dict)
    batch_options: Mapping[str, Any] = field(default_factory=dict)
    is_simultaneous: bool = False
    render_modes: tuple[str, ...] = RENDER_MODES

    def empty_states(self, n: int) -> States:
        """``n`` zeroed records, to be set up by the kernels."""
        return np.zeros(n, self.dtype)

    @cached_property
    def can_cut_off(self) -> bool:
        """Whether there are actions that cut a game off."""
        return self.kernels.cuts_off is not never

    def is_cut_off(self, game: BaseGame, action: int) -> bool:
        """Whether an action, any integer, is legal in a game and cuts it off."""
        kernels, state = self.kernels, game.state
        return bool(kernels.is_legal(state, 0, action) and kernels.cuts_off(state, 0, action))

    @property
    def hides(self) -> bool:
        """Whether records may hold what the current player cannot know."""
        return self.kernels.redraw is not keep

    @property
    def pictures(self) -> Pictures:
        """The module that draws games."""
        return cast(Pictures, import_module(self.pictures_module))

    @cached_property
    def namespace(self) -> ModuleType:
        """What templates know as ``game``; see :func:`~patchwork_env.core.compile.specialize`."""
        namespace = ModuleType(self.name)
        for of_kernels in fields(self.kernels):
            setattr(namespace, of_kernels.name, getattr(self.kernels, of_kernels.name))
        namespace.__source__ = self.module  # type: ignore[attr-defined]
        return namespace

    def __repr__(self) -> str:
        return f"<rules of {self.title}>"

    def __reduce__(self) -> tuple[Callable[[str], Rules], tuple[str]]:
        """Copies and pickles are the rules themselves, found where they are defined."""
        return load, (self.module,)


@cache
def load(module: str) -> Rules:
    """The rules that a module defines."""
    rules: Rules = import_module(module).RULES
    return rules
