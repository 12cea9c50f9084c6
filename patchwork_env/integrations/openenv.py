"""OpenEnv: both games in words for language models that learn by reinforcement, served over WebSocket.

``patchwork-env openenv`` serves them, and so does any server of ASGI with ``create_app("patchwork")``. Then::

    with openenv.PatchworkEnv("http://127.0.0.1:8054").sync() as env:
        result = env.reset(seed=7)
        while not result.done:
            result = env.step(openenv.TextAction(text=ask_a_model(result.observation.text)))

- :func:`create_app`, the application for a server;
- :class:`TextEnvironment`, one session of it: a game against an agent, or alone;
- :class:`PatchworkEnv`, its client, for both games;
- :class:`TextAction`, :class:`TextObservation` and :class:`TextState`, what they tell each other.

Needs the extra ``openenv``.
"""

from __future__ import annotations

try:
    import openenv.core  # noqa: F401
except ModuleNotFoundError as _error:
    raise ModuleNotFoundError(
        f"patchwork_env.integrations.openenv needs {_error.name}: pip install 'patchwork-env[openenv]'",
        name=_error.name,
    ) from None

from patchwork_env.integrations.openenv_parts.app import create_app
from patchwork_env.integrations.openenv_parts.client import PatchworkEnv
from patchwork_env.integrations.openenv_parts.environment import TextEnvironment
from patchwork_env.integrations.openenv_parts.messages import TextAction, TextObservation, TextState

__all__ = [
    "PatchworkEnv",
    "TextAction",
    "TextEnvironment",
    "TextObservation",
    "TextState",
    "create_app",
]
