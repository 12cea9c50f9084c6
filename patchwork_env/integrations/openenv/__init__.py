"""OpenEnv: both games in words for language models that learn by reinforcement, over WebSockets.

``patchwork-env openenv`` serves them, and any ASGI server can serve ``create_app("patchwork")``. Then::

    with openenv.PatchworkEnv("http://127.0.0.1:8054").sync() as env:
        result = env.reset(seed=7)
        while not result.done:
            result = env.step(openenv.TextAction(text=ask_a_model(result.observation.text)))

Needs the extra ``openenv``.
"""

from __future__ import annotations

from patchwork_env.core.extras import from_extra

with from_extra("openenv", f"{__name__} needs"):
    import openenv.core  # noqa: F401

from patchwork_env.integrations.openenv.environment import (
    PatchworkEnv,
    TextAction,
    TextEnvironment,
    TextObservation,
    create_app,
)

__all__ = ["PatchworkEnv", "TextAction", "TextEnvironment", "TextObservation", "create_app"]
