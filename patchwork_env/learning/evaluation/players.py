"""The agents that take part in an evaluation: by their specs, or by ``module:name`` from other projects."""

from __future__ import annotations

import hashlib
import importlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from patchwork_env import agents
from patchwork_env.agents import Agent, CallableAgent
from patchwork_env.core.names import shorten

HELP = (
    f"An agent is one of {', '.join(agents.names())}, the path of a checkpoint folder, with options behind a "
    "colon, or module:name for an Agent or for a function from a game to an action."
)
"""What commands say about the agents that they take."""

_IMPORTED = re.compile(r"(?P<module>[A-Za-z_]\w*(\.[A-Za-z_]\w*)*):(?P<name>[A-Za-z_]\w*)")
WEIGHTS_FILE = "weights.safetensors"
"""The file with the weights of a checkpoint."""


class Entrant(NamedTuple):
    """An agent that takes part in an evaluation, by its spec or the name of the function.

    ``weights`` is the SHA-256 of the agent's weights; None if it has none on disk.
    """

    name: str
    weights: str | None
    agent: Agent

    @classmethod
    def load(cls, text: str) -> Entrant:
        """Loads an agent as :func:`load_player` does."""
        agent = load_player(text)
        return cls(text, fingerprint(text), agent)


def load_player(text: str) -> Agent:
    """Loads an agent that a command was given; the text becomes its name.

    The text is a spec, see :mod:`patchwork_env.agents`, or ``module:name``: an agent, a class of agents,
    which is called without arguments, or a function from a game to an action, in a module that is imported.

    Raises:
        ValueError: There is no such agent, or the name is that of something else.
        FileNotFoundError: There is no such checkpoint.
        ImportError: There is no such module, or it lacks the name.
    """
    if not isinstance(text, str):
        raise ValueError(f"an agent is named by text, not by {shorten(text)}")
    match = _import_of(text)
    agent = agents.load(text) if match is None else _imported(match["module"], match["name"])
    agent.name = text
    return agent


def _import_of(text: str) -> re.Match[str] | None:
    """The parts of ``module:name``; None if the text is a spec, such as ``champion:fast``."""
    match = _IMPORTED.fullmatch(text)
    return None if match is None or match["module"] in agents.names() else match


def _imported(module: str, name: str) -> Agent:
    found = importlib.import_module(module)
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
        f"{module}:{name} is {shorten(value)}; it must be an Agent or a function from a game to an action"
    )


def fingerprint(text: str) -> str | None:
    """The SHA-256 of the weights that an agent plays with; None if it has none on disk."""
    path = None if _import_of(text) else agents.path_of(text)
    return None if path is None else hash_of_weights(path)


def hash_of_weights(path: Path) -> str:
    """The SHA-256 of a file of weights, or of that in the folder of a checkpoint."""
    with (path if path.is_file() else path / WEIGHTS_FILE).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def labels(texts: Sequence[str]) -> list[str]:
    """Short names for tables and plots: as many last parts of each path as are needed to tell it apart."""
    parts = [text.rstrip("/").split("/") for text in texts]
    short = []
    for mine in parts:
        length = 1
        while sum(other[-length:] == mine[-length:] for other in parts) > 1 and length < len(mine):
            length += 1
        short.append("/".join(mine[-length:]))
    return short
