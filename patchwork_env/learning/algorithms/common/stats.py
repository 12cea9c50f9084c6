"""Statistics of the games that are played while an algorithm learns, by game."""

from __future__ import annotations

from patchwork_env.core.game import Rules
from patchwork_env.core.kernels import States
from patchwork_env.games import PATCHWORK
from patchwork_env.nmbr9 import figures as nmbr9
from patchwork_env.patchwork import figures as patchwork

GameStats = patchwork.GameStats | nmbr9.GameStats
"""Counts what happens in a batch of games, from the first turn of each to its last."""


def new_stats(rules: Rules, num_games: int) -> GameStats:
    """The counts of so many games, all of which begin now."""
    return patchwork.GameStats(num_games) if rules.name == PATCHWORK else nmbr9.GameStats()


def statistics_of_games(rules: Rules, finals: States) -> dict[str, float]:
    """Mean figures of ``(k,)`` games that are over; empty if there are none."""
    return (patchwork if rules.name == PATCHWORK else nmbr9).statistics_of_games(finals)
