"""The registry of everything that a spec can name; :mod:`~patchwork_env.agents.specs` reads the specs.

An agent is registered next to where it is defined: :func:`register` for an agent with a name,
:func:`register_checkpoint` for a kind of checkpoint, :func:`register_file` for files by their ending,
:func:`register_scheme` for all that begins with a word and a colon, such as ``"program:./my_engine"``. A
factory is a function or the text ``"module:function"``, whose module is imported when the agent is asked for.

Packages make their agents known by an entry point of the group ``patchwork_env.agents``: its name is that of
the agent, its value a module that calls :func:`register` when it is imported, or a factory. It is loaded when
a spec uses the name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from patchwork_env.agents.base import Agent
from patchwork_env.agents.readers import Reader
from patchwork_env.core.extras import from_extra
from patchwork_env.core.names import short_repr

ENTRY_POINT_GROUP = "patchwork_env.agents"
_PROVIDERS = ("patchwork_env.agents.patchwork", "patchwork_env.agents.nmbr9")
"""Packages of this library that register agents when they are imported."""

Factory = str | Callable[..., Agent]
"""Makes an agent, or ``"module:function"`` for a function to import."""


@dataclass(frozen=True)
class Entry:
    """The way to make the agents of one name, of one kind of checkpoint, or of files with one ending."""

    factory: Factory
    options: Mapping[str, Reader]
    games: tuple[str, ...] | None = None
    listed: bool = True
    extra: str = ""
    made_from: str = ""
    needs_trust: bool = False

    def make(self, *arguments: Any, **options: Any) -> Agent:
        """Calls the factory, which is imported first if it is a text."""
        factory = self.factory
        if isinstance(factory, str):
            module, _, name = factory.partition(":")
            with from_extra(self.extra, f"agents from {self.made_from} need"):
                factory = getattr(import_module(module), name)
        agent = factory(*arguments, **options)
        if not isinstance(agent, Agent):
            raise TypeError(f"{self.factory!r} is registered to make agents, but returned {agent!r}")
        return agent


@dataclass
class Registry:
    """What is registered: by name, by game and kind of checkpoint, by ending, and by scheme."""

    names: dict[str, Entry] = field(default_factory=dict)
    kinds: dict[tuple[str, str], Entry] = field(default_factory=dict)
    endings: dict[str, Entry] = field(default_factory=dict)
    schemes: dict[str, Entry] = field(default_factory=dict)


_registry = Registry()


def register(
    name: str,
    factory: Factory,
    *,
    games: tuple[str, ...] | None = None,
    options: Mapping[str, Reader] | None = None,
    listed: bool = True,
) -> None:
    """Makes a name a spec.

    >>> from patchwork_env import agents
    >>> agents.register("cautious", lambda seed, patience=3: agents.load("greedy"), options={"patience": int})
    >>> agents.load("cautious:patience=5")
    <agent greedy>

    Args:
        name: The name: letters, digits, ``_``, ``-`` and dots.
        factory: A function, called as ``factory(seed, **options)``, that returns an
            :class:`~patchwork_env.agents.Agent`; or the text ``"module:function"``.
        games: The games that the agents play; None for every game that there is.
        options: The options that a spec may give, each with a reader of its text: a function whose ValueError
            says what is allowed.
        listed: Whether :func:`names` lists the name: not if the agents play only some set-ups of their games.

    Raises:
        ValueError: The name is taken, or has other characters.
    """
    if not isinstance(name, str) or not re.fullmatch(r"\w[\w.-]*", name):
        raise ValueError(
            f"the name of an agent is {short_repr(name)}; allowed are letters, digits, '_', '-' and '.'"
        )
    if name in _registry.names:
        raise ValueError(f"there is an agent {name!r} already")
    _registry.names[name] = Entry(factory, dict(options or {}), games, listed)


def register_checkpoint(
    game: str, kind: str, factory: Factory, *, options: Mapping[str, Reader] | None = None, extra: str = ""
) -> None:
    """Makes checkpoints of a game and a kind, as ``checkpoint.json`` gives them, playable.

    The factory is a function, called as ``factory(path, seed, **options)``, or a text; see :func:`register`
    for it and for the options. ``extra`` names the extra of this package that installs what the factory
    imports.

    Raises:
        ValueError: There is such a kind already.
    """
    if (game, kind) in _registry.kinds:
        raise ValueError(f"there is a kind {kind!r} of checkpoints of {game} already")
    _registry.kinds[game, kind] = Entry(
        factory, dict(options or {}), (game,), extra=extra, made_from="checkpoints"
    )


def register_file(
    ending: str, factory: Factory, *, options: Mapping[str, Reader] | None = None, extra: str = ""
) -> None:
    """Makes files with an ending, such as ``".onnx"``, playable; see :func:`register_checkpoint`."""
    if ending in _registry.endings:
        raise ValueError(f"there are agents from files that end with {ending!r} already")
    made_from = f"{ending.removeprefix('.').upper()} files"
    _registry.endings[ending] = Entry(factory, dict(options or {}), extra=extra, made_from=made_from)


def register_scheme(
    scheme: str,
    factory: Factory,
    *,
    options: Mapping[str, Reader] | None = None,
    extra: str = "",
    needs_trust: bool = False,
) -> None:
    """Makes every text that begins with a word and a colon a spec.

    The factory is a function, called as ``factory(rest, seed, **options)`` with what stands between the colon
    and the options, or a text; see :func:`register` for it and for the options, and
    :func:`register_checkpoint` for ``extra``. ``needs_trust`` says that these specs may come from the user
    alone: see :func:`~patchwork_env.agents.specs.needs_trust`.

    Raises:
        ValueError: There is such a scheme already.
    """
    if scheme in _registry.schemes:
        raise ValueError(f"there are agents that begin with '{scheme}:' already")
    made_from = f"specs {scheme}:"
    _registry.schemes[scheme] = Entry(
        factory, dict(options or {}), extra=extra, made_from=made_from, needs_trust=needs_trust
    )


def registered() -> Registry:
    """The registry with all agents of this library."""
    for module in _PROVIDERS:
        import_module(module)
    return _registry


def named(name: str) -> Entry | None:
    """The entry of a name, which may come from another package; None if nobody has registered it."""
    known = registered().names
    if name not in known and name in known_entry_points():
        _load_entry_point(known_entry_points()[name])
    return known.get(name)


def of_scheme(name: str) -> Entry | None:
    """The entry of the scheme that a name begins with; None if it begins with none."""
    scheme, colon, _ = name.partition(":")
    return registered().schemes.get(scheme) if colon else None


def known_entry_points() -> dict[str, EntryPoint]:
    """The agents that installed packages promise, by name."""
    return {point.name: point for point in entry_points(group=ENTRY_POINT_GROUP)}


def _load_entry_point(point: EntryPoint) -> None:
    package = point.dist.name if point.dist else point.value
    try:
        found = point.load()
        if point.name not in _registry.names and callable(found):
            register(point.name, found)
    except Exception as error:
        raise ValueError(
            f"agent {point.name!r} of the package {package!r} cannot be loaded: "
            f"{type(error).__name__}: {error}"
        ) from error
    if point.name not in _registry.names:
        raise ValueError(f"the package {package!r} promises an agent {point.name!r}, but registers none")
