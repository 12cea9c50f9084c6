"""States and arrays from outside: odd records, mutated saves of batches and trainers, mutated pickles."""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator

from patchwork_env import agents, games
from patchwork_env.core.game import Rules
from patchwork_env.envs.aec import GameAECEnv
from patchwork_env.envs.self_play import SelfPlayBatch
from patchwork_env.envs.single import GameEnv
from patchwork_env.envs.vector import GameVectorEnv
from patchwork_env.errors import DivergenceError
from tests.attack.mutations import mutate_bytes, mutate_tree
from tests.attack.records import odd_games
from tests.attack.sound import pick, refused_or, require_message, require_sound
from tests.attack.whole_runs import ALGORITHMS

BATCH = 50
NUM_ENVS = 6
_OF_A_TRAINER = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RuntimeError)
"""What a trainer raises for a state that does not fit; the command makes one kind of error of them."""


def odd_states(name: str, random: Generator) -> int:
    """Games that begin with states at the limits of what is let in, alone and in a batch."""
    rules = games.rules_of(name)
    for game in odd_games(rules, random, BATCH):
        require_sound(rules, game, random)
    return BATCH


def saves(name: str, random: Generator) -> int:
    """What batches save, with other bytes, shapes, types and names, or records of other games."""
    rules = games.rules_of(name)
    players = {} if name == games.PATCHWORK else {"players": int(random.integers(1, 5))}
    env = _batch(rules, random, **players)
    for _ in range(BATCH):
        saved = {key: mutated(array, random) for key, array in env.save().items()}
        if random.random() < 0.5:
            odd = next(odd_games(rules, random, 1)).state
            saved["states"] = env.save()["states"]
            saved["states"][:] = np.resize(odd.view(np.uint8), saved["states"].shape)
        if random.random() < 0.05:
            saved[pick(random, saved)] = saved.pop(pick(random, saved))
        before = _snapshot(env)
        try:
            env.restore(saved)
        except ValueError as error:
            require_message(error)
            assert _snapshot(env) == before, "a refused state has changed something"
        _require_running(env, 20)
    return BATCH


def pickles(name: str, random: Generator) -> int:
    """Copies of environments and games some of whose arrays have other contents."""
    rules = games.rules_of(name)
    opponent = agents.load("random")
    seed = int(random.integers(2**32))
    players = {} if name == games.PATCHWORK else {"players": 2}
    single, many = GameEnv(rules, opponent, **players), GameVectorEnv(rules, NUM_ENVS, opponent, **players)
    turns = GameAECEnv(rules, **players)
    for env in (single, many, turns):
        env.reset(seed=seed)
    plays: list[tuple[Any, Callable[[Any], None]]] = [
        (_batch(rules, random, **players), partial(_require_running, steps=20)),
        (many, partial(_step_vector, random=random)),
        (single, partial(_step_single, random=random)),
        (turns.game, partial(require_sound, rules, random=random)),
    ]
    for env, play in plays:
        rebuild, arguments, *state = env.__reduce_ex__(4)
        if not state or state[0] is None:
            kind, data, actions = arguments
            arguments = kind, mutate_bytes(data, random) if random.random() < 0.5 else data, actions
        twin = refused_or(_rebuilt, rebuild, arguments, _mutated_state(state[:1], random))
        if twin is not None:
            play(twin)
    return len(plays)


def trainers(algorithm: str, random: Generator) -> int:
    """The state of a trainer some of whose tensors or values are others: refused, or it goes on."""
    from patchwork_env.learning.algorithms.common.state import join
    from patchwork_env.learning.algorithms.common.trainer import make_trainer

    config, values, tensors = _saved_trainer(algorithm)
    tensors = dict(tensors)
    if random.random() < 0.3:
        values = mutate_tree(values, random)
    else:
        for _ in range(random.integers(1, 4)):
            key = pick(random, tensors)
            tensors[key] = _mutated_tensor(tensors[key], random)
    trainer = make_trainer(config)
    try:
        trainer.load_state_dict(join(values, tensors))
    except _OF_A_TRAINER:
        return 1
    with suppress(DivergenceError):
        trainer.step()
    return 1


def mutated(array: Any, random: Generator) -> Any:
    """An array with other contents, now and then of another length or type; half of the time as it is."""
    kind = random.integers(12)
    changed = array.copy()
    raw = changed.reshape(-1).view(np.uint8)
    if kind < 4 and len(raw):
        raw[random.integers(len(raw), size=random.integers(1, 5))] = random.integers(256)
    elif kind == 4:
        raw[:] = random.integers(256, size=len(raw))
    elif kind == 5:
        return changed[: random.integers(len(changed) + 1)] if changed.ndim else changed[None]
    elif kind == 6 and changed.dtype.names is None:
        return changed.astype(pick(random, (np.float64, np.int8, np.bool_)))
    return changed


# --- batches and environments -------------------------------------------------------------------------------


def _batch(rules: Rules, random: Generator, **options: Any) -> SelfPlayBatch:
    env = SelfPlayBatch(rules, NUM_ENVS, seed=int(random.integers(2**32)), **options)
    for _ in range(random.integers(60)):
        env.step(env.random_actions)
    return env


def _snapshot(env: SelfPlayBatch) -> list[bytes]:
    return [array.tobytes() for array in (*env.save().values(), env.masks, env.counts, env.observations)]


def _require_running(env: SelfPlayBatch, steps: int) -> None:
    """Plays on at random; masks, counts and random actions fit, and observations lie within the bounds."""
    bounds = env._rules.layout.upper_bounds
    for _ in range(steps):
        assert (env.masks.sum(1) == env.counts).all(), "masks and numbers of legal actions differ"
        assert env.masks[np.arange(NUM_ENVS), env.random_actions].all(), "a random action is not legal"
        assert ((env.observations >= 0) & (env.observations <= bounds)).all(), "observation out of bounds"
        env.step(env.random_actions)


def _step_vector(env: GameVectorEnv, random: Generator) -> None:
    for _ in range(20):
        masks = env.action_masks()
        observations, *_ = env.step([pick(random, np.flatnonzero(mask)) for mask in masks])
        assert env.observation_space.contains(observations)


def _step_single(env: GameEnv, random: Generator) -> None:
    ended = False
    while not ended:
        mask = env.action_masks()
        observation, _, terminated, truncated, _ = env.step(pick(random, np.flatnonzero(mask)))
        ended = terminated or truncated
        assert env.observation_space.contains(observation)


def _mutated_state(state: list[Any], random: Generator) -> Any:
    """The attributes of an object, with other contents in the records and the random streams."""
    if not state or state[0] is None:
        return None
    changed = copy.copy(state[0])
    for name in ("states", "_states", "_streams", "_sampled_from", "_learners"):
        if isinstance(changed.get(name), np.ndarray) and random.random() < 0.5:
            changed[name] = changed[name].copy()
            raw = changed[name].reshape(-1).view(np.uint8)
            raw[random.integers(len(raw), size=random.integers(1, 4))] = random.integers(256)
    return changed


def _rebuilt(rebuild: Callable[..., Any], arguments: tuple[Any, ...], state: Any) -> Any:
    made = rebuild(*arguments)
    if state is not None:
        getattr(made, "__setstate__", made.__dict__.update)(copy.deepcopy(state))
    return made


# --- trainers -----------------------------------------------------------------------------------------------


@cache
def _saved_trainer(algorithm: str) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """A small configuration of an algorithm, and the state of its trainer after some iterations."""
    from patchwork_env.learning.algorithms.common.state import split
    from patchwork_env.learning.algorithms.common.trainer import make_trainer
    from patchwork_env.learning.config import load_config
    from tests.learning.tiny_runs import TINY_RUNS

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "config.yaml"
        path.write_text(TINY_RUNS[algorithm])
        config = load_config(path)
    trainer = make_trainer(config)
    for _ in range(3):
        trainer.step()
    values, tensors = split(trainer.state_dict())
    return config, values, {name: tensor.clone() for name, tensor in tensors.items()}


def _mutated_tensor(tensor: Any, random: Generator) -> Any:
    import torch

    array = mutated(tensor.detach().cpu().contiguous().numpy(), random)
    if random.random() < 0.1:
        array = array.reshape(-1)
    return torch.from_numpy(np.ascontiguousarray(array))


ATTACKS = {
    f"{attack.__name__}_{name}": partial(attack, name)
    for attack in (odd_states, saves, pickles)
    for name in (games.PATCHWORK, games.NMBR9)
}
SLOW = {f"trainers_{name}": partial(trainers, name) for name in ALGORITHMS}
ATTACKS |= SLOW
