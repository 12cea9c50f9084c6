"""The memory of the module of NMBR 9; importing this allocates it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from patchwork_env.agents.compiled import aligned_records
from patchwork_env.agents.nmbr9 import champion
from patchwork_env.agents.nmbr9.partner import new_candidates
from patchwork_env.agents.nmbr9.value import WEIGHTS
from patchwork_env.agents.partner import Candidates
from patchwork_env.core.random import Streams
from patchwork_env.nmbr9 import engine
from patchwork_env.nmbr9.actions import NUM_ACTIONS, TABLE_SIZE
from patchwork_env.nmbr9.components import NUM_DIGITS
from patchwork_env.nmbr9.state import States, empty_states
from tools.site.memory import Block, memory_in


class Memory(NamedTuple):
    """The memory of the module.

    Attributes:
        states: The game.
        streams: The random stream of the player who draws.
        legal_set: The legal set.
        actions: int16, legal actions.
        supply: int64 ``(10,)``, how many tiles of each digit a player in free order may still choose.
        chosen: int64 ``(1,)``, the action of an agent.
        candidates: The placements that a level considers.
        work: The workspace of searches.
        weights: The weights of the value.
    """

    states: States
    streams: Streams
    legal_set: Any
    actions: Any
    supply: Any
    chosen: Any
    candidates: Candidates
    work: champion.Workspace
    weights: Any


BLOCK = Block(
    "nmbr9",
    Memory(
        empty_states(1),
        np.zeros(1, np.uint64),
        np.zeros((engine.NUM_MAPS, TABLE_SIZE), np.uint64),
        np.zeros(NUM_ACTIONS, np.int16),
        np.zeros(NUM_DIGITS, np.int64),
        np.zeros(1, np.int64),
        new_candidates(),
        champion.new_workspace(),
        aligned_records(WEIGHTS),
    ),
)
memory: Any = memory_in(BLOCK)
