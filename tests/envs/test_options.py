"""Options of every environment: errors name misspelt ones and wrong values."""

from __future__ import annotations

import inspect
import re
from typing import Any

import pytest

from patchwork_env.agents import load
from patchwork_env.envs.pettingzoo import GameAECEnv, GameParallelEnv
from patchwork_env.envs.self_play import SelfPlayBatch
from patchwork_env.envs.single import GameEnv
from patchwork_env.envs.vector import GameVectorEnv
from patchwork_env.errors import UnknownOptionError
from patchwork_env.integrations.sb3 import SelfPlayVecEnv
from tests.envs.cases import CASES, NMBR9, PATCHWORK, Case
from tests.envs.test_streams import streams_of

KINDS = {kind.__name__: kind for kind in (GameAECEnv, GameParallelEnv, GameEnv, GameVectorEnv, SelfPlayBatch)}
MAKERS = KINDS | {"wrapped": GameAECEnv.wrapped}
kinds = pytest.mark.parametrize(
    ("name", "case"),
    [
        pytest.param(name, case, id=f"{name}-{case}")
        for name in MAKERS
        for case in CASES
        if name != "GameParallelEnv" or case.rules.is_simultaneous
    ],
)
WRONG: dict[str, list[Any]] = {
    "observation": ["planes"],
    "rewards": ["planes"],
    "illegal_action": ["planes"],
    "render_mode": ["planes", "Human"],
    "autoreset_mode": ["same", "NEXT_STEP", 1, None],
    "opponent": ["random"],
    "seat": ["left", 9],
    "num_envs": [0, 2.0, 2**31],
    "masks": ["no"],
    "seed": [-1],
}


def options_of(name):
    """The options of a kind of environment besides those of its game."""
    _, *named, _ = inspect.signature(KINDS.get(name, GameAECEnv)).parameters
    return named


def make(name, case, **options):
    needed: dict[str, Any] = {"num_envs": 1, "opponent": load("random") if case.players > 1 else None}
    needed = {option: value for option, value in needed.items() if option in options_of(name)}
    return MAKERS[name](case.rules, **{**needed, **case.options, **options})


@pytest.mark.parametrize("rules", [PATCHWORK, NMBR9], ids=str)
def test_without_options_every_interface_plays_the_game_of_the_seed(rules):
    case, learner = Case(rules, {}, {}), SelfPlayVecEnv(1, game=rules.name, seed=7)
    learner.reset()
    found = {"Stable-Baselines3": learner.games()[0]}
    for name in KINDS if rules.is_simultaneous else KINDS.keys() - {"GameParallelEnv"}:
        env = make(name, case, **({"seat": 0} if "seat" in options_of(name) else {}))
        env.reset(seed=7)
        found[name] = env.games()[0] if hasattr(env, "games") else env.game
    assert found == dict.fromkeys(found, rules.game(seed=7))


@kinds
def test_misspelt_options_are_named_with_the_nearest(name, case):
    for option in (*options_of(name), *case.rules.options):
        wrong = option[:-1]
        owner = KINDS.get(name, GameAECEnv).__name__
        with pytest.raises(UnknownOptionError, match=f"{owner} got .*'{wrong}'; did you mean '{option}'"):
            make(name, case, **{wrong: 1})


@kinds
def test_wrong_values_are_named_with_their_options(name, case):
    for option in set(options_of(name)) & set(WRONG):
        for value in WRONG[option]:
            with pytest.raises(ValueError, match=option):
                make(name, case, **{option: value})
    if "opponent" in options_of(name) and case.players > 1:
        with pytest.raises(ValueError, match="opponent is None"):
            make(name, case, opponent=None)


@kinds
def test_a_refused_reset_leaves_all_games_and_streams_as_they_were(name, case):
    env = make(name, case)
    wrong: list[dict[str, Any]] = [{"seed": -1}, {"seed": 0.5}, {"seed": 2**64}]
    if name != "SelfPlayBatch":
        wrong += [{"seed": 9, "options": {option: [99]}} for option in ("unknown", *case.given)]
    if name == "GameVectorEnv":
        wrong += [{"seed": [1, 2]}, {"seed": [-3]}, {"seed": 9, "options": {"reset_mask": [2]}}]
    env.reset(seed=4)
    before = games_and_streams(env)
    for arguments in wrong:
        with pytest.raises(ValueError, match=r"seed|unknown|reset_mask|99"):
            env.reset(**arguments)
        assert games_and_streams(env) == before, arguments


def games_and_streams(env):
    games = env.games() if hasattr(env, "games") else env.unwrapped.game
    return games, list(streams_of(env))


@pytest.mark.parametrize("step", [*(kind.step for kind in KINDS.values()), SelfPlayVecEnv.step_async])
def test_docstrings_of_steps_say_what_a_wrong_action_does(step):
    first = re.split("Args:|Returns:|Raises:", inspect.getdoc(step) or "")[0]
    assert "illegal" in first
    assert "outside the action space" in first
