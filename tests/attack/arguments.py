"""Wrong types and values for every argument of the public functions and methods.

Each call gets an odd value for one of its arguments. It either works, or raises a documented error that names
the value; whatever happened, its subject plays on to the end.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from numpy.random import Generator
from pettingzoo.utils.env_logger import EnvLogger

from patchwork_env import agents, games, nmbr9, nmbr9_v0, patchwork, patchwork_v0
from patchwork_env.core.names import short_repr
from patchwork_env.errors import OpponentError, UnknownOptionError
from tests.attack.interrupts.turns import look_at_turns
from tests.attack.sound import pick, require_message, started

BATCH = 300


class Call(NamedTuple):
    """A public function with arguments that are right, and the errors that it documents beside ValueError.

    Functions without arguments play on with what the calls before them have met.
    """

    function: Callable[..., Any]
    arguments: dict[str, Any]
    errors: tuple[type[Exception], ...] = ()


_RECORDS = [game.state.dtype for game in (patchwork.Game(seed=1), nmbr9.Game(seed=1))]
ODD = (
    *(0, 1, -1, 2, 5, 2**15, 2**31, 2**32 + 1, 2**63, -(2**63) - 1, 2**64, 10**400, 10**5000),
    *(0.0, 0.5, 1.0, -1.0, 1e300, float("nan"), float("inf"), 1j, Fraction(1, 2), Decimal("NaN")),
    *("", "x", "0", "1", "no", "٣", "\0", "\ud800", "a" * 5000),
    *(b"", b"1", bytearray(b"x"), memoryview(b"x"), Path("x")),
    *(np.int64(1), np.int8(-1), np.uint64(2**64 - 1), np.float32(1), np.float64("nan"), np.bool_(True)),
    *(np.str_("x"), np.array("x"), np.array(1), np.array(1.5), np.array(True), np.array(None), np.array([])),
    *(np.zeros((2, 2)), np.zeros(3, object), np.zeros(2, "V7"), np.array([1, 2.5]), np.array([1])),
    *(np.zeros(0, np.int64), np.zeros(1, _RECORDS[0]), np.zeros(2, _RECORDS[1])),
    *([], [1], [None], [[1]], ["a"], (), (1, 2), {}, {"a": 1}, {1: 2}, set(), {1}, frozenset(), range(3)),
    *(None, True, False, object(), int, len, lambda *_: 1, Ellipsis, NotImplemented, slice(1), iter([1])),
)
"""Values of all kinds."""


_PACKAGES = {games.PATCHWORK: patchwork, games.NMBR9: nmbr9}
_MODULES = {games.PATCHWORK: patchwork_v0, games.NMBR9: nmbr9_v0}


def _game_calls(rules: Any, random: Generator) -> Iterator[Call]:
    game = started(rules, random)
    kind, action = rules.game, int(pick(random, [*game.legal_actions(), 0]))
    yield Call(kind, {"seed": 1})
    if rules.name == games.PATCHWORK:
        yield Call(kind, {"circle": game.root().circle, "first_player": 1, "special_patches": "2014"})
        move = patchwork.Move("buy", game.circle[0], frozenset([(0, 0), (0, 1)]))
        per_player = ("quilt", "quilt_bits", "layout")
    else:
        yield Call(
            kind, {"seed": 2, "players": 2, "order": "free", "max_digit": 3, "copies": 2, "deck_size": 3}
        )
        yield Call(kind, {"deck": [1, 2, 3], "players": 1})
        yield Call(game.determinize, {"seed": 1})
        move = nmbr9.Move(1, 0, frozenset([(0, 0), (0, 1)]))
        per_player = ("placements", "remaining", "heights")
    for name in ("play", "decode", "move_text"):
        yield Call(getattr(game.clone(), name), {"action": action})
    yield Call(game.decode_all, {"actions": [action]})
    yield Call(game.encode, {"move": move})
    yield Call(lambda **fields: game.encode(move._replace(**fields)), move._asdict())
    yield Call(game.parse_move, {"text": "+"})
    for name in ("observation", *per_player):
        yield Call(getattr(game, name), {"player": 0})
    yield Call(kind.from_bytes, {"data": game.to_bytes()})
    yield Call(kind.from_state, {"states": game.state, "i": 0})
    yield Call(kind.check_states, {"states": game.state})
    yield Call(kind.from_notation, {"text": game.notation()})
    yield Call(kind.from_position, {"text": game.position_text()})
    yield Call(games.rules_of, {"game": rules.name})


def _picture_calls(rules: Any, random: Generator) -> Iterator[Call]:
    game, package = started(rules, random), _PACKAGES[rules.name]
    render = package.render
    names = tuple("player" for _ in range(game.num_players))
    yield Call(render.text, {"game": game})
    yield Call(render.svg, {"game": game, "names": names})
    yield Call(render.rgb_array, {"game": game, "width": 40, "names": names})
    frame = np.zeros((4, 6, 3), np.uint8)
    yield Call(render.save_png, {"frame": frame, "path": "attack.png"}, (OSError,))
    yield Call(render.save_gif, {"frames": [frame], "path": "attack.gif"}, (OSError,))
    yield Call(package.as_dict, {"vector": game.observation()})


def _agent_calls(rules: Any, random: Generator) -> Iterator[Call]:
    game = started(rules, random)
    for agent in (agents.load("random", 1), agents.load("greedy"), agents.load("uct:simulations=2", 1)):
        yield Call(agent.act, {"game": game})
        yield Call(agent.act_batch, {"states": game.state})
        yield Call(agent.check_states, {"states": game.state})
        yield Call(agent.check_game, {"game": rules.name})
        yield Call(agent.reseed, {"seed": 1})
    missing = (FileNotFoundError,)
    yield Call(agents.load, {"spec": "random", "seed": 1}, missing)
    yield Call(agents.as_agent, {"agent": "greedy", "seed": 1, "game": rules.name}, missing)
    yield Call(agents.names, {"game": rules.name})
    yield Call(agents.path_of, {"spec": "greedy"})
    yield Call(agents.RandomAgent, {"seed": 1})
    yield Call(agents.CallableAgent, {"function": lambda game: 0, "name": "x"})
    yield Call(agents.CallableAgent(lambda game: pick(random, ODD)).act, {"game": game})
    yield Call(agents.analyse, {"game": game, "agent": "greedy", "k": 1}, missing)


def _turn_calls(rules: Any, random: Generator, name: str) -> Iterator[Call]:
    make = getattr(_MODULES[rules.name], name)
    EnvLogger.suppress_output()  # of illegal moves
    unused, env = make(), make()
    env.reset(seed=1)
    yield Call(make, {"render_mode": None, **_options(rules), "observation": "flat"})
    for method, arguments in ((unused.step, {"action": 0}), (unused.observe, {"agent": "player_0"})):
        yield Call(method, arguments, (AssertionError, RuntimeError))  # whatever the argument
    yield Call(env.reset, {"seed": 1, "options": {}})
    yield Call(lambda **options: env.reset(options=options), _reset_options(rules))
    for method in (env.observe, env.action_space, env.observation_space):
        yield Call(method, {"agent": "player_0"})
    yield Call(env.agent_iter, {"max_iter": 2})
    yield Call(lambda game: setattr(env.unwrapped, "game", game), {"game": env.unwrapped.game}, (TypeError,))
    yield Call(env.step, {"action": 0})
    yield Call(partial(_refuse_whole, env), {"action": -1})
    yield Call(partial(_play_turns, env), {})


def _refuse_whole(env: Any, action: Any) -> None:
    """Plays an action in a new game, which a refused one leaves as it was."""
    env.reset(seed=1)
    before = look_at_turns(env)
    try:
        env.step(action)
    except ValueError:
        assert look_at_turns(env) == before, "a refused action changed something"
        raise


def _play_turns(env: Any) -> None:
    env.reset(seed=1)
    for _ in env.agent_iter():
        observation, _, terminated, truncated, _ = env.last()
        env.step(None if terminated or truncated else int(observation["action_mask"].argmax()))


def _options(rules: Any) -> dict[str, Any]:
    if rules.name == games.PATCHWORK:
        return {"rewards": "margin", "special_patches": "2014", "first_player": "random"}
    return {"rewards": "score", "players": 1, "order": "unknown", "max_digit": 3, "copies": 2, "deck_size": 3}


def _reset_options(rules: Any) -> dict[str, Any]:
    if rules.name == games.PATCHWORK:
        return {"circle": patchwork.Game(seed=1).circle, "first_player": 1}
    return {"deck": nmbr9.Game(seed=1, max_digit=3).deck}


def _learner_options(rules: Any) -> dict[str, Any]:
    opponent = {"opponent": "random"} if rules.name == games.PATCHWORK else {}
    own = {"seat": 0, "illegal_action": "raise", "observation": "dict"}
    return {**opponent, **own, **_options(rules)}


def _single_calls(rules: Any, random: Generator) -> Iterator[Call]:
    name = {games.PATCHWORK: "Patchwork", games.NMBR9: "Nmbr9"}[rules.name]
    kind = getattr(_MODULES[rules.name], f"{name}Env")
    made = partial(gymnasium.make, f"patchwork_env:{name}-v0")
    for make, own in ((kind, {"render_mode": "ansi"}), (made, {})):
        env = make()
        env.reset(seed=1)
        yield Call(make, {**own, **_learner_options(rules)}, (FileNotFoundError,))
        yield Call(env.reset, {"seed": 1, "options": {}})
        yield Call(lambda env=env, **options: env.reset(options=options), _reset_options(rules))
        yield Call(env.step, {"action": int(random.integers(3))}, (gymnasium.error.ResetNeeded,))
        yield Call(partial(_play_alone, env), {})


def _play_alone(env: Any) -> None:
    _, info = env.reset(seed=1)
    over = False
    while not over:
        observation, _, terminated, truncated, info = env.step(info["action_mask"].argmax())
        over = terminated or truncated
        assert info["illegal_action"] == -1
        assert over or env.observation_space.contains(observation)


def _vector_calls(rules: Any, random: Generator) -> Iterator[Call]:
    name = {games.PATCHWORK: "Patchwork", games.NMBR9: "Nmbr9"}[rules.name]
    kind = getattr(_MODULES[rules.name], f"{name}VectorEnv")
    made = partial(gymnasium.make_vec, f"patchwork_env:{name}-v0", 2)
    for make, own in ((kind, {"num_envs": 2, "copy": True, "render_mode": None}), (made, {})):
        env = make(**own)
        env.reset(seed=1)
        yield Call(make, {**own, **_learner_options(rules)}, (FileNotFoundError, MemoryError))
        yield Call(env.reset, {"seed": 1, "options": {}})
        yield Call(env.reset, {"seed": [1, 2]})
        options = {**_reset_options(rules), "reset_mask": np.ones(2, bool)}
        yield Call(lambda env=env, **options: env.reset(options=options), options)
        yield Call(env.step, {"actions": [0, 0]})
        yield Call(partial(_play_many, env), {})


def _play_many(env: Any) -> None:
    _, infos = env.reset(seed=1)
    for _ in range(50):
        observations, _, _, _, infos = env.step(infos["action_mask"].argmax(axis=1))
        assert env.observation_space.contains(observations)


def _self_play_calls(rules: Any, random: Generator) -> Iterator[Call]:
    kind = _MODULES[rules.name].SelfPlayVectorEnv
    env = kind(2, seed=1)
    own = {"num_envs": 2, "seed": 1, "masks": True, "observations": False, "threads": 1}
    yield Call(kind, {**own, **_options(rules)}, (MemoryError,))
    yield Call(env.reset, {"seed": 1})
    yield Call(env.step, {"actions": env.random_actions.tolist()})
    yield Call(env.restore, {"saved": env.save()})
    yield Call(lambda **arrays: env.restore(arrays), env.save())
    yield Call(partial(_play_batch, env), {})


def _play_batch(env: Any) -> None:
    for _ in range(50):
        env.step(env.random_actions)
        assert (env.masks.sum(axis=1) == env.counts).all()


def _parallel_calls(rules: Any, random: Generator) -> Iterator[Call]:
    env = nmbr9_v0.parallel_env(players=2)
    env.reset(seed=1)
    yield Call(nmbr9_v0.parallel_env, {"render_mode": None, **_options(rules), "observation": "flat"})
    yield Call(env.reset, {"seed": 1, "options": {}})
    yield Call(env.action_space, {"agent": "player_0"})
    yield Call(env.step, {"actions": dict.fromkeys(env.agents, 0)}, (RuntimeError,))
    yield Call(lambda **actions: env.step(actions), dict.fromkeys(env.agents, 0), (RuntimeError,))
    yield Call(partial(env.reset, 1), {})


def _learning_calls(rules: Any, random: Generator) -> Iterator[Call]:
    from patchwork_env.learning import config, evaluation

    missing = (FileNotFoundError, ImportError)
    failing = (*missing, OpponentError)  # a function that is no agent
    match = {"agent": "random", "opponent": "greedy", "games": 2, "seed": 1, "game": rules.name}
    yield Call(evaluation.play_matches, {**match, "workers": 1, "keep": 1}, failing)
    yield Call(evaluation.load_player, {"text": "greedy"}, missing)
    yield Call(evaluation.Tournament.enter, {"agents": ["random", "greedy"], "games": 2, "seed": 1}, missing)
    yield Call(evaluation.Tournament.enter, {"agents": ["a", "b"], "games": 2, "anchor": "a"}, missing)
    gauntlet = {"agent": "random", "version": 9, "games": 2, "skip": ("x",)}
    yield Call(evaluation.play_gauntlet, gauntlet, failing)
    yield Call(config.load_config, {"source": "quick", "overrides": ["seed=1"]}, missing)
    yield Call(config.find_config, {"source": "quick"}, missing)
    yield Call(config.parse_yaml, {"text": "a: 1"})
    yield Call(config.explain, {"names": ("ppo",)})


def _attack(calls: Callable[[Any, Generator], Iterator[Call]], name: str, random: Generator) -> int:
    rules = games.rules_of(name)
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):  # odd paths may be written to
        listed = list(calls(rules, random))
        for _ in range(BATCH):
            call = pick(random, [call for call in listed if call.arguments])
            changed = dict(call.arguments)
            for argument in random.choice(list(changed), random.integers(1, min(len(changed), 2) + 1)):
                changed[str(argument)] = pick(random, ODD)
            _try(call, changed)
        for call in listed:
            _try(call, call.arguments)
    return BATCH


def _try(call: Call, arguments: dict[str, Any]) -> None:
    try:
        call.function(**arguments)
    except (ValueError, UnknownOptionError, *call.errors) as error:
        require_message(error)
    except Exception as error:
        shown = ", ".join(f"{name}={short_repr(value)}" for name, value in arguments.items())
        raise AssertionError(f"{call.function}({shown})") from error


_GROUPS = {
    "game": _game_calls,
    "picture": _picture_calls,
    "agent": _agent_calls,
    "aec": partial(_turn_calls, name="raw_env"),
    "wrapped": partial(_turn_calls, name="env"),
    "single": _single_calls,
    "vector": _vector_calls,
    "self_play": _self_play_calls,
    "learning": _learning_calls,
}
ATTACKS = {
    f"{group}_arguments_{name}": partial(_attack, calls, name)
    for group, calls in _GROUPS.items()
    for name in _PACKAGES
} | {"parallel_arguments": partial(_attack, _parallel_calls, games.NMBR9)}
SLOW = {f"learning_arguments_{name}" for name in _PACKAGES}
