"""One player's side of a game in words: texts and rewards answer moves and requests.

Servers for language models build on it; it needs no library.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, NamedTuple

from patchwork_env.core.batches import REWARDS, loop, reward_of
from patchwork_env.core.checks import (
    as_integer,
    as_number,
    check_between,
    check_flag,
    check_one_of,
    check_seed,
)
from patchwork_env.core.game import BaseGame
from patchwork_env.core.names import counted, did_you_mean, short_repr
from patchwork_env.envs.opponents import seed_of_move, turns_of_others
from patchwork_env.envs.options import ILLEGAL_REWARD, check_rewards
from patchwork_env.errors import IllegalActionError
from patchwork_env.games import PATCHWORK, part_of, rules_of
from patchwork_env.integrations.text.judges import Judge
from patchwork_env.integrations.text.moves import (
    ask,
    describe,
    is_request,
    moves_text,
    news,
    parse,
    requests_text,
    rules,
)
from patchwork_env.service.agents import AgentPool
from patchwork_env.service.positions import known_game

FORFEITS = ("loss", "random", "greedy")
"""The effects of too many bad answers: the game is lost, or one of these agents makes a move."""
MOST_TRIES = 1000
_DEALT = ("circle", "deck")  # options that stand instead of a seed


@dataclass(frozen=True)
class EpisodeSettings:
    """The settings of an episode, all checked."""

    game: str = PATCHWORK
    opponent: str = "greedy"  # the agent that plays for all others, if there are any
    seat: int | None = None  # the player number of the model; None for the remainder of the seed
    rewards: str | None = None  # ``"outcome"``, ``"margin"`` or ``"score"``, as in all environments
    requests: int = 12  # the most requests before each move, 0-1000
    mistakes: int = 3  # the number of bad answers in a row that are too many, 1-1000
    penalty: float = 0.1  # the reward that each bad answer costs
    forfeit: str = "loss"  # the effect of too many bad answers, one of ``FORFEITS``
    shaping: bool = False  # whether the champion's judgement of each move is added to its reward
    options: Mapping[str, Any] = field(default_factory=dict)  # of the class ``Game``

    def __post_init__(self) -> None:
        known_game(self.game)
        if not isinstance(self.opponent, str):
            raise ValueError(f"opponent is {short_repr(self.opponent)}; it must be the spec of an agent")
        if self.seat is not None:
            as_integer(self.seat, "seat")
        if self.rewards is not None:
            check_one_of(self.rewards, REWARDS, "rewards")
        check_flag(self.shaping, "shaping")
        check_one_of(self.forfeit, FORFEITS, "forfeit")
        check_between(self.requests, 0, MOST_TRIES, "requests")
        check_between(self.mistakes, 1, MOST_TRIES, "mistakes")
        as_number(self.penalty, "penalty", least=0)
        _require_known(self.options, tuple(rules_of(self.game).defaults))
        game = self.new_game(0)  # raises if an option is not allowed
        if self.judge is not None:
            self.judge.check(game)

    def changed(self, given: Mapping[str, Any]) -> EpisodeSettings:
        """Return the settings with changes: of any but ``game``, and of options of the game."""
        own = tuple(entry.name for entry in fields(self) if entry.name not in ("game", "options"))
        _require_known(given, (*own, *rules_of(self.game).defaults))
        changes = {name: value for name, value in given.items() if name in own}
        options = {name: value for name, value in given.items() if name not in own and value is not None}
        return replace(self, **changes, options={**self.options, **options})

    @property
    def judge(self) -> Judge | None:
        """The judge of moves, a part of the game; None without ``shaping``."""
        return part_of(self.game, "judge") if self.shaping else None

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
    played: str | None = None  # the word of the move that was made
    others: tuple[tuple[int, str], ...] = ()  # player and word of the later moves of others
    judgement: float | None = None  # the champion's judgement of the move


class Episode:
    """A game against agents of the pool ``players``, or alone, in words.

    An error leaves the episode as it was.
    """

    def __init__(self, settings: EpisodeSettings, players: AgentPool, seed: int | None = None) -> None:
        self.settings, self.seed = settings, check_seed(seed)
        game = settings.new_game(self.seed)
        last = game.num_players - 1
        self.seat = (
            self.seed % game.num_players
            if settings.seat is None
            else check_between(settings.seat, 0, last, "seat")
        )
        self._kind = check_rewards(settings.rewards, game.num_players)
        self._agents = players
        if game.num_players > 1:
            require_offered(settings.opponent, settings.game, players)
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
        """The number of further bad answers that are too many."""
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
        if is_request(text):
            return self._request(text)
        try:
            action = parse(self._game, text)
        except IllegalActionError as error:
            return self._mistake(f"{error}.")
        return self._move(action)

    def _request(self, text: str) -> Reply:
        """Answer a request, which counts even if it is not understood."""
        if not self.requests_left:
            return self._mistake("There were requests enough before this move. Make a move.")
        self._requests += 1
        try:
            answer = ask(self._game, text, self.seat)
        except ValueError as error:
            answer = f"{error}."
        left = f"{counted(self.requests_left, 'request')} left before your move."
        return Reply("answer", f"{answer}\n\n{left}")

    def _mistake(self, reason: str) -> Reply:
        """Refuse a bad answer, or forfeit after too many."""
        if self.mistakes_left > 1:
            self._mistakes += 1
            left = f"That was a bad answer; {self._consequence()} after {self.mistakes_left} more."
            return Reply("refused", f"{reason}\n{left}", -self.settings.penalty)
        if self.settings.forfeit == "loss":
            self.has_ended = self.was_lost = True
            self._mistakes += 1
            reward = ILLEGAL_REWARD - self.settings.penalty
            return Reply("over", f"{reason}\nThat was one bad answer too many: the game is lost.", reward)
        choice = self._agents.choice(self._game, self.settings.forfeit, seed_of_move(self.seed, self._game))
        head = f"{reason}\nThat was one bad answer too many: {choice['word']} was played for you."
        return self._move(int(choice["action"]), head, -self.settings.penalty)

    def _consequence(self) -> str:
        if self.settings.forfeit == "loss":
            return "the game is lost"
        return f"the agent {self.settings.forfeit} moves for you"

    def _move(self, action: int, head: str = "", further: float = 0.0) -> Reply:
        """Play a legal action and the others' moves up to the next turn; add ``further`` to the reward."""
        game = self._game.clone()
        word, score = game.move_text(action), game.scores()[self.seat]
        judge = self.settings.judge
        judgement = None if judge is None else judge.cost(game, action, self._agents)
        game.play(action)
        self._let_others_play(game)
        others = news(game, self._game.num_public_moves, self.seat)
        reward = loop(reward_of, rules_of(game.state))(game.state, 0, self.seat, self._kind, score)
        self._game, self.has_ended = game, game.is_over
        self._requests = self._mistakes = 0
        lines = [head or f"You played {word}.", *_others_text(others)]
        kind: Kind = "over" if self.has_ended else "position"
        return Reply(
            kind,
            f"{' '.join(lines)}\n\n{self._position()}",
            reward + (judgement or 0.0) + further,
            word,
            others,
            judgement,
        )

    def _let_others_play(self, game: BaseGame) -> None:
        for turn in turns_of_others(game, self.seat):
            choice = self._agents.choice(turn, self.settings.opponent, seed_of_move(self.seed, turn))
            turn.play(choice["action"])

    def _introduction(self, others: tuple[tuple[int, str], ...]) -> str:
        requests = requests_text(self._game)
        how = (
            "The last line of your answer is 'Move:' with a move and nothing else. Instead you may ask, as "
            f"often as {self.settings.requests} times before each move, and that takes no turn:\n{requests}\n"
            f"After {counted(self.settings.mistakes, 'bad answer')} to one position {self._consequence()}."
        )
        return "\n\n".join([rules(self._game), how, *_others_text(others), self._position()])

    def _position(self) -> str:
        return f"{describe(self._game, self.seat)}\n\n{moves_text(self._game)}"


def require_offered(spec: Any, game: str, players: AgentPool) -> str:
    """Return the spec; ValueError unless players may choose it for the game."""
    offered = [str(entry["spec"]) for entry in players.listed(game)]
    if spec not in offered:
        raise ValueError(
            f"the opponent {short_repr(spec)} is not offered; {did_you_mean(str(spec), offered)}"
        )
    return str(spec)


def _others_text(others: tuple[tuple[int, str], ...]) -> list[str]:
    if not others:
        return []
    return ["Then " + ", ".join(f"player {player} played {word}" for player, word in others) + "."]
