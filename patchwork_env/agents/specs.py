"""Specs, the strings that name agents, and the registry of everything that a spec can name.

A spec is a name, such as ``"greedy"`` or ``"ppo"``, or the path of a checkpoint folder or of an ONNX
file, or ``"hf:owner/name@revision"`` for a checkpoint on the Hugging Face Hub. Options stand behind the
last colon where there are any: ``"mcts:simulations=400"``, ``"runs/quick/final:sample=true"``. The level
of a search may stand there by its name alone: ``"champion:fast"`` is ``"champion:level=fast"``.

What a spec can name is registered next to the agent: :func:`register` for an agent with a name,
:func:`register_checkpoint` for a kind of checkpoint, :func:`register_file` for files by their ending,
:func:`register_scheme` for all that begins with a word and a colon, such as ``"program:./my_engine"``. A
factory is a function or the text ``"module:function"``, whose module is imported when the agent is asked for.

Packages make their agents known by an entry point of the group ``patchwork_env.agents``: its name is that of
the agent, its value a module that calls :func:`register` when it is imported, or a factory. It is loaded when
a spec uses the name.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from patchwork_env.agents import checkpoints, hub
from patchwork_env.agents.base import Agent
from patchwork_env.agents.checkpoints import CHECKPOINT_FILE
from patchwork_env.agents.readers import Reader
from patchwork_env.core.checks import check_one_of, check_seed
from patchwork_env.core.names import nearest, shorten
from patchwork_env.games import GAMES

ENTRY_POINT_GROUP = "patchwork_env.agents"
LEVELS = ("instant", "fast", "strong", "analysis")
"""Names of budgets that searches with a learned value have, from the smallest to the largest."""
MAX_SPEC_LENGTH = 4096
"""The most characters of a spec: as many as a path may have on most systems."""
_PROVIDERS = ("patchwork_env.agents.patchwork", "patchwork_env.agents.nmbr9")
"""Packages of this library that register agents when they are imported."""

Factory = str | Callable[..., Agent]
"""Makes an agent, or ``"module:function"`` for a function to import."""


# --- registry ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Entry:
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
            try:
                factory = getattr(import_module(module), name)
            except ModuleNotFoundError as error:
                if not self.extra:
                    raise
                raise ModuleNotFoundError(
                    f"agents from {self.made_from} need {error.name}: "
                    f"pip install 'patchwork-env[{self.extra}]'",
                    name=error.name,
                ) from None
        agent = factory(*arguments, **options)
        if not isinstance(agent, Agent):
            raise TypeError(f"{self.factory!r} is registered to make agents, but returned {agent!r}")
        return agent


@dataclass
class _Registry:
    names: dict[str, _Entry] = field(default_factory=dict)
    kinds: dict[tuple[str, str], _Entry] = field(default_factory=dict)
    endings: dict[str, _Entry] = field(default_factory=dict)
    schemes: dict[str, _Entry] = field(default_factory=dict)


_registry = _Registry()


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
            f"the name of an agent is {shorten(name)}; allowed are letters, digits, '_', '-' and '.'"
        )
    if name in _registry.names:
        raise ValueError(f"there is an agent {name!r} already")
    _registry.names[name] = _Entry(factory, dict(options or {}), games, listed)


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
    _registry.kinds[game, kind] = _Entry(
        factory, dict(options or {}), (game,), extra=extra, made_from="checkpoints"
    )


def register_file(
    ending: str, factory: Factory, *, options: Mapping[str, Reader] | None = None, extra: str = ""
) -> None:
    """Makes files with an ending, such as ``".onnx"``, playable; see :func:`register_checkpoint`."""
    if ending in _registry.endings:
        raise ValueError(f"there are agents from files that end with {ending!r} already")
    made_from = f"{ending.removeprefix('.').upper()} files"
    _registry.endings[ending] = _Entry(factory, dict(options or {}), extra=extra, made_from=made_from)


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
    :func:`register_checkpoint` for ``extra``. ``needs_trust`` says that :func:`needs_trust` is true of these
    specs.

    Raises:
        ValueError: There is such a scheme already.
    """
    if scheme in _registry.schemes:
        raise ValueError(f"there are agents that begin with '{scheme}:' already")
    made_from = f"specs {scheme}:"
    _registry.schemes[scheme] = _Entry(
        factory, dict(options or {}), extra=extra, made_from=made_from, needs_trust=needs_trust
    )


def needs_trust(spec: str) -> bool:
    """Whether a spec may come from the user alone, and from no message: loading it does more than read."""
    entry = _of_scheme(spec)
    return is_remote(spec) or (entry is not None and entry.needs_trust)


def has_scheme(spec: str) -> bool:
    """Whether a spec begins with a word that :func:`register_scheme` made known."""
    return _of_scheme(spec) is not None


def _registered() -> _Registry:
    """The registry with all agents of this library."""
    for module in _PROVIDERS:
        import_module(module)
    return _registry


def _named(name: str) -> _Entry | None:
    """The entry of a name, which may come from another package; None if nobody has registered it."""
    known = _registered().names
    if name not in known and name in _entry_points():
        _load_entry_point(_entry_points()[name])
    return known.get(name)


def _of_scheme(name: str) -> _Entry | None:
    """The entry of the scheme that a name begins with; None if it begins with none."""
    scheme, colon, _ = name.partition(":")
    return _registered().schemes.get(scheme) if colon else None


def _entry_points() -> dict[str, EntryPoint]:
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


# --- what there is ----------------------------------------------------------------------------------------


def names(game: str | None = None) -> tuple[str, ...]:
    """The agents that have a name and play any game; all others are given by the path of a checkpoint.

    ``beam`` has a name too, but plays only decks that are known, or chosen freely. Agents of other packages
    are among them once they have been used.

    Args:
        game: The game that they play, such as ``"patchwork"``; None for all.

    Raises:
        ValueError: There is no such game.
    """
    if game is not None:
        check_one_of(game, GAMES, "game")
    listed = (name for name, entry in _registered().names.items() if entry.listed and _plays(entry, game))
    shipped = (name for name in _shipped() if game is None or _game_of(name) == game)
    return *listed, *shipped


def _plays(entry: _Entry, game: str | None) -> bool:
    return game is None or entry.games is None or game in entry.games


def _shipped() -> list[str]:
    return sorted(path.parent.name for path in checkpoints.SHIPPED_FOLDER.glob(f"*/{CHECKPOINT_FILE}"))


def _game_of(shipped: str) -> str:
    game: str = checkpoints.read_description(checkpoints.SHIPPED_FOLDER / shipped)["game"]
    return game


def path_of(spec: str | os.PathLike[str]) -> Path | None:
    """Where the policy of a spec lies, whether it is there or not; None for agents without one.

    A policy on the Hugging Face Hub is downloaded unless it is on this machine.

    Raises:
        ValueError: The spec is empty, too long or no text, or gives an option twice.
        OSError: See :func:`load`, for a policy on the Hub.
    """
    name, _ = parse(spec)
    return None if _named(name) or _of_scheme(name) else Path(checkpoint_path(name))


def is_remote(spec: str) -> bool:
    """Whether a spec, or one of its options, names a checkpoint on the Hugging Face Hub."""
    return hub.is_on_hub(spec) or f"={hub.PREFIX}" in spec


def checkpoint_path(name: str) -> str:
    """The path of a checkpoint that comes with the package, by its name; any other text is a path itself.

    A checkpoint on the Hugging Face Hub is downloaded unless it is on this machine; for the errors see
    :func:`patchwork_env.agents.hub.fetch`.
    """
    if hub.is_on_hub(name):
        return str(hub.fetch(name).folder)
    return str(checkpoints.SHIPPED_FOLDER / name) if name in _shipped() else name


# --- from specs to agents ---------------------------------------------------------------------------------


def load(spec: str | os.PathLike[str], seed: int | None = None) -> Agent:
    """The agent of a spec.

    Args:
        spec: One of :func:`names`, or the path of a checkpoint folder or of an ONNX file, or
            ``"hf:owner/name@revision"``, with options behind a colon; the page on agents lists them.
            Examples: ``"mcts:simulations=400"``, ``"champion:fast"``, ``"champion:level=fast,aim=score"``,
            ``"runs/quick/final:simulations=64"``.
        seed: The seed of the agent's random numbers, ``0 ... 2**64 - 1``; None for fresh ones.

    Raises:
        ValueError: There is no such agent or option, the spec is no text, or the checkpoint is not one of
            these games and version.
        FileNotFoundError: The path names no checkpoint, or the Hugging Face Hub has no such one.
        ConnectionError: The Hugging Face Hub cannot be reached.
        ModuleNotFoundError: The agent needs a library, such as PyTorch, that is not installed.
    """
    check_seed(seed)
    name, texts = parse(spec)
    if entry := _named(name):
        return entry.make(seed, **_read_options(name, texts, entry.options))
    if entry := _of_scheme(name):
        return entry.make(name.partition(":")[2], seed, **_read_options(name, texts, entry.options))
    for ending, entry in _registry.endings.items():
        if name.endswith(ending) and not (hub.is_on_hub(name) or os.path.isdir(name)):
            return entry.make(name, seed, **_read_options(name, texts, entry.options))
    path = checkpoint_path(name)
    check_checkpoint(path)
    entry = _kind_of(path)
    agent = entry.make(path, seed, **_read_options(name, texts, entry.options))
    if hub.is_on_hub(name):
        agent.name = hub.fetch(name).name
    return agent


def _kind_of(path: str) -> _Entry:
    """The entry of the agents that play a checkpoint."""
    description = checkpoints.read_description(Path(path))
    game, kind = description["game"], description["policy"]
    if (game, kind) not in _registry.kinds:
        known = ", ".join(repr(other) for of, other in _registry.kinds if of == game) or "none"
        raise ValueError(
            f"the policy of {path} is {shorten(kind)}; this library plays of those for {game}: {known}"
        )
    return _registry.kinds[game, kind]


_PAIR = "[a-z_]+=[^=]*"
_SPEC = re.compile(
    rf"(?P<name>.+?)(:((?P<options>{_PAIR}(,{_PAIR})*)|(?P<level>{'|'.join(LEVELS)})))?", re.DOTALL
)


def parse(spec: str | os.PathLike[str]) -> tuple[str, dict[str, str]]:
    """Takes a spec apart into the name or path and the texts of the options behind the last colon.

    Raises:
        ValueError: The spec is empty, too long or no text, or gives an option twice.
    """
    try:
        text = os.fspath(spec)
    except Exception:  # no path, or whatever a foreign one raises
        text = None
    if not isinstance(text, str):
        raise ValueError(
            f"the spec of an agent must be text or a path, not {shorten(spec)} of type {type(spec).__name__}"
        )
    if len(text) > MAX_SPEC_LENGTH:
        raise ValueError(
            f"the spec of an agent has {len(text)} characters; at most {MAX_SPEC_LENGTH} are allowed: "
            f"{text[:40]!r}..."
        )
    match = _SPEC.fullmatch(text)
    if match is None:
        raise ValueError(f"the spec of an agent is empty; allowed are {_what_exists()}")
    options: dict[str, str] = {"level": match["level"]} if match["level"] else {}
    for pair in filter(None, (match["options"] or "").split(",")):
        key, _, value = pair.partition("=")
        if key in options:
            raise ValueError(f"the spec {_shown(text)} gives the option {_shown(key)} twice")
        options[key] = value
    return match["name"], options


def _read_options(name: str, texts: Mapping[str, str], readers: Mapping[str, Reader]) -> dict[str, Any]:
    values = {}
    for key, text in texts.items():
        if key not in readers:
            allowed = ", ".join(readers) or "none"
            what = f"agent {_shown(name)} has no option {_shown(key)}"
            raise ValueError(f"{what}; its options: {allowed}{_hint(key, readers)}")
        try:
            values[key] = readers[key](text)
        except ValueError as error:
            what = f"option {_shown(key)} of agent {_shown(name)}"
            raise ValueError(f"{what} is {_shown(text)}; it must be {error}") from None
    return values


def check_checkpoint(path: str) -> None:
    """Raises an error that says why ``path`` is neither a name nor a checkpoint, unless it is one."""
    shown = _shown(path)
    if "\0" in path:
        raise ValueError(f"the path {shown} has a null character")
    if os.path.isfile(os.path.join(path, CHECKPOINT_FILE)):  # False for what no path can be, as all these
        return
    if os.path.isdir(path):
        raise FileNotFoundError(f"the folder {shown} is no checkpoint: it holds no {CHECKPOINT_FILE}")
    if os.path.exists(path):
        raise ValueError(f"{shown} is a file; a checkpoint is a folder that holds a {CHECKPOINT_FILE}")
    if os.sep in path or "/" in path:
        raise FileNotFoundError(f"there is no checkpoint at {shown}; allowed are {_what_exists()}")
    name, _, word = path.rpartition(":")
    if name in names():
        raise ValueError(
            f"agent {name!r} has no level {_shown(word)}; levels of learned values: "
            f"{', '.join(LEVELS)}{_hint(word, LEVELS)}"
        )
    raise ValueError(
        f"there is no agent {shown}; allowed are {_what_exists()}{_hint(path, (*names(), *_entry_points()))}"
    )


def _hint(word: str, known: Mapping[str, Any] | tuple[str, ...]) -> str:
    """The end of a message that says which known word may have been meant; empty if none is near."""
    close = nearest(word, known)
    return f"; did you mean {close!r}?" if close else ""


def _shown(text: str) -> str:
    """A part of a spec as messages show it; long enough for paths."""
    return shorten(text, 200)


def _what_exists() -> str:
    return ", ".join(map(repr, names())) + f" and paths of checkpoint folders, or {hub.FORM}"
