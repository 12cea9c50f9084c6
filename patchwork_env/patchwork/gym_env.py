"""Patchwork as a Gymnasium environment: one learner against an opponent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike
from typing import Any, SupportsIndex

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.error import ResetNeeded

from patchwork_env.agents import Agent, as_agent
from patchwork_env.core.checks import check_action
from patchwork_env.envs.display import FRAMES_PER_SECOND, RENDER_MODES, Display
from patchwork_env.errors import IllegalActionError, OpponentError
from patchwork_env.games import PATCHWORK
from patchwork_env.patchwork import engine, spaces
from patchwork_env.patchwork.actions import NUM_ACTIONS
from patchwork_env.patchwork.dealer import Dealer, Seats, check_set_up
from patchwork_env.patchwork.game import Game
from patchwork_env.patchwork.observation import OBSERVATION_SIZE, Observation, as_dict
from patchwork_env.patchwork.options import check_one_of, check_seed
from patchwork_env.patchwork.state import empty_states
from patchwork_env.patchwork.turns import REWARDS, reward, write_view

ILLEGAL_ACTION = ("terminate", "raise")
ILLEGAL_REWARD = -1.0
_LAST_SEED = 2**64 - 1
_ALL_GAMES = np.zeros(1, np.int64)

Opponent = str | PathLike[str] | Agent | Callable[[Game], SupportsIndex]
"""What plays against the learner: see :func:`patchwork_env.agents.as_agent`."""


def opponent_seed(seed: int) -> int:
    """The seed of the opponent's random numbers, other than that of the circles."""
    return _LAST_SEED - seed


class PatchworkEnv(gymnasium.Env[Any, np.int64]):
    """A learner plays Patchwork against an opponent, whose moves are part of each ``reset`` and ``step``.

    >>> import gymnasium
    >>> env = gymnasium.make("patchwork_env:Patchwork-v0", opponent="greedy", seat="alternate")
    >>> observation, info = env.reset(seed=7)
    >>> terminated = False
    >>> while not terminated:
    ...     action = env.action_space.sample(info["action_mask"])
    ...     observation, reward, terminated, truncated, info = env.step(action)

    **Actions**: ``Discrete(2026)``, see :mod:`~patchwork_env.patchwork.actions`. An action that is not legal
    ends the episode with a reward of -1.

    **Observations** from the learner's view: one float32 vector or named tensors, see
    :mod:`~patchwork_env.patchwork.observation`.

    **Rewards**: 0 until the game ends. Then 1 for a win and -1 for a loss (``"outcome"``), or the difference
    between the own score and the opponent's / 100 (``"margin"``). Episodes are never truncated.

    **Info**: ``action_mask``: int8 ``(2026,)``, 1 for the legal actions, also given by :meth:`action_masks`;
    ``seat``: the learner's player number; at the end of a game ``scores``: int16 ``(2,)``, the own and the
    opponent's; after an action that is not legal ``illegal_action``: that action.

    Copies (``copy.deepcopy``) go on exactly like the original, and so do pickles if the opponent can be
    pickled.

    Args:
        opponent: ``"random"``, ``"greedy"``, the path of a checkpoint, an agent, or a function that takes a
            :class:`Game` and returns a legal action.
        seat: The learner's player number: 0, 1, ``"alternate"`` (by turns, starting with 1 after an odd seed
            and with 0 after an even one) or ``"random"``.
        illegal_action: What an action does that is not legal: ``"terminate"`` the episode, or ``"raise"`` an
            error and change nothing.
        rewards: ``"outcome"`` or ``"margin"``.
        observation: ``"flat"``: one float32 vector; ``"dict"``: named float32 tensors of the same content.
        special_patches: Print of the time track, ``"revised"`` or ``"2014"``.
        first_player: The player number that starts: 0, 1 or ``"random"``.
        render_mode: ``"human"``, ``"ansi"``, ``"rgb_array"`` or None.

    Raises:
        ValueError: An option is not of these.
        FileNotFoundError: The opponent's path is no checkpoint.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012  # as Gymnasium declares it
        "render_modes": list(RENDER_MODES),
        "render_fps": FRAMES_PER_SECOND,
    }

    def __init__(
        self,
        opponent: Opponent = "random",
        *,
        seat: int | str = "alternate",
        illegal_action: str = "terminate",
        rewards: str = "outcome",
        observation: str = "flat",
        special_patches: str = "revised",
        first_player: int | str = 0,
        render_mode: str | None = None,
    ) -> None:
        self._display = Display(render_mode, "patchwork", "Patchwork")
        self._named = spaces.check_layout(observation)
        self._margin = check_one_of(rewards, REWARDS, "rewards") == "margin"
        self._raises = check_one_of(illegal_action, ILLEGAL_ACTION, "illegal_action") == "raise"
        self._dealer = Dealer(1, special_patches, first_player)
        self._seats = Seats(1, seat)
        self._opponent = as_agent(opponent, game=PATCHWORK)
        self._game: Game | None = None
        self._seat = 0
        self._ended = True
        self.render_mode = render_mode
        self.observation_space = spaces.observation_space(self._named)
        self.action_space = spaces.action_space()

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begins a game and lets the opponent play until it is the learner's turn.

        Args:
            seed: ``0 ... 2**64 - 1``: starts all random numbers anew, those of the opponent too; None goes on
                with them.
            options: For this game: ``circle``, all 33 patch indices clockwise from the neutral token with the
                1x2 patch (0) last; ``first_player``: 0, 1 or ``"random"``.

        Returns:
            Observation and info.

        Raises:
            ValueError: The seed or an option is not of these; nothing has changed.
            OpponentError: The opponent's action is not legal.
        """
        set_up = check_set_up(options)
        if seed is not None:
            self._reseed(check_seed(seed))
        states, seats = empty_states(1), np.zeros(1, np.int64)
        self._dealer.deal(states, _ALL_GAMES, set_up)
        self._seats.assign(seats, _ALL_GAMES)
        game, seat = Game.from_state(states), int(seats[0])
        self._let_opponent_play(game, seat)
        self._game, self._seat, self._ended = game, seat, False
        return self._observe(game)

    def step(self, action: SupportsIndex) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Plays the learner's action, then the opponent's until it is the learner's turn again.

        Returns:
            Observation, reward, terminated, truncated (always False) and info.

        Raises:
            IllegalActionError: The action is not in ``Discrete(2026)``, or with ``illegal_action="raise"``
                not legal.
            OpponentError: The opponent's action is not legal.
            ResetNeeded: The episode has ended or not begun.
        """
        if self._ended:
            raise ResetNeeded("the episode has ended or not begun: call reset()")
        game, index = self.game, check_action(action, NUM_ACTIONS)
        if not self._raises and not engine.is_legal(game.state, 0, index):
            self._ended = True
            observation, info = self._observe(game)
            return observation, ILLEGAL_REWARD, True, False, {**info, "illegal_action": index}
        game.play(index)
        self._let_opponent_play(game, self._seat)
        self._game, self._ended = game, game.is_over
        observation, info = self._observe(game)
        if not self._ended:
            return observation, 0.0, False, False, info
        scores = game.scores()
        info["scores"] = np.array([scores[self._seat], scores[1 - self._seat]], np.int16)
        return observation, reward(game.state, 0, self._seat, self._margin), True, False, info

    def action_masks(self) -> npt.NDArray[np.int8]:
        """1 for the learner's legal actions, int8, shape ``(2026,)``, all zeros after the end of the game."""
        return self._require_game().action_mask()

    @property
    def game(self) -> Game:
        """A copy of the game that is on.

        Raises:
            ResetNeeded: There was no :meth:`reset` yet.
        """
        return self._require_game().clone()

    @property
    def seat(self) -> int:
        """The learner's player number in this game."""
        return self._seat

    @property
    def opponent(self) -> Agent:
        """Who plays against the learner."""
        return self._opponent

    def render(self) -> Any:
        """The game as text (``"ansi"``), as uint8 ``(height, width, 3)`` (``"rgb_array"``) or in a window.

        Raises:
            MissingExtraError: A library of the extra ``render`` is not installed.
            ResetNeeded: There was no :meth:`reset` yet.
        """
        if self.render_mode is None:
            gymnasium.logger.warn("render() shows nothing without a render_mode; give one to gymnasium.make")
            return None
        names = ("learner", self._opponent.name)
        return self._display.show(self._require_game(), names if self._seat == 0 else names[::-1])

    def close(self) -> None:
        """Closes the window if there is one."""
        self._display.close()

    def _reseed(self, seed: int) -> None:
        super().reset(
            seed=seed
        )  # for wrappers and tools that look at np_random; the games use streams of their own
        self._dealer.reseed(0, seed)
        self._seats.reseed(0, seed)
        self._opponent.reseed(opponent_seed(seed))

    def _let_opponent_play(self, game: Game, seat: int) -> None:
        while not game.is_over and game.current_player != seat:
            try:
                game.play(self._opponent.act(game))
            except IllegalActionError as error:
                raise OpponentError(f"opponent {self._opponent.name!r}: {error}") from None

    def _observe(self, game: Game) -> tuple[Observation | dict[str, Observation], dict[str, Any]]:
        """Observation and info, and the picture on the screen if there is to be one."""
        vector = np.empty(OBSERVATION_SIZE, np.float32)
        mask = np.empty(NUM_ACTIONS, np.int8)
        write_view(game.state, 0, self._seat, mask, vector)
        if self.render_mode == "human":
            self.render()
        return as_dict(vector) if self._named else vector, {"action_mask": mask, "seat": self._seat}

    def _require_game(self) -> Game:
        if self._game is None:
            raise ResetNeeded("no game is on: call reset()")
        return self._game
