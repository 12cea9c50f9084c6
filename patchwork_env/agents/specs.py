"""Specs, the strings that name agents, and the registry of agents.

A spec is a name, such as ``"greedy"`` or ``"ppo"``, the path of a checkpoint folder or of a file, or
``"hf:owner/name@revision"`` for a checkpoint on the Hugging Face Hub. Options follow the last colon:
``"mcts:simulations=400"``, ``"runs/quick/final:sample=true"``. The name of a level alone is short for the
option: ``"champion:fast"`` is ``"champion:level=fast"``.

Other packages add agents by an entry point of the group ``patchwork_env.agents``. Its name is the agent's,
and its value a module that calls :func:`register`, or a factory. It is loaded when a spec uses it.

Commands also take ``module:name``, an agent in a module to import. The page and servers get specs from other
people, so they call :func:`runs_code` first.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from patchwork_env.agents import checkpoints, hub
from patchwork_env.agents.checkpoints import CHECKPOINT_FILE
from patchwork_env.agents.options import LEVELS, VALUE_OPTIONS, Reader
from patchwork_env.core.checks import check_one_of, check_seed
from patchwork_env.core.extras import from_extra
from patchwork_env.core.names import nearest, short_repr
from patchwork_env.games import GAMES

if TYPE_CHECKING:
    from patchwork_env.agents.base import Agent

MAX_SPEC_LENGTH = 4096  # the most characters of a spec, as of a path on most systems
ENTRY_POINT_GROUP = "patchwork_env.agents"
Factory = str | Callable[..., "Agent"]  # a function that returns an agent, or `"module:function"`
_ALLOWED: Mapping[Reader, str] = {int: "an integer", float: "a number"}
"""The allowed values of readers whose errors do not name them."""


# --- the registry -----------------------------------------------------------------------------------------


class Entry(NamedTuple):
    """The factory of one name, scheme, file ending or kind of checkpoint; see :func:`register`."""

    factory: Factory
    options: Mapping[str, Reader]
    games: Sequence[str] | None
    extra: str
    made_from: str
    listed: bool = False
    needs_trust: bool = False

    def make(self, *arguments: Any, **options: Any) -> Agent:
        from patchwork_env.agents.base import Agent

        factory = self.factory
        if isinstance(factory, str):
            module, _, name = factory.partition(":")
            with from_extra(self.extra, f"agents from {self.made_from} need"):
                factory = getattr(importlib.import_module(module), name)
        agent = factory(*arguments, **options)
        if not isinstance(agent, Agent):
            raise TypeError(f"{self.factory!r} is registered to make agents, but returned {agent!r}")
        return agent


_entries: dict[str | tuple[str, str], Entry] = {}
"""The registered agents, by name, ``"scheme:"`` or ``".ending"``, or by game and kind of checkpoint."""
_NAME = re.compile(r"\w[\w.-]*")


def register(
    name: str,
    factory: Factory,
    *,
    games: Sequence[str] | None = None,
    options: Mapping[str, Reader] | None = None,
    listed: bool = True,
    extra: str = "",
    needs_trust: bool = False,
) -> None:
    """Register an agent under a name, which becomes a spec.

    >>> from patchwork_env import agents
    >>> agents.register("cautious", lambda seed, patience=3: agents.load("greedy"), options={"patience": int})
    >>> agents.load("cautious:patience=5")
    <agent greedy>

    Args:
        name: The name: letters, digits, ``_``, ``-`` and dots. A name that ends with a colon registers all
            specs with this beginning; one that begins with a dot, all files with this ending.
        factory: A function, called as ``factory(seed, **options)``, that returns an
            :class:`~patchwork_env.agents.Agent`; or ``"module:function"``, imported for the first agent. The
            text after the colon, or the path of the file, is passed before the seed.
        games: The games that the agents play; None for the attribute ``games`` of a class, or else all.
        options: The options, each with a function that reads its text; its ValueError says what is allowed.
        listed: Whether :func:`names` lists the name; False for agents that play only some set-ups of a game.
        extra: The extra of this package that installs the libraries of the factory.
        needs_trust: Whether only the user may give such specs; see :func:`runs_code`.

    ValueError if the name is taken or has other characters.
    """
    if not isinstance(name, str) or not re.fullmatch(rf"{_NAME.pattern}:?|\.\w+", name):
        raise ValueError(
            f"the name of an agent is {short_repr(name)}; allowed are letters, digits, '_', '-' and '.'"
        )
    made_from = f"{name[1:].upper()} files" if name.startswith(".") else f"specs {name}"
    listed = listed and bool(_NAME.fullmatch(name))
    games = getattr(factory, "games", None) if games is None else games
    _add(name, Entry(factory, options or {}, games, extra, made_from, listed, needs_trust))


def register_checkpoint(
    game: str, kind: str, factory: Factory, *, options: Mapping[str, Reader] | None = None, extra: str = ""
) -> None:
    """Register the agents of checkpoints, by ``game`` and ``policy`` (the kind) in ``checkpoint.json``.

    The factory is called as ``factory(checkpoint, seed, **options)``, with a
    :class:`~patchwork_env.agents.checkpoints.Checkpoint`; see :func:`register` for the rest.
    """
    _add((game, kind), Entry(factory, options or {}, (game,), extra, "checkpoints"))


def _add(key: str | tuple[str, str], entry: Entry) -> None:
    if key in _entries or key in _shipped():
        raise ValueError(f"there is already an agent {key!r}")
    _entries[key] = entry


def named(name: str) -> Entry | None:
    """Return the entry of a name, also one of another package; None if there is none."""
    if not _NAME.fullmatch(name):
        return None
    if name not in _entries and name not in _shipped() and name in _entry_points():
        _load_entry_point(_entry_points()[name])
    return _entries.get(name)


def _of_scheme(name: str) -> Entry | None:
    scheme, colon, _ = name.partition(":")
    return _entries.get(f"{scheme}:") if colon else None


def _entry_points() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=ENTRY_POINT_GROUP)}


def _load_entry_point(point: EntryPoint) -> None:
    package = point.dist.name if point.dist else point.value
    try:
        found = point.load()
        if point.name not in _entries and callable(found):
            register(point.name, found)
    except Exception as error:  # a module of another package may raise anything
        raise ValueError(
            f"agent {point.name!r} of the package {package!r} cannot be loaded: "
            f"{type(error).__name__}: {error}"
        ) from error
    if point.name not in _entries:
        raise ValueError(f"the package {package!r} has an entry point {point.name!r}, but registers no agent")


# --- names and paths --------------------------------------------------------------------------------------


def names(game: str | None = None) -> tuple[str, ...]:
    """Return the names of the agents of a game, such as ``"patchwork"``; None for all games.

    Agents of other packages are listed for a game once they have been used, for None always. ValueError if
    there is no such game.
    """
    if game is not None:
        check_one_of(game, GAMES, "game")
    listed = (
        str(name)
        for name, entry in _entries.items()
        if entry.listed and (game is None or entry.games is None or game in entry.games)
    )
    folder = checkpoints.SHIPPED_FOLDER
    shipped = (n for n in _shipped() if game is None or game == checkpoints.read_checkpoint(folder / n).game)
    return tuple(dict.fromkeys((*listed, *shipped, *(_entry_points() if game is None else ()))))


def _known() -> list[str]:
    """Return all names, also those that :func:`names` does not list."""
    own = (key for key in _entries if isinstance(key, str) and _NAME.fullmatch(key))
    return list(dict.fromkeys((*own, *_shipped(), *_entry_points())))


def _shipped() -> list[str]:
    return sorted(path.parent.name for path in checkpoints.SHIPPED_FOLDER.glob(f"*/{CHECKPOINT_FILE}"))


def path_of(spec: str | os.PathLike[str]) -> Path | None:
    """Return the path of a spec's policy, which need not exist; None for agents without a policy.

    A policy on the Hugging Face Hub is downloaded unless it is cached; for errors see :func:`load`.
    """
    name, _ = parse(spec)
    return None if named(name) or _of_scheme(name) else Path(checkpoint_path(name))


def checkpoint_path(name: str) -> str:
    """Return the path of a checkpoint that is shipped or on the Hub; another name is already a path."""
    if hub.is_on_hub(name):
        return str(hub.fetch(name).folder)
    return str(checkpoints.SHIPPED_FOLDER / name) if name in _shipped() else name


# --- from specs to agents ---------------------------------------------------------------------------------


def load(spec: str | os.PathLike[str], seed: int | None = None) -> Agent:
    """Return the agent of a spec.

    The spec is one of :func:`names`, the path of a checkpoint folder or of a file, or
    ``"hf:owner/name@revision"``, with options after a colon: ``"mcts:simulations=400"``,
    ``"champion:level=fast,aim=score"``. The ``seed`` of the agent's random numbers is ``0 ... 2**64 - 1``;
    None for a fresh one.

    Raises:
        ValueError: There is no such agent or option, or the checkpoint is of another game or version.
        FileNotFoundError: There is no checkpoint at the path, or on the Hugging Face Hub.
        ConnectionError: The Hugging Face Hub cannot be reached.
        ModuleNotFoundError: The agent needs a library, such as PyTorch, that is not installed.
    """
    check_seed(seed)
    name, texts = parse(spec)
    entry, arguments = _find(name)
    return entry.make(*arguments, seed, **_read_options(name, texts, entry.options))


def _find(name: str) -> tuple[Entry, tuple[Any, ...]]:
    """Return the entry of a name or path, and the arguments of its factory before the seed."""
    if entry := named(name):
        return entry, ()
    if entry := _of_scheme(name):
        return entry, (name.partition(":")[2],)
    is_file = not (hub.is_on_hub(name) or os.path.isdir(name))
    if is_file and (entry := _entries.get(os.path.splitext(name)[1])):
        return entry, (name,)
    if hub.is_on_hub(name):
        checkpoint = hub.fetch(name)
    else:
        path = checkpoint_path(name)
        check_checkpoint(path)
        checkpoint = checkpoints.read_checkpoint(Path(path))
    game, kind = checkpoint.game, checkpoint.kind
    if (game, kind) not in _entries:
        kinds = ", ".join(repr(key[1]) for key in _entries if isinstance(key, tuple) and key[0] == game)
        raise ValueError(
            f"the policy of {checkpoint.folder} is {short_repr(kind)}; those of {game} that this library "
            f"plays: {kinds or 'none'}"
        )
    return _entries[game, kind], (checkpoint,)


_PAIR = "[a-z_][a-z0-9_]*=[^=]*"
_SPEC = re.compile(
    rf"(?P<name>.+?)(:((?P<options>{_PAIR}(,{_PAIR})*)|(?P<level>{'|'.join(LEVELS)})))?", re.DOTALL
)


def parse(spec: str | os.PathLike[str]) -> tuple[str, dict[str, str]]:
    """Split a spec into its name or path and the texts of its options; ValueError if it is not a spec."""
    text = os.fspath(spec) if isinstance(spec, str | os.PathLike) else None
    if not isinstance(text, str):
        raise ValueError(
            f"the spec of an agent must be a str or a path, not {short_repr(spec)} of type "
            f"{type(spec).__name__}"
        )
    if len(text) > MAX_SPEC_LENGTH:
        most = f"at most {MAX_SPEC_LENGTH} are allowed: {text[:40]!r}..."
        raise ValueError(f"the spec of an agent has {len(text)} characters; {most}")
    if isinstance(spec, os.PathLike) and os.path.isdir(text):
        text = os.path.join(os.curdir, text)  # not a name
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
            allowed = f"{', '.join(readers) or 'none'}{_hint(key, readers)}"
            raise ValueError(f"agent {_shown(name)} has no option {_shown(key)}; its options: {allowed}")
        try:
            values[key] = readers[key](text)
        except ValueError as error:
            allowed = _ALLOWED.get(readers[key], str(error))
            raise ValueError(
                f"option {_shown(key)} of agent {_shown(name)} is {_shown(text)}; it must be {allowed}"
            ) from None
    return values


def check_checkpoint(path: str) -> None:
    """Raise an error with the likely reason unless ``path`` is a checkpoint."""
    shown = _shown(path)
    if os.path.isfile(os.path.join(path, CHECKPOINT_FILE)):  # like the rest, False for malformed paths
        return
    if os.path.isdir(path):
        inside = [_shown(str(file.parent)) for file in sorted(Path(path).glob(f"*/{CHECKPOINT_FILE}"))]
        hint = f"; did you mean {' or '.join(reversed(inside))}?" if inside else ""
        raise FileNotFoundError(f"the folder {shown} is not a checkpoint: it has no {CHECKPOINT_FILE}{hint}")
    if os.path.exists(path):
        raise ValueError(f"{shown} is a file; a checkpoint is a folder with a {CHECKPOINT_FILE}")
    if os.sep in path or "/" in path:
        raise FileNotFoundError(f"there is no checkpoint at {shown}; allowed are {_what_exists()}")
    name, colon, _ = path.partition(":")
    if colon and name in _known():
        options = _find(name)[0].options
        levels = f"; levels: {', '.join(LEVELS)}" if options.get("level") is VALUE_OPTIONS["level"] else ""
        allowed = f"{', '.join(options) or 'none'}{levels}"
        raise ValueError(f"options of {shown} need the form {name}:key=value; those of {name!r}: {allowed}")
    if is_import(path):
        module, name = (_shown(word)[1:-1] for word in path.split(":"))
        raise ValueError(
            f"there is no agent {shown}; only commands take module:name, without options; in Python, give "
            f"what it names (from {module} import {name})"
        )
    raise ValueError(f"there is no agent {shown}; allowed are {_what_exists()}{_hint(path, _known())}")


def _hint(word: str, known: Iterable[str]) -> str:
    """Return the end of a message that suggests the nearest known word, or an empty str."""
    close = nearest(word, known)
    return f"; did you mean {close!r}?" if close else ""


def _shown(text: str) -> str:
    return short_repr(text, 200)


def _what_exists() -> str:
    return ", ".join(map(repr, _known())) + f" and paths of checkpoint folders, or {hub.FORM}"


# --- specs that run code ----------------------------------------------------------------------------------

_IMPORTED = re.compile(r"(?P<module>[A-Za-z_]\w*(\.[A-Za-z_]\w*)*):(?P<name>[A-Za-z_]\w*)")


def is_import(text: str) -> bool:
    """Whether a text is ``module:name``, and not a spec such as ``champion:fast``."""
    match = _IMPORTED.fullmatch(text)
    if match is None or _of_scheme(text) or hub.is_on_hub(text):
        return False
    return match["module"] not in _known()


def runs_code(text: str) -> bool:
    """Whether loading a spec imports a module, starts a program or downloads a file that the spec names."""
    scheme = _of_scheme(text)
    return is_import(text) or hub.is_on_hub(text) or (scheme is not None and scheme.needs_trust)


def import_agent(text: str) -> Agent:
    """Return the agent ``name`` of a module: an agent, a class of agents, or a function of a game.

    The current folder is the last one searched for modules.
    """
    from patchwork_env.agents.base import Agent, CallableAgent

    module, _, name = text.partition(":")
    if module.endswith(".py"):
        raise ImportError(f"{text} is the name of a file; write {module[:-3]}:{name}")
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise ImportError(f"module {module!r} cannot be imported: {error}") from error
    if not hasattr(found, name):
        raise ImportError(f"module {module!r} has no {name!r}")
    value = getattr(found, name)
    if isinstance(value, type) and issubclass(value, Agent):
        value = value()
    if isinstance(value, Agent):
        return value
    if callable(value):
        return CallableAgent(value)
    raise ValueError(
        f"{text} is {short_repr(value)}; it must be an Agent or a function from a game to an action"
    )
