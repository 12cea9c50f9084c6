"""PettingZoo environments of any game, in which agents act by turns (AEC) or at the same time (parallel)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from gymnasium import logger
from gymnasium.spaces import Space
from pettingzoo.utils.env import AECEnv, ParallelEnv
from pettingzoo.utils.env_logger import EnvLogger
from pettingzoo.utils.wrappers import BaseWrapper, OrderEnforcingWrapper

from patchwork_env.core.batches import ONE_GAME, SCORE, loop, reward_of, write_view
from patchwork_env.core.checks import check_action, check_one_of, check_seed
from patchwork_env.core.game import BaseGame
from patchwork_env.core.kernels import copy_of
from patchwork_env.core.names import short_repr
from patchwork_env.core.rules import RENDER_MODES, Rules
from patchwork_env.core.tensors import Observation
from patchwork_env.envs.dealing import Dealer
from patchwork_env.envs.display import FRAMES_PER_SECOND, Display
from patchwork_env.envs.options import ILLEGAL_ACTION, ILLEGAL_REWARD, check_layout, check_rewards, complete
from patchwork_env.envs.spaces import GameSpaces, MaskedObservation
from patchwork_env.errors import IllegalActionError

_IGNORED_RESET_OPTIONS = ("options",)  # PettingZoo's api_test passes this one
_NO_GAME = "no game is on: call reset()"

Rewards = dict[str, float]
Flags = dict[str, bool]
WrappedAECEnv = BaseWrapper[str, MaskedObservation, Any]


class PettingZooGame:
    """The agents, spaces, rendering and game that both interfaces of PettingZoo share."""

    metadata: ClassVar[dict[str, Any]] = {
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
        illegal_action: str = "raise",
        **options: Any,
    ) -> None:
        super().__init__()
        self._rules = rules
        self._display = Display(render_mode, rules)
        self._named = check_layout(observation)
        self._raises = check_one_of(illegal_action, ILLEGAL_ACTION, "illegal_action") == "raise"
        self._dealer = Dealer(rules, 1, complete(options, rules.options, type(self)))
        self._kind = check_rewards(rewards, self._dealer.players)
        self._game: BaseGame | None = None
        modes = list(RENDER_MODES)  # a list of its own, since a wrapper of PettingZoo's appends to it
        self.metadata = {**self.metadata, "render_modes": modes, "name": f"{rules.name}_v0"}  # type: ignore[misc]
        self.render_mode = render_mode
        self.possible_agents = [f"player_{player}" for player in range(self._dealer.players)]
        self.agents: list[str] = []
        self._players = {agent: player for player, agent in enumerate(self.possible_agents)}
        spaces = GameSpaces(rules)
        self.observation_spaces: dict[str, Space[Any]] = {
            agent: spaces.masked_space(self._named) for agent in self.possible_agents
        }
        self.action_spaces: dict[str, Space[Any]] = {
            agent: spaces.action_space() for agent in self.possible_agents
        }
        self.state_space = spaces.flat_space()

    def observation_space(self, agent: str) -> Space[MaskedObservation]:
        """Return the space of an agent's observations, the same object at every call."""
        return self.observation_spaces[self._require_agent(agent)]

    def action_space(self, agent: str) -> Space[Any]:
        """Return the space of an agent's actions, the same object at every call."""
        return self.action_spaces[self._require_agent(agent)]

    def state(self) -> Observation:
        """Return the view of ``player_0``: float32 ``(OBSERVATION_SIZE,)``, within ``state_space``."""
        return self._require_game().observation(0)

    @property
    def game(self) -> BaseGame:
        """A copy of the present game; RuntimeError before the first :meth:`reset`."""
        return self._require_game().clone()

    def render(self) -> Any:
        """Return the game as text or as uint8 ``(height, width, 3)``; show it in a window for ``"human"``."""
        if self.render_mode is None:
            logger.warn("render() shows nothing without a render_mode; give one to env()")
            return None
        return self._display.show(self._require_game(), tuple(self.possible_agents))

    def close(self) -> None:
        """Close the window if there is one."""
        self._display.close()

    def _deal(self, seed: int | None, options: Mapping[str, Any] | None) -> BaseGame:
        set_up = self._dealer.set_up(options, _IGNORED_RESET_OPTIONS)
        if seed is not None:
            self._dealer.reseed(0, check_seed(seed))
        states = self._rules.empty_states(1)
        self._dealer.deal(states, ONE_GAME, set_up)
        game: BaseGame = self._rules.game.unchecked(states)
        return game

    def _play(self, game: BaseGame, action: int) -> Mapping[int, float]:
        """Play an action in a game; return the rewards by player, without those that must be 0."""
        player, before = game.current_player, 0
        if self._kind == SCORE:
            before = self._rules.kernels.score(game.state, 0, player)
        game.play(action)
        if self._kind != SCORE and not game.is_over:
            return {}
        reward = loop(reward_of, self._rules)
        rewarded = (player,) if self._kind == SCORE else self._players.values()
        return {each: float(reward(game.state, 0, each, self._kind, before)) for each in rewarded}

    def _view(self, game: BaseGame, player: int) -> MaskedObservation:
        vector = np.empty(self._rules.layout.size, np.float32)
        mask = np.empty(self._rules.num_actions, np.int8)
        loop(write_view, self._rules)(game.state, 0, player, mask, vector)
        return {
            "observation": self._rules.layout.as_dict(vector) if self._named else vector,
            "action_mask": mask,
        }

    def _change(self, after: dict[str, Any]) -> None:
        """Change attributes in one step, so that an interrupt leaves the old or the new ones."""
        self.__dict__.update(after)

    def _require_agent(self, agent: Any) -> str:
        if not isinstance(agent, str) or agent not in self._players:
            there = ", ".join(self.possible_agents)
            raise ValueError(f"there is no agent {short_repr(agent)}; there are {there}")
        return agent

    def _require_game(self) -> BaseGame:
        if self._game is None:
            raise RuntimeError(_NO_GAME)
        return self._game


class GameAECEnv(PettingZooGame, AECEnv[str, MaskedObservation, Any]):
    """One game of any rules for the agents ``player_0``, ``player_1``, …, who take turns by the rules.

    ``observation``, ``rewards`` and errors are as in :class:`~patchwork_env.envs.single.GameEnv`.
    ``illegal_action`` is ``"raise"``, an error that changes nothing, or ``"terminate"``, which ends the game
    of all agents and gives -1 to the one who played it.
    """

    _has_rewards = True  # whether a reward or an accumulated reward is not 0 and must be cleared

    @classmethod
    def wrapped(cls, *args: Any, **options: Any) -> WrappedAECEnv:
        """Return the environment that enforces the order of calls and ends the game at an illegal action."""
        return OrderEnforcing(cls(*args, **{"illegal_action": "terminate", **options}))

    def reset(self, seed: int | None = None, options: Mapping[str, Any] | None = None) -> None:
        """Begin a game; ValueError if the seed or an option is not allowed.

        With a ``seed``, ``0 ... 2**64 - 1``, random numbers start anew: this game is then that of
        ``Game(seed)``. The docstring of the class lists ``options`` for this game.
        """
        game, agents = self._deal(seed, options), list(self.possible_agents)
        rewards = dict.fromkeys(agents, 0.0)
        after = {
            "_game": game,
            "_has_rewards": True,
            "agents": agents,
            "rewards": rewards,
            "_cumulative_rewards": rewards.copy(),
            "terminations": dict.fromkeys(agents, game.is_over),
            "truncations": dict.fromkeys(agents, False),
            "infos": {agent: {} for agent in agents},
            "agent_selection": agents[game.current_player],
            "_skip_agent_selection": None,
        }
        # A new dictionary: Python looks attributes up faster in it than in one whose keys objects share.
        self.__dict__ = {**self.__dict__, **after}
        if self.render_mode == "human":
            self.render()

    def step(self, action: int | None) -> None:
        """Play an action of ``agent_selection``; None removes an agent whose game is over.

        An illegal action raises an error or, with ``illegal_action="terminate"``, ends the game with -1. One
        outside the action space, or after the end of the game, always raises. An error changes nothing.
        RuntimeError if no agent is left, or before the first :meth:`reset`.
        """
        if not self.agents:
            raise RuntimeError(_NO_GAME)
        agent = self.agent_selection
        if self.terminations[agent]:
            self._was_dead_step(action)
            return
        index, game = check_action(action, self._rules.num_actions), self._require_game().clone()
        try:
            gained = self._play(game, index)
        except IllegalActionError:
            if self._raises:
                raise
            self._forfeit()
            return
        after: dict[str, Any] = {"_game": game}
        if gained or self._has_rewards:
            rewards: dict[str, float] = dict.fromkeys(self.agents, 0)
            cumulative = {**self._cumulative_rewards, agent: 0.0}
            for player, reward in gained.items():
                rewards[self.possible_agents[player]] = reward
                cumulative[self.possible_agents[player]] += reward
            after |= {"rewards": rewards, "_cumulative_rewards": cumulative, "_has_rewards": bool(gained)}
        if game.is_over:
            after["terminations"] = dict.fromkeys(self.agents, True)
        else:
            after["agent_selection"] = self.possible_agents[game.current_player]
        self._change(after)
        if self.render_mode == "human":
            self.render()

    @property
    def has_game(self) -> bool:
        """Whether there has been a :meth:`reset`."""
        return self._game is not None

    def observe(self, agent: str) -> MaskedObservation:
        """Return fresh arrays of an agent's view and mask, which is all zeros out of turn."""
        return self._view(self._require_game(), self._players[self._require_agent(agent)])

    def _forfeit(self) -> None:
        """End the game of all agents, with -1 for ``agent_selection``."""
        EnvLogger.warn_on_illegal_move()
        penalty = {self.agent_selection: ILLEGAL_REWARD}
        after = {
            "rewards": dict.fromkeys(self.agents, 0) | penalty,
            "_cumulative_rewards": self._cumulative_rewards | penalty,
            "terminations": dict.fromkeys(self.agents, True),
            "truncations": dict.fromkeys(self.agents, True),
            "agent_selection": self.agents[0],
            "_skip_agent_selection": self.agent_selection,
        }
        self._change(after)

    def _was_dead_step(self, action: int | None) -> None:
        """Remove ``agent_selection``, whose game is over, as PettingZoo does, but in one change."""
        if action is not None:
            raise IllegalActionError(
                f"the game of {self.agent_selection} is over, so its action is None, not {short_repr(action)}"
            )
        gone = self.agent_selection
        left = [agent for agent in self.agents if agent != gone]
        selected = self._skip_agent_selection or gone
        after: dict[str, Any] = {
            "agents": left,
            "rewards": dict.fromkeys(left, 0),
            "agent_selection": left[0] if left else selected,
            "_skip_agent_selection": selected if left else None,
        }
        for name in ("_cumulative_rewards", "terminations", "truncations", "infos"):
            after[name] = {agent: value for agent, value in getattr(self, name).items() if agent != gone}
        self._change(after)


class GameParallelEnv(PettingZooGame, ParallelEnv[str, MaskedObservation, Any]):
    """One game of any rules whose players act at the same time.

    Spaces, rewards, options and the game are those of :class:`GameAECEnv`. Every
    agent's mask holds its legal actions in every step, until the game is over. ValueError if a value is
    not allowed, or the players do not act at the same time.
    """

    def __init__(self, rules: Rules, render_mode: str | None = None, **options: Any) -> None:
        if not rules.is_simultaneous:
            raise ValueError(f"the players of {rules.title} do not act at the same time")
        super().__init__(rules, render_mode, **options)

    def reset(
        self, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[dict[str, MaskedObservation], dict[str, dict[str, Any]]]:
        """Begin a game; return observations and infos of all agents."""
        agents = list(self.possible_agents)
        self._begin(self._deal(seed, options), agents)
        return self._observations(), {agent: {} for agent in agents}

    def step(
        self, actions: Mapping[str, Any]
    ) -> tuple[dict[str, MaskedObservation], Rewards, Flags, Flags, dict[str, dict[str, Any]]]:
        """Play one action of every agent.

        An illegal action raises an error or, with ``illegal_action="terminate"``, ends the game of all
        agents, with -1 for those who played one. A missing action, or one outside the action space, always
        raises. Errors change nothing.

        Returns observations, rewards, terminations, truncations and infos of all agents. IllegalActionError
        for actions that raise, RuntimeError if no game is on.
        """
        agents = self.agents
        if not agents:
            raise RuntimeError(_NO_GAME)
        game = self.game
        chosen = {agent: self._action_of(agent, actions) for agent in agents}
        illegal = [agent for agent, action in chosen.items() if not self._is_legal(game, agent, action)]
        if illegal and self._raises:
            raise IllegalActionError(
                f"action {chosen[illegal[0]]} of {illegal[0]} is not legal; nothing was changed"
            )
        rewards = dict.fromkeys(agents, 0.0) | dict.fromkeys(illegal, ILLEGAL_REWARD)
        if illegal:
            EnvLogger.warn_on_illegal_move()
        else:
            for action in chosen.values():
                for player, reward in self._play(game, action).items():
                    rewards[agents[player]] += reward
        has_ended = bool(illegal) or game.is_over
        self._begin(game, [] if has_ended else agents)
        terminations, truncations = dict.fromkeys(agents, has_ended), dict.fromkeys(agents, bool(illegal))
        return self._observations(), rewards, terminations, truncations, {agent: {} for agent in agents}

    def _begin(self, game: BaseGame, agents: list[str]) -> None:
        self._change({"_game": game, "agents": agents})
        if self.render_mode == "human":
            self.render()

    def _observations(self) -> dict[str, MaskedObservation]:
        game = self._require_game()
        return {agent: self._view(_turn_of(game, player), player) for agent, player in self._players.items()}

    def _action_of(self, agent: str, actions: Mapping[str, Any]) -> int:
        if not isinstance(actions, Mapping) or agent not in actions:
            raise IllegalActionError(f"there is no action of {agent} in {short_repr(actions)}")
        return check_action(actions[agent], self._rules.num_actions)

    def _is_legal(self, game: BaseGame, agent: str, action: int) -> bool:
        return self._rules.kernels.is_legal(_turn_of(game, self._players[agent]).state, 0, action)


def _turn_of(game: BaseGame, player: int) -> BaseGame:
    """Return a copy in which ``player`` is to move; all players have acted equally often in the game."""
    states = copy_of(game.state)
    states["current_player"] = player if not game.is_over else 0
    return type(game).unchecked(states)


_OF_A_GAME = frozenset(
    ("agents", "agent_selection", "rewards", "_cumulative_rewards", "terminations", "truncations", "infos")
)
"""The attributes of an environment that change with every move."""


class OrderEnforcing(OrderEnforcingWrapper[str, MaskedObservation, Any]):
    """Enforces the order of calls as PettingZoo's wrapper does, but faster.

    Calls out of order get PettingZoo's errors and warnings. Whether there has been a :meth:`reset` is a
    question to the environment: a flag would be wrong after an interrupt during the first one.
    """

    env: GameAECEnv

    @property
    def _has_reset(self) -> bool:
        return self.env.has_game

    @_has_reset.setter
    def _has_reset(self, value: bool) -> None:
        """Ignore the flag of PettingZoo's wrapper, which sets it before the reset."""

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the environment; AttributeError for those of a game before there is one."""
        if name in _OF_A_GAME and self._has_reset:
            return getattr(self.env, name)
        return super().__getattr__(name)

    def step(self, action: Any) -> None:
        """See :meth:`GameAECEnv.step`."""
        if self._has_reset and self.env.agents:
            self._has_updated = True
            self.env.step(action)
        else:
            super().step(action)

    def last(
        self, observe: bool = True
    ) -> tuple[MaskedObservation | None, float, bool, bool, dict[str, Any]]:
        """Return observation, cumulative reward, terminated, truncated and info of ``agent_selection``."""
        return self.env.last(observe) if self._has_reset else super().last(observe)

    def __str__(self) -> str:
        return str(self.env)
