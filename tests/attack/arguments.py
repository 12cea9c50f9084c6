"""Wrong types and values for every argument of the public functions and methods.

Each call gets odd values for one or two arguments. It either works, or raises a documented error that names
the value and changes nothing. After the calls the object must still work.
"""

from __future__ import annotations

import contextlib
import tempfile
from functools import partial
from typing import Any

import gymnasium
import numpy as np
from pettingzoo.utils.env_logger import EnvLogger

from patchwork_env import agents, games, nmbr9, nmbr9_v0, patchwork, patchwork_v0
from patchwork_env.core.names import short_repr
from patchwork_env.errors import OpponentError, UnknownOptionError
from tests.attack.mutations import ODD_OBJECTS
from tests.attack.objects import KINDS, Call
from tests.attack.sound import pick, require_message, started

BATCH = 60
OBJECTS = 5
"""Objects of a kind in one attempt."""
_PACKAGES = {games.PATCHWORK: patchwork, games.NMBR9: nmbr9}
_MODULES = {games.PATCHWORK: patchwork_v0, games.NMBR9: nmbr9_v0}
_MISSING = (FileNotFoundError, ImportError)


def call_objects(kind, random):
    """Call methods of objects of a kind."""
    EnvLogger.suppress_output()  # of illegal moves
    for _ in range(OBJECTS):
        target = kind.make(random)
        for _ in range(BATCH // OBJECTS):
            calls = [call for call in kind.calls(target, random) if call.arguments]
            before = kind.look(target)
            if not _works(_changed(pick(random, calls), random), target):
                assert kind.look(target) == before, "a refused call changed something"
        list(kind.go_on(target))


def call_functions(name, group, random):
    """Call functions of the package with odd arguments, at last all of them with valid ones."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):  # odd paths may be written to
        calls = list(group(games.rules_of(name), random))
        for call in (*(_changed(pick(random, calls), random) for _ in range(BATCH)), *calls):
            _works(call)


def _changed(call, random):
    """A call with one or two odd arguments."""
    names = random.choice(list(call.arguments), random.integers(1, min(len(call.arguments), 2) + 1))
    return call._replace(
        arguments={**call.arguments} | {str(name): pick(random, ODD_OBJECTS) for name in names}
    )


def _works(call, *target):
    """Whether a call works; otherwise it must raise a documented error with a suitable message."""
    try:
        call(*target) if target else call.method(**call.arguments)
    except (ValueError, UnknownOptionError, *call.errors) as error:
        require_message(error)
        return False
    except Exception as error:
        shown = ", ".join(f"{name}={short_repr(value)}" for name, value in call.arguments.items())
        raise AssertionError(f"{call.method}({shown})") from error
    return True


def _game_calls(rules, random):
    game, kind, package = started(rules, random), rules.game, _PACKAGES[rules.name]
    render, names = package.render, tuple("player" for _ in range(game.num_players))
    frame = np.zeros((4, 6, 3), np.uint8)
    own = {"players": 2, "order": "free", "max_digit": 3, "copies": 2, "deck_size": 3}
    if rules.name == games.PATCHWORK:
        own = {"circle": game.root().circle, "first_player": 1, "special_patches": "2014"}
    yield Call(kind, {"seed": 1})
    yield Call(kind, own)
    yield Call(kind.from_bytes, {"data": game.to_bytes()})
    yield Call(kind.from_state, {"states": game.state, "i": 0})
    yield Call(kind.check_states, {"states": game.state})
    yield Call(kind.from_notation, {"text": game.notation()})
    yield Call(kind.from_position, {"text": game.position_text()})
    yield Call(games.rules_of, {"game": rules.name})
    yield Call(render.text, {"game": game})
    yield Call(render.svg, {"game": game, "names": names})
    yield Call(render.rgb_array, {"game": game, "width": 40, "names": names})
    yield Call(partial(render.save_png, path="attack.png"), {"frame": frame}, (OSError,))
    yield Call(partial(render.save_gif, path="attack.gif"), {"frames": [frame]}, (OSError,))
    yield Call(package.as_dict, {"vector": game.observation()})


def _agent_calls(rules, random):
    game = started(rules, random)
    yield Call(agents.load, {"spec": "random", "seed": 1}, _MISSING)
    yield Call(agents.as_agent, {"agent": "greedy", "seed": 1, "game": rules.name}, _MISSING)
    yield Call(agents.names, {"game": rules.name})
    yield Call(agents.path_of, {"spec": "greedy"})
    yield Call(agents.RandomAgent, {"seed": 1})
    yield Call(agents.CallableAgent, {"function": lambda game: 0, "name": "x"})
    yield Call(agents.CallableAgent(lambda game: pick(random, ODD_OBJECTS)).act, {"game": game})
    yield Call(agents.analyse, {"game": game, "agent": "greedy", "k": 1}, _MISSING)


def _environment_calls(rules, random):
    """The constructors of environments."""
    module, name = _MODULES[rules.name], rules.name.capitalize()
    options = {"rewards": "score", "players": 1, "order": "unknown", "max_digit": 3, "copies": 2}
    learner: dict[str, Any] = {"seat": 0, "illegal_action": "raise", "observation": "dict"}
    if rules.name == games.PATCHWORK:
        options = {"rewards": "margin", "special_patches": "2014", "first_player": "random"}
        learner["opponent"] = "random"
    makers = [module.raw_env, module.env, *([nmbr9_v0.parallel_env] if rules.name == games.NMBR9 else [])]
    for make in makers:
        yield Call(make, {"render_mode": None, **options, "observation": "flat"})
    env_id, errors = f"patchwork_env:{name}-v0", (*_MISSING, MemoryError)
    many = {"num_envs": 2, "render_mode": None}
    yield Call(getattr(module, f"{name}Env"), {"render_mode": "ansi", **learner, **options}, errors)
    yield Call(partial(gymnasium.make, env_id), learner | options, errors)
    yield Call(getattr(module, f"{name}VectorEnv"), many | learner | options, errors)
    yield Call(partial(gymnasium.make_vec, env_id, 2), learner | options, errors)
    own = {"num_envs": 2, "seed": 1, "masks": True, "observations": False}
    yield Call(module.SelfPlayBatch, own | options, errors)


def _learning_calls(rules, random):
    from patchwork_env.learning import config, evaluation

    failing = (*_MISSING, OpponentError)  # a function that is no agent
    match = {"agent": "random", "opponent": "greedy", "games": 2, "seed": 1, "game": rules.name}
    yield Call(evaluation.play_matches, {**match, "workers": 1, "keep": 1}, failing)
    yield Call(evaluation.load_player, {"text": "greedy"}, _MISSING)
    yield Call(evaluation.Tournament.enter, {"agents": ["random", "greedy"], "games": 2, "seed": 1}, _MISSING)
    yield Call(evaluation.Tournament.enter, {"agents": ["a", "b"], "games": 2, "anchor": "a"}, _MISSING)
    gauntlet = {"agent": "none", "games": 2, "skip": ("x",)}  # both are wrong, so that no games are played
    yield Call(evaluation.play_gauntlet, gauntlet, failing)
    yield Call(config.load_config, {"source": "quick", "overrides": ["seed=1"]}, _MISSING)
    yield Call(config.parse_yaml, {"text": "a: 1"})
    yield Call(config.explain, {"names": ("ppo",)})


_GROUPS = {
    "game": _game_calls,
    "agent": _agent_calls,
    "environment": _environment_calls,
    "learning": _learning_calls,
}
ATTACKS = {f"arguments_of_{name}": partial(call_objects, kind) for name, kind in KINDS.items()} | {
    f"arguments_of_{group}_functions_{name}": partial(call_functions, name, calls)
    for group, calls in _GROUPS.items()
    for name in _PACKAGES
}
SLOW = {f"arguments_of_learning_functions_{name}" for name in _PACKAGES}
