"""Environments of Gymnasium: one learner, or a batch of them."""

from __future__ import annotations

from collections.abc import Iterator
from operator import methodcaller
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.random import Generator

from patchwork_env import patchwork_v0
from tests.attack.interrupts.kinds import Kind, Last, chosen, number, plain, variant
from tests.attack.interrupts.stepper import Call
from tests.attack.sound import pick


def _given(random: Generator) -> tuple[str, dict[str, Any]]:
    """The name of an environment, and options."""
    module, options = variant(random)
    name = "Patchwork-v0" if module is patchwork_v0 else "Nmbr9-v0"
    opponent = {} if options.get("players") == 1 else {"opponent": Last()}
    own = {"illegal_action": pick(random, ("raise", "terminate"))}
    own["seat"] = pick(random, ("alternate", "random"))
    return f"patchwork_env:{name}", options | opponent | own


def make_single(random: Generator) -> Any:
    """An environment of one learner, at any moment."""
    name, options = _given(random)
    env = gymnasium.make(name, disable_env_checker=True, **options)
    env.reset(seed=number(random))
    for turn in range(int(random.integers(30))):
        if step_single(env, turn)[2]:
            if random.random() < 0.5:
                break
            env.reset()
    return env


def step_single(env: Any, turn: int) -> Any:
    return plain(env.step(chosen(env.unwrapped.action_masks(), turn)))


def single_calls(env: Any, random: Generator) -> list[Call]:
    seed, action = number(random), int(random.integers(env.action_space.n))
    calls = [methodcaller("reset"), methodcaller("reset", seed=seed), methodcaller("step", action)]
    return [*calls, *(4 * [lambda env: step_single(env, seed)]), lambda env: env.unwrapped.action_masks()]


def look_at_single(env: Any) -> tuple[Any, ...]:
    """All that can be seen of it, and whether it can go on."""
    env = env.unwrapped
    seed = env._np_random_seed
    return plain(env.game), env.seat, plain(env.action_masks()), plain(env._observe(env.game, env.seat)), seed


def single_goes_on(env: Any) -> Iterator[Any]:
    """Plays this game to its end, and the beginnings of the next ones."""
    for _ in range(3):
        for turn in range(200):
            try:
                result = step_single(env, turn)
            except gymnasium.error.ResetNeeded:
                yield "over"
                break
            yield result
            if result[2] or result[3]:
                break
        yield plain(env.reset())
        yield env.unwrapped.np_random.random()


def make_vector(random: Generator) -> Any:
    """A batch of games with a learner each."""
    name, options = _given(random)
    options |= {"copy": bool(random.random() < 0.7)}
    options |= {"autoreset_mode": pick(random, ("SameStep", "NextStep", "Disabled"))}
    games = int(random.integers(1, 9))
    envs = gymnasium.make_vec(name, games, vectorization_mode="vector_entry_point", **options)
    envs.reset(seed=number(random))
    for turn in range(int(random.integers(40))):
        step_vector(envs, turn)
    return envs


def step_vector(envs: Any, turn: int) -> Any:
    """A step, or the reset of games that have ended and begin anew in no other way."""
    ended = envs.unwrapped._ended
    if ended.any() and envs.metadata["autoreset_mode"] is AutoresetMode.DISABLED:
        return plain(envs.reset(options={"reset_mask": ended.copy()}))
    return plain(envs.step(np.array([chosen(mask, turn + k) for k, mask in enumerate(envs.action_masks())])))


def vector_calls(envs: Any, random: Generator) -> list[Call]:
    seed = number(random) % 2**60
    wrong = random.integers(envs.single_action_space.n, size=envs.num_envs)
    some = {"reset_mask": np.arange(envs.num_envs) % 2 == 0}
    resets = [{}, {"seed": seed}, {"seed": seed, "options": some}]
    calls = [*(methodcaller("reset", **given) for given in resets), methodcaller("step", wrong)]
    return [*calls, *(4 * [lambda envs: step_vector(envs, seed)]), methodcaller("action_masks")]


def look_at_vector(envs: Any) -> tuple[Any, ...]:
    envs = envs.unwrapped
    return plain(envs.action_masks()), plain(envs.games()), plain(envs._learners), plain(envs._ended)


def vector_goes_on(envs: Any) -> Iterator[Any]:
    """Steps through the ends of games, and a reset."""
    for turn in range(60):
        yield step_vector(envs, turn)
    yield plain(envs.reset())
    yield step_vector(envs, 1)


KINDS = {
    "make": Kind(make_single, single_calls, look_at_single, single_goes_on),
    "make_vec": Kind(make_vector, vector_calls, look_at_vector, vector_goes_on),
}
