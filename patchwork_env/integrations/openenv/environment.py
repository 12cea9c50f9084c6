"""One session as an environment of OpenEnv, its client, and the server of many sessions."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from typing import Any, Literal
from uuid import uuid4

from openenv.core import EnvClient
from openenv.core.client_types import StepResult
from openenv.core.env_server.http_server import create_app as create_openenv_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import Action, ConcurrencyConfig, Observation, State
from pydantic import BaseModel, ConfigDict, Field

from patchwork_env.core.checks import as_number, check_between
from patchwork_env.core.names import short_repr
from patchwork_env.games import PATCHWORK
from patchwork_env.integrations.text.episode import Episode, EpisodeSettings, Reply
from patchwork_env.integrations.text.view import notation_of
from patchwork_env.service.agents import AgentPool
from patchwork_env.service.guard import RequestGuard

LONGEST_TEXT = 40_000
"""The maximal number of characters of an action; the client sends the end of a longer answer."""


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
    mistakes_left: int = Field(0, description="the number of further bad answers that lose the game")
    notation: str | None = Field(
        None, description="the game so far; null while it would reveal what players cannot know"
    )


class PatchworkEnv(EnvClient[TextAction | str, TextObservation, State]):
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

    def _parse_state(self, payload: Mapping[str, Any]) -> State:
        return State.model_validate(payload)


class TextEnvironment(Environment[TextAction, TextObservation, State]):
    """The environment of one session: a game against agents, or alone, for a language model.

    Args:
        settings: The settings of episodes, or the name of a game for their defaults.
        agents: The pool of opponents, which sessions share.
    """

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, settings: EpisodeSettings | str = PATCHWORK, agents: AgentPool | None = None) -> None:
        super().__init__()
        self._settings = EpisodeSettings(settings) if isinstance(settings, str) else settings
        self._agents = agents or AgentPool()
        self._episode: Episode | None = None
        self._id: str | None = None
        self._steps = 0

    def reset(
        self, seed: int | None = None, episode_id: str | None = None, **settings: Any
    ) -> TextObservation:
        """Begin an episode with settings of its own; an error leaves the last one unchanged."""
        if not isinstance(episode_id, str | None):
            raise ValueError(f"episode_id is {short_repr(episode_id)}; it must be a str")
        episode = Episode(self._settings.changed(settings), self._agents, seed)
        self._episode, self._id, self._steps = episode, episode_id or str(uuid4()), 0
        return self._observe(episode.first, episode)

    def step(self, action: TextAction, timeout_s: float | None = None, **_: Any) -> TextObservation:
        """Take a move or a request, and let the opponent answer a move; an error changes nothing."""
        episode = self._episode
        if episode is None:
            raise ValueError("this session has no episode; send 'reset' first")
        reply = episode.answer(action.text)
        self._steps += 1
        return self._observe(reply, episode)

    @property
    def state(self) -> State:
        """The id of the episode, and the number of its steps."""
        return State(episode_id=self._id, step_count=self._steps)

    def close(self) -> None:
        """End the session; its episode takes no more steps."""
        self._episode = None

    def _observe(self, reply: Reply, episode: Episode) -> TextObservation:
        game = episode.game
        return TextObservation(
            text=reply.text,
            done=episode.has_ended,
            reward=reply.reward,
            kind=reply.kind,
            game=episode.settings.game,
            seat=episode.seat,
            player=None if episode.has_ended else game.current_player,
            move_number=game.num_moves,
            legal_moves=0 if episode.has_ended else len(game.legal_actions()),
            scores=list(game.public().scores()),
            winners=list(episode.winners()),
            played=reply.played,
            others=[PlayedMove(player=player, move=move) for player, move in reply.others],
            requests_left=episode.requests_left,
            mistakes_left=episode.mistakes_left,
            notation=game.notation() if episode.has_ended else notation_of(game),
        )


# --- the server -------------------------------------------------------------------------------------------

MOST_SESSIONS = 10_000
MOST_BYTES = 2**18
"""The size of the longest message; for WebSockets the server needs ``uvicorn --ws-max-size 262144``."""


def create_app(
    game: str = PATCHWORK,
    *,
    opponents: Collection[str] = (),
    sessions: int = 64,
    idle_seconds: float = 1800,
    hosts: Collection[str] | None = None,
    **settings: Any,
) -> Any:
    """Return a FastAPI application that serves episodes of a game in words over ``/ws``.

    Args:
        game: The name of the game.
        opponents: Specs of further opponents that clients may choose, such as checkpoints or ``module:name``;
            the first one is the default.
        sessions: The most sessions at once, 1-10000. Each has a game of its own, and a thread.
        idle_seconds: The seconds without a message after which the game of a session ends.
        hosts: The hosts that requests may name, such as ``("127.0.0.1:8054",)``; None for any.
        settings: The defaults of the settings of episodes:
            :class:`~patchwork_env.integrations.text.episode.EpisodeSettings`, and options of the game.

    Raises:
        ValueError, FileNotFoundError, ImportError, OpponentError: A value or an opponent is not allowed.
    """
    opponents = (opponents,) if isinstance(opponents, str) else tuple(opponents)
    usual = {"opponent": opponents[0]} if opponents else {}
    chosen, players = EpisodeSettings(game=game).changed({**usual, **settings}), AgentPool(opponents)
    for spec in opponents:
        with players.borrow(spec) as agent:
            agent.check_game(game)
    factory = partial(TextEnvironment, chosen, players)
    factory().reset(seed=1)  # raises if a setting is not allowed, and compiles kernels
    app = create_openenv_app(
        factory,
        TextAction,
        TextObservation,
        env_name=game,
        concurrency_config=ConcurrencyConfig(
            max_concurrent_envs=check_between(sessions, 1, MOST_SESSIONS, "sessions"),
            session_timeout=as_number(idle_seconds, "idle_seconds", above=0),
        ),
    )
    app.add_middleware(RequestGuard, hosts=hosts, allows_programs=True, most_bytes=MOST_BYTES)
    return app
