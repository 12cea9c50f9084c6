"""The levels, ready to play; a level compiles only what it needs."""

from __future__ import annotations

from patchwork_env.agents.base import Actions, Agent
from patchwork_env.agents.checkpoints import SHIPPED_FOLDER
from patchwork_env.agents.nmbr9.champion.agent import load
from patchwork_env.agents.nmbr9.partner.decision import new_thoughts
from patchwork_env.agents.nmbr9.partner.judgement import choose_by_experience, choose_by_eye, new_sight
from patchwork_env.agents.nmbr9.partner.levels import CHAMPION_NODES, EYES, HABITS, Eye, Habits
from patchwork_env.agents.nmbr9.value.agent import read_value
from patchwork_env.agents.nmbr9.value.expansion import new_expansion
from patchwork_env.agents.nmbr9.value.network import Weights
from patchwork_env.agents.partner import Player
from patchwork_env.core.random import Streams, random_below
from patchwork_env.nmbr9.state import States

_VALUE = SHIPPED_FOLDER / "nmbr9_champion"
_SEEDS = 2**31 - 1


def new_player(level: int) -> Player:
    """The player of a level."""
    if level not in HABITS:
        return Champion(load(_VALUE, nodes=CHAMPION_NODES))
    if level in EYES:
        return ByEye(HABITS[level], EYES[level])
    weights, _ = read_value(_VALUE)
    return ByExperience(HABITS[level], weights)


class ByEye:
    """Judges placements by eye."""

    def __init__(self, habits: Habits, eye: Eye) -> None:
        self._habits, self._eye, self._sight, self._thoughts = habits, eye, new_sight(), new_thoughts()

    def choose(self, states: States, streams: Streams, actions: Actions) -> None:
        """See :meth:`Player.choose`."""
        choose_by_eye(states, self._habits, self._eye, self._sight, self._thoughts, streams, actions)


class ByExperience:
    """Judges placements by the learned value."""

    def __init__(self, habits: Habits, weights: Weights) -> None:
        self._habits, self._weights = habits, weights
        self._expansion, self._thoughts = new_expansion(), new_thoughts()

    def choose(self, states: States, streams: Streams, actions: Actions) -> None:
        """See :meth:`Player.choose`."""
        choose_by_experience(
            states, self._habits, self._weights, self._expansion, self._thoughts, streams, actions
        )


class Champion:
    """Plays as the champion does, which draws decks from a seed of its own for every move."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent

    def choose(self, states: States, streams: Streams, actions: Actions) -> None:
        """See :meth:`Player.choose`."""
        for i in range(len(states)):
            self._agent.reseed(random_below(streams, 0, _SEEDS))
            actions[i] = self._agent.act_batch(states[i : i + 1])[0]
