"""One player's side of a game in words: moves and requests get texts and rewards.

Servers for language models build on it; it needs no library.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, NamedTuple

from patchwork_env.core.batches import loop, reward_of
from patchwork_env.core.checks import as_number, check_between, check_seed
from patchwork_env.core.game import BaseGame
from patchwork_env.core.names import counted, did_you_mean, short_repr
from patchwork_env.envs.opponents import seed_of_move, turns_of_others
from patchwork_env.envs.options import ILLEGAL_REWARD, check_rewards
from patchwork_env.errors import IllegalActionError
from patchwork_env.games import PATCHWORK, rules_of
from patchwork_env.integrations.text.answers import ask, is_request, parse, requests_text
from patchwork_env.integrations.text.view import describe, moves_text, news, rules
from patchwork_env.service.agents import AgentPool
from patchwork_env.service.positions import known_game

MOST_TRIES = 1000
_DEALT = ("circle", "deck")  # options that replace a seed


@dataclass(frozen=True)
class EpisodeSettings:
    """The settings of an episode."""

    game: str = PATCHWORK
    opponent: str = "greedy"  # the agent that plays for all others, if there are any
    seat: int | None = None  # the player number of the model; None for the remainder of the seed
    rewards: str | None = None  # ``"outcome"``, ``"margin"`` or ``"score"``, as in all environments
    requests: int = 12  # the most requests before each move, 0-1000
    mistakes: int = 3  # the number of bad answers to one position that lose the game, 1-1000
    penalty: float = 0.1  # the reward that each bad answer costs
    options: Mapping[str, Any] = field(default_factory=dict)  # of the class ``Game``

    def __post_init__(self) -> None:
        known_game(self.game)
        _require_known(self.options, tuple(rules_of(self.game).defaults))
        players = self.new_game(0).num_players  # raises if an option is not allowed
        if self.seat is not None:
            check_between(self.seat, 0, players - 1, "seat")
        check_rewards(self.rewards, players)
        check_between(self.requests, 0, MOST_TRIES, "requests")
        check_between(self.mistakes, 1, MOST_TRIES, "mistakes")
        as_number(self.penalty, "penalty", least=0)

    def changed(self, given: Mapping[str, Any]) -> EpisodeSettings:
        """Return the settings with changes: of any but ``game``, and of options of the game."""
        own = tuple(entry.name for entry in fields(self) if entry.name not in ("game", "options"))
        _require_known(given, (*own, *rules_of(self.game).defaults))
        changes = {name: value for name, value in given.items() if name in own}
        options = {name: value for name, value in given.items() if name not in own and value is not None}
        return replace(self, **changes, options={**self.options, **options})

    def new_game(self, seed: int) -> BaseGame:
        """Return the game of a seed, or of the circle or deck among the options."""
        dealing = {} if any(name in self.options for name in _DEALT) else {"seed": seed}
        game: BaseGame = rules_of(self.game).game(**dealing, **self.options)
        return game


def _require_known(given: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for name in given:
        if name not in known:
            raise ValueError(f"there is no option {short_repr(name)}; {did_you_mean(str(name), known)}")


Kind = Literal["position", "answer", "refused", "over"]


class Reply(NamedTuple):
    """The answer of an episode to a text."""

    kind: Kind
    text: str  # for a language model to read
    reward: float = 0.0
    played: str | None = None  # the word of the move
    others: tuple[tuple[int, str], ...] = ()  # player and word of the later moves of others


class Episode:
    """A game against agents of the pool ``players``, or alone, in words.

    An error leaves the episode as it was.
    """

    def __init__(self, settings: EpisodeSettings, players: AgentPool, seed: int | None = None) -> None:
        self.settings, self.seed = settings, check_seed(seed)
        game = settings.new_game(self.seed)
        self.seat = self.seed % game.num_players if settings.seat is None else settings.seat
        self._kind = check_rewards(settings.rewards, game.num_players)
        self._agents = players
        if game.num_players > 1:
            _require_offered(settings.opponent, settings.game, players)
        self.has_ended = self.was_lost = False
        self._requests = self._mistakes = 0
        self._let_others_play(game)
        self._game = game
        others = news(game, 0, self.seat)
        self.first = Reply("position", self._introduction(others), others=others)

    @property
    def game(self) -> BaseGame:
        """A copy of the game."""
        return self._game.clone()

    @property
    def requests_left(self) -> int:
        """The number of requests that may be made before the next move."""
        return self.settings.requests - self._requests

    @property
    def mistakes_left(self) -> int:
        """The number of further bad answers that lose the game."""
        return self.settings.mistakes - self._mistakes

    def winners(self) -> tuple[int, ...]:
        """Return the winners; after too many bad answers, all others."""
        if self.was_lost:
            return tuple(player for player in range(self._game.num_players) if player != self.seat)
        return self._game.winners()

    def answer(self, text: str) -> Reply:
        """Take a move or a request; ValueError if the episode has ended."""
        if self.has_ended:
            raise ValueError("the episode has ended; begin another one")
        try:
            action = parse(self._game, text)
        except IllegalActionError as error:
            return self._request(text) if is_request(text) else self._mistake(f"{error}.")
        return self._move(action)

    def _request(self, text: str) -> Reply:
        """Answer a request, which counts even if it is not understood."""
        if not self.requests_left:
            return self._mistake(
                f"All {self.settings.requests} requests before this move are used. Make a move."
            )
        self._requests += 1
        try:
            answer = ask(self._game, text, self.seat)
        except ValueError as error:
            answer = f"{error}."
        left = f"{counted(self.requests_left, 'request')} left before your move."
        return Reply("answer", f"{answer}\n\n{left}")

    def _mistake(self, reason: str) -> Reply:
        """Refuse a bad answer; too many lose the game."""
        self._mistakes += 1
        if self.mistakes_left:
            left = f"That was a bad answer; the game is lost after {self.mistakes_left} more."
            return Reply("refused", f"{reason}\n{left}", -self.settings.penalty)
        self.has_ended = self.was_lost = True
        reward = ILLEGAL_REWARD - self.settings.penalty
        return Reply("over", f"{reason}\nThat was the last bad answer allowed: the game is lost.", reward)

    def _move(self, action: int) -> Reply:
        """Play a legal action, and the others' moves up to the next turn."""
        game = self._game.clone()
        word, score = game.move_text(action), game.scores()[self.seat]
        game.play(action)
        self._let_others_play(game)
        others = news(game, self._game.num_public_moves, self.seat)
        reward = loop(reward_of, rules_of(game.state))(game.state, 0, self.seat, self._kind, score)
        self._game, self.has_ended = game, game.is_over
        self._requests = self._mistakes = 0
        head = " ".join([f"You played {word}.", *_others_text(others)])
        kind: Kind = "over" if self.has_ended else "position"
        return Reply(kind, f"{head}\n\n{self._position()}", reward, word, others)

    def _let_others_play(self, game: BaseGame) -> None:
        for turn in turns_of_others(game, self.seat):
            choice = self._agents.choice(turn, self.settings.opponent, seed_of_move(self.seed, turn))
            turn.play(choice["action"])

    def _introduction(self, others: tuple[tuple[int, str], ...]) -> str:
        requests = requests_text(self._game)
        how = (
            "The last line of your answer is 'Move:' with a move and nothing else. Instead you may ask, as "
            f"often as {self.settings.requests} times before each move, and that takes no turn:\n{requests}\n"
            f"After {counted(self.settings.mistakes, 'bad answer')} to one position the game is lost."
        )
        return "\n\n".join([rules(self._game), how, *_others_text(others), self._position()])

    def _position(self) -> str:
        return f"{describe(self._game, self.seat)}\n\n{moves_text(self._game)}"


def _require_offered(spec: str, game: str, players: AgentPool) -> None:
    offered = [str(entry["spec"]) for entry in players.listed(game)]
    if spec not in offered:
        raise ValueError(
            f"the opponent {short_repr(spec)} is not offered; {did_you_mean(str(spec), offered)}"
        )


def _others_text(others: tuple[tuple[int, str], ...]) -> list[str]:
    listed = ", ".join(f"player {player} played {word}" for player, word in others)
    return [f"Then {listed}."] if others else []
