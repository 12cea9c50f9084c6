"""NMBR 9 alone, as a Gymnasium environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, SupportsIndex

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.error import ResetNeeded

from patchwork_env.core.checks import check_action, check_one_of, check_seed
from patchwork_env.core.tensors import Observation
from patchwork_env.envs.display import FRAMES_PER_SECOND, RENDER_MODES, Display
from patchwork_env.errors import TableEdgeError
from patchwork_env.nmbr9 import engine, spaces
from patchwork_env.nmbr9.actions import NUM_ACTIONS
from patchwork_env.nmbr9.components import COPIES, NUM_DIGITS
from patchwork_env.nmbr9.dealer import Dealer
from patchwork_env.nmbr9.game import Game
from patchwork_env.nmbr9.observation import OBSERVATION_SIZE, as_dict
from patchwork_env.nmbr9.options import Variant
from patchwork_env.nmbr9.state import empty_states
from patchwork_env.nmbr9.turns import write_view

ILLEGAL_ACTION = ("terminate", "raise")
ILLEGAL_REWARD = -1.0
_ALL_GAMES = np.zeros(1, np.int64)


class Nmbr9Env(gymnasium.Env[Any, np.int64]):
    """One player places tiles for a high score.

    >>> import gymnasium
    >>> env = gymnasium.make("patchwork_env:Nmbr9-v0")
    >>> observation, info = env.reset(seed=7)
    >>> terminated = truncated = False
    >>> while not (terminated or truncated):
    ...     action = env.action_space.sample(info["action_mask"])
    ...     observation, reward, terminated, truncated, info = env.step(action)

    **Actions**: ``Discrete(16394)``, see :mod:`~patchwork_env.nmbr9.actions`. An action that is not legal
    ends the episode with a reward of -1.

    **Observations**: one float32 vector or named tensors, see :mod:`~patchwork_env.nmbr9.observation`.

    **Rewards**: the points that a placement is worth, digit times level, so that the return is the score.

    **Truncation**: an action that meets the edge of the table (see :mod:`~patchwork_env.nmbr9.actions`) is
    not played and cuts the episode off.

    **Info**: ``action_mask``: int8 ``(16394,)``, 1 for the legal actions, also given by :meth:`action_masks`;
    at the end of a game ``score``; after an action that is not legal ``illegal_action``: that action.

    Copies (``copy.deepcopy``) and pickles go on exactly like the original.

    Args:
        illegal_action: What an action does that is not legal: ``"terminate"`` the episode, or ``"raise"`` an
            error and change nothing.
        observation: ``"flat"``: one float32 vector; ``"dict"``: named float32 tensors of the same content.
        order: ``"unknown"``, ``"known"`` or ``"free"``; see :class:`~patchwork_env.nmbr9.game.Game`, as for
            all of the following.
        max_digit: The highest digit.
        copies: Cards of each digit.
        deck_size: Tiles to be placed.
        render_mode: ``"human"``, ``"ansi"``, ``"rgb_array"`` or None.

    Raises:
        ValueError: An option is not of these.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012  # as Gymnasium declares it
        "render_modes": list(RENDER_MODES),
        "render_fps": FRAMES_PER_SECOND,
    }

    def __init__(
        self,
        *,
        illegal_action: str = "terminate",
        observation: str = "flat",
        order: str = "unknown",
        max_digit: int = NUM_DIGITS - 1,
        copies: int = COPIES,
        deck_size: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        self._display = Display(render_mode, "nmbr9", "NMBR 9")
        self._named = spaces.check_layout(observation)
        self._raises = check_one_of(illegal_action, ILLEGAL_ACTION, "illegal_action") == "raise"
        self._dealer = Dealer(1, Variant(order, max_digit, copies, deck_size))
        self._game: Game | None = None
        self._ended = True
        self.render_mode = render_mode
        self.observation_space = spaces.observation_space(self._named)
        self.action_space = spaces.action_space()

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begins a game.

        Args:
            seed: ``0 ... 2**64 - 1``: starts the random decks anew, with that of ``Game(seed)``; None goes on
                with them.
            options: For this game: ``deck``, the digits in the order in which they come.

        Returns:
            Observation and info.

        Raises:
            ValueError: The seed or an option is not of these; nothing has changed.
        """
        set_up = self._dealer.check_set_up(options)
        if seed is not None:
            self._dealer.reseed(0, check_seed(seed))
            super().reset(seed=seed)  # for wrappers and tools that look at np_random
        states = empty_states(1)
        self._dealer.deal(states, _ALL_GAMES, set_up)
        self._game, self._ended = Game.from_state(states), False
        return self._observe(self._game)

    def step(self, action: SupportsIndex) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Plays an action.

        Returns:
            Observation, reward, terminated, truncated and info.

        Raises:
            IllegalActionError: The action is not in ``Discrete(16394)``, or with ``illegal_action="raise"``
                not legal.
            ResetNeeded: The episode has ended or not begun.
        """
        if self._ended:
            raise ResetNeeded("the episode has ended or not begun: call reset()")
        game, index = self._require_game(), check_action(action, NUM_ACTIONS)
        before = game.scores()[0]
        is_legal = self._raises or engine.is_legal(game.state, 0, index)
        is_cut_off = False
        if is_legal:
            try:
                game.play(index)
            except TableEdgeError:
                is_cut_off = True
        self._ended = game.is_over or is_cut_off or not is_legal
        observation, info = self._observe(game)
        if not is_legal:
            return observation, ILLEGAL_REWARD, True, False, {**info, "illegal_action": index}
        score = game.scores()[0]
        if self._ended:
            info["score"] = score
        return observation, float(score - before), game.is_over, is_cut_off, info

    def action_masks(self) -> npt.NDArray[np.int8]:
        """1 for the legal actions, int8, shape ``(16394,)``, all zeros after the end of the game."""
        return self._require_game().action_mask()

    @property
    def game(self) -> Game:
        """A copy of the game that is on.

        Raises:
            ResetNeeded: There was no :meth:`reset` yet.
        """
        return self._require_game().clone()

    def render(self) -> Any:
        """The game as text (``"ansi"``), as uint8 ``(height, width, 3)`` (``"rgb_array"``) or in a window.

        Raises:
            MissingExtraError: A library of the extra ``render`` is not installed.
            ResetNeeded: There was no :meth:`reset` yet.
        """
        if self.render_mode is None:
            gymnasium.logger.warn("render() shows nothing without a render_mode; give one to gymnasium.make")
            return None
        return self._display.show(self._require_game(), ("player",))

    def close(self) -> None:
        """Closes the window if there is one."""
        self._display.close()

    def _observe(self, game: Game) -> tuple[Observation | dict[str, Observation], dict[str, Any]]:
        """Observation and info, and the picture on the screen if there is to be one."""
        vector = np.empty(OBSERVATION_SIZE, np.float32)
        mask = np.empty(NUM_ACTIONS, np.int8)
        write_view(game.state, 0, 0, mask, vector)
        if self.render_mode == "human":
            self.render()
        return as_dict(vector) if self._named else vector, {"action_mask": mask}

    def _require_game(self) -> Game:
        if self._game is None:
            raise ResetNeeded("no game is on: call reset()")
        return self._game
