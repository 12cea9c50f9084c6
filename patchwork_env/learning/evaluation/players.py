"""The agents that take part in an evaluation: by their specs, or by ``module:name`` from other projects."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from patchwork_env import agents
from patchwork_env.agents import Agent
from patchwork_env.agents.specs import import_agent, is_import
from patchwork_env.core.names import short_repr

HELP = (
    f"An agent is one of {', '.join(agents.names())}, the path of a checkpoint folder, with options behind a "
    "colon, module:name for an Agent or for a function from a game to an action, or program:COMMAND for a "
    "program that answers lines of JSON."
)
"""The help of commands about the agents that they take."""

WEIGHTS_FILE = "weights.safetensors"
"""The file with the weights of a checkpoint."""


class Participant(NamedTuple):
    """An agent that takes part in an evaluation, by its spec or the name of the function.

    ``weights`` is the SHA-256 of the agent's weights; None if it has none on disk.
    """

    name: str
    weights: str | None
    agent: Agent

    @classmethod
    def load(cls, text: str) -> Participant:
        """Loads an agent as :func:`load_player` does."""
        agent = load_player(text)
        return cls(text, fingerprint(text), agent)

    def against(self, other: Participant) -> str:
        """The name of the match against another one in a store of games, whoever else takes part."""
        sides = (json.dumps([one.name, one.weights]).encode() for one in (self, other))
        return "_against_".join(hashlib.sha256(side).hexdigest()[:16] for side in sides)


def load_player(text: str) -> Agent:
    """Loads an agent by its text in a command, which becomes its name.

    The text is a spec, see :mod:`patchwork_env.agents`, or ``module:name``: an agent, a class of agents,
    which is called with its options alone, or a function from a game to an action, in a module that is
    imported.

    Raises:
        ValueError: There is no such agent, or the name is that of something else.
        FileNotFoundError: There is no such checkpoint.
        ImportError: There is no such module, or it lacks the name.
    """
    if not isinstance(text, str):
        raise ValueError(f"an agent is named by text, not by {short_repr(text)}")
    agent = import_agent(text) if is_import(text) else agents.load(text)
    agent.name = text
    return agent


def fingerprint(text: str) -> str | None:
    """The SHA-256 of the weights that an agent plays with; None if it has none on disk."""
    path = None if is_import(text) else agents.path_of(text)
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
