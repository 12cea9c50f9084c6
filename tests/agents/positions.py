"""States of all phases of the game, for tests of agents."""

from __future__ import annotations

import numpy as np

from patchwork_env.agents import GreedyAgent
from patchwork_env.patchwork.state import NOBODY, States
from patchwork_env.patchwork_v0 import SelfPlayVectorEnv


def many_states(seed: int = 3, special_patches: str = "revised") -> States:
    """States of the beginning, the middle and the end of 24 games, some with a special patch to place."""
    env = SelfPlayVectorEnv(24, seed=seed, masks=False, observations=False, special_patches=special_patches)
    greedy, collected = GreedyAgent(), []
    for turn in range(46):
        if turn % 5 == 0:
            collected.append(env.states.copy())
        is_rare = (env.states["pending_special"] == 1) | (env.states["first_finisher"] != NOBODY)
        collected.append(env.states[is_rare].copy())
        sensible = greedy.act_batch(env.states)
        env.step(np.where(np.arange(24) % 2 == 0, sensible, env.random_actions))
    return np.concatenate(collected)


def with_short_circles(states: States) -> States:
    """States, and the first twelve of them once more with one to four patches left in the circle."""
    short = states[:12].copy()
    short["num_patches"] = np.arange(12) % 4 + 1
    short["circle"][np.arange(short["circle"].shape[1]) >= short["num_patches"][:, None]] = 0
    return np.concatenate([states, short])
