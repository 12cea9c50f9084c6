"""Exports of NMBR 9: the levels of partner, whose habits are constants of the code."""

from __future__ import annotations

import numpy as np

from patchwork_env.agents.nmbr9.partner import (
    CHAMPION_NODES,
    HABITS,
    choose_by_eye,
    choose_by_value,
)
from patchwork_env.agents.partner import BEGINNER, NUM_SEEDS, Habits
from patchwork_env.core.random import random_below, start_streams
from tools.site.modules.exports import Export
from tools.site.modules.nmbr9_memory import memory
from tools.site.modules.nmbr9_search import search_action


def name_of(level: int) -> str:
    """The name of the export of a level."""
    return f"partner_{level}" if level in HABITS else choose_as_champion.__name__


def _level(level: int) -> Export:
    habits = HABITS[level]
    export = _by_eye(habits) if level == BEGINNER else _by_value(habits)
    export.__name__ = name_of(level)
    return export


def _by_eye(habits: Habits) -> Export:
    def choose() -> int:
        here = memory()
        expansion, candidates = here.work.expansion, here.candidates
        choose_by_eye(habits, expansion, candidates, here.states, here.streams, here.chosen)
        return here.chosen[0]

    return choose


def _by_value(habits: Habits) -> Export:
    def choose() -> int:
        here = memory()
        expansion, candidates = here.work.expansion, here.candidates
        choose_by_value(habits, here.weights, expansion, candidates, here.states, here.streams, here.chosen)
        return here.chosen[0]

    return choose


def choose_as_champion() -> int:
    """The champion's action, with decks from a seed that is drawn."""
    here = memory()
    start_streams(here.streams, np.uint64(random_below(here.streams, 0, NUM_SEEDS)))
    return search_action(here, CHAMPION_NODES)


EXPORTS: tuple[Export, ...] = (*map(_level, HABITS), choose_as_champion)
