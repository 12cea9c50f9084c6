"""The games and opponents of the tests of environments, and helpers to play them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from gymnasium.utils.env_checker import data_equivalence

from patchwork_env.agents import Agent
from patchwork_env.core.rules import Rules
from patchwork_env.envs.single import GameEnv
from patchwork_env.envs.vector import GameVectorEnv
from patchwork_env.games import register, rules_of

register("row", "tests.toy")


class Case(NamedTuple):
    """A game with options of its environment, and options of a reset, ``given``."""

    rules: Rules
    options: dict[str, Any]
    given: dict[str, Any]

    @property
    def players(self):
        """The number of players."""
        return self.rules.set_up({**self.rules.options, **self.options}, {}).players

    def __repr__(self):
        return "-".join([self.rules.name, *(f"{name}={value}" for name, value in self.options.items())])


_CIRCLE = [*range(32, 0, -1), 0]
_SMALL = {"max_digit": 4, "copies": 2, "deck_size": 5}
_DECK = {"deck": [3, 1, 4, 1, 5, 9]}
PATCHWORK, NMBR9, ROW = (rules_of(name) for name in ("patchwork", "nmbr9", "row"))
CASES = [
    Case(PATCHWORK, {"first_player": 0}, {"circle": _CIRCLE, "first_player": 1}),
    Case(PATCHWORK, {"special_patches": "2014", "first_player": "random"}, {"circle": _CIRCLE}),
    Case(NMBR9, {"players": 1}, _DECK),
    Case(NMBR9, {"players": 2, "order": "free", **_SMALL}, {"deck": [3, 1, 4, 1, 5]}),
    Case(NMBR9, {"players": 3, "order": "known", "deck_size": 4}, {"deck": [3, 1, 4, 1]}),
    Case(ROW, {}, {"free": [1, 2, 3, 7]}),
]

cases = pytest.mark.parametrize("case", CASES, ids=repr)
with_others = pytest.mark.parametrize("case", [case for case in CASES if case.players > 1], ids=repr)
layouts = pytest.mark.parametrize("layout", ["flat", "dict"])


class LastAction(Agent):
    """Takes the highest legal action."""

    name = "last"

    def act(self, game):
        return int(game.legal_actions()[-1])


class Cheat(LastAction):
    """Answers with its ``answer``, or with the result of calling it; without one, like the base class."""

    name = "cheat"
    answer: Any = None

    def act(self, game):
        if self.answer is None:
            return super().act(game)
        return self.answer(game) if callable(self.answer) else self.answer


class BatchCheat(Cheat):
    """Answers batches with its ``answer``."""

    def act_batch(self, states):
        return super().act_batch(states) if self.answer is None else self.answer


def opponent_of(case):
    """A deterministic opponent, if the game has more than one player."""
    return LastAction() if case.players > 1 else None


def single(case, **options):
    """The Gymnasium environment of a case, with its opponent if none is given."""
    return GameEnv(case.rules, **{"opponent": opponent_of(case), **case.options, **options})


def batched(case, num_envs, **options):
    """A batch of a case's games, as :func:`single` makes one."""
    return GameVectorEnv(case.rules, num_envs, **{"opponent": opponent_of(case), **case.options, **options})


def choose(mask, rng, illegal=0.0):
    """A random legal action, or with some probability one that is not legal."""
    return int(rng.choice(np.flatnonzero(mask != (rng.random() < illegal))))


def assert_same(one, other):
    """Require that two structures of arrays are the same."""
    assert data_equivalence(one, other, exact=True), f"{one}\n{other}"


def flat(observation):
    """All numbers of an observation as one vector."""
    if isinstance(observation, dict):
        return np.concatenate([flat(part) for part in observation.values()])
    return np.asarray(observation).ravel()


def play(env, info, seed):
    """Play random legal actions to the end of an episode of Gymnasium; yield the results of the steps."""
    rng, over = np.random.default_rng(seed), False
    while not over:
        step = env.step(choose(info["action_mask"], rng))
        over, info = step[2] or step[3], step[4]
        yield step


def streams_of(value, name="", seen=None):
    """Yield the name and the state of every random stream in an object, at any depth."""
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
