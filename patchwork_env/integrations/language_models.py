"""Language models as players: any function from text to text plays matches and gets a rating.

>>> from patchwork_env.integrations.language_models import TextAgent
>>> from patchwork_env.learning.evaluation import play_matches
>>> model = TextAgent(lambda prompt: "answer: +", "idler")
>>> play_matches(model, "random", games=2).usage[0].illegal_answers > 0  # for special patches
True
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from patchwork_env import agents
from patchwork_env.agents import Agent, BatchAgent
from patchwork_env.agents.base import Actions, Usage, name_of
from patchwork_env.core.checks import check_between
from patchwork_env.core.game import BaseGame
from patchwork_env.core.kernels import States
from patchwork_env.core.names import short_repr
from patchwork_env.errors import IllegalActionError
from patchwork_env.games import NMBR9, PATCHWORK, rules_of
from patchwork_env.integrations.text.answers import ask, is_request, parse, requests_text
from patchwork_env.integrations.text.view import describe, moves_text, rules
from patchwork_env.service.positions import action_of

__all__ = ["TextAgent", "Usage"]


Complete = Callable[[str], str]  # a language model: from a prompt to its answer
_REPEATED = 300  # the number of characters at the end of an answer that later prompts repeat
_TASK = """\
Think first if you like. The last line of your answer is "answer:" with a move, such as "answer: {example}",
and nothing else, or with one of these requests, after which you are asked again:
{requests}"""


class Decision(NamedTuple):
    """The result of asking a model for a move."""

    action: int | None  # None if the model named no legal move
    answer: str  # the last one
    usage: Usage


def decide(game: BaseGame, complete: Complete, retries: int, questions: int) -> Decision:
    """Ask a model for a move until it gives a legal one, or has no tries left."""
    example = game.move_text(game.legal_actions()[0])
    task = _TASK.format(example=example, requests=requests_text(game))
    prompt = "\n\n".join([rules(game), describe(game), moves_text(game), task])
    action, answer, usage = None, "", Usage(decisions=1)
    while action is None and usage.illegal_answers <= retries:
        answer = _ask(complete, prompt, usage)
        try:
            action, reply = _read(game, answer, usage, questions)
        except ValueError as error:
            usage.illegal_answers += 1
            reply = f"No legal move: {error}"
        prompt = f"{prompt}\n\nYour answer:\n{answer.strip()[-_REPEATED:]}\n\n{reply}\n\n{task}"
    usage.retries = min(usage.illegal_answers, retries)
    return Decision(action, answer, usage)


def _ask(complete: Complete, prompt: str, usage: Usage) -> str:
    began = time.perf_counter()
    answer: Any = complete(prompt)
    usage.seconds += time.perf_counter() - began
    if not isinstance(answer, str):
        raise ValueError(f"the answer of the language model is {short_repr(answer)}; it must be a str")
    usage.calls += 1
    usage.prompt_characters += len(prompt)
    usage.answer_characters += len(answer)
    return answer


def _read(game: BaseGame, answer: str, usage: Usage, most: int) -> tuple[int | None, str | None]:
    """Return the action of an answer, or else the reply to its request."""
    try:
        return parse(game, answer), None
    except IllegalActionError:
        if not is_request(answer):
            raise
    if usage.questions == most:
        raise ValueError(f"all {most} requests are used; the answer must be a move")
    reply = ask(game, answer)
    usage.questions += 1
    return None, reply


RANDOM = "random"
_MOST_TRIES = 100
_MOST_THREADS = 256


class TextAgent(BatchAgent):
    """An agent that asks a language model, or any function from a prompt to an answer, for its moves.

    Each prompt holds the whole exchange about the move, so that the function needs no memory. The last line
    of an answer has a move, such as ``answer: 12/3@d5``, or a request, such as ``answer: placements of patch
    12``. After a request the next prompt has the reply; after a bad answer it has the reason.

    >>> from patchwork_env.patchwork import Game
    >>> TextAgent(lambda prompt: "answer: +", "idler").act(Game(seed=7))
    0

    Args:
        complete: The function. An error that it raises ends the match.
        name: The name of the agent in tables and messages; that of the function by default.
        retries: The number of further prompts for one move, after answers without a legal move.
        questions: The number of requests for one move; a further one is a bad answer.
        fallback: The spec, agent or function that moves after only bad answers. With None, they raise an
            IllegalActionError, which ends the match.
        threads: The number of threads, each of which asks about another game of a batch.
    """

    games = (PATCHWORK, NMBR9)

    def __init__(
        self,
        complete: Complete,
        name: str | None = None,
        *,
        retries: int = 2,
        questions: int = 6,
        fallback: str | Agent | Callable[..., Any] | None = RANDOM,
        threads: int = 1,
    ) -> None:
        if not callable(complete) or isinstance(complete, type):
            raise ValueError(
                f"complete is {short_repr(complete)}; it must be a function from a prompt to an answer"
            )
        self.name = name_of(complete, name)
        self._complete = complete
        self._retries = check_between(retries, 0, _MOST_TRIES, "retries")
        self._questions = check_between(questions, 0, _MOST_TRIES, "questions")
        self._fallback = None if fallback is None else agents.as_agent(fallback)
        self._threads = check_between(threads, 1, _MOST_THREADS, "threads")

    def act_batch(self, states: States) -> Actions:
        """Ask for a move in every game."""
        return self.act_and_count(states)[0]

    def act_and_count(self, states: States) -> tuple[Actions, Usage]:
        """Ask for a move in every game; returns the actions, int64 ``(n,)``, and the usage."""
        game_class = rules_of(self.check_states(states)).game
        games = [game_class.unchecked(states, i) for i in range(len(states))]
        actions, usage = np.empty(len(games), np.int64), Usage()
        for i, decision in enumerate(self._decisions(games)):
            actions[i] = self._action_of(games[i], decision)
            usage.add(decision.usage)
        return actions, usage

    def reseed(self, seed: int | None = None) -> None:
        """Restart the random numbers of the fallback, not those of the model."""
        if self._fallback is not None:
            self._fallback.reseed(seed)

    def _decisions(self, games: list[BaseGame]) -> Iterator[Decision]:
        decide_in = partial(decide, complete=self._complete, retries=self._retries, questions=self._questions)
        count = min(self._threads, len(games))
        if count == 1:
            yield from map(decide_in, games)
            return
        with ThreadPoolExecutor(count) as threads:
            yield from threads.map(decide_in, games)

    def _action_of(self, game: BaseGame, decision: Decision) -> int:
        """Return the action of a decision, or else that of the fallback."""
        if decision.action is not None:
            return decision.action
        if self._fallback is None:
            raise IllegalActionError(
                f"the model gave no legal move in {1 + self._retries} tries; "
                f"its last answer: {short_repr(decision.answer)}"
            )
        decision.usage.fallbacks = 1
        return action_of(game, self._fallback.act(game))
