"""The wrapped environment answers every call as PettingZoo's own three wrappers do around the same game."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from pettingzoo.utils.env_logger import EnvLogger
from pettingzoo.utils.wrappers import AssertOutOfBoundsWrapper, OrderEnforcingWrapper, TerminateIllegalWrapper

from patchwork_env.envs.aec import GameAECEnv
from patchwork_env.errors import IllegalActionError
from tests.envs.cases import CASES, Case, cases, choose, flat

Call = Callable[[Any], Any]
OF_A_GAME = ("agents", "agent_selection", "rewards", "terminations", "truncations", "infos", "num_agents")


@pytest.fixture(autouse=True)
def no_printing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EnvLogger, "mqueue", [])
    monkeypatch.setattr(EnvLogger, "_output", False)


def both(case: Case) -> tuple[Any, Any]:
    """The same environment in the wrappers of the package and in PettingZoo's."""
    raw = GameAECEnv(case.rules, **case.options)
    theirs = OrderEnforcingWrapper(AssertOutOfBoundsWrapper(TerminateIllegalWrapper(raw, illegal_reward=-1)))
    return GameAECEnv.wrapped(case.rules, **case.options), theirs


def outcome(env: Any, call: Call) -> tuple[Any, type[BaseException] | None, str, list[Any]]:
    """What a call returns or raises, and of what it warns."""
    before = len(EnvLogger.mqueue)
    try:
        result, error, words = call(env), None, ""
    except Exception as raised:
        result, error, words = None, type(raised), str(raised)
    return result, error, words, EnvLogger.mqueue[before:]


def assert_alike(own: Any, theirs: Any, call: Call) -> None:
    """Both return the same, or raise the same error, and leave the same behind."""
    (seen, error, words, warnings), (their_seen, their_error, their_words, their_warnings) = (
        outcome(env, call) for env in (own, theirs)
    )
    assert type(seen) is type(their_seen)
    np.testing.assert_equal(seen, their_seen)
    assert warnings == their_warnings
    assert (error is None) == (their_error is None), (words, their_words)
    if error is not None and their_error is not None:
        assert issubclass(error, (their_error, IllegalActionError))
        assert their_words in words or error is not their_error
    if own._has_reset:
        assert_same_view(own, theirs)


def assert_same_view(own: Any, theirs: Any) -> None:
    for name in (*OF_A_GAME, "_cumulative_rewards"):
        assert getattr(own, name) == getattr(theirs, name), name
    for agent in own.possible_agents:
        assert (flat(own.observe(agent)) == flat(theirs.observe(agent))).all()
    if own.agents:
        mine, their = own.last(), theirs.last()
        assert mine[1:] == their[1:]
        assert (flat(mine[0]) == flat(their[0])).all()
        assert own.last(observe=False)[0] is theirs.last(False)[0] is None


def attribute(name: str) -> Call:
    return lambda env: getattr(env, name)


def stepping(action: Any) -> Call:
    return lambda env: env.step(action)


def anything() -> Iterator[Call]:
    """Calls that hardly depend on the game."""
    yield from map(attribute, (*OF_A_GAME, "_game", "_cumulative", "nothing", "max_num_agents"))
    yield from map(stepping, (-1, 10**9, np.int64(10**9), 0.5, "advance", np.zeros(2, np.int64), None))
    yield lambda env: env.observe("player_0")
    yield lambda env: env.observe("player_9")
    yield lambda env: env.last(False)
    yield lambda env: env.state()
    yield lambda env: [*zip(range(1), env.agent_iter(), strict=False)]
    yield lambda env: [*zip(range(2), env.agent_iter(), strict=False)]
    yield str
    yield lambda env: (env.observation_space("player_0"), env.action_space("player_0"))


@cases
def test_before_a_game(case: Case) -> None:
    own, theirs = both(case)
    for call in (*anything(), lambda env: env.last(), lambda env: env.step(0), lambda env: env.render()):
        assert_alike(own, theirs, call)


@cases
def test_a_game_to_its_end_and_beyond(case: Case) -> None:
    own, theirs = both(case)
    rng, moves = np.random.default_rng(3), 0
    assert_alike(own, theirs, lambda env: env.reset(seed=3))
    while own.agents and moves < 25:
        over = own.terminations[own.agent_selection]
        action = None if over else choose(own.last()[0]["action_mask"], rng)
        if moves == 4 or over:
            for call in (*anything(), stepping(0)) if over else anything():
                assert_alike(own, theirs, call)
        if own.agents:
            integer = (int, np.int64, np.int16)[moves % 3]
            assert_alike(own, theirs, stepping(None if action is None else integer(action)))
        moves += 1


@cases
def test_an_illegal_action_ends_the_game(case: Case) -> None:
    own, theirs = both(case)
    rng = np.random.default_rng(5)
    for before in (0, 3):
        assert_alike(own, theirs, lambda env: env.reset(seed=5))
        for _ in range(before):
            assert_alike(own, theirs, stepping(choose(own.last()[0]["action_mask"], rng)))
        assert_alike(own, theirs, stepping(choose(own.last()[0]["action_mask"], rng, illegal=1.0)))
        assert all(own.terminations.values())
        assert_alike(own, theirs, stepping(0))
        while own.agents:
            assert_alike(own, theirs, stepping(None))
        assert_alike(own, theirs, stepping(None))


def test_a_copy_asks_its_own_game() -> None:
    own, _ = both(CASES[0])
    own.reset(seed=1)
    twin = copy.deepcopy(own)
    own.step(choose(own.last()[0]["action_mask"], np.random.default_rng(0)))
    assert twin.unwrapped.game.num_moves == 0
    assert own.unwrapped.game.num_moves == 1
