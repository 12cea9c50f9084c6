"""Random streams: no two of one environment are ever equal, and an error moves none of them on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from patchwork_env.agents import load
from patchwork_env.envs.self_play import SelfPlayBatch
from patchwork_env.envs.single import GameEnv
from patchwork_env.envs.vector import GameVectorEnv
from patchwork_env.errors import OpponentError
from patchwork_env.integrations.sb3.vec_env import SelfPlayVecEnv
from tests.envs.cases import NMBR9, PATCHWORK, BatchCheat, Cheat

Step = Callable[[], Any]
GAMES = [
    (PATCHWORK, {}),
    (NMBR9, {"players": 1, "deck_size": 6}),
    *((NMBR9, {"players": players, "deck_size": 6}) for players in (2, 3, 4)),
]
OPPONENTS = ["random", "uct:simulations=2", "partner:level=1"]
SEEDS = (0, 4, 2**33)


def streams_of(value, name="", seen=None):
    """The present states of all random numbers that an object holds, however deep, with their names."""
    seen = set() if seen is None else seen
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, np.random.Generator):
        yield name, str(value.bit_generator.state["state"])
    elif isinstance(value, np.ndarray):
        if value.dtype == np.uint64 and "stream" in name:
            yield from ((f"{name}[{i}]", int(word)) for i, word in enumerate(value))
    elif isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        for i, part in enumerate(value):
            yield from streams_of(part, f"{name}[{i}]", seen)
    elif hasattr(value, "_fields"):
        for field in value._fields:
            yield from streams_of(getattr(value, field), f"{name}.{field}", seen)
    elif type(value).__module__.startswith("patchwork_env.") and hasattr(value, "__dict__"):
        for field, part in list(vars(value).items()):
            yield from streams_of(part, f"{name}.{field}", seen)


def single(rules, options, opponents, seat, seed):
    env = GameEnv(rules, opponents and opponents[seed % len(opponents)], seat=seat, **options)
    env.reset(seed=seed)

    def step():
        if env.step(env.action_masks().argmax())[2]:
            env.reset()

    return env, step


def many(rules, options, opponents, seat, seed):
    envs = GameVectorEnv(rules, 3, opponents, seat=seat, **options)
    envs.reset(seed=seed)
    return envs, lambda: envs.step(envs.action_masks().argmax(1))


def self_play(rules, options, opponents, seat, seed):
    batch = SelfPlayBatch(rules, 3, seed=seed, **options)
    return batch, lambda: batch.step(batch.random_actions)


def sb3(rules, options, opponents, seat, seed):
    env = SelfPlayVecEnv(4, opponents, game=rules.name, seed=seed, **options)
    env.reset()
    return env, lambda: env.step(env.action_masks().argmax(1))


@pytest.mark.parametrize("make", [single, many, self_play, sb3])
@pytest.mark.parametrize(("rules", "options"), GAMES, ids=str)
def test_no_two_streams_of_an_environment_are_ever_equal(make, rules, options):
    for seed, seat in zip(SEEDS, (0, "alternate", "random"), strict=True):
        opponents = None if options.get("players") == 1 else [load(spec) for spec in OPPONENTS]
        env, step = make(rules, options, opponents, seat, seed)
        for _ in range(12):
            found = list(streams_of(env))
            names: dict[Any, list[str]] = {}
            for name, state in found:
                names.setdefault(state, []).append(name)
            assert all(len(equal) == 1 for equal in names.values()), [n for n in names.values() if len(n) > 1]
            step()
    assert len(found) >= 2 + 2 * (make is single and opponents is not None)


@pytest.mark.parametrize("make", [single, many, sb3])
def test_a_failed_call_moves_no_stream_on(make):
    cheat = Cheat() if make is single else BatchCheat()
    env, step = make(NMBR9, {"players": 2}, [cheat], 1, 4)
    for _ in range(3):
        step()
    before = list(streams_of(env))
    cheat.answer = -1
    for call in (step, env.reset, *([] if make is sb3 else [lambda: env.reset(seed=9)])):
        with pytest.raises(OpponentError):
            call()
        assert list(streams_of(env)) == before
