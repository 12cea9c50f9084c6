"""The checkers of PettingZoo, Gymnasium and Stable-Baselines3 on all environments; and copies of these."""

import copy
import pickle
import sys
import warnings
from functools import partial

import gymnasium
import numpy as np
import pettingzoo
import pytest
from gymnasium.utils.env_checker import check_env
from pettingzoo.utils.conversions import parallel_to_aec

from patchwork_env.envs.pettingzoo import GameAECEnv, GameParallelEnv
from patchwork_env.envs.single import GameEnv
from patchwork_env.errors import MissingExtraError
from tests.attack.objects import KINDS
from tests.envs.cases import cases, layouts, opponent_of, streams_of

with warnings.catch_warnings():  # of its own example, which it imports
    warnings.simplefilter("ignore", DeprecationWarning)
    from pettingzoo import test as suite

NAMES = ["patchwork", "nmbr9"]
IDS = [f"patchwork_env:{name.capitalize()}-v0" for name in NAMES]
quiet = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")


def check_in_turn(make):
    """Run PettingZoo's tests for environments with turns, except those of speed and pictures."""
    suite.api_test(make(), num_cycles=10)
    suite.seed_test(make, num_cycles=10)


def check_at_once(make):
    """Run those for environments in which all act at once; two of them do not use masks."""
    ends = partial(make, illegal_action="terminate")
    suite.parallel_api_test(make(), num_cycles=10)
    suite.parallel_seed_test(ends, num_cycles=10)
    check_in_turn(lambda: parallel_to_aec(make()))
    suite.state_test(parallel_to_aec(ends()), make())


@quiet
@layouts
@cases
def test_pettingzoo_finds_nothing(case, layout):
    options = {"observation": layout, **case.options}
    check_in_turn(partial(GameAECEnv.wrapped, case.rules, **options))
    if case.rules.is_simultaneous:
        check_at_once(partial(GameParallelEnv, case.rules, **options))


@quiet
@pytest.mark.parametrize("name", NAMES)
def test_pettingzoo_makes_them_by_name_and_draws_them(name, monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    for mode, kind in (("human", type(None)), ("ansi", str), ("rgb_array", np.ndarray)):
        env = pettingzoo.make("aec", f"{name}/{name}_v0", render_mode=mode)
        env.reset(seed=1)
        assert isinstance(env.render(), kind)
        env.close()
    assert pettingzoo.make("parallel", "nmbr9/nmbr9_v0", players=3).max_num_agents == 3


@layouts
@cases
def test_gymnasium_finds_nothing(case, layout):
    env = GameEnv(case.rules, opponent_of(case), observation=layout, **case.options)
    check_env(env, skip_render_check=True)


@quiet
@pytest.mark.parametrize("name", IDS)
def test_both_checkers_find_nothing_by_name(name, monkeypatch):
    """Also without pygame, which only windows need; Gymnasium's checker opens one otherwise."""
    sb3 = pytest.importorskip("stable_baselines3.common.env_checker")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    env = gymnasium.make(name, disable_env_checker=True).unwrapped
    check_env(env)
    monkeypatch.setitem(sys.modules, "pygame", None)
    check_env(env, skip_render_check=True)
    sb3.check_env(gymnasium.make(name))
    with pytest.raises(MissingExtraError, match="pygame-ce"):
        check_env(env)


@pytest.mark.parametrize("name", KINDS)
def test_copies_continue_like_the_original(name):
    """Copies of the objects of attacks, at any moment of their games."""
    kind = KINDS[name]
    for seed in range(4 if name in ("agent", "make_vec") else 6):
        original = kind.make(np.random.default_rng(seed))
        copies = [copy.deepcopy(original), pickle.loads(pickle.dumps(original))]
        streams, seen = list(streams_of(original)), kind.look(original)
        future = [*kind.go_on(original)]
        for one in copies:
            assert list(streams_of(one)) == streams
            assert kind.look(one) == seen
            assert [*kind.go_on(one)] == future
