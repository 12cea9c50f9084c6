"""The levels, ready to play; a level compiles only what it needs."""

from __future__ import annotations

from patchwork_env.agents.base import Actions
from patchwork_env.agents.checkpoints import SHIPPED_FOLDER
from patchwork_env.agents.partner import Player
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
from patchwork_env.agents.patchwork.partner.levels import CHAMPION, EYES, HABITS, Eye, Habits
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
    if level in EYES:
        return ByEye(HABITS[level], EYES[level])
    weights, _ = read_value(_VALUE)
    return (Ahead if HABITS[level].lookahead else ByExperience)(HABITS[level], weights)


class ByEye:
    """Judges moves by eye."""

    def __init__(self, habits: Habits, eye: Eye) -> None:
        self._habits, self._eye, self._sight, self._thoughts = habits, eye, new_sight(), new_thoughts()

    def choose(self, states: States, streams: Streams, actions: Actions) -> None:
        """See :meth:`Player.choose`."""
        choose_by_eye(states, self._habits, self._eye, self._sight, self._thoughts, streams, actions)


class ByExperience:
    """Judges moves by the learned value, without looking ahead."""

    def __init__(self, habits: Habits, weights: Weights) -> None:
        self._habits, self._weights = habits, weights
        self._expansion, self._thoughts = new_expansion(), new_thoughts()

    def choose(self, states: States, streams: Streams, actions: Actions) -> None:
        """See :meth:`Player.choose`."""
        choose_by_experience(
            states, self._habits, self._weights, self._expansion, self._thoughts, streams, actions
        )


class Ahead:
    """Judges moves by a short search with the learned value."""

    def __init__(self, habits: Habits, weights: Weights) -> None:
        self._habits, self._settings = habits, Settings(weights, TO_WIN, RULE, LIKELY_BELOW_ROOT)
        self._tree, self._work = new_tree(habits.lookahead + 1, WIDTH, STATE), new_workspace()
        self._thoughts = new_thoughts()

    def choose(self, states: States, streams: Streams, actions: Actions) -> None:
        """See :meth:`Player.choose`."""
        choose_ahead(
            states, self._habits, self._settings, self._tree, self._work, self._thoughts, streams, actions
        )


class Champion:
    """Plays as the champion does."""

    def __init__(self, agent: ChampionAgent) -> None:
        self._agent = agent

    def choose(self, states: States, streams: Streams, actions: Actions) -> None:
        """See :meth:`Player.choose`; it draws nothing."""
        actions[:] = self._agent.act_batch(states)
