"""Agents as bots of OpenSpiel, and bots of OpenSpiel as agents."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pyspiel

from patchwork_env import agents
from patchwork_env.agents.base import Agent, check_running, record_of
from patchwork_env.core.checks import as_action, check_seed, offset_seed
from patchwork_env.core.game import BaseGame
from patchwork_env.core.names import short_repr
from patchwork_env.envs.opponents import opponent_seed
from patchwork_env.integrations.open_spiel.base import RulesGame, State


class AgentBot(pyspiel.Bot):  # type: ignore[misc]
    """A bot of OpenSpiel that plays the moves of an agent for one player.

    The agent, its seed and errors about it are as in :func:`patchwork_env.agents.as_agent`.
    """

    def __init__(
        self,
        agent: str | os.PathLike[str] | Agent | Callable[..., Any],
        player_id: int,
        seed: int | None = None,
    ) -> None:
        super().__init__()
        self.agent, self._player_id = agents.as_agent(agent, seed), player_id
        self._seed = check_seed(seed)

    def player_id(self) -> int:
        """Return the player of the bot."""
        return self._player_id

    def step(self, state: Any) -> int:
        """Return the agent's action; ValueError in another game, or when another player is to move."""
        if not isinstance(state, State):
            raise ValueError(f"an agent plays python_patchwork and python_nmbr9, not {short_repr(state)}")
        if state.current_player() != self._player_id:
            raise ValueError(f"player {state.current_player()} is to move, not player {self._player_id}")
        seed = offset_seed(opponent_seed(self._seed), state.move_number())
        seen = state.position().determinize(seed)
        return as_action(self.agent.act(seen), "the action of the agent")

    def restart_at(self, state: Any) -> None:
        """Do nothing: agents use positions alone."""


class BotAgent(Agent):
    """An agent that plays the moves of a bot of OpenSpiel, from the position alone.

    The bot was made for ``game``, which must be a game of this package. The default name is that of the bot's
    class.
    """

    def __init__(self, bot: Any, game: Any, name: str | None = None) -> None:
        if not isinstance(game, RulesGame):
            raise ValueError(f"the game is python_patchwork or python_nmbr9, not {short_repr(game)}")
        self.name = name or type(bot).__name__
        self.games = (game.rules.name,)
        self._bot, self._table = bot, game

    def act(self, game: BaseGame) -> int:
        """Return the bot's action."""
        check_running(record_of(game))
        self.check_states(game.state)
        state = self._table.new_initial_state(game.position_text())
        self._bot.restart_at(state)
        if isinstance(self._bot, pyspiel.MCTSBot):
            # Its ``step`` releases the GIL, and crashes on games in Python.
            return int(self._bot.mcts_search(state).best_child().action)
        return as_action(self._bot.step(state), "the action of the bot")


bot, as_agent = AgentBot, BotAgent
