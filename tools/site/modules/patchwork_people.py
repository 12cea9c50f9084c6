"""Exports of Patchwork: levels for people; what each sees and gets wrong is a constant of its code."""

from __future__ import annotations

from patchwork_env.agents.patchwork.partner.experience import choose_ahead, choose_by_experience
from patchwork_env.agents.patchwork.partner.eye import choose_by_eye
from patchwork_env.agents.patchwork.partner.levels import EYES, HABITS, Habits
from tools.site.modules.exports import Export, beginner
from tools.site.modules.patchwork_room import room


def name_of(level: int) -> str:
    """The name of the export of a level."""
    return f"partner_{level}"


def _level(level: int) -> Export:
    habits = HABITS[level]
    if level in EYES:
        export = beginner(room, choose_by_eye, habits, EYES[level])
    else:
        export = _ahead(habits) if habits.lookahead else _by_experience(habits)
    export.__name__ = name_of(level)
    return export


def _by_experience(habits: Habits) -> Export:
    def choose() -> int:
        here = room()
        weights, expansion, thoughts = here.settings.weights, here.expansion, here.thoughts
        choose_by_experience(here.states, habits, weights, expansion, thoughts, here.streams, here.chosen)
        return here.chosen[0]

    return choose


def _ahead(habits: Habits) -> Export:
    def choose() -> int:
        here = room()
        tree, work, thoughts = here.tree, here.work, here.thoughts
        choose_ahead(here.states, habits, here.settings, tree, work, thoughts, here.streams, here.chosen)
        return here.chosen[0]

    return choose


EXPORTS: tuple[Export, ...] = tuple(map(_level, HABITS))
