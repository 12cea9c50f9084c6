"""The levels, ready to play; a level compiles only what it needs."""

from __future__ import annotations

from patchwork_env.agents.base import Actions, Agent
from patchwork_env.agents.checkpoints import SHIPPED_FOLDER
from patchwork_env.agents.nmbr9.champion import load
from patchwork_env.agents.nmbr9.expansion import new_expansion
from patchwork_env.agents.nmbr9.partner.decision import new_thoughts
from patchwork_env.agents.nmbr9.partner.judgement import choose_by_experience, choose_by_eye, new_sight
from patchwork_env.agents.nmbr9.partner.levels import CHAMPION_NODES, EYES, HABITS
from patchwork_env.agents.nmbr9.value import read_value
from patchwork_env.agents.partner import KernelPlayer, Player
from patchwork_env.core.random import Streams, random_below
from patchwork_env.nmbr9.state import States

_VALUE = SHIPPED_FOLDER / "nmbr9_champion"
NUM_SEEDS = 2**31 - 1
"""The champion draws the decks of a move from one of so many seeds."""


def new_player(level: int) -> Player:
    """The player of a level."""
    if level not in HABITS:
        return Champion(load(_VALUE, nodes=CHAMPION_NODES))
    if level in EYES:
        return KernelPlayer(choose_by_eye, HABITS[level], EYES[level], new_sight(), new_thoughts())
    weights, _ = read_value(_VALUE)
    return KernelPlayer(choose_by_experience, HABITS[level], weights, new_expansion(), new_thoughts())


class Champion:
    """Plays as the champion does, which draws decks from a seed of its own for every move."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent

    def choose(self, states: States, streams: Streams, actions: Actions) -> None:
        """See :meth:`Player.choose`."""
        for i in range(len(states)):
            self._agent.reseed(random_below(streams, 0, NUM_SEEDS))
            actions[i] = self._agent.act_batch(states[i : i + 1])[0]
