"""Batched self-play, alone and with threads."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from functools import partial
from operator import methodcaller
from typing import Any

from numpy.random import Generator

from tests.attack.interrupts.kinds import Kind, number, plain, variant
from tests.attack.interrupts.stepper import Call

_SEEN = ("states", "observations", "masks", "counts", "random_actions")
_SEEN += ("rewards", "terminations", "truncations")


def make_batch(threads: int, random: Generator) -> Any:
    module, options = variant(random)
    own = {"masks": bool(random.random() < 0.9), "observations": bool(random.random() < 0.9)}
    games = int(random.integers(1, 20)) if threads == 1 else int(random.integers(33, 200))
    env = module.SelfPlayVectorEnv(games, seed=number(random), threads=threads, **options, **own)
    for _ in range(int(random.integers(80))):
        env.step(env.random_actions)
    return env


def batch_calls(env: Any, random: Generator) -> list[Call]:
    seed, wrong = number(random), random.integers(2026, size=env.num_envs)
    later = copy.deepcopy(env)
    later.step(later.random_actions)
    calls = [methodcaller("reset", seed), methodcaller("restore", later.save()), methodcaller("save")]
    return [*calls, methodcaller("step", wrong), *(6 * [lambda env: env.step(env.random_actions)])]


def look_at_batch(env: Any) -> tuple[Any, ...]:
    """All that can be seen of it; scores only of games that ended, as others are what they were."""
    seen = [plain(getattr(env, name)) for name in _SEEN]
    return (*seen, plain(env.final_scores[env.terminations]), plain(env.save()))


def batch_goes_on(env: Any) -> Iterator[Any]:
    for _ in range(30):
        env.step(env.random_actions)
        yield look_at_batch(env)


KINDS = {
    name: Kind(partial(make_batch, threads), batch_calls, look_at_batch, batch_goes_on)
    for name, threads in (("self_play", 1), ("self_play_threads", 2))
}
