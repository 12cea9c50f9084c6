"""Agents that are named as ``module:name``: whoever lets a text name one runs the code of that module.

:func:`runs_code` says of any spec whether it must come from the user, which every program asks that lets
others name agents: the page, the engine over pipes, the servers of language models.
"""

from __future__ import annotations

import importlib
import os
import re
import sys

from patchwork_env.agents import hub, specs
from patchwork_env.agents.base import Agent, CallableAgent
from patchwork_env.core.names import short_repr

_IMPORTED = re.compile(r"(?P<module>[A-Za-z_]\w*(\.[A-Za-z_]\w*)*):(?P<name>[A-Za-z_]\w*)")


def is_import(text: str) -> bool:
    """Whether a text is ``module:name`` and no spec, such as ``champion:fast``."""
    match = _IMPORTED.fullmatch(text)
    if match is None or specs.has_scheme(text) or hub.is_on_hub(text):
        return False
    return match["module"] not in specs.names()


def runs_code(text: str) -> bool:
    """Whether loading what a text names runs code of its choice, a module or a program, or downloads it."""
    return is_import(text) or specs.needs_trust(text)


def import_agent(text: str) -> Agent:
    """The agent that ``module:name`` names, in a module that is imported.

    Modules are found where Python looks for them, and behind that in the current folder. It is an agent, a
    class of agents, which is called without arguments, or a function from a game to an action.

    Raises:
        ValueError: The name is that of something else.
        ImportError: There is no such module, or it lacks the name.
    """
    module, _, name = text.partition(":")
    if module.endswith(".py"):
        raise ImportError(f"{text} names a file; write {module[:-3]}:{name}")
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
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
        f"{text} is {short_repr(value)}; it must be an Agent or a function from a game to an action"
    )
