"""Environments of Gymnasium: one learner, or a batch of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.random import Generator

from patchwork_env import patchwork_v0
from tests.attack.interrupts.kinds import Kind, chosen, gymnasium_options, number, plain, variant
from tests.attack.interrupts.stepper import Call
from tests.attack.sound import pick


def make_single(random: Generator) -> Any:
    """An environment of one learner, at any moment."""
    module, options = variant(random)
    name = "Patchwork-v0" if module is patchwork_v0 else "Nmbr9-v0"
    given = gymnasium_options(module, options) | {"illegal_action": pick(random, ("raise", "terminate"))}
    env = gymnasium.make(
        f"patchwork_env:{name}", disable_env_checker=True, seat=pick(random, ("alternate", "random")), **given
    )
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
    """What can be done with it."""
    seed, action = number(random), int(random.integers(env.action_space.n))
    steps: list[Call] = 4 * [lambda env: step_single(env, seed)]
    resets: list[Call] = [lambda env: env.reset(), lambda env: env.reset(seed=seed)]
    return [*steps, *resets, lambda env: env.step(action), lambda env: env.unwrapped.action_masks()]


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
    module, options = variant(random)
    name = "Patchwork-v0" if module is patchwork_v0 else "Nmbr9-v0"
    given = gymnasium_options(module, options) | {"illegal_action": pick(random, ("raise", "terminate"))}
    given |= {"copy": bool(random.random() < 0.7), "seat": pick(random, ("alternate", "random"))}
    given |= {"autoreset_mode": pick(random, ("SameStep", "NextStep", "Disabled"))}
    envs = gymnasium.make_vec(
        f"patchwork_env:{name}", int(random.integers(1, 9)), vectorization_mode="vector_entry_point", **given
    )
    envs.reset(seed=number(random))
    for turn in range(int(random.integers(40))):
        step_vector(envs, turn)
    return envs


def _vector_actions(envs: Any, turn: int) -> Any:
    return np.array([chosen(mask, turn + k) for k, mask in enumerate(envs.action_masks())])


def step_vector(envs: Any, turn: int) -> Any:
    """A step, or the reset of games that have ended and begin anew in no other way."""
    ended = envs.unwrapped._ended
    if ended.any() and envs.metadata["autoreset_mode"] is AutoresetMode.DISABLED:
        return plain(envs.reset(options={"reset_mask": ended.copy()}))
    return plain(envs.step(_vector_actions(envs, turn)))


def vector_calls(envs: Any, random: Generator) -> list[Call]:
    """What can be done with it."""
    seed = number(random) % 2**60
    wrong = random.integers(envs.single_action_space.n, size=envs.num_envs)
    steps: list[Call] = 4 * [lambda envs: step_vector(envs, seed)]
    resets: list[Call] = [lambda envs: envs.reset(), lambda envs: envs.reset(seed=seed)]
    some = np.arange(envs.num_envs) % 2 == 0
    resets.append(lambda envs: envs.reset(seed=seed, options={"reset_mask": some}))
    return [*steps, *resets, lambda envs: envs.step(wrong), lambda envs: envs.action_masks()]


def look_at_vector(envs: Any) -> tuple[Any, ...]:
    """All that can be seen of it."""
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
