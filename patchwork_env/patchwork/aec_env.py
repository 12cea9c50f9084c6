"""Patchwork as a PettingZoo environment in which two agents move by turns (AEC)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from pettingzoo.utils.env import AECEnv

from patchwork_env.envs.aec import IGNORED_RESET_OPTIONS, BaseAECEnv, MaskedObservation, wrap
from patchwork_env.envs.display import FRAMES_PER_SECOND, RENDER_MODES, Display
from patchwork_env.patchwork import spaces
from patchwork_env.patchwork.actions import NUM_ACTIONS
from patchwork_env.patchwork.dealer import Dealer, check_set_up
from patchwork_env.patchwork.game import Game
from patchwork_env.patchwork.observation import LAYOUT, OBSERVATION_SIZE, Observation
from patchwork_env.patchwork.options import check_one_of, check_seed
from patchwork_env.patchwork.state import empty_states
from patchwork_env.patchwork.turns import REWARDS, reward, write_view

AGENTS = ("player_0", "player_1")
_ALL_GAMES = np.zeros(1, np.int64)


def env(**options: Any) -> AECEnv[str, MaskedObservation, Any]:
    """The environment in PettingZoo's standard wrappers: an illegal action ends the game with a reward of -1.

    Args:
        options: Those of :class:`PatchworkAECEnv`.
    """
    return wrap(PatchworkAECEnv(**options))


class PatchworkAECEnv(BaseAECEnv[Game]):
    """Two-player Patchwork without wrappers: an illegal action raises an error and changes nothing.

    >>> from patchwork_env import patchwork_v0
    >>> env = patchwork_v0.raw_env()
    >>> env.reset(seed=7)
    >>> for agent in env.agent_iter():
    ...     observation, reward, terminated, truncated, info = env.last()
    ...     over = terminated or truncated
    ...     env.step(None if over else env.action_space(agent).sample(observation["action_mask"]))

    **Agents**: ``player_0`` and ``player_1``. Who is behind on the time track moves, so ``agent_selection``
    may stay the same for several moves.

    **Actions**: ``Discrete(2026)``, see :mod:`~patchwork_env.patchwork.actions`.

    **Observations**: ``{"observation": …, "action_mask": …}`` from the view of the agent that gets them. The
    mask is int8 ``(2026,)``, 1 for the legal actions, all zeros for an agent that is not to move. See
    :mod:`~patchwork_env.patchwork.observation` for the rest.

    **Rewards**: 0 until the game ends. Then 1 for the winner and -1 for the loser (``"outcome"``) or, for
    each, the difference between the own score and the other's / 100 (``"margin"``).

    **State**: :meth:`state` is what ``player_0`` sees, as one vector, whoever is to move. It holds
    everything.

    **Options of** :meth:`reset`: ``circle``, all 33 patch indices clockwise from the neutral token with the
    1x2 patch (0) last; ``first_player``: 0, 1 or ``"random"``.

    Copies (``copy.deepcopy``) and pickles go on exactly like the original.

    Args:
        render_mode: ``"human"``, ``"ansi"``, ``"rgb_array"`` or None.
        observation: ``"flat"``: one float32 vector; ``"dict"``: named float32 tensors of the same content.
        rewards: ``"outcome"`` or ``"margin"``.
        special_patches: Print of the time track, ``"revised"`` or ``"2014"``.
        first_player: Who starts: 0, 1 or ``"random"``.

    Raises:
        ValueError: An option is not of these.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012  # as PettingZoo declares it
        "name": "patchwork_v0",
        "render_modes": list(RENDER_MODES),
        "render_fps": FRAMES_PER_SECOND,
        "is_parallelizable": False,
    }

    def __init__(
        self,
        render_mode: str | None = None,
        *,
        observation: str = "flat",
        rewards: str = "outcome",
        special_patches: str = "revised",
        first_player: int | str = 0,
    ) -> None:
        self._display = Display(render_mode, "patchwork", "Patchwork")
        self._margin = check_one_of(rewards, REWARDS, "rewards") == "margin"
        self._dealer = Dealer(1, special_patches, first_player)
        named = spaces.check_layout(observation)
        super().__init__(AGENTS, spaces.SPACES, LAYOUT, named=named, render_mode=render_mode)

    def close(self) -> None:
        """Closes the window if there is one."""
        self._display.close()

    def _deal(self, seed: int | None, options: Mapping[str, Any] | None) -> Game:
        set_up = check_set_up(options, IGNORED_RESET_OPTIONS)
        if seed is not None:
            self._dealer.reseed(0, check_seed(seed))
        states = empty_states(1)
        self._dealer.deal(states, _ALL_GAMES, set_up)
        return Game.from_state(states)

    def _check_game(self, game: Game) -> None:
        if not isinstance(game, Game):
            raise TypeError(f"game must be a patchwork_env.patchwork.Game, not {type(game).__name__}")

    def _final_rewards(self, game: Game) -> Mapping[int, float]:
        return {player: reward(game.state, 0, player, self._margin) for player in range(len(AGENTS))}

    def _view(self, game: Game, player: int) -> tuple[Observation, npt.NDArray[np.int8]]:
        vector = np.empty(OBSERVATION_SIZE, np.float32)
        mask = np.empty(NUM_ACTIONS, np.int8)
        write_view(game.state, 0, player, mask, vector)
        return vector, mask

    def _show(self, game: Game) -> Any:
        return self._display.show(game, AGENTS)
