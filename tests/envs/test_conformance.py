"""What the tests of PettingZoo, Gymnasium and Stable-Baselines3 find in environments; and copies of these."""

from __future__ import annotations

import copy
import pickle
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pettingzoo
import pytest
from gymnasium.utils.env_checker import check_env
from pettingzoo.utils.conversions import parallel_to_aec

from patchwork_env.agents import load
from patchwork_env.envs.aec import GameAECEnv
from patchwork_env.envs.parallel import GameParallelEnv
from patchwork_env.envs.single import GameEnv
from patchwork_env.envs.vector import GameVectorEnv
from patchwork_env.errors import MissingExtraError
from tests.envs.cases import CASES, Case, cases, choose, flat, layouts, opponent_of

with warnings.catch_warnings():  # of its own example, which it imports
    warnings.simplefilter("ignore", DeprecationWarning)
    from pettingzoo import test as suite

NAMES = ["patchwork", "nmbr9"]
AT_ONCE = [case for case in CASES if case.rules.is_simultaneous]
IDS = [f"patchwork_env:{name.capitalize()}-v0" for name in NAMES]
quiet = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")


# --- PettingZoo ---------------------------------------------------------------------------------------------


def check_in_turn(make: Callable[..., Any]) -> None:
    """All of PettingZoo's tests that are for environments with turns, but those of speed and pictures."""
    suite.api_test(make(), num_cycles=10)
    suite.seed_test(make, num_cycles=10)


def check_at_once(make: Callable[..., Any]) -> None:
    """And those for environments in which all act at once; two of them know no masks."""
    ends = partial(make, illegal_action="terminate")
    suite.parallel_api_test(make(), num_cycles=10)
    suite.parallel_seed_test(ends, num_cycles=10)
    check_in_turn(lambda: parallel_to_aec(make()))
    suite.state_test(parallel_to_aec(ends()), make())


@quiet
@layouts
@cases
def test_pettingzoo_finds_nothing(case: Case, layout: str) -> None:
    options = {"observation": layout, **case.options}
    check_in_turn(partial(GameAECEnv.wrapped, case.rules, **options))
    if case.rules.is_simultaneous:
        check_at_once(partial(GameParallelEnv, case.rules, **options))


@quiet
@pytest.mark.parametrize("name", NAMES)
def test_pettingzoo_makes_them_by_name_and_draws_them(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    for mode, kind in (("human", type(None)), ("ansi", str), ("rgb_array", np.ndarray)):
        env = pettingzoo.make("aec", f"{name}/{name}_v0", render_mode=mode)
        env.reset(seed=1)
        assert isinstance(env.render(), kind)
        env.close()
    assert pettingzoo.make("parallel", "nmbr9/nmbr9_v0", players=3).max_num_agents == 3


# --- Gymnasium and Stable-Baselines3 ------------------------------------------------------------------------


@layouts
@cases
def test_gymnasium_finds_nothing(case: Case, layout: str) -> None:
    env = GameEnv(case.rules, opponent_of(case), observation=layout, **case.options)
    check_env(env, skip_render_check=True)


@quiet
@pytest.mark.parametrize("name", IDS)
def test_both_checkers_find_nothing_by_name(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also without what only windows need, which Gymnasium's own would open otherwise."""
    sb3 = pytest.importorskip("stable_baselines3.common.env_checker")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    env = gymnasium.make(name, disable_env_checker=True).unwrapped
    check_env(env)
    monkeypatch.setitem(sys.modules, "pygame", None)
    check_env(env, skip_render_check=True)
    sb3.check_env(gymnasium.make(name))
    with pytest.raises(MissingExtraError, match="pygame-ce"):
        check_env(env)


# --- copies -------------------------------------------------------------------------------------------------

Copy = Callable[[Any], Any]


def in_turn(case: Case, duplicate: Copy) -> Iterator[Any]:
    """All that an environment shows in two games, in which it is replaced by a copy before every step."""
    env, rng = GameAECEnv.wrapped(case.rules, render_mode="ansi", **case.options), np.random.default_rng(1)
    for seed in (3, None):
        env.reset(seed=seed)
        while env.agents:
            env = duplicate(env)
            seen, *others = env.last()
            yield flat(seen).tobytes(), others, env.agent_selection, env.agents, env.rewards, env.render()
            over = others[1] or others[2]
            env.step(None if over else choose(seen["action_mask"], rng))
            yield env.unwrapped.game.history, env.state().tobytes()


def at_once(case: Case, duplicate: Copy) -> Iterator[Any]:
    """The same of one in which all act at once."""
    env, rng = GameParallelEnv(case.rules, **case.options), np.random.default_rng(1)
    for seed in (3, None):
        seen, _ = env.reset(seed=seed)
        while env.agents:
            env = duplicate(env)
            masks = {agent: seen[agent]["action_mask"] for agent in env.agents}
            seen, *others = env.step({agent: choose(mask, rng) for agent, mask in masks.items()})
            yield flat(seen).tobytes(), others, env.game.history


def alone(case: Case, duplicate: Copy) -> Iterator[Any]:
    """The same of one learner's."""
    opponent = load("random") if case.players > 1 else None
    env: Any = GameEnv(case.rules, opponent, seat="random", render_mode="ansi", **case.options)
    rng = np.random.default_rng(1)
    for seed in (3, None, None):
        _, info = env.reset(seed=seed)
        over = False
        while not over:
            env = duplicate(env)
            seen, reward, over, _, info = env.step(choose(info["action_mask"], rng))
            yield seen.tobytes(), reward, over, flat(info).tobytes(), env.render(), env.game.history


def many(case: Case, duplicate: Copy) -> Iterator[Any]:
    """The same of many learners'."""
    opponent = [load("random"), opponent_of(case)] if case.players > 1 else None
    envs: Any = GameVectorEnv(case.rules, 3, opponent, seat="random", **case.options)
    rng, (_, infos) = np.random.default_rng(1), envs.reset(seed=3)
    for _ in range(40):
        envs = duplicate(envs)
        *seen, infos = envs.step([choose(mask, rng) for mask in infos["action_mask"]])
        yield [array.tobytes() for array in seen], infos["action_mask"].tobytes(), envs.games()


@pytest.mark.parametrize("follow", [in_turn, at_once, alone, many])
@cases
def test_copies_made_at_every_step_go_on_like_the_original(case: Case, follow: Any) -> None:
    if follow is at_once and case not in AT_ONCE:
        pytest.skip("the players take turns")
    original = list(follow(case, lambda env: env))
    assert len(original) > 5
    for duplicate in (copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))):
        assert list(follow(case, duplicate)) == original
