"""The checkers of PettingZoo, Gymnasium and Stable-Baselines3 on all environments; copies and pictures."""

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

from patchwork_env import nmbr9_v0, patchwork_v0
from patchwork_env.drawing import Window
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
def test_pettingzoo_passes_options_on():
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


MAKERS = [
    *(patchwork_v0.env, patchwork_v0.raw_env, nmbr9_v0.raw_env, nmbr9_v0.parallel_env),
    *(partial(pettingzoo.make, "aec", f"{name}/{name}_v0") for name in NAMES),
    *(lambda name=name, **options: gymnasium.make(name, **options).unwrapped for name in IDS),
]


def step(env):
    """A legal step of any environment."""
    action = int(env.unwrapped.game.legal_actions()[0])
    is_parallel = isinstance(env, nmbr9_v0.Nmbr9ParallelEnv)
    env.step(dict.fromkeys(env.agents, action) if is_parallel else action)


@quiet
@pytest.mark.parametrize("make", MAKERS)
def test_render_modes_show_the_game(make):
    text, pixels, nothing = (make(render_mode=mode) for mode in ("ansi", "rgb_array", None))
    for env in (text, pixels, nothing):
        env.reset(seed=3)
    assert text.render() == str(text.unwrapped.game)
    first = pixels.render()
    assert (first.dtype, first.ndim) == (np.uint8, 3)
    step(pixels)
    assert (pixels.render() != first).any()
    with pytest.warns(UserWarning, match="without a render_mode"):
        assert nothing.render() is None


@quiet
@pytest.mark.parametrize("make", MAKERS)
def test_a_window_shows_every_step_and_closes(make, monkeypatch):
    opened, shown, closed = [], [], []
    monkeypatch.setattr(Window, "__init__", lambda self, *given: opened.append(given))
    monkeypatch.setattr(Window, "show", lambda self, frame: shown.append(frame))
    monkeypatch.setattr(Window, "close", lambda self: closed.append(self))
    env = make(render_mode="human")
    env.reset(seed=3)
    step(env)
    step(env)
    assert len(shown) == 3
    assert (shown[0] != shown[1]).any()
    twin = pickle.loads(pickle.dumps(copy.deepcopy(env)))
    assert env.render() is None
    assert (shown[3] == shown[2]).all()
    env.close()
    env.close()
    assert len(closed) == 1
    step(twin)
    assert len(shown) == 5
    assert opened == [(env.unwrapped.game.rules.title, 4)] * 2
