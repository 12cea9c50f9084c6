"""Specs, the strings that name agents.

A spec is a name, such as ``"greedy"`` or ``"ppo"``, or the path of a checkpoint folder or of an ONNX
file, or ``"hf:owner/name@revision"`` for a checkpoint on the Hugging Face Hub. Options stand behind the
last colon where there are any: ``"mcts:simulations=400"``, ``"runs/quick/final:sample=true"``. The level
of a search may stand there by its name alone: ``"champion:fast"`` is ``"champion:level=fast"``.

What a spec can name is registered next to the agent: see :mod:`~patchwork_env.agents.registry`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from patchwork_env.agents import checkpoints, hub
from patchwork_env.agents.base import Agent
from patchwork_env.agents.checkpoints import CHECKPOINT_FILE
from patchwork_env.agents.readers import Reader
from patchwork_env.agents.registry import Entry, known_entry_points, named, of_scheme, registered
from patchwork_env.core.checks import check_one_of, check_seed
from patchwork_env.core.names import nearest, short_repr
from patchwork_env.games import GAMES

LEVELS = ("instant", "fast", "strong", "analysis")
"""Names of budgets that searches with a learned value have, from the smallest to the largest."""
MAX_SPEC_LENGTH = 4096
"""The most characters of a spec: as many as a path may have on most systems."""


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
    listed = (name for name, entry in registered().names.items() if entry.listed and _plays(entry, game))
    shipped = (name for name in _shipped() if game is None or _game_of(name) == game)
    return *listed, *shipped


def _plays(entry: Entry, game: str | None) -> bool:
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
    return None if named(name) or of_scheme(name) else Path(checkpoint_path(name))


def needs_trust(spec: str) -> bool:
    """Whether a spec may come from the user alone, and from no message: loading it does more than read."""
    entry = of_scheme(spec)
    return is_remote(spec) or (entry is not None and entry.needs_trust)


def has_scheme(spec: str) -> bool:
    """Whether a spec begins with a word that :func:`register_scheme` made known."""
    return of_scheme(spec) is not None


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
    if entry := named(name):
        return entry.make(seed, **_read_options(name, texts, entry.options))
    if entry := of_scheme(name):
        return entry.make(name.partition(":")[2], seed, **_read_options(name, texts, entry.options))
    for ending, entry in registered().endings.items():
        if name.endswith(ending) and not (hub.is_on_hub(name) or os.path.isdir(name)):
            return entry.make(name, seed, **_read_options(name, texts, entry.options))
    path = checkpoint_path(name)
    check_checkpoint(path)
    entry = _kind_of(path)
    agent = entry.make(path, seed, **_read_options(name, texts, entry.options))
    if hub.is_on_hub(name):
        agent.name = hub.fetch(name).name
    return agent


def _kind_of(path: str) -> Entry:
    """The entry of the agents that play a checkpoint."""
    description = checkpoints.read_description(Path(path))
    game, kind = description["game"], description["policy"]
    kinds = registered().kinds
    if (game, kind) not in kinds:
        known = ", ".join(repr(other) for of, other in kinds if of == game) or "none"
        raise ValueError(
            f"the policy of {path} is {short_repr(kind)}; this library plays of those for {game}: {known}"
        )
    return kinds[game, kind]


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
            "the spec of an agent must be text or a path, "
            f"not {short_repr(spec)} of type {type(spec).__name__}"
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
        f"there is no agent {shown}; allowed are {_what_exists()}"
        f"{_hint(path, (*names(), *known_entry_points()))}"
    )


def _hint(word: str, known: Mapping[str, Any] | tuple[str, ...]) -> str:
    """The end of a message that says which known word may have been meant; empty if none is near."""
    close = nearest(word, known)
    return f"; did you mean {close!r}?" if close else ""


def _shown(text: str) -> str:
    """A part of a spec as messages show it; long enough for paths."""
    return short_repr(text, 200)


def _what_exists() -> str:
    return ", ".join(map(repr, names())) + f" and paths of checkpoint folders, or {hub.FORM}"
