"""Patchwork as a PettingZoo environment in which two agents move by turns (AEC)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import logger
from gymnasium.spaces import Space
from pettingzoo.utils.env import AECEnv
from pettingzoo.utils.wrappers import AssertOutOfBoundsWrapper, OrderEnforcingWrapper, TerminateIllegalWrapper

from patchwork_env.patchwork import spaces
from patchwork_env.patchwork.actions import NUM_ACTIONS
from patchwork_env.patchwork.dealer import Dealer, check_set_up
from patchwork_env.patchwork.display import FRAMES_PER_SECOND, RENDER_MODES, Display
from patchwork_env.patchwork.game import Game
from patchwork_env.patchwork.observation import OBSERVATION_SIZE, Observation, as_dict
from patchwork_env.patchwork.options import check_one_of, check_seed
from patchwork_env.patchwork.state import empty_states
from patchwork_env.patchwork.turns import OVER, REWARDS, reward, whose_turn, write_view

AGENTS = ("player_0", "player_1")
ILLEGAL_REWARD = -1
_PLAYERS = {agent: player for player, agent in enumerate(AGENTS)}
_ALL_GAMES = np.zeros(1, np.int64)
_IGNORED_RESET_OPTIONS = ("options",)  # what PettingZoo's api_test passes to see whether options are taken

MaskedObservation = dict[str, Any]
"""``{"observation": vector or named tensors, "action_mask": mask}``."""


def env(**options: Any) -> AECEnv[str, MaskedObservation, Any]:
    """The environment in PettingZoo's standard wrappers: an illegal action ends the game with a reward of -1.

    Args:
        options: Those of :class:`PatchworkAECEnv`.
    """
    wrapped = _TerminateIllegal(PatchworkAECEnv(**options), illegal_reward=ILLEGAL_REWARD)
    return OrderEnforcingWrapper(AssertOutOfBoundsWrapper(wrapped))


class PatchworkAECEnv(AECEnv[str, MaskedObservation, Any]):
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
        super().__init__()  # type: ignore[no-untyped-call]
        self._display = Display(render_mode)
        self._named = spaces.check_layout(observation)
        self._margin = check_one_of(rewards, REWARDS, "rewards") == "margin"
        self._dealer = Dealer(1, special_patches, first_player)
        self._game: Game | None = None
        self.render_mode = render_mode
        self.possible_agents = list(AGENTS)
        self.agents: list[str] = []
        self.observation_spaces = {agent: spaces.masked_space(self._named) for agent in AGENTS}
        self.action_spaces = {agent: spaces.action_space() for agent in AGENTS}
        self.state_space = spaces.flat_space()

    def observation_space(self, agent: str) -> Space[MaskedObservation]:
        """The space of an agent's observations, the same object at every call."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Space[Any]:
        """The space of an agent's actions, the same object at every call."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: Mapping[str, Any] | None = None) -> None:
        """Begins a game.

        Args:
            seed: ``0 ... 2**64 - 1``: starts the random circles anew, with that of ``Game(seed)``; None goes
                on with them.
            options: For this game: ``circle``, all 33 patch indices clockwise from the neutral token with the
                1x2 patch (0) last; ``first_player``: 0, 1 or ``"random"``.

        Raises:
            ValueError: The seed or an option is not of these; the game that is on stays as it is.
        """
        set_up = check_set_up(options, _IGNORED_RESET_OPTIONS)
        if seed is not None:
            self._dealer.reseed(0, check_seed(seed))
        states = empty_states(1)
        self._dealer.deal(states, _ALL_GAMES, set_up)
        self._begin(Game.from_state(states))

    def step(self, action: int | None) -> None:
        """Plays an action of ``agent_selection``; None takes away an agent whose game is over.

        Raises:
            IllegalActionError: The action is not legal; nothing has changed.
            ValueError: An agent whose game is over was given an action.
            RuntimeError: No agent is left, or there was no :meth:`reset` yet.
        """
        if not self.agents:
            raise RuntimeError("no game is on: call reset()")
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        game = self._require_game()
        game.play(action)  # type: ignore[arg-type]
        self._clear_rewards()
        self._cumulative_rewards[agent] = 0.0
        player = whose_turn(game.state, 0)
        if player == OVER:
            self._finish(game)
        else:
            self.agent_selection = AGENTS[player]
        if self.render_mode == "human":
            self.render()

    def observe(self, agent: str) -> MaskedObservation:
        """What an agent sees, in fresh arrays, whether it is to move or not.

        Raises:
            ValueError: There is no such agent.
            RuntimeError: There was no :meth:`reset` yet.
        """
        player = _PLAYERS.get(agent)
        if player is None:
            raise ValueError(f"there is no agent {agent!r}; there are {', '.join(AGENTS)}")
        vector, mask = self._view(player)
        return {"observation": as_dict(vector) if self._named else vector, "action_mask": mask}

    def state(self) -> Observation:
        """What ``player_0`` sees: float32 ``(OBSERVATION_SIZE,)``, within ``state_space``."""
        return self._view(0)[0]

    @property
    def game(self) -> Game:
        """A copy of the game that is on.

        Setting it makes the environment go on with a copy of the given game, which may be at its end. Both
        agents are there then, and nothing of the earlier game counts any more.

        Raises:
            TypeError: It was set to something else than a :class:`Game`.
            RuntimeError: There was no :meth:`reset` yet.
        """
        return self._require_game().clone()

    @game.setter
    def game(self, game: Game) -> None:
        if not isinstance(game, Game):
            raise TypeError(f"game must be a patchwork_env.patchwork.Game, not {type(game).__name__}")
        self._begin(game.clone())

    def render(self) -> Any:
        """The game as text (``"ansi"``), as uint8 ``(height, width, 3)`` (``"rgb_array"``) or in a window.

        Raises:
            MissingExtraError: A library of the extra ``render`` is not installed.
            RuntimeError: There was no :meth:`reset` yet.
        """
        if self.render_mode is None:
            logger.warn(
                "render() shows nothing without a render_mode; give one when you make the environment"
            )
            return None
        return self._display.show(self._require_game(), AGENTS)

    def close(self) -> None:
        """Closes the window if there is one."""
        self._display.close()

    def _begin(self, game: Game) -> None:
        self._game = game
        self.agents = list(AGENTS)
        self.rewards = dict.fromkeys(AGENTS, 0.0)
        self._cumulative_rewards = dict.fromkeys(AGENTS, 0.0)
        self.terminations = dict.fromkeys(AGENTS, False)
        self.truncations = dict.fromkeys(AGENTS, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in AGENTS}
        self.agent_selection = AGENTS[game.current_player]
        self._skip_agent_selection = None  # type: ignore[assignment]
        if game.is_over:
            self._finish(game)
        if self.render_mode == "human":
            self.render()

    def _finish(self, game: Game) -> None:
        self.terminations = dict.fromkeys(AGENTS, True)
        for agent, player in _PLAYERS.items():
            self.rewards[agent] = reward(game.state, 0, player, self._margin)
        self._accumulate_rewards()

    def _view(self, player: int) -> tuple[Observation, np.ndarray[Any, np.dtype[np.int8]]]:
        vector = np.empty(OBSERVATION_SIZE, np.float32)
        mask = np.empty(NUM_ACTIONS, np.int8)
        write_view(self._require_game().state, 0, player, mask, vector)
        return vector, mask

    def _require_game(self) -> Game:
        if self._game is None:
            raise RuntimeError("no game is on: call reset()")
        return self._game


class _TerminateIllegal(TerminateIllegalWrapper[str, MaskedObservation, Any]):
    """Judges an action by the game as it is now, which may have been set since the last observation."""

    def step(self, action: int | None) -> None:
        self._prev_obs = None
        super().step(action)
