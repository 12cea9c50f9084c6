"""The application that serves sessions."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import Any

from openenv.core.env_server.http_server import create_app as create_openenv_app
from openenv.core.env_server.types import ConcurrencyConfig

from patchwork_env.core.checks import as_number, check_between
from patchwork_env.games import PATCHWORK
from patchwork_env.integrations.openenv.doors import Doors
from patchwork_env.integrations.openenv.environment import TextEnvironment
from patchwork_env.integrations.openenv.messages import TextAction, TextObservation, TextState
from patchwork_env.integrations.text.settings import Settings
from patchwork_env.play.players import Players

MOST_SESSIONS = 10_000


def create_app(
    game: str = PATCHWORK,
    *,
    opponents: Collection[str] = (),
    sessions: int = 64,
    idle_seconds: float = 1800,
    hosts: Collection[str] | None = None,
    **settings: Any,
) -> Any:
    """An application of FastAPI that serves a game in words as OpenEnv prescribes: episodes over ``/ws``.

    Args:
        game: The name of the game.
        opponents: Specs of agents that clients may play against besides those that every server offers:
            checkpoints, foreign programs, ``module:name``. The first one is the usual opponent unless the
            setting ``opponent`` names another.
        sessions: The most sessions at once, 1-10000. Each has a game of its own, and a thread.
        idle_seconds: After how many seconds without a message a session's game ends.
        hosts: The hosts that requests may name, such as ``("127.0.0.1:8054",)``; None for any.
        settings: What episodes are like unless a ``reset`` says otherwise:
            :class:`~patchwork_env.integrations.text.settings.Settings`, and options of the game.

    Raises:
        ValueError: A value is not allowed, or there is no such opponent.
        FileNotFoundError, ImportError: There is no such opponent.
        OpponentError: The opponent failed.
    """
    opponents = (opponents,) if isinstance(opponents, str) else tuple(opponents)
    usual = {"opponent": opponents[0]} if opponents else {}
    chosen, players = Settings(game=game).changed({**usual, **settings}), Players(opponents)
    for spec in opponents:
        with players.lent(spec) as agent:
            agent.check_game(game)
    factory = partial(TextEnvironment, chosen, players)
    factory().reset(seed=1)  # what is not allowed is told now, and kernels are compiled
    app = create_openenv_app(
        factory,
        TextAction,
        TextObservation,
        env_name=game,
        state_cls=TextState,
        concurrency_config=ConcurrencyConfig(
            max_concurrent_envs=check_between(sessions, 1, MOST_SESSIONS, "sessions"),
            session_timeout=as_number(idle_seconds, "idle_seconds", above=0),
        ),
    )
    app.add_middleware(Doors, names=hosts)
    return app
