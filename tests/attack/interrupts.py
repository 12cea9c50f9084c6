"""Interrupts at random moments of every public call, after which nothing may be half done.

Signal handlers of Python run between two bytecodes. So an attempt counts the bytecodes of the package that a
call runs, and raises an error before a random one of them, which repeats exactly; one in some attempts sends
a real signal after a random time instead. The object must then be equal to a copy that did nothing of the
call, or to one that did all of it, and must go on exactly like that copy.
"""

from __future__ import annotations

import copy
import dis
import functools
import signal
import sys
import time
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from operator import methodcaller
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from numpy.random import Generator

import patchwork_env
from patchwork_env import agents, nmbr9_v0, patchwork_v0
from patchwork_env.core.game import BaseGame
from patchwork_env.errors import TableEdgeError
from patchwork_env.games import rules_of
from tests.attack.sound import pick, started

ERRORS = (KeyboardInterrupt, SystemExit, MemoryError)
FOLDERS = (str(Path(patchwork_env.__file__).parent), "pettingzoo/utils/wrappers", "pettingzoo/utils/env.py")
"""Where bytecodes are counted: in the package, and in the wrappers of PettingZoo around it."""
LEFT_OUT = ("core/compile.py",)  # which runs while Numba compiles
SIGNALS = 0.2
"""The share of attempts with a real signal."""
MOVES = 12
"""Moves to play on and compare after an interrupt."""

Call = Callable[[Any], object]


class Kind(NamedTuple):
    """A kind of object to attack.

    Attributes:
        make: ``(random)`` makes one, in any situation.
        calls: ``(object, random)`` gives the calls to choose from.
        look: ``(object)`` says all that can be seen of it.
        go_on: ``(object)`` plays on in a way that depends on the object alone; yields what comes of it.
    """

    make: Callable[[Generator], Any]
    calls: Callable[[Any, Generator], list[Call]]
    look: Callable[[Any], Any]
    go_on: Callable[[Any], Iterator[Any]]


def attack(kind: Kind, random: Generator) -> None:
    """Interrupts one call of one object."""
    target = kind.make(random)
    call = pick(random, kind.calls(target, random))
    error = pick(random, ERRORS)
    before, after = copy.deepcopy(target), copy.deepcopy(target)
    _quietly(call, copy.deepcopy(target))  # compiles
    began = time.perf_counter()
    with counting(None, error) as count:
        _quietly(call, after)
    took = time.perf_counter() - began
    if random.random() < SIGNALS:
        with_a_signal(call, target, random.random() * took / 3, error)
    else:
        with counting(int(random.integers(1, count[0] + 2)), error):
            _quietly(call, target)
    require_whole(kind, target, before, after)


def require_whole(kind: Kind, target: Any, before: Any, after: Any) -> None:
    """Raises AssertionError unless an object is equal to one of two others and goes on like it."""
    seen = kind.look(target)
    fitting = [twin for twin in (before, after) if kind.look(twin) == seen]
    assert fitting, f"torn: {_difference(seen, kind.look(before), kind.look(after))}"
    future = list(kind.go_on(target))
    assert any(list(kind.go_on(twin)) == future for twin in fitting), "it does not go on like either"


def _difference(seen: Any, before: Any, after: Any) -> str:
    if not (isinstance(seen, tuple) and len(seen) == len(before) == len(after)):
        return f"{seen!r:.300} is neither {before!r:.300} nor {after!r:.300}"
    parts = zip(seen, before, after, strict=True)
    words = (
        "both" if s == b == a else "before" if s == b else "after" if s == a else "neither"
        for s, b, a in parts
    )
    return f"the parts are those {', '.join(words)}"


def _quietly(call: Call, target: Any) -> None:
    """Makes a call, whatever it raises."""
    try:
        call(target)
    except (*ERRORS, Exception):
        pass


# --- the interrupts -----------------------------------------------------------------------------------------


@contextmanager
def counting(at: int | None, error: type[BaseException]) -> Iterator[list[int]]:
    """Counts the bytecodes of the package that run; raises ``error`` before number ``at``."""
    count = [0]

    def trace(frame: types.FrameType, event: str, argument: Any) -> Any:
        if not _is_counted(frame.f_code):
            return None
        frame.f_trace_opcodes = True
        return trace_inside

    def trace_inside(frame: types.FrameType, event: str, argument: Any) -> Any:
        if event == "opcode" and frame.f_lasti not in _unbreakable(frame.f_code):
            count[0] += 1
            if count[0] == at:
                raise error
        return trace_inside

    sys.settrace(trace)
    try:
        yield count
    finally:
        sys.settrace(None)


@functools.cache
def _is_counted(code: types.CodeType) -> bool:
    file = code.co_filename
    return any(folder in file for folder in FOLDERS) and not file.endswith(LEFT_OUT)


@functools.cache
def _unbreakable(code: types.CodeType) -> frozenset[int]:
    """The bytecodes between the end of a ``with`` block and the call of its exit, where no handler runs."""
    found: list[int] = []
    listed = list(dis.get_instructions(code))
    for k in range(len(listed) - 3):
        values = [(one.opname, one.argval) for one in listed[k : k + 3]]
        if values == 3 * [("LOAD_CONST", None)] and listed[k + 3].opname in ("PRECALL", "CALL"):
            first = k - (k > 0 and listed[k - 1].opname == "SWAP")  # of the value that the block returns
            found += [one.offset for one in listed[first : k + 4 + (listed[k + 3].opname == "PRECALL")]]
    return frozenset(found)


def with_a_signal(call: Call, target: Any, seconds: float, error: type[BaseException]) -> None:
    """Makes a call during which, or after which, a signal comes, whose handler raises ``error``."""

    def interrupt(*_: Any) -> None:
        if armed:
            armed.clear()
            raise error

    armed, handler = [True], signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-6))
        _quietly(call, target)
        armed.clear()
    except error:  # it came before the call or after it
        pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)


# --- what all kinds need ------------------------------------------------------------------------------------


def plain(value: Any) -> Any:
    """Arrays, records and containers of them as values that can be compared."""
    if isinstance(value, np.ndarray):
        return (
            value.dtype.str,
            value.shape,
            [plain(one) for one in value] if value.dtype == object else value.tobytes(),
        )
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return tuple(map(plain, value))
    if isinstance(value, BaseGame):
        return value.to_bytes(), value.history, value.notation(), value.current_player
    return value


def number(random: Generator) -> int:
    """A random seed."""
    return int(random.integers(2**62))


def chosen(mask: Any, turn: int) -> int:
    """A legal action that depends on the mask and on a number."""
    legal = np.flatnonzero(mask)
    return int(legal[turn * 7919 % len(legal)]) if len(legal) else 0


VARIANTS: list[tuple[Any, dict[str, Any]]] = [
    (patchwork_v0, {}),
    (patchwork_v0, {"rewards": "score"}),
    (nmbr9_v0, {"players": 1, "deck_size": 5}),
    (nmbr9_v0, {"players": 2, "order": "free", "deck_size": 4, "rewards": "margin"}),
    (nmbr9_v0, {"players": 3, "deck_size": 4, "rewards": "score"}),
]


def variant(random: Generator) -> tuple[Any, dict[str, Any]]:
    """The module of a game, and options of its environments."""
    return pick(random, VARIANTS)


class Last(agents.Agent):
    """Takes the last legal action."""

    name = "last"

    def act(self, game: Any) -> int:
        """See :meth:`Agent.act`."""
        return int(game.legal_actions()[-1])


def gymnasium_options(module: Any, options: dict[str, Any]) -> dict[str, Any]:
    """The same options with an opponent that draws nothing: what it draws is no part of an environment."""
    return options if options.get("players") == 1 else options | {"opponent": Last()}


# --- environments of PettingZoo -----------------------------------------------------------------------------


def make_turns(wrapped: bool, random: Generator) -> Any:
    """An environment of agents that take turns, at any moment of a game, its end included."""
    module, options = variant(random)
    env = (module.env if wrapped else module.raw_env)(**options)
    env.reset(seed=number(random))
    for turn in range(int(random.integers(12)) if random.random() < 0.5 else 10**6):
        if not env.agents or (turn > 20 and random.random() < 0.05):
            break
        _step_turns(env, turn)
    return env


def _step_turns(env: Any, turn: int) -> Any:
    seen, *rest = env.last()
    over = rest[1] or rest[2]
    env.step(None if over else chosen(seen["action_mask"], turn))
    return plain((seen, rest))


def turn_calls(env: Any, random: Generator) -> list[Call]:
    """What can be done with it."""
    seed, action = number(random), int(random.integers(env.action_space("player_0").n))
    calls: list[Call] = [
        lambda env: env.reset(),
        lambda env: env.reset(seed=seed),
        lambda env: env.observe("player_0"),
        lambda env: env.state(),
    ]
    if env.agents:
        calls += 6 * [lambda env: _step_turns(env, seed)]
        calls += [lambda env: env.last(), lambda env: env.step(action), lambda env: env.step(None)]
    calls += [lambda env: setattr(env.unwrapped, "game", env.unwrapped.game)]
    return calls


def look_at_turns(env: Any) -> tuple[Any, ...]:
    """All that can be seen of it."""
    names = (
        "agents",
        "rewards",
        "terminations",
        "truncations",
        "infos",
        "agent_selection",
        "_cumulative_rewards",
    )
    seen = tuple(copy.deepcopy(getattr(env, name)) for name in names)
    views = tuple(plain(env.observe(agent)) for agent in env.possible_agents)
    return (*seen, views, plain(env.state()), plain(env.unwrapped.game))


def turns_go_on(env: Any) -> Iterator[Any]:
    """Plays this game to its end, and the beginning of the next."""
    for game in range(2):
        for turn in range(10**6 if not game else MOVES):
            if not env.agents:
                break
            yield _step_turns(env, turn)
        env.reset()
        yield look_at_turns(env)


def make_parallel(random: Generator) -> Any:
    """An environment of agents that act at once."""
    players, size = int(random.integers(1, 4)), int(random.integers(2, 6))
    rewards = "score" if players == 1 or random.random() < 0.5 else "outcome"
    env = nmbr9_v0.parallel_env(players=players, deck_size=size, rewards=rewards)
    env.reset(seed=number(random))
    for turn in range(int(random.integers(size + 1))):
        _step_parallel(env, turn)
    return env


def _step_parallel(env: Any, turn: int) -> Any:
    masks = {agent: env._observations()[agent]["action_mask"] for agent in env.agents}
    return plain(env.step({agent: chosen(masks[agent], turn) for agent in env.agents}))


def parallel_calls(env: Any, random: Generator) -> list[Call]:
    """What can be done with it."""
    seed = number(random)
    steps: list[Call] = 4 * [lambda env: _step_parallel(env, seed)] if env.agents else []
    return [*steps, lambda env: env.reset(), lambda env: env.reset(seed=seed), lambda env: env.state()]


def look_at_parallel(env: Any) -> tuple[Any, ...]:
    """All that can be seen of it."""
    return list(env.agents), plain(env.game), plain(env._observations()), plain(env.state())


def parallel_goes_on(env: Any) -> Iterator[Any]:
    """Plays this game to its end, and the next."""
    for _ in range(2):
        while env.agents:
            yield _step_parallel(env, 3)
        yield plain(env.reset())


# --- environments of Gymnasium ------------------------------------------------------------------------------


def make_single(random: Generator) -> Any:
    """An environment of one learner, at any moment."""
    module, options = variant(random)
    name = "Patchwork-v0" if module is patchwork_v0 else "Nmbr9-v0"
    given = gymnasium_options(module, options) | {"illegal_action": pick(random, ("raise", "terminate"))}
    env = gymnasium.make(
        f"patchwork_env:{name}", disable_env_checker=True, seat=pick(random, ("alternate", "random")), **given
    )
    env.reset(seed=number(random))
    for turn in range(int(random.integers(30))):
        if _step_single(env, turn)[2]:
            if random.random() < 0.5:
                break
            env.reset()
    return env


def _step_single(env: Any, turn: int) -> Any:
    return plain(env.step(chosen(env.unwrapped.action_masks(), turn)))


def single_calls(env: Any, random: Generator) -> list[Call]:
    """What can be done with it."""
    seed, action = number(random), int(random.integers(env.action_space.n))
    steps: list[Call] = 4 * [lambda env: _step_single(env, seed)]
    resets: list[Call] = [lambda env: env.reset(), lambda env: env.reset(seed=seed)]
    return [*steps, *resets, lambda env: env.step(action), lambda env: env.unwrapped.action_masks()]


def look_at_single(env: Any) -> tuple[Any, ...]:
    """All that can be seen of it, and whether it can go on."""
    env = env.unwrapped
    seed = env._np_random_seed
    return plain(env.game), env.seat, plain(env.action_masks()), plain(env._observe(env.game, env.seat)), seed


def single_goes_on(env: Any) -> Iterator[Any]:
    """Plays this game to its end, and the beginnings of the next ones."""
    for _ in range(3):
        for turn in range(200):
            try:
                result = _step_single(env, turn)
            except gymnasium.error.ResetNeeded:
                yield "over"
                break
            yield result
            if result[2] or result[3]:
                break
        yield plain(env.reset())
        yield env.unwrapped.np_random.random()


def make_vector(random: Generator) -> Any:
    """A batch of games with a learner each."""
    module, options = variant(random)
    name = "Patchwork-v0" if module is patchwork_v0 else "Nmbr9-v0"
    given = gymnasium_options(module, options) | {"illegal_action": pick(random, ("raise", "terminate"))}
    given |= {"copy": bool(random.random() < 0.7), "seat": pick(random, ("alternate", "random"))}
    envs = gymnasium.make_vec(
        f"patchwork_env:{name}", int(random.integers(1, 9)), vectorization_mode="vector_entry_point", **given
    )
    envs.reset(seed=number(random))
    for turn in range(int(random.integers(40))):
        _step_vector(envs, turn)
    return envs


def _vector_actions(envs: Any, turn: int) -> Any:
    return np.array([chosen(mask, turn + k) for k, mask in enumerate(envs.action_masks())])


def _step_vector(envs: Any, turn: int) -> Any:
    return plain(envs.step(_vector_actions(envs, turn)))


def vector_calls(envs: Any, random: Generator) -> list[Call]:
    """What can be done with it."""
    seed = number(random) % 2**60
    wrong = random.integers(envs.single_action_space.n, size=envs.num_envs)
    steps: list[Call] = 4 * [lambda envs: _step_vector(envs, seed)]
    resets: list[Call] = [lambda envs: envs.reset(), lambda envs: envs.reset(seed=seed)]
    return [*steps, *resets, lambda envs: envs.step(wrong), lambda envs: envs.action_masks()]


def look_at_vector(envs: Any) -> tuple[Any, ...]:
    """All that can be seen of it."""
    envs = envs.unwrapped
    return plain(envs.action_masks()), plain(envs.games()), plain(envs._learners)


def vector_goes_on(envs: Any) -> Iterator[Any]:
    """Steps through the ends of games, and a reset."""
    for turn in range(60):
        yield _step_vector(envs, turn)
    yield plain(envs.reset())
    yield _step_vector(envs, 1)


# --- batched self-play --------------------------------------------------------------------------------------

OUTPUTS = (
    "states",
    "observations",
    "masks",
    "counts",
    "random_actions",
    "rewards",
    "terminations",
    "truncations",
)


def make_batch(threads: int, random: Generator) -> Any:
    """A batch of self-play."""
    module, options = variant(random)
    own = {"masks": bool(random.random() < 0.9), "observations": bool(random.random() < 0.9)}
    games = int(random.integers(1, 20)) if threads == 1 else int(random.integers(33, 200))
    env = module.SelfPlayVectorEnv(games, seed=number(random), threads=threads, **options, **own)
    for _ in range(int(random.integers(80))):
        env.step(env.random_actions)
    return env


def batch_calls(env: Any, random: Generator) -> list[Call]:
    """What can be done with it."""
    seed, wrong = number(random), random.integers(2026, size=env.num_envs)
    saved = copy.deepcopy(env)
    saved.step(saved.random_actions)
    kept = saved.save()
    steps: list[Call] = 6 * [lambda env: env.step(env.random_actions)]
    rest: list[Call] = [lambda env: env.reset(seed), lambda env: env.restore(kept), lambda env: env.save()]
    return [*steps, *rest, lambda env: env.step(wrong)]


def look_at_batch(env: Any) -> tuple[Any, ...]:
    """All that can be seen of it; scores only of games that ended, as others are what they were."""
    seen = tuple(plain(getattr(env, name)) for name in OUTPUTS)
    return (*seen, plain(env.final_scores[env.terminations | env.truncations]), plain(env.save()))


def batch_goes_on(env: Any) -> Iterator[Any]:
    """Steps on."""
    for _ in range(30):
        env.step(env.random_actions)
        yield look_at_batch(env)


# --- single games -------------------------------------------------------------------------------------------


def make_game(random: Generator) -> Any:
    """A game of any kind after some moves, some of which were taken back."""
    if random.random() < 0.5:
        game = started(rules_of("patchwork"), random)
    else:
        options = {"players": int(random.integers(1, 5)), "order": pick(random, ("known", "unknown", "free"))}
        game = started(rules_of("nmbr9"), random, deck_size=6, **options)
    for _ in range(min(int(random.integers(3)), game.num_moves)):
        game.undo()
    return game


def game_calls(game: Any, random: Generator) -> list[Call]:
    """What can be done with it."""
    legal, turn, wrong = game.legal_actions(), number(random), int(random.integers(2026))
    action = int(legal[turn % len(legal)]) if len(legal) else 0
    changes: list[Call] = [
        *(3 * [lambda game: game.play(action)]),
        *(3 * [lambda game: game.undo()]),
        lambda game: game.play(wrong),
    ]
    names = ("clone", "notation", "to_bytes", "scores")
    return [*changes, *(methodcaller(name) for name in names)]


def look_at_game(game: Any) -> tuple[Any, ...]:
    """All that can be seen of it."""
    return (
        *plain(game),
        game.scores(),
        plain(game.action_mask()),
        plain(game.observation()),
        str(game.clone()),
    )


def game_goes_on(game: Any) -> Iterator[Any]:
    """Takes all back and plays to the end."""
    while game.history:
        yield game.undo(), game.to_bytes()
    for turn in range(MOVES):
        if game.is_over:
            break
        try:
            game.play(chosen(game.action_mask(), turn))
        except TableEdgeError:
            break
    yield plain(game)


# --- agents -------------------------------------------------------------------------------------------------

SPECS: list[tuple[str, dict[str, Any]]] = [
    ("random", {}),
    ("greedy", {}),
    ("uct:simulations=20", {}),
    ("mcts:simulations=40", {}),
    ("champion:nodes=20", {}),
    ("random", {"game": "nmbr9"}),
    ("uct:simulations=16", {"game": "nmbr9"}),
    ("nmbr9_champion:nodes=300", {"game": "nmbr9"}),
    ("nmbr9_champion:instant", {"game": "nmbr9"}),
    ("beam:width=3", {"game": "nmbr9", "order": "known"}),
    ("beam:width=3", {"game": "nmbr9", "order": "free"}),
]


class Player:
    """An agent with positions of a game to ask it about."""

    def __init__(self, agent: Any, games: list[Any]) -> None:
        self.agent, self.games = agent, games

    @property
    def states(self) -> Any:
        """The records of all positions."""
        return np.concatenate([game.state for game in self.games])


def make_player(random: Generator) -> Player:
    """An agent that has met some positions of a game that goes on."""
    spec, options = pick(random, SPECS)
    kind, options = options.get("game", "patchwork"), {k: v for k, v in options.items() if k != "game"}
    if kind == "nmbr9":
        options["deck_size"] = 6
    agent, games = agents.load(spec, number(random) % 1000), []
    game = rules_of(kind).game(seed=number(random), **options)
    for _ in range(int(random.integers(4 if kind == "nmbr9" else 40))):
        if game.is_over:
            break
        game.play(
            chosen(game.action_mask(), number(random) % 1000) if random.random() < 0.5 else agent.act(game)
        )
    while not game.is_over and len(games) < 4:
        games.append(game.clone())
        game.play(agent.act(game))
    return Player(agent, games or [rules_of(kind).game(seed=1, **options)])


def player_calls(player: Player, random: Generator) -> list[Call]:
    """What can be asked of it."""
    seed = number(random)
    calls: list[Call] = [
        *(2 * [lambda player: player.agent.act(player.games[0])]),
        *(2 * [lambda player: player.agent.act_batch(player.states)]),
        lambda player: player.agent.reseed(seed),
    ]
    if hasattr(player.agent, "search"):
        calls += [lambda player: player.agent.search(player.games[0])]
    return calls


def look_at_player(player: Player) -> tuple[Any, ...]:
    """What can be seen of it; it is free for others."""
    assert not player.agent._lock._is_owned(), "the lock is still held"
    return plain(player.games), player.agent.name


def player_goes_on(player: Player) -> Iterator[Any]:
    """Its answers."""
    for game in player.games:
        yield player.agent.act(game)
    yield plain(player.agent.act_batch(player.states))


KINDS = {
    "raw_env": Kind(partial(make_turns, False), turn_calls, look_at_turns, turns_go_on),
    "env": Kind(partial(make_turns, True), turn_calls, look_at_turns, turns_go_on),
    "parallel_env": Kind(make_parallel, parallel_calls, look_at_parallel, parallel_goes_on),
    "make": Kind(make_single, single_calls, look_at_single, single_goes_on),
    "make_vec": Kind(make_vector, vector_calls, look_at_vector, vector_goes_on),
    "self_play": Kind(partial(make_batch, 1), batch_calls, look_at_batch, batch_goes_on),
    "self_play_threads": Kind(partial(make_batch, 2), batch_calls, look_at_batch, batch_goes_on),
    "game": Kind(make_game, game_calls, look_at_game, game_goes_on),
    "agent": Kind(make_player, player_calls, look_at_player, player_goes_on),
}

ATTACKS = {f"interrupt_{name}": partial(attack, kind) for name, kind in KINDS.items()}
