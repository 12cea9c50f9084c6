"""Patchwork with bounds checks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from patchwork_env import agents
from patchwork_env.patchwork.rules import RULES
from tests.attack.records import odd_games
from tests.bounds import everything
from tests.learning.tiny_runs import TINY_RUNS

pytestmark = pytest.mark.bounds

AGENTS = ("random", "greedy", "uct:simulations=30", "mcts:simulations=30", "champion:instant")
AGENTS += ("champion:nodes=30", "ppo-quick", "ppo-quick:simulations=6")
TRAINERS = ("ppo", "td", "alphazero", "maskable_ppo")


def test_bounds_are_checked() -> None:
    everything.require_checks()


def test_environments() -> None:
    everything.run_environments(RULES)
    everything.run_environments(RULES, special_patches="2014")


def test_odd_states() -> None:
    everything.run_odd_states(RULES)


@pytest.mark.parametrize("spec", AGENTS)
def test_agents(spec: str) -> None:
    everything.run_agent(RULES, spec)


def test_analysis() -> None:
    for game in odd_games(RULES, np.random.default_rng(3), 20):
        if not game.is_over:
            agents.analyse(game, "champion:nodes=30")


def test_matches() -> None:
    everything.run_matches("patchwork", "greedy", "mcts:simulations=10")


@pytest.mark.parametrize("name", TRAINERS)
def test_trainers(name: str, tmp_path: Path) -> None:
    everything.run_trainer(TINY_RUNS[name], tmp_path)
