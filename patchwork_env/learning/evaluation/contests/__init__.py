"""How agents meet in a game, and what results tell of it: a class for all games, and what one adds to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any

from patchwork_env.agents import Agent
from patchwork_env.core.checks import check_one_of
from patchwork_env.games import GAMES, NMBR9, PATCHWORK, rules_of
from patchwork_env.learning.evaluation.contests.base import (
    AGENT,
    OPPONENT,
    Block,
    Contest,
    Figure,
    Integers,
    MatchGames,
)

__all__ = [
    "AGENT",
    "OPPONENT",
    "Block",
    "Contest",
    "Figure",
    "Integers",
    "MatchGames",
    "check_variant",
    "common_game",
    "contest_of",
]


_MODULES = {PATCHWORK: f"{__name__}.patchwork", NMBR9: f"{__name__}.nmbr9"}
"""The modules with what is special to a game, each in a class ``CONTEST``."""


@cache
def contest_of(game: str) -> type[Contest]:
    """How agents meet in a game.

    Raises:
        ValueError: There is no such game.
    """
    rules = rules_of(game)
    if game in _MODULES:
        special: type[Contest] = import_module(_MODULES[game]).CONTEST
        return special
    return type(f"ContestOf{rules.title}", (Contest,), {"game": game})


def common_game(agents: Sequence[Agent], asked: str | None = None) -> str:
    """The game that agents meet in: the one asked for, the only one that all of them play, or else Patchwork.

    Raises:
        ValueError: There is no such game, or not all of the agents play it.
    """
    if asked is not None:
        check_one_of(asked, GAMES, "game")
        for agent in agents:
            agent.check_game(asked)
        return asked
    common = [game for game in GAMES if all(game in agent.games for agent in agents)]
    if not common:
        they = ", ".join(f"{agent.name!r} plays {' and '.join(agent.games)}" for agent in agents)
        raise ValueError(f"agents of different games cannot meet: {they}")
    return common[0]


def check_variant(game: str, options: Mapping[str, Any]) -> str:
    """What is played of a game: the value of the option that the game has for it, or its default.

    ``options`` are empty or have that option by name, such as ``{"special_patches": "2014"}`` or ``{"order":
    "known"}``; None stands for the default.

    Raises:
        ValueError: There is no such game, option or value.
    """
    contest = contest_of(game)
    name = contest.variant
    for key in options:
        if options[key] is not None and key != name:
            has = f"it has {name!r}" if name else "it has none"
            raise ValueError(f"{game} has no option {key!r}; {has}")
    value: str = contest.variants[0] if options.get(name) is None else options[name]
    check_one_of(value, contest.variants, name)
    return value
