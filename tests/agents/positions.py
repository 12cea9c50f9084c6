"""States of all phases of the game, and naive counts on them, for tests of agents."""

import numpy as np

from patchwork_env.agents import GreedyAgent
from patchwork_env.patchwork.state import NOBODY
from patchwork_env.patchwork_v0 import SelfPlayBatch
from tests.patchwork.naive import PLACEMENTS


def many_states(seed=3, special_patches="revised"):
    """Return states from all phases of 24 games, some with a special patch to place."""
    options = {"special_patches": special_patches, "first_player": "random"}
    env = SelfPlayBatch(24, seed=seed, masks=False, observations=False, **options)
    greedy, collected = GreedyAgent(), []
    for turn in range(46):
        if turn % 5 == 0:
            collected.append(env.states.copy())
        is_rare = (env.states["pending_special"] == 1) | (env.states["first_finisher"] != NOBODY)
        collected.append(env.states[is_rare].copy())
        sensible = greedy.act_batch(env.states)
        env.step(np.where(np.arange(24) % 2 == 0, sensible, env.random_actions))
    return np.concatenate(collected)


def with_short_circles(states):
    """Return the states, and the first twelve of them again with one to four patches in the circle."""
    short = states[:12].copy()
    short["num_patches"] = np.arange(12) % 4 + 1
    short["circle"][np.arange(short["circle"].shape[1]) >= short["num_patches"][:, None]] = 0
    return np.concatenate([states, short])


def play_forced(game):
    """Play moves while only one is legal."""
    while not game.is_over and len(game.legal_actions()) == 1:
        game.play(int(game.legal_actions()[0]))


def places_of(quilt, patch):
    """Return the cells of every placement of a patch on a quilt."""
    covered = set(zip(*(indices.tolist() for indices in np.nonzero(quilt)), strict=True))
    return [cells for cells in PLACEMENTS[patch].values() if covered.isdisjoint(cells)]


def joints_of(quilt):
    """Return the number of pairs of neighboring empty cells."""
    empty = ~quilt
    return int((empty[1:] & empty[:-1]).sum() + (empty[:, 1:] & empty[:, :-1]).sum())


def quilt_after(game, action):
    """Return the quilt of the player to move after an action."""
    after = game.clone()
    after.play(int(action))
    return after.quilt(game.current_player)
