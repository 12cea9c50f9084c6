"""The kinds of objects that attacks call: games, agents and all environments, at any moment."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.random import Generator

from patchwork_env import agents, games, nmbr9, nmbr9_v0, patchwork, patchwork_v0
from patchwork_env.core.game import BaseGame
from tests.attack.sound import pick, started

MOVES = 12
"""Moves to play on and compare after a call."""
VARIANTS = [
    (patchwork_v0, {}),
    (patchwork_v0, {"rewards": "score"}),
    (nmbr9_v0, {"players": 1, "deck_size": 5}),
    (nmbr9_v0, {"players": 2, "order": "free", "deck_size": 4, "rewards": "margin"}),
    (nmbr9_v0, {"players": 3, "deck_size": 4, "rewards": "score"}),
]
"""The modules of the games, and options of their environments."""


class Call(NamedTuple):
    """A call of an object: of a method, or of a function whose first argument is the object.

    ``arguments`` are valid; ``errors`` are the documented errors besides ValueError.
    """

    method: str | Callable[..., Any]
    arguments: Mapping[str, Any] = MappingProxyType({})
    errors: tuple[type[Exception], ...] = ()

    def __call__(self, target):
        method = partial(self.method, target) if callable(self.method) else getattr(target, self.method)
        return method(**self.arguments)


class Kind(NamedTuple):
    """A kind of object: functions that make one, list its calls, return its visible state, and continue it.

    ``go_on`` depends on the object alone and yields its results.
    """

    make: Callable[[Generator], Any]
    calls: Callable[[Any, Generator], list[Call]]
    look: Callable[[Any], Any]
    go_on: Callable[[Any], Iterator[Any]]


def plain(value):
    """A comparable value for arrays, records and containers of them."""
    if isinstance(value, np.ndarray):
        entries = plain(value.tolist()) if value.dtype == object else value.tobytes()
        return value.dtype.str, value.shape, entries
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return tuple(map(plain, value))
    if isinstance(value, BaseGame):
        return value.to_bytes(), value.history, value.notation(), value.current_player
    return value


def number(random):
    """A random seed."""
    return int(random.integers(2**62))


def chosen(mask, turn):
    """A legal action that depends on the mask and on a number."""
    legal = np.flatnonzero(mask)
    return int(legal[turn * 7919 % len(legal)]) if len(legal) else 0


# --- games --------------------------------------------------------------------------------------------------


def make_game(random):
    """A game of any kind after some moves, some of which were undone."""
    if random.random() < 0.5:
        game = started(games.rules_of("patchwork"), random)
    else:
        options = {"players": int(random.integers(1, 5)), "order": pick(random, ("known", "unknown", "free"))}
        game = started(games.rules_of("nmbr9"), random, deck_size=6, **options)
    for _ in range(min(int(random.integers(3)), game.num_moves)):
        game.undo()
    return game


def game_calls(game, random):
    action, wrong = chosen(game.action_mask(), number(random)), int(random.integers(2026))
    if isinstance(game, patchwork.Game):
        move: Any = patchwork.Move("buy", game.circle[0] if game.circle else 0, frozenset([(0, 0), (0, 1)]))
        views, more = ("observation", "quilt", "quilt_bits", "layout"), []
    else:
        move = nmbr9.Move(1, 0, frozenset([(0, 0), (0, 1)]))
        views, more = (
            ("observation", "placements", "remaining", "heights"),
            [Call("determinize", {"seed": 1})],
        )
    calls = 6 * [Call("play", {"action": action}), Call("undo")] + [Call("play", {"action": wrong})]
    calls += [Call(name, {"action": action}) for name in ("decode", "move_text")]
    calls += [Call(name, {"player": 0}) for name in views]
    calls += [Call("encode", {"move": move}), Call(_encode_fields, move._asdict())]
    calls += [Call("decode_all", {"actions": [action]}), Call("parse_move", {"text": "+"})]
    return [*calls, *more, *map(Call, ("clone", "notation", "to_bytes", "scores"))]


def _encode_fields(game, **fields):
    return game.encode((patchwork if isinstance(game, patchwork.Game) else nmbr9).Move(**fields))


def look_at_game(game):
    views = plain([game.action_mask(), game.observation()])
    return *plain(game), game.scores(), views, str(game.clone())


def game_goes_on(game):
    """Undo all moves and play on."""
    while game.history:
        yield game.undo(), game.to_bytes()
    for turn in range(MOVES):
        if game.is_over:
            break
        game.play(chosen(game.action_mask(), turn))
    yield plain(game)


# --- agents -------------------------------------------------------------------------------------------------

SPECS = [
    *(("patchwork", spec, {}) for spec in ("random", "greedy", "uct:simulations=20")),
    *(("patchwork", spec, {}) for spec in ("mcts:simulations=40", "champion:nodes=20")),
    *(("nmbr9", spec, {}) for spec in ("random", "uct:simulations=16", "nmbr9_champion:nodes=300")),
    ("nmbr9", "nmbr9_champion:instant", {}),
    *(("nmbr9", "beam:width=3", {"order": order}) for order in ("known", "free")),
]


class Last(agents.Agent):
    """Takes the last legal action, since the random numbers of opponents do not belong to environments."""

    name = "last"

    def act(self, game):
        return int(game.legal_actions()[-1])


class Player:
    """An agent with some positions of a game."""

    def __init__(self, agent, games):
        self.agent, self.games = agent, games

    @property
    def states(self):
        """The records of all positions."""
        return np.concatenate([game.state for game in self.games])


def make_player(random):
    """An agent that has played a part of a game."""
    name, spec, options = pick(random, SPECS)
    options = options | ({"deck_size": 6} if name == "nmbr9" else {})
    agent, met = agents.load(spec, number(random) % 1000), []
    game = games.rules_of(name).game(seed=number(random), **options)
    for turn in range(int(random.integers(4 if name == "nmbr9" else 40))):
        if not game.is_over:
            game.play(chosen(game.action_mask(), turn) if random.random() < 0.5 else agent.act(game))
    while not game.is_over and len(met) < 4:
        met.append(game.clone())
        game.play(agent.act(game))
    return Player(agent, met or [games.rules_of(name).game(seed=1, **options)])


def player_calls(player, random):
    calls = 2 * [
        Call(lambda player: player.agent.act(player.games[0])),
        Call(lambda player: player.agent.act_batch(player.states)),
    ]
    if hasattr(player.agent, "search"):
        calls += [Call(lambda player: player.agent.search(player.games[0]))]
    given = {"act": ("game", player.games[0]), "act_batch": ("states", player.states)}
    given |= {"check_states": ("states", player.states), "check_game": ("game", player.agent.games[0])}
    return [
        *calls,
        Call(lambda player, seed: player.agent.reseed(seed), {"seed": number(random)}),
        *(Call(partial(_ask, method), {name: value}) for method, (name, value) in given.items()),
    ]


def _ask(method, player, **arguments):
    return getattr(player.agent, method)(**arguments)


def look_at_player(player):
    """The visible state of an agent, whose lock must be free."""
    assert not player.agent._lock._is_owned(), "the lock is still held"
    return plain(player.games), player.agent.name


def player_goes_on(player):
    for game in player.games:
        yield player.agent.act(game)
    yield plain(player.agent.act_batch(player.states))


# --- environments with turns --------------------------------------------------------------------------------

_TURNS = (
    "agents",
    "agent_selection",
    "rewards",
    "_cumulative_rewards",
    "terminations",
    "truncations",
    "infos",
)


def make_turns(wrapped, random):
    """An environment with turns, at any moment of a game, or before the first reset."""
    module, options = pick(random, VARIANTS)
    env = (module.env if wrapped else module.raw_env)(**options)
    if random.random() < 0.1:
        return env
    env.reset(seed=number(random))
    for turn in range(int(random.integers(12)) if random.random() < 0.5 else 10**6):
        if not env.agents or (turn > 20 and random.random() < 0.05):
            break
        step_turns(env, turn)
    return env


def step_turns(env, turn):
    seen, *rest = env.last()
    over = rest[1] or rest[2]
    env.step(None if over else chosen(seen["action_mask"], turn))
    return plain((seen, rest))


def turn_calls(env, random):
    seed, action = number(random), int(random.integers(env.action_space("player_0").n))
    new = {"seed": seed, "options": {}}
    if not has_begun(env):
        refused = (AssertionError, RuntimeError)  # whatever the argument
        early = [Call("step", {"action": 0}, refused), Call("observe", {"agent": "player_0"}, refused)]
        return [Call("reset", new), *early]
    calls = [
        Call("reset", new),
        Call("reset"),
        Call(_reset_with, reset_options(env.unwrapped.game)),
        Call("state"),
    ]
    calls += [Call(name, {"agent": "player_0"}) for name in ("observe", "action_space", "observation_space")]
    calls += [Call("agent_iter", {"max_iter": 2})]
    if env.agents:
        calls += 9 * [Call(lambda env: step_turns(env, seed))]
        calls += [Call("last"), Call("step", {"action": action}), Call("step", {"action": None})]
    return calls


def reset_options(game):
    """Options of a reset for the game."""
    if isinstance(game, patchwork.Game):
        return {"circle": patchwork.Game(seed=1).circle, "first_player": 1}
    return {"deck": game.deck}


def _reset_with(env, **options):
    return env.reset(options=options)


def has_begun(env):
    """Whether there was a reset; before it, a step must be an error."""
    if hasattr(env, "agent_selection"):
        return True
    with contextlib.suppress(RuntimeError, AssertionError):  # of the raw one, and of its wrapper
        env.step(0)
        raise LookupError("a game was played that never began")
    return False


def look_at_turns(env):
    if not has_begun(env):
        return ()
    seen = [copy.deepcopy(getattr(env, name)) for name in _TURNS]
    views = [plain(env.observe(agent)) for agent in env.possible_agents]
    return (*seen, views, plain(env.state()), plain(env.unwrapped.game))


def turns_go_on(env):
    """Play this game to its end, and the beginning of the next."""
    if not has_begun(env):
        env.reset(seed=1)
    for moves in (10**6, MOVES):
        for turn in range(moves):
            if not env.agents:
                break
            yield step_turns(env, turn)
        env.reset(seed=2)
        yield look_at_turns(env)


# --- environments in which all act at once ------------------------------------------------------------------


def make_parallel(random):
    players, size = int(random.integers(1, 4)), int(random.integers(2, 6))
    rewards = "score" if players == 1 or random.random() < 0.5 else "outcome"
    env = nmbr9_v0.parallel_env(players=players, deck_size=size, rewards=rewards)
    env.reset(seed=number(random))
    for turn in range(int(random.integers(size + 1))):
        step_parallel(env, turn)
    return env


def step_parallel(env, turn):
    masks = {agent: seen["action_mask"] for agent, seen in env._observations().items()}
    return plain(env.step({agent: chosen(masks[agent], turn) for agent in env.agents}))


def parallel_calls(env, random):
    seed, actions = number(random), dict.fromkeys(env.agents, 0)
    calls = [Call("reset", {"seed": seed, "options": {}}), Call("reset"), Call("state")]
    calls += [
        Call("action_space", {"agent": "player_0"}),
        Call("step", {"actions": actions}, (RuntimeError,)),
    ]
    if env.agents:
        calls += 4 * [Call(lambda env: step_parallel(env, seed))]
        calls += [Call(lambda env, **actions: env.step(actions), actions, (RuntimeError,))]
    return calls


def look_at_parallel(env):
    return list(env.agents), plain(env.game), plain(env._observations()), plain(env.state())


def parallel_goes_on(env):
    """Play this game to its end, and the next."""
    for _ in range(2):
        while env.agents:
            yield step_parallel(env, 3)
        yield plain(env.reset(seed=2))


# --- one learner, or a batch of them ------------------------------------------------------------------------


def _learner(random):
    """The name of an environment of Gymnasium, and options."""
    module, options = pick(random, VARIANTS)
    name = "Patchwork-v0" if module is patchwork_v0 else "Nmbr9-v0"
    opponent = {} if options.get("players") == 1 else {"opponent": Last()}
    own = {"illegal_action": pick(random, ("raise", "terminate"))}
    own["seat"] = pick(random, ("alternate", "random"))
    return f"patchwork_env:{name}", options | opponent | own


def make_single(random):
    name, options = _learner(random)
    env = gymnasium.make(name, disable_env_checker=True, **options)
    env.reset(seed=number(random))
    for turn in range(int(random.integers(30))):
        if step_single(env, turn)[2]:
            if random.random() < 0.5:
                break
            env.reset()
    return env


def step_single(env, turn):
    return plain(env.step(chosen(env.unwrapped.action_masks(), turn)))


def single_calls(env, random):
    seed, action = number(random), int(random.integers(env.action_space.n))
    calls = [
        Call("reset"),
        Call("reset", {"seed": seed, "options": {}}),
        Call(_reset_with, reset_options(env.unwrapped.game)),
    ]
    calls += [Call("step", {"action": action}, (gymnasium.error.ResetNeeded,))]
    return [*calls, *(4 * [Call(lambda env: step_single(env, seed))]), Call(_masks)]


def _masks(env):
    return env.unwrapped.action_masks()


def look_at_single(env):
    env = env.unwrapped
    return plain(env.game), env.seat, plain(env.action_masks()), plain(env._observe(env._episode))


def single_goes_on(env):
    """Play this game to its end, and the beginnings of the next ones."""
    for _ in range(3):
        for turn in range(200):
            try:
                result = step_single(env, turn)
            except gymnasium.error.ResetNeeded:
                yield "over"
                break
            yield result
            if result[2] or result[3]:
                break
        yield plain(env.reset(seed=2))
        yield env.unwrapped.np_random.random()


def make_vector(random):
    name, options = _learner(random)
    options |= {"autoreset_mode": pick(random, ("SameStep", "NextStep", "Disabled"))}
    size = int(random.integers(1, 9))
    envs = gymnasium.make_vec(name, size, vectorization_mode="vector_entry_point", **options)
    envs.reset(seed=number(random))
    for turn in range(int(random.integers(40))):
        step_vector(envs, turn)
    return envs


def step_vector(envs, turn):
    """A step, or the reset of games that have ended, if there is no autoreset."""
    ended = envs.unwrapped._ended
    if ended.any() and envs.metadata["autoreset_mode"] is AutoresetMode.DISABLED:
        return plain(envs.reset(options={"reset_mask": ended.copy()}))
    return plain(envs.step(np.array([chosen(mask, turn + k) for k, mask in enumerate(envs.action_masks())])))


def vector_calls(envs, random):
    seed = number(random) % 2**60
    wrong = random.integers(envs.single_action_space.n, size=envs.num_envs)
    some = {"reset_mask": np.arange(envs.num_envs) % 2 == 0}
    resets = [{}, {"seed": seed}, {"seed": seed, "options": some}, {"seed": [1] * envs.num_envs}]
    calls = [
        *(Call("reset", given) for given in resets),
        Call(_reset_with, reset_options(envs.unwrapped.games()[0]) | some),
    ]
    calls += [Call("step", {"actions": wrong}, (gymnasium.error.ResetNeeded,))]
    return [*calls, *(4 * [Call(lambda envs: step_vector(envs, seed))]), Call("action_masks")]


def look_at_vector(envs):
    envs = envs.unwrapped
    return plain(envs.action_masks()), plain(envs.games()), plain(envs._batch.seats), plain(envs._ended)


def vector_goes_on(envs):
    """Step beyond the ends of games, and reset."""
    for turn in range(60):
        yield step_vector(envs, turn)
    yield plain(envs.reset())
    yield step_vector(envs, 1)


# --- batched self-play --------------------------------------------------------------------------------------

_BATCH = ("states", "observations", "masks", "counts", "random_actions")
_BATCH += ("rewards", "terminations", "truncations")


def make_batch(random):
    module, options = pick(random, VARIANTS)
    own = {"masks": bool(random.random() < 0.9), "observations": bool(random.random() < 0.9)}
    env = module.SelfPlayBatch(int(random.integers(1, 20)), seed=number(random), **options, **own)
    for _ in range(int(random.integers(80))):
        env.step(env.random_actions)
    return env


def batch_calls(env, random):
    later = copy.deepcopy(env)
    later.step(later.random_actions)
    wrong = random.integers(2026, size=env.num_envs)
    calls = [Call("reset", {"seed": number(random)}), Call("restore", {"saved": later.save()}), Call("save")]
    calls += [Call(lambda env, **arrays: env.restore(arrays), later.save()), Call("step", {"actions": wrong})]
    return [*calls, *(6 * [Call(lambda env: env.step(env.random_actions))])]


def look_at_batch(env):
    """The visible state; final scores only of games that ended, since others are old values."""
    seen = [plain(getattr(env, name)) for name in _BATCH]
    return (*seen, plain(env.final_scores[env.terminations]), plain(env.save()))


def batch_goes_on(env):
    for _ in range(30):
        env.step(env.random_actions)
        yield look_at_batch(env)


KINDS = {
    "game": Kind(make_game, game_calls, look_at_game, game_goes_on),
    "agent": Kind(make_player, player_calls, look_at_player, player_goes_on),
    "raw_env": Kind(partial(make_turns, False), turn_calls, look_at_turns, turns_go_on),
    "env": Kind(partial(make_turns, True), turn_calls, look_at_turns, turns_go_on),
    "parallel_env": Kind(make_parallel, parallel_calls, look_at_parallel, parallel_goes_on),
    "make": Kind(make_single, single_calls, look_at_single, single_goes_on),
    "make_vec": Kind(make_vector, vector_calls, look_at_vector, vector_goes_on),
    "self_play": Kind(make_batch, batch_calls, look_at_batch, batch_goes_on),
}
