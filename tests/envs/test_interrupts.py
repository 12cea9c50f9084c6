"""After an interrupt of a call, an object is as before or as after the call, or asks for a reset."""

from __future__ import annotations

import copy
import signal
import threading
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from numba import config

from patchwork_env import patchwork, patchwork_v0
from patchwork_env.agents import BatchAgent
from tests.attack.interrupts import counting, quietly, require_whole
from tests.attack.objects import KINDS, Last, step_single


def interrupt(kind, target, call, most):
    """Interrupt a call before ``most`` of its bytecodes, the last ones included."""
    after = copy.deepcopy(target)
    quietly(call, copy.deepcopy(target))  # compiles
    with counting(None, KeyboardInterrupt) as count:
        quietly(call, after)
    seen = [kind.look(copy.deepcopy(target)), kind.look(after)]
    total, half = count[0], most // 2
    for number in {*np.linspace(1, total, half).astype(int).tolist(), *range(max(1, total - half), total)}:
        torn = copy.deepcopy(target)
        with counting(number, KeyboardInterrupt):
            quietly(call, torn)
        if number % 10 == 1:
            require_whole(kind, torn, copy.deepcopy(target), copy.deepcopy(after))
            continue
        with suppress(ResetNeeded):
            assert kind.look(torn) in seen, f"torn before bytecode {number} of {total}"


@pytest.mark.skipif(config.DISABLE_JIT, reason="only machine code is not interrupted")
@pytest.mark.parametrize("name", KINDS)
def test_calls_at_any_moment(name):
    kind, most = KINDS[name], 6 if name == "agent" else 20
    for seed in range({"agent": 4, "make_vec": 5}.get(name, 8)):
        random = np.random.default_rng(seed)
        target = kind.make(random)
        calls = kind.calls(target, random)
        interrupt(kind, target, calls[seed % len(calls)], most)


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="Windows has no alarms")
def test_an_interrupt_while_waiting_for_an_agent_leaves_its_lock_to_the_others():
    class Slow(BatchAgent):
        name = "slow"

        def act_batch(self, states):
            asked.set()
            done.wait(20)
            return np.zeros(len(states), np.int64)

    asked, done, agent, game = threading.Event(), threading.Event(), Slow(), patchwork.Game(seed=1)
    other = threading.Thread(target=agent.act, args=(game,))

    def interrupt(*_):
        raise KeyboardInterrupt

    handler = signal.signal(signal.SIGALRM, interrupt)
    try:
        other.start()
        assert asked.wait(20)
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(KeyboardInterrupt):
            agent.act(game)
    finally:
        signal.signal(signal.SIGALRM, handler)
        done.set()
        other.join()
    with pytest.raises(KeyboardInterrupt), counting(5, KeyboardInterrupt):
        agent.act(game)
    third = threading.Thread(target=agent.act, args=(game,))
    third.start()
    third.join(20)
    assert not third.is_alive()


def test_an_opponent_may_call_the_environment():
    """Its answer is played in the game before its calls."""

    class Caller(Last):
        env: Any = None
        """The environment that it calls when it is asked next."""

        def act(self, game):
            env, self.env = self.env, None
            if env is not None:
                step_single(env, 1)
                env.reset()
            return super().act(game)

    caller = Caller()
    env, twin = patchwork_v0.PatchworkEnv(caller), patchwork_v0.PatchworkEnv(Last())
    for one in (env, twin):
        one.reset(seed=1)
    for turn in range(12):
        caller.env = env
        assert step_single(env, turn) == step_single(twin, turn)
    assert caller.env is None
