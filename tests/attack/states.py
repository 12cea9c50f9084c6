"""States and arrays from outside: odd records, and mutated saves of batches."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.random import Generator

from patchwork_env import games
from patchwork_env.core.game import Rules
from patchwork_env.envs.self_play import SelfPlayBatch
from tests.attack.records import odd_games
from tests.attack.sound import pick, require_message, require_sound

BATCH = 50
NUM_ENVS = 6


def odd_states(name: str, random: Generator) -> int:
    """Games that begin with states at the limits of what is let in, alone and in a batch."""
    rules = games.rules_of(name)
    for game in odd_games(rules, random, BATCH):
        require_sound(rules, game, random)
    return BATCH


def saves(name: str, random: Generator) -> int:
    """What batches save, with other bytes, shapes, types and names, or records of other games."""
    rules = games.rules_of(name)
    players = {} if name == games.PATCHWORK else {"players": int(random.integers(1, 5))}
    env = _batch(rules, random, **players)
    for _ in range(BATCH):
        saved = {key: mutated(array, random) for key, array in env.save().items()}
        if random.random() < 0.5:
            odd = next(odd_games(rules, random, 1)).state
            saved["states"] = env.save()["states"]
            saved["states"][:] = np.resize(odd.view(np.uint8), saved["states"].shape)
        if random.random() < 0.05:
            saved[pick(random, saved)] = saved.pop(pick(random, saved))
        before = _snapshot(env)
        try:
            env.restore(saved)
        except ValueError as error:
            require_message(error)
            assert _snapshot(env) == before, "a refused state has changed something"
        _require_running(env, 20)
    return BATCH


def mutated(array: Any, random: Generator) -> Any:
    """An array with other contents, now and then of another length or type; half of the time as it is."""
    kind = random.integers(12)
    changed = array.copy()
    raw = changed.reshape(-1).view(np.uint8)
    if kind < 4 and len(raw):
        raw[random.integers(len(raw), size=random.integers(1, 5))] = random.integers(256)
    elif kind == 4:
        raw[:] = random.integers(256, size=len(raw))
    elif kind == 5:
        return changed[: random.integers(len(changed) + 1)] if changed.ndim else changed[None]
    elif kind == 6 and changed.dtype.names is None:
        return changed.astype(pick(random, (np.float64, np.int8, np.bool_)))
    return changed


def _batch(rules: Rules, random: Generator, **options: Any) -> SelfPlayBatch:
    env = SelfPlayBatch(rules, NUM_ENVS, seed=int(random.integers(2**32)), **options)
    for _ in range(random.integers(60)):
        env.step(env.random_actions)
    return env


def _snapshot(env: SelfPlayBatch) -> list[bytes]:
    return [array.tobytes() for array in (*env.save().values(), env.masks, env.counts, env.observations)]


def _require_running(env: SelfPlayBatch, steps: int) -> None:
    """Plays on at random; masks, counts and random actions fit, and observations lie within the bounds."""
    bounds = env._rules.layout.upper_bounds
    for _ in range(steps):
        assert (env.masks.sum(1) == env.counts).all(), "masks and numbers of legal actions differ"
        assert env.masks[np.arange(NUM_ENVS), env.random_actions].all(), "a random action is not legal"
        assert ((env.observations >= 0) & (env.observations <= bounds)).all(), "observation out of bounds"
        env.step(env.random_actions)


ATTACKS = {
    f"{attack.__name__}_{name}": partial(attack, name)
    for attack in (odd_states, saves)
    for name in (games.PATCHWORK, games.NMBR9)
}
