"""NMBR 9 as a PettingZoo environment in which 1-4 agents move by turns (AEC)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from pettingzoo.utils.env import AECEnv

from patchwork_env.core.checks import check_between, check_one_of, check_seed
from patchwork_env.envs.aec import IGNORED_RESET_OPTIONS, BaseAECEnv, MaskedObservation, wrap
from patchwork_env.envs.display import FRAMES_PER_SECOND, RENDER_MODES, Display
from patchwork_env.nmbr9 import spaces
from patchwork_env.nmbr9.actions import NUM_ACTIONS
from patchwork_env.nmbr9.components import COPIES, MAX_PLAYERS, NUM_DIGITS
from patchwork_env.nmbr9.dealer import Dealer
from patchwork_env.nmbr9.game import Game
from patchwork_env.nmbr9.observation import LAYOUT, OBSERVATION_SIZE, Observation
from patchwork_env.nmbr9.options import Variant
from patchwork_env.nmbr9.state import empty_states
from patchwork_env.nmbr9.turns import REWARDS, outcome, write_view

_ALL_GAMES = np.zeros(1, np.int64)


def env(**options: Any) -> AECEnv[str, MaskedObservation, Any]:
    """The environment in PettingZoo's standard wrappers: an illegal action ends the game with a reward of -1.

    Args:
        options: Those of :class:`Nmbr9AECEnv`.
    """
    return wrap(Nmbr9AECEnv(**options))


class Nmbr9AECEnv(BaseAECEnv[Game]):
    """NMBR 9 for 1-4 players without wrappers: an illegal action raises an error and changes nothing.

    >>> from patchwork_env import nmbr9_v0
    >>> env = nmbr9_v0.raw_env(players=2)
    >>> env.reset(seed=7)
    >>> for agent in env.agent_iter():
    ...     observation, reward, terminated, truncated, info = env.last()
    ...     over = terminated or truncated
    ...     env.step(None if over else env.action_space(agent).sample(observation["action_mask"]))

    **Agents**: ``player_0`` ... ``player_3``, who move by turns. All have the same cards, and nobody sees
    what the others do with a card before all have done it.

    **Actions**: ``Discrete(16394)``, see :mod:`~patchwork_env.nmbr9.actions`. In free order every round has
    two turns of every player: first all choose a tile, then all place it.

    **Observations**: ``{"observation": …, "action_mask": …}`` from the view of the agent that gets them. The
    mask is int8 ``(16394,)``, 1 for the legal actions, all zeros for an agent that is not to move. See
    :mod:`~patchwork_env.nmbr9.observation` for the rest.

    **Rewards**: with ``"score"`` the points that a placement is worth, at once and for its player alone. With
    ``"outcome"`` nothing until the game ends; then 1 for a sole winner and ``-1 / (n - 1)`` for each of the
    others, and winners with equal scores share, so that all rewards add up to 0.

    **Truncation**: a move that meets the edge of the table (see :mod:`~patchwork_env.nmbr9.actions`) is not
    played and ends the game for all without further rewards.

    **Options of** :meth:`reset`: ``deck``, the digits in the order in which they come.

    **State**: :meth:`state` is what ``player_0`` sees, as one vector, whoever is to move.

    Copies (``copy.deepcopy``) and pickles go on exactly like the original.

    Args:
        render_mode: ``"human"``, ``"ansi"``, ``"rgb_array"`` or None.
        players: 1-4.
        observation: ``"flat"``: one float32 vector; ``"dict"``: named float32 tensors of the same content.
        rewards: ``"score"`` or ``"outcome"``; None for the first with one player, the second with several.
        order: ``"unknown"``, ``"known"`` or ``"free"``; see :class:`~patchwork_env.nmbr9.game.Game`, as for
            all of the following.
        max_digit: The highest digit.
        copies: Cards of each digit.
        deck_size: Tiles that each player places.

    Raises:
        ValueError: An option is not of these, or there is no outcome as there is one player.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012  # as PettingZoo declares it
        "name": "nmbr9_v0",
        "render_modes": list(RENDER_MODES),
        "render_fps": FRAMES_PER_SECOND,
        "is_parallelizable": False,
    }

    def __init__(
        self,
        render_mode: str | None = None,
        *,
        players: int = 2,
        observation: str = "flat",
        rewards: str | None = None,
        order: str = "unknown",
        max_digit: int = NUM_DIGITS - 1,
        copies: int = COPIES,
        deck_size: int | None = None,
    ) -> None:
        self._display = Display(render_mode, "nmbr9", "NMBR 9")
        number = check_between(players, 1, MAX_PLAYERS, "players")
        self._outcome = check_rewards(rewards, number) == "outcome"
        self._dealer = Dealer(1, Variant(order, max_digit, copies, deck_size), number)
        agents = [f"player_{player}" for player in range(number)]
        named = spaces.check_layout(observation)
        super().__init__(agents, spaces.SPACES, LAYOUT, named=named, render_mode=render_mode)

    def close(self) -> None:
        """Closes the window if there is one."""
        self._display.close()

    def _deal(self, seed: int | None, options: Mapping[str, Any] | None) -> Game:
        set_up = self._dealer.check_set_up(options, IGNORED_RESET_OPTIONS)
        if seed is not None:
            self._dealer.reseed(0, check_seed(seed))
        states = empty_states(1)
        self._dealer.deal(states, _ALL_GAMES, set_up)
        return Game.from_state(states)

    def _check_game(self, game: Game) -> None:
        if not isinstance(game, Game):
            raise TypeError(f"game must be a patchwork_env.nmbr9.Game, not {type(game).__name__}")
        if game.num_players != len(self.possible_agents):
            raise ValueError(
                f"game has {game.num_players} players, this environment {len(self.possible_agents)}"
            )

    def play(self, game: Game, action: int) -> Mapping[int, float]:
        """See :meth:`BaseAECEnv.play`."""
        if self._outcome:
            return super().play(game, action)
        player = game.current_player
        before = game.scores()[player]
        game.play(action)
        return {player: float(game.scores()[player] - before)}

    def _final_rewards(self, game: Game) -> Mapping[int, float]:
        if not self._outcome:
            return {}
        return {player: float(outcome(game.state, 0, player)) for player in range(game.num_players)}

    def _view(self, game: Game, player: int) -> tuple[Observation, npt.NDArray[np.int8]]:
        vector = np.empty(OBSERVATION_SIZE, np.float32)
        mask = np.empty(NUM_ACTIONS, np.int8)
        write_view(game.state, 0, player, mask, vector)
        return vector, mask

    def _show(self, game: Game) -> Any:
        return self._display.show(game, tuple(self.possible_agents))


def check_rewards(rewards: Any, players: int) -> str:
    """The kind of rewards; for None ``"score"`` alone and ``"outcome"`` for several players."""
    if rewards is None:
        return "outcome" if players > 1 else "score"
    kind = str(check_one_of(rewards, REWARDS, "rewards"))
    if kind == "outcome" and players == 1:
        raise ValueError("rewards is 'outcome', which needs 2 players at least; alone there is 'score'")
    return kind
