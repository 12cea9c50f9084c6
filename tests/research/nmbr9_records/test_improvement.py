"""Stacks in free order get better and better."""

from __future__ import annotations

import numpy as np

from patchwork_env import agents
from patchwork_env.agents.nmbr9.beam.planner import Budget, plan
from patchwork_env.agents.nmbr9.beam.stacks import alone
from patchwork_env.agents.nmbr9.value.agent import read_value
from patchwork_env.nmbr9 import Game
from research.nmbr9_records.improvement import improvements


def test_improvements_are_better_each_time() -> None:
    weights, _ = read_value(agents.path_of("nmbr9_champion"))
    root, rng = alone(Game(order="free", max_digit=5, deck_size=7).state, 0), np.random.default_rng(3)
    first = plan(root, True, False, Budget(width=2), weights, 0)
    scores = [found.score for found in improvements(root, first, 20, weights, rng, rounds=6)]
    assert scores == sorted(set(scores))
    assert scores[0] == first.score
