"""Whole games of everything with bounds checks, also from states at the limits of the validation."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import config

from patchwork_env import agents
from patchwork_env.core.compile import kernel
from patchwork_env.core.rules import Rules
from patchwork_env.envs.pettingzoo import GameAECEnv
from patchwork_env.envs.self_play import SelfPlayBatch
from patchwork_env.envs.vector import GameVectorEnv
from patchwork_env.games import rules_of
from patchwork_env.learning.algorithms.common.trainer import make_trainer
from patchwork_env.learning.config import load_config
from patchwork_env.learning.evaluation.matches import play_matches
from tests.attack.records import odd_games
from tests.attack.sound import require_sound
from tests.learning.tiny_runs import TINY_RUNS

pytestmark = [
    pytest.mark.bounds,
    pytest.mark.skipif(not config.BOUNDSCHECK, reason="make test-bounds runs these"),
]

PATCHWORK, NMBR9 = rules_of("patchwork"), rules_of("nmbr9")
AGENTS = {
    PATCHWORK: ("random", "greedy", "uct:simulations=30", "mcts:simulations=30", "champion:instant"),
    NMBR9: ("random", "greedy", "uct:simulations=30", "nmbr9_champion:instant", "nmbr9_champion:nodes=200"),
}
AGENTS[PATCHWORK] += ("champion:nodes=30", "ppo-quick", "ppo-quick:simulations=6")
STEPS = 250
ODD_STATES = 60


@kernel
def _read(array: np.ndarray, index: int) -> int:
    return array[index]


def test_bounds_are_checked() -> None:
    with pytest.raises(IndexError):
        _read(np.zeros(1, np.int64), 1)


@pytest.mark.parametrize(
    ("rules", "options"),
    [
        *((PATCHWORK, {"special_patches": variant}) for variant in ("revised", "2014")),
        *((NMBR9, {"players": 3, "order": order}) for order in ("unknown", "known", "free")),
        (NMBR9, {}),
    ],
)
def test_environments(rules: Rules, options: dict[str, Any]) -> None:
    batch = SelfPlayBatch(rules, 40, seed=1, **options)
    for _ in range(STEPS):
        batch.step(batch.random_actions)
    batch.restore(batch.save())
    opponent = agents.load("greedy") if rules.set_up(rules.options | options, {}).players > 1 else None
    env = GameVectorEnv(rules, 8, opponent, illegal_action="raise", **options)
    random = np.random.default_rng(1)
    env.reset(seed=1)
    for _ in range(STEPS):
        env.step([random.choice(np.flatnonzero(mask)) for mask in env.action_masks()])
    single = GameAECEnv(rules, **options)
    single.reset(seed=1)
    for agent in single.agent_iter():
        observation, _, ended, _, _ = single.last()
        mask = observation["action_mask"]
        single.step(None if ended else int(random.choice(np.flatnonzero(mask))))
        assert single.observe(agent)


@pytest.mark.parametrize("rules", [PATCHWORK, NMBR9])
def test_odd_states(rules: Rules) -> None:
    random = np.random.default_rng(1)
    for game in odd_games(rules, random, ODD_STATES):
        require_sound(rules, game, random)


@pytest.mark.parametrize(
    ("rules", "spec", "options"),
    [
        *((rules, spec, {}) for rules, specs in AGENTS.items() for spec in specs),
        (NMBR9, "beam:width=3", {"order": "known"}),
    ],
)
def test_agents(rules: Rules, spec: str, options: dict[str, Any]) -> None:
    """In whole games, and once in each of many odd states."""
    agent = agents.load(spec, seed=1)
    for seed in range(2):
        game = rules.game(seed=seed, **options)
        while not game.is_over:
            game.play(agent.act(game))
    for game in odd_games(rules, np.random.default_rng(2), 0 if options else 40):
        if not game.is_over:
            with suppress(ValueError):  # not all states are played
                game.play(agent.act(game))


def test_analysis() -> None:
    for game in odd_games(PATCHWORK, np.random.default_rng(3), 20):
        if not game.is_over:
            agents.analyse(game, "champion:nodes=30")


@pytest.mark.parametrize(
    ("game", "other"), [("patchwork", "mcts:simulations=10"), ("nmbr9", "uct:simulations=10")]
)
def test_matches(game: str, other: str) -> None:
    play_matches(agents.load("greedy", 1), agents.load(other, 2), 4, seed=1, game=game)


@pytest.mark.parametrize("name", ["ppo", "td", "alphazero", "maskable_ppo", "solo_td"])
def test_trainers(name: str, tmp_path: Path) -> None:
    """They play and learn, and others continue from their states."""
    path = tmp_path / "config.yaml"
    path.write_text(TINY_RUNS[name])
    first, second = (make_trainer(load_config(path)) for _ in range(2))
    for _ in range(2):
        first.step()
    second.load_state_dict(first.state_dict())
    second.step()
