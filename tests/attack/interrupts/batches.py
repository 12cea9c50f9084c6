"""Batched self-play, alone and with threads."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from functools import partial
from typing import Any

from numpy.random import Generator

from tests.attack.interrupts.kinds import Kind, number, plain, variant
from tests.attack.interrupts.stepper import Call

OUTPUTS = (
    "states",
    "observations",
    "masks",
    "counts",
    "random_actions",
    "rewards",
    "terminations",
    "truncations",
)


def make_batch(threads: int, random: Generator) -> Any:
    """A batch of self-play."""
    module, options = variant(random)
    own = {"masks": bool(random.random() < 0.9), "observations": bool(random.random() < 0.9)}
    games = int(random.integers(1, 20)) if threads == 1 else int(random.integers(33, 200))
    env = module.SelfPlayVectorEnv(games, seed=number(random), threads=threads, **options, **own)
    for _ in range(int(random.integers(80))):
        env.step(env.random_actions)
    return env


def batch_calls(env: Any, random: Generator) -> list[Call]:
    """What can be done with it."""
    seed, wrong = number(random), random.integers(2026, size=env.num_envs)
    saved = copy.deepcopy(env)
    saved.step(saved.random_actions)
    kept = saved.save()
    steps: list[Call] = 6 * [lambda env: env.step(env.random_actions)]
    rest: list[Call] = [lambda env: env.reset(seed), lambda env: env.restore(kept), lambda env: env.save()]
    return [*steps, *rest, lambda env: env.step(wrong)]


def look_at_batch(env: Any) -> tuple[Any, ...]:
    """All that can be seen of it; scores only of games that ended, as others are what they were."""
    seen = tuple(plain(getattr(env, name)) for name in OUTPUTS)
    return (*seen, plain(env.final_scores[env.terminations]), plain(env.save()))


def batch_goes_on(env: Any) -> Iterator[Any]:
    """Steps on."""
    for _ in range(30):
        env.step(env.random_actions)
        yield look_at_batch(env)


KINDS = {
    "self_play": Kind(partial(make_batch, 1), batch_calls, look_at_batch, batch_goes_on),
    "self_play_threads": Kind(partial(make_batch, 2), batch_calls, look_at_batch, batch_goes_on),
}
