"""What is run with bounds checks in every game."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from patchwork_env import agents
from patchwork_env.core.compile import kernel
from patchwork_env.core.game import Rules
from patchwork_env.envs.aec import GameAECEnv
from patchwork_env.envs.self_play import SelfPlayBatch
from patchwork_env.envs.vector import GameVectorEnv
from patchwork_env.learning.algorithms.common.trainer import make_trainer
from patchwork_env.learning.config import load_config
from patchwork_env.learning.evaluation.matches import play_matches
from tests.attack.records import odd_games
from tests.attack.sound import require_sound

STEPS = 250
ODD_STATES = 60


@kernel
def _read(array: np.ndarray, index: int) -> int:
    return array[index]


def require_checks() -> None:
    """Fails if compiled code has no bounds checks after all."""
    with pytest.raises(IndexError):
        _read(np.zeros(1, np.int64), 1)


def run_environments(rules: Rules, **options: Any) -> None:
    """Plays games to their ends in all kinds of environments."""
    for threads in (1, 2):
        batch = SelfPlayBatch(rules, 40, seed=1, threads=threads, **options)
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


def run_odd_states(rules: Rules) -> None:
    """Plays games from states at the limits of what is let in."""
    random = np.random.default_rng(1)
    for game in odd_games(rules, random, ODD_STATES):
        require_sound(rules, game, random)


def run_agent(rules: Rules, spec: str, games: int = 2, odd: int = 40, **options: Any) -> None:
    """Lets an agent play whole games, and act once in each of many odd states."""
    agent = agents.load(spec, seed=1)
    for seed in range(games):
        game = rules.game(seed=seed, **options)
        while not game.is_over:
            game.play(agent.act(game))
    random = np.random.default_rng(2)
    for game in odd_games(rules, random, odd):
        if not game.is_over:
            with suppress(ValueError):  # not all states are played
                game.play(agent.act(game))


def run_matches(game: str, first: str, second: str) -> None:
    """Plays matches, as evaluations do."""
    play_matches(agents.load(first, 1), agents.load(second, 2), 4, seed=1, game=game)


def run_trainer(text: str, folder: Path, iterations: int = 2) -> None:
    """Lets a trainer play and learn, and another one go on from there."""
    path = folder / "config.yaml"
    path.write_text(text)
    first, second = (make_trainer(load_config(path)) for _ in range(2))
    for _ in range(iterations):
        first.step()
    second.load_state_dict(first.state_dict())
    second.step()
