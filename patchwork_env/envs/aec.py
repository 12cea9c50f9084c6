"""The PettingZoo environment of any game in which agents move one after the other (AEC)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import logger
from gymnasium.spaces import Space
from pettingzoo.utils.env import AECEnv
from pettingzoo.utils.wrappers import AssertOutOfBoundsWrapper, OrderEnforcingWrapper, TerminateIllegalWrapper

from patchwork_env.core.batches import SCORE, final_reward, loop, write_view
from patchwork_env.core.checks import check_action, check_between, check_seed
from patchwork_env.core.game import BaseGame
from patchwork_env.core.names import shorten
from patchwork_env.core.rules import RENDER_MODES, Rules
from patchwork_env.core.tensors import Observation
from patchwork_env.envs.dealing import Dealer
from patchwork_env.envs.display import FRAMES_PER_SECOND, Display
from patchwork_env.envs.options import ILLEGAL_REWARD, check_layout, check_rewards, complete
from patchwork_env.envs.spaces import GameSpaces

IGNORED_RESET_OPTIONS = ("options",)  # what PettingZoo's api_test passes to see whether options are taken

MaskedObservation = dict[str, Any]
"""``{"observation": vector or named tensors, "action_mask": mask}``."""
_ALL_GAMES = np.zeros(1, np.int64)


class GameAECEnv(AECEnv[str, MaskedObservation, Any]):
    """One game of any rules, in which the agents ``player_0``, ``player_1``, … move as the rules say.

    An illegal action raises an error and changes nothing; :meth:`wrapped` makes it end the game instead. An
    action that cuts the game off (see :class:`~patchwork_env.core.rules.Kernels`) is not played and truncates
    the game for all, without further rewards.

    Args:
        rules: The rules of the game.
        render_mode: How to show games: ``"human"``, ``"ansi"``, ``"rgb_array"`` or None.
        observation: The layout of observations: ``"flat"`` for one float32 vector, ``"dict"`` for named
            float32 tensors of the same content.
        rewards: The kind of rewards, see ``docs/environments.md``: ``"outcome"``, ``"margin"`` or
            ``"score"``; None for the outcome with several players, for the score with one.
        options: Options of the game.

    Raises:
        ValueError: An option is unknown or its value not allowed.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012  # as PettingZoo declares it
        "render_modes": list(RENDER_MODES),
        "render_fps": FRAMES_PER_SECOND,
        "is_parallelizable": False,
    }

    def __init__(
        self,
        rules: Rules,
        render_mode: str | None = None,
        *,
        observation: str = "flat",
        rewards: str | None = None,
        **options: Any,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        defaults = {**rules.options, **rules.turn_options}
        own = ("render_mode", "observation", "rewards")
        self._rules = rules
        self._display = Display(render_mode, rules)
        self._named = check_layout(observation)
        self._dealer = Dealer(rules, 1, complete(options, defaults, own, type(self).__name__))
        self._kind = check_rewards(rewards, self._dealer.players)
        self._game: BaseGame | None = None
        self.metadata = {**self.metadata, "name": f"{rules.name}_v0"}
        self.render_mode = render_mode
        self.possible_agents = [f"player_{player}" for player in range(self._dealer.players)]
        self.agents: list[str] = []
        self._players = {agent: player for player, agent in enumerate(self.possible_agents)}
        spaces = GameSpaces(rules)
        self.observation_spaces = {agent: spaces.masked_space(self._named) for agent in self.possible_agents}
        self.action_spaces = {agent: spaces.action_space() for agent in self.possible_agents}
        self.state_space = spaces.flat_space()

    @classmethod
    def wrapped(cls, *args: Any, **options: Any) -> AECEnv[str, MaskedObservation, Any]:
        """The environment in PettingZoo's standard wrappers: an illegal action ends the game, with -1."""
        env = _TerminateIllegal(cls(*args, **options), illegal_reward=ILLEGAL_REWARD)
        return OrderEnforcingWrapper(AssertOutOfBoundsWrapper(env))

    def observation_space(self, agent: str) -> Space[MaskedObservation]:
        """The space of an agent's observations, the same object at every call."""
        return self.observation_spaces[self._require_agent(agent)]

    def action_space(self, agent: str) -> Space[Any]:
        """The space of an agent's actions, the same object at every call."""
        return self.action_spaces[self._require_agent(agent)]

    def reset(self, seed: int | None = None, options: Mapping[str, Any] | None = None) -> None:
        """Begins a game.

        Args:
            seed: The seed from which the random numbers start anew, ``0 ... 2**64 - 1``: this game is then
                that of ``Game(seed)``. None goes on with the present random numbers.
            options: Options for this game; the docstring of the class lists them.

        Raises:
            ValueError: The seed or an option is not allowed; the game that is on stays as it is.
        """
        self._begin(self._deal(seed, options))

    def step(self, action: int | None) -> None:
        """Plays an action of ``agent_selection``; None removes an agent whose game is over.

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
        rewards = self.play(game, action)
        self._clear_rewards()
        self._cumulative_rewards[agent] = 0.0
        self._reward(rewards or {})
        if rewards is None:
            self.truncations = dict.fromkeys(self.agents, True)
        elif game.is_over:
            self.terminations = dict.fromkeys(self.agents, True)
        else:
            self.agent_selection = self.possible_agents[game.current_player]
        if self.render_mode == "human":
            self.render()

    def observe(self, agent: str) -> MaskedObservation:
        """What an agent sees, in fresh arrays, whether it is to move or not.

        Raises:
            ValueError: There is no such agent.
            RuntimeError: There was no :meth:`reset` yet.
        """
        return self._observation(self._require_game(), self._players[self._require_agent(agent)])

    def observation_of(self, game: BaseGame, player: int) -> MaskedObservation:
        """What a player sees of a game, which need not be the one that is on; in fresh arrays.

        Raises:
            TypeError: This is not a game of these rules.
            ValueError: The game has another number of players, or no such player.
        """
        self._check_game(game)
        return self._observation(game, check_between(player, 0, len(self.possible_agents) - 1, "player"))

    def _observation(self, game: BaseGame, player: int) -> MaskedObservation:
        vector, mask = self._view(game, player)
        return {
            "observation": self._rules.layout.as_dict(vector) if self._named else vector,
            "action_mask": mask,
        }

    def state(self) -> Observation:
        """What ``player_0`` sees: float32 ``(OBSERVATION_SIZE,)``, within ``state_space``."""
        return self._view(self._require_game(), 0)[0]

    @property
    def game(self) -> BaseGame:
        """A copy of the game that is on.

        Setting it makes the environment go on with a copy of the given game, which may be over already. All
        agents take part again, and rewards of the earlier game are forgotten.

        Raises:
            TypeError: The new value is not a game of these rules.
            ValueError: The new game has another number of players.
            RuntimeError: There was no :meth:`reset` yet.
        """
        return self._require_game().clone()

    @game.setter
    def game(self, game: BaseGame) -> None:
        self._check_game(game)
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
        return self._display.show(self._require_game(), tuple(self.possible_agents))

    def close(self) -> None:
        """Closes the window if there is one."""
        self._display.close()

    def _begin(self, game: BaseGame) -> None:
        self._game = game
        self.agents = list(self.possible_agents)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, game.is_over)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        self.agent_selection = self.possible_agents[game.current_player]
        self._skip_agent_selection = None  # type: ignore[assignment]
        if game.is_over:
            self._reward(self._final_rewards(game))
        if self.render_mode == "human":
            self.render()

    def _reward(self, rewards: Mapping[int, float]) -> None:
        for player, reward in rewards.items():
            self.rewards[self.possible_agents[player]] = reward
        self._accumulate_rewards()

    def play(self, game: BaseGame, action: Any) -> Mapping[int, float] | None:
        """Plays an action in a game, which need not be the one that is on.

        Returns:
            The rewards by player number, 0 for players who are left out; or None if the action cuts the game
            off and was not played.

        Raises:
            IllegalActionError: The action is not legal; nothing has changed.
            TypeError: This is not a game of these rules.
            ValueError: The game has another number of players.
        """
        self._check_game(game)
        index = check_action(action, self._rules.num_actions)
        if self._rules.can_cut_off and self._rules.is_cut_off(game, index):
            return None
        if self._kind != SCORE:
            game.play(index)
            return self._final_rewards(game) if game.is_over else {}
        player = game.current_player
        before = self._rules.kernels.score(game.state, 0, player)
        game.play(index)
        return {player: float(self._rules.kernels.score(game.state, 0, player) - before)}

    def _final_rewards(self, game: BaseGame) -> Mapping[int, float]:
        """The players' rewards for the end of a game."""
        if self._kind == SCORE:
            return {}
        reward = loop(final_reward, self._rules)
        return {player: float(reward(game.state, 0, player, self._kind)) for player in self._players.values()}

    def _view(self, game: BaseGame, player: int) -> tuple[Observation, npt.NDArray[np.int8]]:
        """A player's observation and mask, in fresh arrays."""
        vector = np.empty(self._rules.layout.size, np.float32)
        mask = np.empty(self._rules.num_actions, np.int8)
        loop(write_view, self._rules)(game.state, 0, player, mask, vector)
        return vector, mask

    def _deal(self, seed: int | None, options: Mapping[str, Any] | None) -> BaseGame:
        set_up = self._dealer.set_up(options, IGNORED_RESET_OPTIONS)
        if seed is not None:
            self._dealer.reseed(0, check_seed(seed))
        states = self._rules.empty_states(1)
        self._dealer.deal(states, _ALL_GAMES, set_up)
        return self._rules.game._of_record(states)

    def _require_agent(self, agent: Any) -> str:
        """``agent`` if it takes part."""
        if not isinstance(agent, str) or agent not in self._players:
            there = ", ".join(self.possible_agents)
            raise ValueError(f"there is no agent {shorten(agent)}; there are {there}")
        return agent

    def _check_game(self, game: Any) -> None:
        """Raises an error if a game cannot be played here."""
        kind = self._rules.game
        if not isinstance(game, kind):
            raise TypeError(f"game must be a {kind.__module__}.{kind.__name__}, not {type(game).__name__}")
        players = game.num_players
        if players != len(self.possible_agents):
            raise ValueError(f"game has {players} players, this environment {len(self.possible_agents)}")

    def _require_game(self) -> BaseGame:
        if self._game is None:
            raise RuntimeError("no game is on: call reset()")
        return self._game


class _TerminateIllegal(TerminateIllegalWrapper[str, MaskedObservation, Any]):
    """Judges an action by the game as it is now, which may have been set since the last observation."""

    def step(self, action: int | None) -> None:
        self._prev_obs = None
        super().step(action)
