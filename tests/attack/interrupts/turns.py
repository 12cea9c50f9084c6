"""Environments of PettingZoo: agents take turns or act at once."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator
from functools import partial
from operator import methodcaller
from typing import Any

from numpy.random import Generator

from patchwork_env import nmbr9_v0
from tests.attack.interrupts.kinds import MOVES, Kind, chosen, number, plain, variant
from tests.attack.interrupts.stepper import Call

_SEEN = ("agents", "agent_selection", "rewards", "_cumulative_rewards")
_SEEN += ("terminations", "truncations", "infos")


def make_turns(wrapped: bool, random: Generator) -> Any:
    """An environment of agents that take turns, at any moment of a game, or before the first."""
    module, options = variant(random)
    env = (module.env if wrapped else module.raw_env)(**options)
    if random.random() < 0.1:
        return env
    env.reset(seed=number(random))
    for turn in range(int(random.integers(12)) if random.random() < 0.5 else 10**6):
        if not env.agents or (turn > 20 and random.random() < 0.05):
            break
        step_turns(env, turn)
    return env


def step_turns(env: Any, turn: int) -> Any:
    seen, *rest = env.last()
    over = rest[1] or rest[2]
    env.step(None if over else chosen(seen["action_mask"], turn))
    return plain((seen, rest))


def turn_calls(env: Any, random: Generator) -> list[Call]:
    seed, action = number(random), int(random.integers(env.action_space("player_0").n))
    calls = [methodcaller("reset", seed=seed)]
    if not has_begun(env):
        return calls
    calls += [methodcaller("reset"), methodcaller("observe", "player_0"), methodcaller("state")]
    calls += [lambda env: setattr(env.unwrapped, "game", env.unwrapped.game)]
    if env.agents:
        calls += 6 * [lambda env: step_turns(env, seed)]
        calls += [methodcaller("last"), methodcaller("step", action), methodcaller("step", None)]
    return calls


def has_begun(env: Any) -> bool:
    """Whether there was a reset; before it, an environment must refuse everything else."""
    if hasattr(env, "agent_selection"):
        return True
    with contextlib.suppress(RuntimeError, AssertionError):  # of the raw one, and of its wrapper
        env.step(0)
        raise LookupError("a game was played that never began")
    return False


def look_at_turns(env: Any) -> tuple[Any, ...]:
    if not has_begun(env):
        return ()
    seen = [copy.deepcopy(getattr(env, name)) for name in _SEEN]
    views = [plain(env.observe(agent)) for agent in env.possible_agents]
    return (*seen, views, plain(env.state()), plain(env.unwrapped.game))


def turns_go_on(env: Any) -> Iterator[Any]:
    """Plays this game to its end, and the beginning of the next."""
    if not has_begun(env):
        env.reset(seed=1)
    for moves in (10**6, MOVES):
        for turn in range(moves):
            if not env.agents:
                break
            yield step_turns(env, turn)
        env.reset()
        yield look_at_turns(env)


def make_parallel(random: Generator) -> Any:
    """An environment of agents that act at once."""
    players, size = int(random.integers(1, 4)), int(random.integers(2, 6))
    rewards = "score" if players == 1 or random.random() < 0.5 else "outcome"
    env = nmbr9_v0.parallel_env(players=players, deck_size=size, rewards=rewards)
    env.reset(seed=number(random))
    for turn in range(int(random.integers(size + 1))):
        step_parallel(env, turn)
    return env


def step_parallel(env: Any, turn: int) -> Any:
    masks = {agent: seen["action_mask"] for agent, seen in env._observations().items()}
    return plain(env.step({agent: chosen(masks[agent], turn) for agent in env.agents}))


def parallel_calls(env: Any, random: Generator) -> list[Call]:
    seed = number(random)
    calls = [methodcaller("reset"), methodcaller("reset", seed=seed), methodcaller("state")]
    return calls + (4 * [lambda env: step_parallel(env, seed)] if env.agents else [])


def look_at_parallel(env: Any) -> tuple[Any, ...]:
    return list(env.agents), plain(env.game), plain(env._observations()), plain(env.state())


def parallel_goes_on(env: Any) -> Iterator[Any]:
    """Plays this game to its end, and the next."""
    for _ in range(2):
        while env.agents:
            yield step_parallel(env, 3)
        yield plain(env.reset())


KINDS = {
    "raw_env": Kind(partial(make_turns, False), turn_calls, look_at_turns, turns_go_on),
    "env": Kind(partial(make_turns, True), turn_calls, look_at_turns, turns_go_on),
    "parallel_env": Kind(make_parallel, parallel_calls, look_at_parallel, parallel_goes_on),
}
