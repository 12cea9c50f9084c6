"""One session: an episode in words behind OpenEnv's interface of an environment."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import EnvironmentMetadata

from patchwork_env import __version__
from patchwork_env.core.names import short_repr
from patchwork_env.games import PATCHWORK, rules_of
from patchwork_env.integrations.openenv.messages import (
    PlayedMove,
    TextAction,
    TextObservation,
    TextState,
)
from patchwork_env.integrations.text.episode import Episode, Reply
from patchwork_env.integrations.text.moves import moves, notation
from patchwork_env.integrations.text.settings import Settings
from patchwork_env.play.players import Players

_LONGEST_ID = 255


class TextEnvironment(Environment[TextAction, TextObservation, TextState]):
    """A game against agents, or alone, for a language model; every session has one of its own.

    Args:
        settings: What its episodes are like unless :meth:`reset` says otherwise, or the name of the game.
        agents: Whom opponents are borrowed from; sessions share them.
        given: Other settings and options of the game, such as ``players=2`` in NMBR 9.

    Raises:
        ValueError: A value is not allowed.
    """

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(
        self, settings: Settings | str = PATCHWORK, agents: Players | None = None, **given: Any
    ) -> None:
        super().__init__()
        usual = settings if isinstance(settings, Settings) else Settings(settings)
        self._settings = usual.changed(given)
        self._agents = agents or Players()
        self._episode: Episode | None = None
        self._id: str | None = None
        self._steps = 0

    def reset(
        self, seed: int | None = None, episode_id: str | None = None, **settings: Any
    ) -> TextObservation:
        """Begins an episode.

        Args:
            seed: The seed of the game and of the opponent, ``0 ... 2**64 - 1``; None for a fresh one.
            episode_id: The name of the episode; None for a fresh one.
            settings: Settings and options of the game for this episode; see
                :meth:`~patchwork_env.integrations.text.settings.Settings.changed`.

        Raises:
            ValueError: One of them is not allowed. The episode before goes on.
            OpponentError: The opponent failed. The episode before goes on.
        """
        if episode_id is not None and not (isinstance(episode_id, str) and len(episode_id) <= _LONGEST_ID):
            raise ValueError(
                f"episode_id is {short_repr(episode_id)}; "
                f"it must be a text of at most {_LONGEST_ID} characters"
            )
        episode = Episode(self._settings.changed(settings), self._agents, seed)
        self._episode, self._id, self._steps = episode, episode_id or str(uuid4()), 0
        return self._observe(episode.first, episode)

    def step(self, action: TextAction, timeout_s: float | None = None, **_: Any) -> TextObservation:
        """Takes a move or a request, and lets the opponent answer a move.

        Args:
            action: The text.
            timeout_s: Has no effect: how long opponents think follows from their specs.

        Raises:
            ValueError: No episode is on.
            OpponentError: The opponent failed. The episode is as it was before.
        """
        episode = self._episode
        if episode is None:
            raise ValueError("no episode is on in this session; send 'reset' first")
        reply = episode.answer(action.text)
        self._steps += 1
        return self._observe(reply, episode)

    @property
    def state(self) -> TextState:
        """The episode as trainers see it."""
        episode = self._episode
        if episode is None:
            return TextState(game=self._settings.game)
        game = episode.game
        return TextState(
            episode_id=self._id,
            step_count=self._steps,
            game=episode.settings.game,
            opponent=episode.settings.opponent if game.num_players > 1 else None,
            seat=episode.seat,
            seed=episode.seed if episode.has_ended else None,
            move_number=game.num_moves,
            scores=list(game.public().scores()),
            has_ended=episode.has_ended,
        )

    def get_metadata(self) -> EnvironmentMetadata:
        """What OpenEnv shows of this environment."""
        title = rules_of(self._settings.game).title
        return EnvironmentMetadata(
            name=self._settings.game, description=f"{title} in words, against agents", version=__version__
        )

    def render_web(self, observation: dict[str, Any]) -> str | None:
        """The picture of the game as SVG, for OpenEnv's web interface."""
        if self._episode is None:
            return None
        return rules_of(self._settings.game).pictures.svg(self._episode.game.public())

    def web_actions(self, observation: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
        """A move of each group, to click on in OpenEnv's web interface."""
        if self._episode is None or self._episode.has_ended:
            return []
        groups = [(group.name, group.example) for group in moves(self._episode.game)]
        return [(f"{name}: {move.word}", {"text": move.word}) for name, move in groups if move]

    def close(self) -> None:
        """Ends the session, whose episode can be stepped no more."""
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
            judgement=reply.judgement,
            notation=game.notation() if episode.has_ended else notation(game),
        )
