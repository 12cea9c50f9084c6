"""The client of a session."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from openenv.core import EnvClient
from openenv.core.client_types import StepResult
from openenv.core.env_server.types import Action, Observation, State
from pydantic import BaseModel, ConfigDict, Field

LONGEST_TEXT = 40_000
"""The most characters of an action; of a longer answer the client sends the end, which has the move."""


class TextAction(Action):
    """A move or a request in the words of a language model."""

    text: str = Field(
        max_length=LONGEST_TEXT,
        description="a move, such as 'Move: 12/3@d5', or a request, such as 'placements of patch 12'",
    )


class PlayedMove(BaseModel):
    """A move of another player."""

    model_config = ConfigDict(extra="forbid")

    player: int
    move: str


class TextObservation(Observation):
    """The text for a language model, and the same as data."""

    text: str = Field("", description="the text for the model")
    kind: Literal["position", "answer", "refused", "over"] = Field(
        "position", description="after a move, to a request, to a bad answer, or at the end"
    )
    game: str = "patchwork"
    seat: int = Field(0, description="the player number of the model")
    player: int | None = Field(None, description="the player to move; null when the game is over")
    move_number: int = Field(0, description="the number of moves of all players")
    legal_moves: int = Field(0, description="the number of legal moves")
    scores: list[int] = Field(default_factory=list, description="as if the game ended now")
    winners: list[int] = Field(default_factory=list, description="the winners; several if they share the win")
    played: str | None = Field(None, description="the move that was made, in notation")
    others: list[PlayedMove] = Field(default_factory=list, description="the later moves of others")
    requests_left: int = Field(0, description="the number of requests left before the next move")
    mistakes_left: int = Field(0, description="the number of further bad answers that are too many")
    judgement: float | None = Field(None, description="the champion's judgement of the move")
    notation: str | None = Field(
        None, description="the game so far; null while it would reveal what players cannot know"
    )


class TextState(State):
    """The state of an episode, for trainers."""

    game: str = "patchwork"
    opponent: str | None = Field(None, description="the spec of the opponent; null if the model plays alone")
    seat: int = 0
    seed: int | None = Field(None, description="the seed of the game; null before its end")
    move_number: int = 0
    scores: list[int] = Field(default_factory=list)
    has_ended: bool = True


class PatchworkEnv(EnvClient[TextAction | str, TextObservation, TextState]):
    """A session with a server of either game.

    It steps with a :class:`TextAction`, or with a str of any length.

    It is asynchronous; ``PatchworkEnv("http://127.0.0.1:8054").sync()`` is its synchronous form.
    """

    def _step_payload(self, action: TextAction | str) -> dict[str, Any]:
        text = action if isinstance(action, str) else action.text
        return {"text": text[-LONGEST_TEXT:].encode(errors="replace").decode()}  # replaces lone surrogates

    def _parse_result(self, payload: Mapping[str, Any]) -> StepResult[TextObservation]:
        reward, done = payload.get("reward"), bool(payload.get("done", False))
        fields = {**payload.get("observation", {}), "reward": reward, "done": done}
        return StepResult(TextObservation.model_validate(fields), reward, done)

    def _parse_state(self, payload: Mapping[str, Any]) -> TextState:
        state: TextState = TextState.model_validate(payload)
        return state
