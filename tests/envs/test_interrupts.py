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
from tests.attack.interrupts import KINDS, learners, players, require_whole, turns
from tests.attack.interrupts.kinds import Last, chosen
from tests.attack.interrupts.stepper import Call, counting

needs_alarms = pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="Windows has no alarms")
SMALL = {"players": 2, "deck_size": 3, "rewards": "score"}


def at_every_moment(kind: str, target: Any, call: Call, most: int = 20) -> None:
    """Interrupts a call before so many of its bytecodes, the last ones included."""
    look, after = KINDS[kind].look, copy.deepcopy(target)
    call(copy.deepcopy(target))  # compiles
    with counting(None, KeyboardInterrupt) as count:
        call(after)
    seen = [look(copy.deepcopy(target)), look(after)]
    total = count[0]
    half = most // 2
    for number in {*np.linspace(1, total, half).astype(int).tolist(), *range(max(1, total - half), total)}:
        torn = copy.deepcopy(target)
        with pytest.raises(KeyboardInterrupt), counting(number, KeyboardInterrupt):
            call(torn)
        if number % 20 == 1:
            require_whole(KINDS[kind], torn, copy.deepcopy(target), copy.deepcopy(after))
        else:
            assert look(torn) in seen, f"torn before bytecode {number} of {total}"


def begun(env: Any, step: Callable[[Any, int], Any], steps: int) -> Any:
    """The environment after a reset and some steps."""
    env.reset(seed=3)
    for number in range(steps):
        step(env, number)
    return env


@pytest.mark.parametrize("make", [patchwork_v0.raw_env, patchwork_v0.env])
def test_turns(make: Any) -> None:
    at_every_moment("raw_env", make(), lambda env: env.reset(seed=4))
    env = begun(make(rewards="score"), turns.step_turns, 5)
    at_every_moment("raw_env", env, lambda env: turns.step_turns(env, 4))
    at_every_moment("raw_env", env, lambda env: env.reset(seed=4))


def test_the_end_of_a_game_of_turns() -> None:
    """An illegal move, the last move, and the removal of the agents."""
    at_every_moment("env", begun(nmbr9_v0.env(**SMALL), turns.step_turns, 2), lambda env: env.step(0))
    for moves in (5, 6, 7):
        env = begun(nmbr9_v0.env(**SMALL), turns.step_turns, moves)
        at_every_moment("env", env, lambda env: turns.step_turns(env, 4))


def test_parallel() -> None:
    for steps in (0, 2):
        env = begun(nmbr9_v0.parallel_env(**SMALL), turns.step_parallel, steps)
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
    env = begun(make(), learners.step_single, 1)
    at_every_moment("make", env, lambda env: learners.step_single(env, 3))
    at_every_moment("make", env, lambda env: env.reset(seed=4))


@pytest.mark.parametrize(
    ("copies", "mode", "steps"),
    [(True, "SameStep", 2), (False, "SameStep", 2), (True, "NextStep", 3), (True, "Disabled", 3)],
)
def test_vector(copies: bool, mode: str, steps: int) -> None:
    """The step in which the games end and begin, or the one that only begins them."""
    made = nmbr9_v0.Nmbr9VectorEnv(3, Last(), copy=copies, autoreset_mode=mode, **SMALL)
    envs = begun(made, learners.step_vector, steps)
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
        at_every_moment("self_play", env, call)


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
