"""The client of a session."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from openenv.core import EnvClient
from openenv.core.client_types import StepResult

from patchwork_env.integrations.openenv.messages import (
    LONGEST_TEXT,
    TextAction,
    TextObservation,
    TextState,
)


class PatchworkEnv(EnvClient[TextAction | str, TextObservation, TextState]):
    """A session with a server of either game.

    It steps with a :class:`TextAction`, or with a text, which may be as long as a model likes: of more than
    ``LONGEST_TEXT`` characters it sends the end.

    It is asynchronous; ``PatchworkEnv("http://127.0.0.1:8054").sync()`` is its synchronous form.
    """

    def _step_payload(self, action: TextAction | str) -> dict[str, Any]:
        text = action if isinstance(action, str) else action.text
        return {"text": text[-LONGEST_TEXT:].encode(errors="replace").decode()}  # halves of characters, too

    def _parse_result(self, payload: Mapping[str, Any]) -> StepResult[TextObservation]:
        reward, done = payload.get("reward"), bool(payload.get("done", False))
        told = {**payload.get("observation", {}), "reward": reward, "done": done}
        return StepResult(TextObservation.model_validate(told), reward, done)

    def _parse_state(self, payload: Mapping[str, Any]) -> TextState:
        state: TextState = TextState.model_validate(payload)
        return state
