"""The Gymnasium environment of any game: one learner, alone or against an opponent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, SupportsIndex

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import logger
from gymnasium.error import ResetNeeded
from gymnasium.utils import seeding

from patchwork_env.core.batches import ONE_GAME, SCORE, loop, reward_of, write_view_and_scores
from patchwork_env.core.checks import check_action, check_one_of, check_seed, determinization_streams
from patchwork_env.core.game import BaseGame
from patchwork_env.core.rules import RENDER_MODES, Rules, SetUp
from patchwork_env.envs.dealing import Dealer
from patchwork_env.envs.display import FRAMES_PER_SECOND, Display, names_of
from patchwork_env.envs.opponents import (
    Opponent,
    opponent_seed,
    play_answer,
    require_opponent,
    turns_of_others,
)
from patchwork_env.envs.options import (
    ILLEGAL_ACTION,
    ILLEGAL_REWARD,
    MOST_DEALS,
    NO_ACTION,
    NO_TURN,
    check_layout,
    check_rewards,
    complete,
)
from patchwork_env.envs.spaces import GameSpaces
from patchwork_env.errors import IllegalActionError, OpponentError

_MANY_ILLEGAL_ENDS = 20  # episodes in a row


class _Episode(NamedTuple):
    """The state of an episode, replaced as a whole, so that no error or interrupt leaves a partial step."""

    game: BaseGame  # replaced, never changed
    seat: int  # the learner's player number
    opponent: Opponent | None
    has_ended: bool = False  # also by an illegal action, before the end of the game


class GameEnv(gymnasium.Env[Any, np.int64]):
    """A learner plays a game of any rules; ``reset`` and ``step`` include the moves of all other players.

    An illegal action ends the episode with a reward of -1; after many such ends in a row a warning names
    algorithms that use masks. No episode is truncated. A game that ends before the learner's first turn is
    skipped.

    **Info** has the same keys after every call: ``action_mask``: int8 ``(num_actions,)``, 1 for legal
    actions, as in :meth:`action_masks`; ``seat``: the learner's player number; ``scores``: int16
    ``(players,)``, the present scores as far as the learner knows them, its own first, then in the order of
    play; ``illegal_action``: the illegal action that ended the episode, else -1.

    Copies (``copy.deepcopy``) continue exactly like the original, as do pickles if the opponent can
    be pickled.

    Args:
        rules: The rules of the game.
        opponent: The agent that plays for all other players; None if there are none.
        seat: The learner's player number in every game; or ``"alternate"``, the next number in every game,
            starting with ``seed % players``; or ``"random"``.
        illegal_action: The effect of an illegal action: ``"terminate"`` the episode, or ``"raise"`` an error
            and change nothing.
        rewards: The kind of rewards: ``"outcome"``, the default for several players, ``"margin"``, or
            ``"score"``, the default for one player.
        observation: The layout of observations: ``"flat"`` for one float32 vector, ``"dict"`` for named
            float32 tensors of the same content.
        render_mode: ``"human"`` for a window, ``"ansi"`` for text, ``"rgb_array"`` for pixels, or None.
        options: Options of the game.

    An unknown option is a TypeError, a wrong value a ValueError.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012  # as Gymnasium declares it
        "render_modes": list(RENDER_MODES),
        "render_fps": FRAMES_PER_SECOND,
    }

    def __init__(
        self,
        rules: Rules,
        opponent: Opponent | None = None,
        *,
        seat: int | str = "alternate",
        illegal_action: str = "terminate",
        rewards: str | None = None,
        observation: str = "flat",
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        self._rules = rules
        self._display = Display(render_mode, rules)
        self._named = check_layout(observation)
        self._raises = check_one_of(illegal_action, ILLEGAL_ACTION, "illegal_action") == "raise"
        self._dealer = Dealer(rules, 1, complete(options, rules.options, type(self)), seat)
        self._players = self._dealer.players
        self._kind = check_rewards(rewards, self._players)
        self._opponent = require_opponent(opponent, self._players)
        self._streams = determinization_streams(None)  # for the hidden information that opponents see
        self._episode: _Episode | None = None
        self._illegal_ends = 0
        self.render_mode = render_mode
        spaces = GameSpaces(rules)
        self.observation_space = spaces.observation_space(self._named)
        self.action_space = spaces.action_space()

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin a game and let the opponent play until the learner's turn; return observation and info.

        A ``seed``, ``0 ... 2**64 - 1``, restarts all random numbers, also the opponent's. The docstring of
        the class lists ``options`` for this game.

        ValueError if the seed or an option is not allowed. OpponentError if the opponent's action is not
        legal, or too many games are over before the learner's first turn; the present game then stays.
        """
        set_up = self._dealer.set_up(options)
        if seed is not None:
            number = check_seed(seed)
            self._dealer.reseed(0, number)
            self._streams = determinization_streams(opponent_seed(number))
            if self._opponent is not None:
                self._opponent.reseed(opponent_seed(number))
            # For wrappers and tools that read np_random; games have other streams.
            self._np_random, self._np_random_seed = seeding.np_random(number)
        self._episode = self._begin(set_up)
        return self._observe(self._episode)

    def step(self, action: SupportsIndex) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Play the learner's action, then the opponent's until it is the learner's turn again.

        An illegal action ends the episode with -1 or, with ``illegal_action="raise"``, raises an error. One
        outside the action space always raises. An error changes nothing.

        Returns observation, reward, terminated, truncated and info. IllegalActionError for what raises,
        OpponentError if the opponent's action is not legal, ResetNeeded if no episode is on.
        """
        before = self._require_episode()
        if before.has_ended:
            raise ResetNeeded("the episode has ended: call reset()")
        index = check_action(action, self._rules.num_actions)
        game = before.game.clone()
        try:
            game.play(index)
        except IllegalActionError:
            if self._raises:
                raise
            self._episode = before._replace(has_ended=True)
            self._illegal_ends += 1
            if self._illegal_ends == _MANY_ILLEGAL_ENDS:
                logger.warn(
                    f"an illegal action has ended the last {_MANY_ILLEGAL_ENDS} episodes: the algorithm does "
                    "not use action masks, info['action_mask']. MaskablePPO and MaskableEvalCallback of "
                    "sb3_contrib do"
                )
            observation, info = self._observe(before)
            info["illegal_action"] = index
            return observation, ILLEGAL_REWARD, True, False, info
        self._let_opponent_play(before.opponent, game, before.seat)
        is_over = game.is_over
        self._episode = after = _Episode(game, before.seat, before.opponent, is_over)
        observation, info = self._observe(after)
        if is_over:
            self._illegal_ends = 0
        return observation, self._reward(before.game, after), is_over, False, info

    def action_masks(self) -> npt.NDArray[np.int8]:
        """Return the learner's action mask, int8 ``(num_actions,)``; all zeros after the end of the game."""
        return self._require_episode().game.action_mask()

    @property
    def game(self) -> BaseGame:
        """A copy of the game that is on."""
        return self._require_episode().game.clone()

    @property
    def seat(self) -> int:
        """The learner's player number in this game."""
        return self._require_episode().seat

    @property
    def opponent(self) -> Opponent | None:
        """The opponent of games that begin from now on; assigning calls :meth:`set_opponent`."""
        return self._opponent

    @opponent.setter
    def opponent(self, opponent: Any) -> None:
        self.set_opponent(opponent)

    def set_opponent(self, opponent: Opponent) -> None:
        """Change the opponent of games that begin from now on; a game that is on keeps its own.

        ValueError if the game is for one player, or the opponent is not an agent.
        """
        self._opponent = require_opponent(opponent, self._players)

    def render(self) -> Any:
        """Return the game as text or as uint8 ``(height, width, 3)``; show it in a window for ``"human"``."""
        if self.render_mode is None:
            gymnasium.logger.warn("render() shows nothing without a render_mode; give one to gymnasium.make")
            return None
        game, seat, opponent, _ = self._require_episode()
        return self._display.show(game, names_of(seat, self._players, opponent))

    def close(self) -> None:
        """Close the window if there is one."""
        self._display.close()

    def _let_opponent_play(self, opponent: Opponent | None, game: BaseGame, seat: int) -> None:
        for turn in turns_of_others(game, seat):
            assert opponent is not None
            play_answer(opponent, self._rules, turn, self._streams)

    def _begin(self, set_up: SetUp) -> _Episode:
        """Return the next game in which the learner has a turn, at that turn."""
        states, seats = self._rules.empty_states(1), self._dealer.fixed_seats.copy()
        opponent = self._opponent
        for _ in range(MOST_DEALS):
            self._dealer.deal(states, ONE_GAME, set_up)
            self._dealer.assign_seats(seats, ONE_GAME)
            game, seat = self._rules.game.unchecked(states), int(seats[0])
            self._let_opponent_play(opponent, game, seat)
            if not game.is_over:
                return _Episode(game, seat, opponent)
        raise OpponentError(NO_TURN)

    def _reward(self, before: BaseGame, after: _Episode) -> float:
        """Return the learner's reward for a step, see :func:`~patchwork_env.core.batches.reward_of`."""
        if not after.has_ended and self._kind != SCORE:
            return 0.0
        score = self._rules.kernels.score(before.state, 0, after.seat)
        return float(loop(reward_of, self._rules)(after.game.state, 0, after.seat, self._kind, score))

    def _observe(self, episode: _Episode) -> tuple[Any, dict[str, Any]]:
        """Return the observation and the info; in the mode ``"human"`` also show the game."""
        game, seat = episode.game, episode.seat
        vector = np.empty(self._rules.layout.size, np.float32)
        mask = np.empty(self._rules.num_actions, np.int8)
        scores = np.empty(self._players, np.int16)
        loop(write_view_and_scores, self._rules)(game.state, seat, mask, vector, scores)
        if self.render_mode == "human":
            self.render()
        observation = self._rules.layout.as_dict(vector) if self._named else vector
        info = {"action_mask": mask, "seat": seat, "scores": scores, "illegal_action": NO_ACTION}
        return observation, info

    def _require_episode(self) -> _Episode:
        if self._episode is None:
            raise ResetNeeded("no game is on: call reset()")
        return self._episode
