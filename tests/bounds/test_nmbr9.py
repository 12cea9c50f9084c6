"""NMBR 9 with bounds checks."""

from __future__ import annotations

from pathlib import Path

import pytest

from patchwork_env.nmbr9.rules import RULES
from tests.bounds import everything
from tests.learning.tiny_runs import TINY_RUNS

pytestmark = pytest.mark.bounds

AGENTS = ("random", "greedy", "uct:simulations=30", "nmbr9_champion:instant", "nmbr9_champion:nodes=200")


def test_bounds_are_checked() -> None:
    everything.require_checks()


@pytest.mark.parametrize("order", ["unknown", "known", "free"])
def test_environments(order: str) -> None:
    everything.run_environments(RULES, players=3, order=order)


def test_a_player_alone() -> None:
    everything.run_environments(RULES)


def test_odd_states() -> None:
    everything.run_odd_states(RULES)


@pytest.mark.parametrize("spec", AGENTS)
def test_agents(spec: str) -> None:
    everything.run_agent(RULES, spec)


def test_beams() -> None:
    everything.run_agent(RULES, "beam:width=3", odd=0, order="known")


def test_matches() -> None:
    everything.run_matches("nmbr9", "greedy", "uct:simulations=10")


def test_trainers(tmp_path: Path) -> None:
    everything.run_trainer(TINY_RUNS["solo_td"], tmp_path)
