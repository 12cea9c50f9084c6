"""Exports of Patchwork: levels for people; what each sees and gets wrong is a constant of its code."""

from __future__ import annotations

from collections.abc import Callable

from patchwork_env.agents.patchwork.partner.experience import choose_ahead, choose_by_experience
from patchwork_env.agents.patchwork.partner.eye import choose_by_eye
from patchwork_env.agents.patchwork.partner.levels import EYES, HABITS, Eye, Habits
from tools.site.modules.patchwork_room import room


def name_of(level: int) -> str:
    """The name of the export of a level."""
    return f"partner_{level}"


def _level(level: int) -> Callable[..., float]:
    habits = HABITS[level]
    if level in EYES:
        export = _by_eye(habits, EYES[level])
    else:
        export = _ahead(habits) if habits.lookahead else _by_experience(habits)
    export.__name__ = name_of(level)
    return export


def _by_eye(habits: Habits, eye: Eye) -> Callable[..., float]:
    def choose() -> int:
        here = room()
        choose_by_eye(here.states, habits, eye, here.sight, here.thoughts, here.streams, here.chosen)
        return here.chosen[0]

    return choose


def _by_experience(habits: Habits) -> Callable[..., float]:
    def choose() -> int:
        here = room()
        weights, expansion, thoughts = here.settings.weights, here.expansion, here.thoughts
        choose_by_experience(here.states, habits, weights, expansion, thoughts, here.streams, here.chosen)
        return here.chosen[0]

    return choose


def _ahead(habits: Habits) -> Callable[..., float]:
    def choose() -> int:
        here = room()
        tree, work, thoughts = here.tree, here.work, here.thoughts
        choose_ahead(here.states, habits, here.settings, tree, work, thoughts, here.streams, here.chosen)
        return here.chosen[0]

    return choose


EXPORTS: tuple[Callable[..., float], ...] = tuple(map(_level, HABITS))
