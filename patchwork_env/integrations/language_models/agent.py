"""Any function from text to text as a player, wherever an agent can stand."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from patchwork_env import agents
from patchwork_env.agents import Agent, BatchAgent
from patchwork_env.agents.base import Actions
from patchwork_env.core.checks import as_path, check_between
from patchwork_env.core.files import storing_in
from patchwork_env.core.game import BaseGame
from patchwork_env.core.kernels import States
from patchwork_env.core.messages import encoded
from patchwork_env.core.names import short_repr
from patchwork_env.errors import IllegalActionError
from patchwork_env.games import NMBR9, PATCHWORK, rules_of
from patchwork_env.integrations.language_models.dialogue import Complete, Decision, Usage, decide
from patchwork_env.service.positions import action_of

RANDOM = "random"
_MOST_TRIES = 100
_MOST_THREADS = 256


class TextAgent(BatchAgent):
    """A player that asks a language model for its moves, or any other function from a prompt to an answer.

    Each prompt holds everything: the rules, the position, the legal moves in groups, and what was said about
    this move before. So the function needs no memory. It answers as it likes, with a last line such as
    ``answer: 12/3@d5``, or ``answer: placements of patch 12`` to be asked again with this list. After an
    answer that is neither it is told what is wrong, and asked again.

    >>> from patchwork_env.patchwork import Game
    >>> TextAgent(lambda prompt: "answer: +", "idler").act(Game(seed=7))
    0

    Args:
        complete: The function. An error that it raises ends the match.
        name: The name of the agent in tables and messages; that of the function by default.
        retries: How often it is asked again, for one move, after answers that are no legal move.
        questions: How often it may ask for something, for one move; asking more often is a bad answer.
        fallback: Who moves when it has given no legal move: a spec, an agent or a function. With None,
            :class:`~patchwork_env.errors.IllegalActionError` is raised, which ends the match.
        transcript: The path of a file to which every decision is appended, a line of JSON each.
        threads: How many games of a batch are asked about at the same time; the function is called by so many
            threads.

    Attributes:
        usage: How often the function was called, how often its answers were bad, and what that took.

    Raises:
        ValueError: An argument has a value that is not allowed, or the fallback is no agent.
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
        transcript: str | os.PathLike[str] | None = None,
        threads: int = 1,
    ) -> None:
        if not callable(complete) or isinstance(complete, type):
            raise ValueError(f"{short_repr(complete)} is no function from a prompt to an answer")
        if not isinstance(name, str | None):
            raise ValueError(f"the name of an agent must be text, not {short_repr(name)}")
        self.name = name or str(getattr(complete, "__name__", type(complete).__name__))
        self.usage = Usage()
        self._complete = complete
        self._retries = check_between(retries, 0, _MOST_TRIES, "retries")
        self._questions = check_between(questions, 0, _MOST_TRIES, "questions")
        self._fallback = None if fallback is None else agents.as_agent(fallback)
        self._transcript = None if transcript is None else as_path(transcript)
        self._threads = check_between(threads, 1, _MOST_THREADS, "threads")

    def act_batch(self, states: States) -> Actions:
        """Asks for a move in every game."""
        game_class = rules_of(self.check_states(states)).game
        games = [game_class.unchecked(states, i) for i in range(len(states))]
        decisions = zip(games, self._decisions(games), strict=True)
        return np.array([self._settle(game, decision) for game, decision in decisions], np.int64)

    def reseed(self, seed: int | None = None) -> None:
        """Restarts the random numbers of the fallback; what a model draws is its own affair."""
        if self._fallback is not None:
            self._fallback.reseed(seed)

    def take_counts(self) -> Usage:
        """The usage since the last call, which is then none."""
        taken, self.usage = self.usage, Usage()
        return taken

    def add_counts(self, counts: Usage) -> None:
        """Adds a usage."""
        self.usage.add(counts)

    def _decisions(self, games: list[BaseGame]) -> Iterator[Decision]:
        count = min(self._threads, len(games))
        if count == 1:
            yield from map(self._decide, games)
            return
        with ThreadPoolExecutor(count) as threads:
            yield from threads.map(self._decide, games)

    def _decide(self, game: BaseGame) -> Decision:
        return decide(game, self._complete, self._retries, self._questions)

    def _settle(self, game: BaseGame, decision: Decision) -> int:
        """The action of a decision, or else that of the fallback; counts it and notes it down."""
        action = decision.action
        if action is None and self._fallback is not None:
            action = action_of(game, self._fallback.act(game))
            decision.usage.fallbacks = 1
        self.usage.add(decision.usage)
        if self._transcript is not None:
            with storing_in(self._transcript), open(self._transcript, "ab") as file:
                file.write(encoded(_entry(game, decision, action)) + b"\n")
        if action is None:
            raise IllegalActionError(
                f"the model gave no legal move in {1 + self._retries} tries; "
                f"its last answer: {short_repr(decision.last_answer)}"
            )
        return action


def _entry(game: BaseGame, decision: Decision, action: int | None) -> dict[str, Any]:
    return {
        "game": rules_of(game.state).name,
        "position": game.position_text(),
        "player": game.current_player,
        "prompt": decision.prompt,
        "exchange": decision.exchange,
        "move": None if action is None else game.move_text(action),
        **decision.usage.as_dict(),
    }
