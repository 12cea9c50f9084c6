"""What a game tells the rest of the library about itself, in one place: its :class:`Rules`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache, cached_property
from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from patchwork_env.core.compile import kernel
from patchwork_env.core.game import BaseGame, Pictures
from patchwork_env.core.random import Streams
from patchwork_env.core.tensors import Layout, Observation

States = npt.NDArray[np.void]
"""Array of a game's records, shape ``(n,)``. The records of every game have a field ``current_player``."""
LegalSet = npt.NDArray[np.uint64]
"""The legal actions of one state, in whatever form suits the kernels of the game."""

RENDER_MODES = ("human", "ansi", "rgb_array")


@kernel
def keep(states: States, i: int, streams: Streams) -> None:
    """Changes nothing: the record holds nothing that players cannot know."""


@dataclass(frozen=True)
class Kernels:
    """The compiled rules, which trust their arguments.

    The arguments ``(states, i)``, with which most of them begin, are an array of records and an index.

    Attributes:
        legal_shape: The shape of a legal set, which is an array of uint64.
        max_players: The highest number of players that a game may have.
        is_over: ``(states, i)`` says whether the game has ended.
        num_players: ``(states, i)`` is the number of players.
        legal: ``(states, i, legal_set)`` writes the legal actions of the current player, of which there are
            none if the game is over, and returns their number.
        is_legal: ``(states, i, action)`` says of any integer whether the current player may play it.
        nth_legal: ``(legal_set, n)`` is the ``n``-th legal action in ascending order.
        write_actions: ``(legal_set, actions)`` lists the legal actions in ascending order in an int16 array
            and returns their number.
        write_mask: ``(states, i, legal_set, count, mask)`` writes the legal set of a state, which has
            ``count`` actions, as 0 and 1 to an int8 array ``(num_actions,)``.
        apply: ``(states, i, action)`` plays a legal action.
        score: ``(states, i, player)`` is a player's score at any time, an integer. A move changes only the
            score of the player who makes it.
        outcome: ``(states, i, player)`` is the reward for the end of a game: 1 for a sole winner; the rewards
            of all players add up to 0.
        deal: ``(states, i, streams, beginning, chance)`` begins a game; see :class:`SetUp`. Random numbers
            come from the stream of the same index.
        write_observation: ``(states, i, observer, out)`` writes what a player sees to a contiguous float32
            array ``(layout.size,)``.
        redraw: ``(states, i, streams)`` draws anew what the record holds but the current player cannot know,
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
    redraw: Callable[[States, int, Streams], None] = keep


class SetUp(NamedTuple):
    """How the games of an environment begin.

    Attributes:
        beginning: ``(1,)`` array of the record with which a game begins, apart from what chance decides.
        chance: A number that tells the game's kernel ``deal`` what chance decides.
        players: The number of players.
    """

    beginning: States
    chance: int
    players: int


@dataclass(frozen=True, eq=False, repr=False)
class Rules:
    """All that environments, agents and commands need to know of a game.

    Attributes:
        name: The name of the game in specs, checkpoints, configurations and results.
        title: The name that people read.
        module: The name of the module that defines these rules as ``RULES``.
        game: The class of one game.
        dtype: The type of the records.
        kernels: The compiled rules.
        num_actions: The number of actions.
        max_legal_actions: An upper bound on the number of legal actions of a state.
        layout: The names, shapes and order of the tensors of an observation.
        upper_bounds: float32 ``(layout.size,)``; no entry of an observation is larger, and none is below 0.
        set_up: ``(options, given)`` makes a :class:`SetUp` from all options of an environment and from those
            given to one ``reset``, which take precedence. It raises ValueError for values that are not
            allowed.
        options: The options of environments with their defaults.
        reset_options: The names of the options of one ``reset``.
        turn_options: The defaults that differ in the environments of PettingZoo.
        batch_options: The defaults that differ in batched self-play.
        is_simultaneous: Whether all players act at once: at the beginning of a round every one of them may be
            made the ``current_player`` of a record to ask what it may do.
        pictures_module: The name of the module that draws games, imported when a picture is asked for.
        render_modes: The modes of :data:`RENDER_MODES` for which that module has pictures.
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
        """``n`` records of zeros, to be set up by the kernels."""
        return np.zeros(n, self.dtype)

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
