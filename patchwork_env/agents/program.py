"""Agents that are other programs, in any language, asked over their standard input and output.

``docs/use/engine.md`` describes the query that such a program gets and the answer that it gives.
"""

from __future__ import annotations

import copy
import shlex
import shutil
from collections.abc import Sequence
from typing import Any

import numpy as np

from patchwork_env.agents.base import Agent
from patchwork_env.core.checks import check_seed
from patchwork_env.core.game import BaseGame
from patchwork_env.core.names import short_repr
from patchwork_env.errors import IllegalActionError, OpponentError
from patchwork_env.games import rules_of
from patchwork_env.protocol.client import Client, split_command

DEFAULT_SECONDS, GRACE = 30.0, 1.0
"""The default seconds of a move and of the start, and the seconds that an answer may be late."""
_MOST_SEED = 2**31


class ProgramAgent(Agent):
    """A program that chooses moves. It is started for its first move, and again after a failure.

    A failure is an exit, a timeout, or an answer that is not a legal move; it ends the program. The program
    also ends with the agent and with this process. Copies and pickles start their own program. Hidden
    information is replaced by random values before the program sees a position.

    ``command`` is a list of the program and its arguments, or a str that is split as by a shell. The program
    gets the ``seconds`` of a move and a random seed; its first move may take ``start_seconds`` more.
    ValueError if the command has no program, FileNotFoundError if the program does not exist.
    """

    def __init__(
        self,
        command: str | Sequence[str],
        seed: int | None = None,
        *,
        seconds: float = DEFAULT_SECONDS,
        start_seconds: float = DEFAULT_SECONDS,
    ) -> None:
        self.words = split_command(command)
        self.command = command if isinstance(command, str) else shlex.join(self.words)
        self.name = f"program:{self.command}"
        self.seconds, self.start_seconds = seconds, start_seconds
        if shutil.which(self.words[0]) is None:
            program = short_repr(self.words[0], 200)
            raise FileNotFoundError(f"there is no program {program}, or it cannot be run")
        self._client: Client | None = None
        self.reseed(seed)

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_client": None}

    def reseed(self, seed: int | None = None) -> None:
        self._random = np.random.default_rng(check_seed(seed))

    def act(self, game: BaseGame) -> int:
        """See :meth:`Agent.act`; OpponentError after a failure of the program, which has then been ended."""
        self.check_states(game.state)
        random = copy.deepcopy(self._random)
        query = query_of(game, int(random.integers(_MOST_SEED)))
        limit = self.seconds + GRACE
        try:
            if self._client is None or not self._client.is_own:
                self._client = Client(self.words, self.command)
                limit += self.start_seconds
            answer = self._client.ask("choose", limit, time_limit=self.seconds, **query)
            action = self._read(game, answer)
        except BaseException:  # also Ctrl-C: the late answer must not be taken for the next move
            self.close(patience=0.1)
            raise
        self._random = random
        return action

    def close(self, patience: float = 1.0) -> None:
        """End the program, which is started again for the next move."""
        client, self._client = self._client, None
        if client is not None:
            client.close(patience)

    def _read(self, game: BaseGame, answer: dict[str, Any]) -> int:
        """Return the action of an answer; OpponentError if it has no legal move."""
        move = answer.get("move")
        try:
            if not isinstance(move, str | int):
                raise IllegalActionError(f"the answer has no 'move': {short_repr(answer, 200)}")
            return game.parse_move(move) if isinstance(move, str) else game._require_legal(move)
        except IllegalActionError as error:
            raise OpponentError(f"program {short_repr(self.command)}: {error}") from None


def query_of(game: BaseGame, seed: int) -> dict[str, Any]:
    """Return the fields of a query: the game as the player to move may know it, and the legal moves."""
    rules = rules_of(game.state)
    notation = game.determinize(seed).position_text() if rules.has_hidden_information else game.notation()
    actions = game.legal_actions().tolist()
    return {
        "game": rules.name,
        "notation": notation,
        "legal_moves": [game.move_text(action) for action in actions],
        "legal_actions": actions,
        "seed": seed,
    }
