"""Before whichever bytecode a call is interrupted, the object is as before the call or as after it."""

from __future__ import annotations

import copy
import signal
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numba import config

from patchwork_env import agents, nmbr9, nmbr9_v0, patchwork, patchwork_v0
from patchwork_env.agents import BatchAgent
from patchwork_env.core.game import BaseGame
from tests.attack.interrupts import KINDS, batches, learners, players, require_whole, turns
from tests.attack.interrupts.kinds import Last, chosen
from tests.attack.interrupts.stepper import Call, counting, with_a_signal

needs_alarms = pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="Windows has no alarms")
SMALL = {"players": 2, "deck_size": 3, "rewards": "score"}


def at_every_moment(kind: str, target: Any, call: Call, most: int = 30) -> None:
    """Interrupts a call before every bytecode, or so many of them, the last ones included."""
    look, after = KINDS[kind].look, copy.deepcopy(target)
    call(copy.deepcopy(target))  # compiles
    with counting(None, KeyboardInterrupt) as count:
        call(after)
    seen = [look(copy.deepcopy(target)), look(after)]
    total = count[0]
    numbers = {
        *np.linspace(1, total, most // 2).astype(int).tolist(),
        *range(max(1, total - most // 2), total),
    }
    for number in sorted(numbers):
        torn = copy.deepcopy(target)
        with pytest.raises(KeyboardInterrupt), counting(number, KeyboardInterrupt):
            call(torn)
        if number % 20 == 1:
            require_whole(KINDS[kind], torn, copy.deepcopy(target), copy.deepcopy(after))
        else:
            assert look(torn) in seen, f"torn before bytecode {number} of {total}"


def _turns(env: Any, moves: int) -> Any:
    env.reset(seed=3)
    for turn in range(moves):
        if not env.agents:
            break
        turns.step_turns(env, turn)
    return env


@pytest.mark.parametrize("make", [patchwork_v0.raw_env, patchwork_v0.env])
def test_turns(make: Any) -> None:
    env = _turns(make(rewards="score"), 5)
    action = chosen(env.observe(env.agent_selection)["action_mask"], 4)
    at_every_moment("raw_env", env, lambda env: env.step(action))
    at_every_moment("raw_env", env, lambda env: env.reset(seed=4))


@pytest.mark.parametrize("make", [patchwork_v0.raw_env, patchwork_v0.env])
def test_the_first_reset_of_turns(make: Any) -> None:
    """Interrupted, it leaves an environment that asks for a reset, or one that has been reset."""
    env = make()
    at_every_moment("raw_env", env, lambda env: env.reset(seed=4))
    with pytest.raises((RuntimeError, AssertionError), match=r"reset\(\)"):
        env.step(0)


@pytest.mark.parametrize("moves", [5, 6, 7])
def test_the_end_of_a_game_of_turns(moves: int) -> None:
    """The last move, and the removal of the agents."""
    env = _turns(nmbr9_v0.env(**SMALL), moves)
    action = chosen(env.last()[0]["action_mask"], 4) if moves == 5 else None
    at_every_moment("env", env, lambda env: env.step(action))


def test_an_illegal_move_of_turns() -> None:
    env = _turns(nmbr9_v0.env(**SMALL), 2)
    at_every_moment("env", env, lambda env: env.step(0))


def test_parallel() -> None:
    env = nmbr9_v0.parallel_env(**SMALL)
    env.reset(seed=1)
    at_every_moment("parallel_env", env, lambda env: turns.step_parallel(env, 3))
    for _ in range(2):
        turns.step_parallel(env, 3)
    at_every_moment("parallel_env", env, lambda env: turns.step_parallel(env, 3))
    at_every_moment("parallel_env", env, lambda env: env.reset())


@pytest.mark.parametrize(
    "make",
    [
        lambda: patchwork_v0.PatchworkEnv(Last()),
        lambda: nmbr9_v0.Nmbr9Env(deck_size=2),
        lambda: nmbr9_v0.Nmbr9Env(Last(), illegal_action="raise", **SMALL),
    ],
)
def test_single(make: Callable[[], Any]) -> None:
    env = make()
    env.reset(seed=3)
    learners.step_single(env, 3)
    at_every_moment("make", env, lambda env: learners.step_single(env, 3))
    at_every_moment("make", env, lambda env: env.reset(seed=4))


@pytest.mark.parametrize(
    ("copies", "mode", "steps"),
    [(True, "SameStep", 2), (False, "SameStep", 2), (True, "NextStep", 3), (True, "Disabled", 3)],
)
def test_vector(copies: bool, mode: str, steps: int) -> None:
    """The step in which the games end and begin, or the one that only begins them."""
    envs = nmbr9_v0.Nmbr9VectorEnv(3, Last(), copy=copies, autoreset_mode=mode, **SMALL)
    envs.reset(seed=3)
    for _ in range(steps):
        learners.step_vector(envs, 3)
    at_every_moment("make_vec", envs, lambda envs: learners.step_vector(envs, 3))
    at_every_moment("make_vec", envs, lambda envs: envs.reset(seed=4))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.skipif(config.DISABLE_JIT, reason="only machine code is not interrupted")
def test_self_play(threads: int) -> None:
    env = patchwork_v0.SelfPlayVectorEnv(33 if threads > 1 else 2, seed=3, threads=threads)
    for _ in range(30):
        env.step(env.random_actions)
    saved = env.save()
    env.step(env.random_actions)
    for call in (
        lambda env: env.step(env.random_actions),
        lambda env: env.reset(5),
        lambda env: env.restore(saved),
    ):
        at_every_moment("self_play", env, call, 30)


@pytest.mark.parametrize("kind", [patchwork, nmbr9])
def test_games(kind: Any) -> None:
    game = kind.Game(seed=2)
    for turn in range(4):
        game.play(chosen(game.action_mask(), turn))
    action = chosen(game.action_mask(), 4)
    at_every_moment("game", game, lambda game: game.play(action))
    at_every_moment("game", game, lambda game: game.undo())


# --- agents -------------------------------------------------------------------------------------------------

AGENTS = {
    "random": ("random", {}),
    "uct": ("uct:simulations=8", {"deck_size": 3}),
    "mcts": ("mcts:simulations=10", {}),
    "nmbr9_champion": ("nmbr9_champion:nodes=60", {"deck_size": 4}),
    "beam": ("beam:width=2", {"deck_size": 3, "order": "known"}),
}


@pytest.mark.parametrize("name", AGENTS)
def test_agents(name: str) -> None:
    spec, options = AGENTS[name]
    game = (nmbr9 if options else patchwork).Game(seed=1, **options)
    agent = agents.load(spec, 5)
    for _ in range(2):
        game.play(agent.act(game))
    player = players.Player(agent, [game, game.clone()])
    for call in (lambda one: one.agent.act_batch(one.states), lambda one: one.agent.reseed(8)):
        call(copy.deepcopy(player))  # compiles, and fills what is kept
        after = copy.deepcopy(player)
        with counting(None, KeyboardInterrupt) as count:
            call(after)
        for number in np.linspace(1, count[0], 6).astype(int):
            torn = copy.deepcopy(player)
            with pytest.raises(KeyboardInterrupt), counting(int(number), KeyboardInterrupt):
                call(torn)
            require_whole(KINDS["agent"], torn, copy.deepcopy(player), copy.deepcopy(after))


@needs_alarms
def test_an_interrupt_while_waiting_for_an_agent_leaves_its_lock_to_the_others() -> None:
    class Slow(BatchAgent):
        name = "slow"

        def act_batch(self, states: Any) -> Any:
            asked.set()
            done.wait(20)
            return np.zeros(len(states), np.int64)

    asked, done, agent, game = threading.Event(), threading.Event(), Slow(), patchwork.Game(seed=1)
    other = threading.Thread(target=agent.act, args=(game,))

    def interrupt(*_: Any) -> None:
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


# --- opponents ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_batch", [False, True])
def test_an_opponent_may_call_the_environment(is_batch: bool) -> None:
    """What it does there is undone when its answer is played."""

    class Caller(Last):
        env: Any = None
        """What it calls when it is asked next."""

        def act_batch(self, states: Any) -> Any:
            self.call()
            return super().act_batch(states)

        def act(self, game: BaseGame) -> int:
            self.call()
            return super().act(game)

        def call(self) -> None:
            env, self.env = self.env, None
            if env is not None:
                step(env, 1)
                env.reset()

    step = learners.step_vector if is_batch else learners.step_single
    make: Any = (
        (lambda one: patchwork_v0.PatchworkVectorEnv(3, one)) if is_batch else patchwork_v0.PatchworkEnv
    )
    caller = Caller()
    env, twin = make(caller), make(Last())
    for one in (env, twin):
        one.reset(seed=1)
    for turn in range(12):
        caller.env = env
        assert step(env, turn) == step(twin, turn)
    assert caller.env is None


@needs_alarms
def test_a_real_signal_leaves_a_batch_whole() -> None:
    """With signals at random moments of 100 steps, all outputs belong to the same step."""
    env, twin = (patchwork_v0.SelfPlayVectorEnv(300, seed=1) for _ in range(2))
    twin.step(twin.random_actions)
    env.step(env.random_actions)
    for number in range(100):
        with_a_signal(lambda env: env.step(env.random_actions), env, 1e-5 * number, KeyboardInterrupt)
        if (env.states != twin.states).any():
            twin.step(twin.random_actions)
        assert batches.look_at_batch(env) == batches.look_at_batch(twin)
