"""Exports of Patchwork: the levels of partner, whose habits are constants of the code."""

from __future__ import annotations

from patchwork_env.agents.partner import BEGINNER, Habits
from patchwork_env.agents.patchwork.people.levels import (
    HABITS,
    choose_ahead,
    choose_by_eye,
    choose_by_value,
)
from tools.site.modules.exports import Export
from tools.site.modules.patchwork_memory import memory


def name_of(level: int) -> str:
    """The name of the export of a level."""
    return f"partner_{level}"


def _level(level: int) -> Export:
    habits = HABITS[level]
    if level == BEGINNER:
        export = _by_eye(habits)
    else:
        export = _ahead(habits) if habits.lookahead else _by_value(habits)
    export.__name__ = name_of(level)
    return export


def _by_eye(habits: Habits) -> Export:
    def choose() -> int:
        here = memory()
        expansion, candidates = here.expansion, here.candidates
        choose_by_eye(habits, expansion, candidates, here.states, here.streams, here.chosen)
        return here.chosen[0]

    return choose


def _by_value(habits: Habits) -> Export:
    def choose() -> int:
        here = memory()
        weights, expansion, candidates = here.evaluator.weights, here.expansion, here.candidates
        choose_by_value(habits, weights, expansion, candidates, here.states, here.streams, here.chosen)
        return here.chosen[0]

    return choose


def _ahead(habits: Habits) -> Export:
    def choose() -> int:
        here = memory()
        tree, work, candidates = here.tree, here.work, here.candidates
        choose_ahead(habits, here.evaluator, tree, work, candidates, here.states, here.streams, here.chosen)
        return here.chosen[0]

    return choose


EXPORTS: tuple[Export, ...] = tuple(map(_level, HABITS))
