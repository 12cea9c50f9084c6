"""The levels, ready to play; a level compiles only what it needs."""

from __future__ import annotations

from patchwork_env.agents.base import Actions
from patchwork_env.agents.checkpoints import SHIPPED_FOLDER
from patchwork_env.agents.partner import KernelPlayer, Player
from patchwork_env.agents.patchwork.champion.agent import ChampionAgent, load
from patchwork_env.agents.patchwork.champion.simulation import (
    LIKELY_BELOW_ROOT,
    RULE,
    WIDTH,
    Settings,
    new_workspace,
)
from patchwork_env.agents.patchwork.partner.decision import new_thoughts
from patchwork_env.agents.patchwork.partner.experience import choose_ahead, choose_by_experience
from patchwork_env.agents.patchwork.partner.eye import choose_by_eye, new_sight
from patchwork_env.agents.patchwork.partner.levels import CHAMPION, EYES, HABITS, Habits
from patchwork_env.agents.patchwork.value.agent import read_value
from patchwork_env.agents.patchwork.value.choice import TO_WIN
from patchwork_env.agents.patchwork.value.expansion import new_expansion
from patchwork_env.agents.patchwork.value.network import Weights
from patchwork_env.core.random import Streams
from patchwork_env.patchwork.state import STATE, States
from patchwork_env.search.best_first import new_tree

_VALUE = SHIPPED_FOLDER / "champion"


def new_player(level: int) -> Player:
    """The player of a level."""
    if level not in HABITS:
        return Champion(load(_VALUE, level=CHAMPION))
    habits = HABITS[level]
    if level in EYES:
        return KernelPlayer(choose_by_eye, habits, EYES[level], new_sight(), new_thoughts())
    weights, _ = read_value(_VALUE)
    if habits.lookahead:
        return _ahead(habits, weights)
    return KernelPlayer(choose_by_experience, habits, weights, new_expansion(), new_thoughts())


def _ahead(habits: Habits, weights: Weights) -> Player:
    """Somebody who judges moves by a short search with the learned value."""
    settings = Settings(weights, TO_WIN, RULE, LIKELY_BELOW_ROOT)
    tree = new_tree(habits.lookahead + 1, WIDTH, STATE)
    return KernelPlayer(choose_ahead, habits, settings, tree, new_workspace(), new_thoughts())


class Champion:
    """Plays as the champion does."""

    def __init__(self, agent: ChampionAgent) -> None:
        self._agent = agent

    def choose(self, states: States, streams: Streams, actions: Actions) -> None:
        """See :meth:`Player.choose`; it draws nothing."""
        actions[:] = self._agent.act_batch(states)
