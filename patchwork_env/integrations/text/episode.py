"""One player's side of a game in words: moves and requests are answered with texts and rewards.

It is what servers for language models are made of; it needs no library, and knows no network.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, NamedTuple

from patchwork_env.agents.analysis import Analyst, Scorer
from patchwork_env.core.batches import REWARDS, loop, reward_of
from patchwork_env.core.checks import (
    as_integer,
    as_number,
    check_between,
    check_one_of,
    check_seed,
)
from patchwork_env.core.game import BaseGame
from patchwork_env.core.names import counted, did_you_mean, short_repr
from patchwork_env.envs.opponents import seed_of_move, turns_of_others
from patchwork_env.envs.options import ILLEGAL_REWARD, check_rewards
from patchwork_env.errors import IllegalActionError
from patchwork_env.games import NMBR9, PATCHWORK, rules_of
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
from patchwork_env.service.agents import AgentPool, champion_of
from patchwork_env.service.positions import known_game

FORFEITS = ("loss", "random", "greedy")
"""What too many bad answers may lead to: the game is lost, or a move is made by one of these agents."""
JUDGES = ("champion",)  # who may judge moves
MOST_TRIES = 1000
_DEALT = ("circle", "deck")  # options that stand instead of a seed


@dataclass(frozen=True)
class EpisodeSettings:
    """The settings of an episode, all checked."""

    game: str = PATCHWORK
    opponent: str = "greedy"  # the agent that plays for all others, if there are any
    seat: int | None = None  # the player number of whoever answers; None: the remainder of the seed
    rewards: str | None = None  # ``"outcome"``, ``"margin"`` or ``"score"``, as in all environments
    reward_scale: float = 1.0  # the factor of the rewards of the game and of the judge, above 0
    requests: int = 12  # that may be made before each move, 0-1000
    mistakes: int = 3  # the bad answers in a row that are too many, 1-1000
    penalty: float = 0.1  # what each bad answer takes from the reward
    forfeit: str = "loss"  # what too many bad answers lead to, one of ``FORFEITS``
    shaping: str | None = None  # who judges moves, one of ``JUDGES``; see ``judged``
    shaping_weight: float = 1.0  # the factor of the judge's reward
    options: Mapping[str, Any] = field(default_factory=dict)  # of the class ``Game``

    def __post_init__(self) -> None:
        known_game(self.game)
        if not isinstance(self.opponent, str):
            raise ValueError(f"opponent is {short_repr(self.opponent)}; it must be the spec of an agent")
        if self.seat is not None:
            as_integer(self.seat, "seat")
        if self.rewards is not None:
            check_one_of(self.rewards, REWARDS, "rewards")
        if self.shaping is not None:
            check_one_of(self.shaping, JUDGES, "shaping")
        check_one_of(self.forfeit, FORFEITS, "forfeit")
        check_between(self.requests, 0, MOST_TRIES, "requests")
        check_between(self.mistakes, 1, MOST_TRIES, "mistakes")
        as_number(self.reward_scale, "reward_scale", above=0)
        as_number(self.penalty, "penalty", least=0)
        as_number(self.shaping_weight, "shaping_weight", least=0)
        _require_known(self.options, tuple(rules_of(self.game).defaults))
        self.new_game(0)  # tells what is not allowed

    def changed(self, given: Mapping[str, Any]) -> EpisodeSettings:
        """These settings with others for one episode: any but ``game``, and options of the game."""
        own = tuple(entry.name for entry in fields(self) if entry.name not in ("game", "options"))
        _require_known(given, (*own, *rules_of(self.game).defaults))
        changes = {name: value for name, value in given.items() if name in own}
        options = {name: value for name, value in given.items() if name not in own and value is not None}
        return replace(self, **changes, options={**self.options, **options})

    def new_game(self, seed: int) -> BaseGame:
        """The game of a seed, or of the circle or deck among the options."""
        dealing = {} if any(name in self.options for name in _DEALT) else {"seed": seed}
        game: BaseGame = rules_of(self.game).game(**dealing, **self.options)
        return game


def _require_known(given: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for name in given:
        if name not in known:
            raise ValueError(f"there is no option {short_repr(name)}; {did_you_mean(str(name), known)}")


Kind = Literal["position", "answer", "refused", "over"]


class Reply(NamedTuple):
    """What an episode says to a text."""

    kind: Kind
    text: str  # for a language model to read
    reward: float = 0.0
    played: str | None = None  # the word of the move that was made
    others: tuple[tuple[int, str], ...] = ()  # player and word of what others have played since then
    judgement: float | None = None  # of the move, by the judge


class Episode:
    """A game against agents that ``players`` lend, or alone, for somebody who reads and writes texts.

    Whatever raises an error leaves the episode as it was.
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
        if settings.shaping is not None:
            require_judge(game)
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
        """The number of bad answers that would be too many."""
        return self.settings.mistakes - self._mistakes

    def winners(self) -> tuple[int, ...]:
        """Who has won; after too many bad answers, the others."""
        if self.was_lost:
            return tuple(player for player in range(self._game.num_players) if player != self.seat)
        return self._game.winners()

    def answer(self, text: str) -> Reply:
        """Takes a move or a request; ValueError if the episode has ended."""
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
        """Answers a request, which counts even if it makes no sense."""
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
        """Refuses a bad answer, or forfeits after too many."""
        if self.mistakes_left > 1:
            self._mistakes += 1
            left = f"That was a bad answer; {self._consequence()} after {self.mistakes_left} more."
            return Reply("refused", f"{reason}\n{left}", -self.settings.penalty)
        if self.settings.forfeit == "loss":
            self.has_ended = self.was_lost = True
            self._mistakes += 1
            reward = ILLEGAL_REWARD * self.settings.reward_scale - self.settings.penalty
            return Reply("over", f"{reason}\nThat was one bad answer too many: the game is lost.", reward)
        choice = self._agents.choice(self._game, self.settings.forfeit, seed_of_move(self.seed, self._game))
        head = f"{reason}\nThat was one bad answer too many: {choice['word']} was played for you."
        return self._move(int(choice["action"]), head, -self.settings.penalty)

    def _consequence(self) -> str:
        if self.settings.forfeit == "loss":
            return "the game is lost"
        return f"the agent {self.settings.forfeit} moves for you"

    def _move(self, action: int, head: str = "", further: float = 0.0) -> Reply:
        """Plays a legal action and the others' moves up to the next turn; ``further`` is more reward."""
        settings, game = self.settings, self._game.clone()
        word, score = game.move_text(action), game.scores()[self.seat]
        judgement = judged(game, action, self._agents) if settings.shaping else None
        game.play(action)
        self._let_others_play(game)
        others = news(game, self._game.num_public_moves, self.seat)
        reward = loop(reward_of, rules_of(game.state))(game.state, 0, self.seat, self._kind, score)
        reward += settings.shaping_weight * (judgement or 0.0)
        self._game, self.has_ended = game, game.is_over
        self._requests = self._mistakes = 0
        lines = [head or f"You played {word}.", *_others_text(others)]
        kind: Kind = "over" if self.has_ended else "position"
        return Reply(
            kind,
            f"{' '.join(lines)}\n\n{self._position()}",
            settings.reward_scale * reward + further,
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
    """The spec if players may choose it for a game, else ValueError."""
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


def require_judge(game: BaseGame) -> None:
    """Raises ValueError if the champion does not judge such games: those of NMBR 9 in free order."""
    if getattr(game, "order", None) == "free":
        raise ValueError("shaping is 'champion', who does not judge the choice of tiles: order is 'free'")


def judged(game: BaseGame, action: int, players: AgentPool) -> float:
    """What a move costs whoever makes it, as the champion's learned value judges the positions after moves.

    In Patchwork it is the probability to win after the move minus that after the best one, -1 to 0. In NMBR 9
    it is the final score to expect after the move minus that after the one which the champion would make at a
    glance, and 0 for moves that it did not consider and likes better.

    With a perfect judge that would be the advantage of the move: whoever has learned never to lose any of it
    plays perfectly.
    """
    if rules_of(game.state).name == NMBR9:
        best = int(players.choice(game, champion_of(NMBR9, "instant"))["action"])
        with players.borrow(champion_of(NMBR9, "fast")) as scorer:
            assert isinstance(scorer, Scorer)
            return min(_expected(game, action, scorer) - _expected(game, best, scorer), 0.0)
    with players.borrow(champion_of(PATCHWORK, "instant")) as analyst:
        assert isinstance(analyst, Analyst)
        wins = {line.action: line.win for line in analyst.evaluate_moves(game)}
    return float(wins[action] - max(wins.values()))


def _expected(game: BaseGame, action: int, scorer: Scorer) -> float:
    after = game.clone()
    after.play(action)
    return float(scorer.expected_scores(after)[game.current_player])
