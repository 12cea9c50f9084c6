"""Mutated games: bytes, records, saved batches, notation, positions and moves."""

import zlib
from functools import partial

import numpy as np

from patchwork_env import games
from patchwork_env.envs.self_play import SelfPlayBatch
from patchwork_env.errors import IllegalActionError
from patchwork_env.testing import check_position
from tests.attack.mutations import mutate_bytes, mutate_text
from tests.attack.records import odd_games
from tests.attack.sound import pick, refused_or, require_message, require_sound, started

BATCH = 100
NUM_ENVS = 6


# --- bytes and records --------------------------------------------------------------------------------------


def damaged_bytes(rules, random):
    """Randomly changed bytes, half of them with a valid checksum."""
    data, other = (started(rules, random).to_bytes() for _ in range(2))
    for number in range(BATCH):
        changed = mutate_bytes(data, random, other)
        _read(rules, rules.game.from_bytes, _sealed(changed[:-4]) if number % 2 else changed, random)


def fields_bytes(rules, random):
    """Records with other values in some fields, near the right ones or at the ends of the range."""
    game, other = started(rules, random), started(rules, random).state
    for _ in range(BATCH):
        states = game.state.copy()
        for field in random.choice(states.dtype.names, random.integers(1, 4)):
            _change(states[field], other[field], random)
        _read(rules, rules.game.from_bytes, _sealed(game.to_bytes()[:5] + states.tobytes()), random)


def _change(values, others, random):
    flat, at = values.reshape(-1), random.integers(values.size)
    limits = np.iinfo(values.dtype)
    kind = random.integers(6)
    if kind == 0:
        flat[at] = pick(random, (limits.min, limits.max, 0, 1, limits.max // 2))
    elif kind == 1:
        flat[at] ^= values.dtype.type(1 << int(random.integers(8 * values.itemsize - 1)))
    elif kind == 2:
        values[...] = others
    elif kind == 3:
        random.shuffle(flat)
    else:
        flat[at] = min(max(int(flat[at]) + pick(random, (-2, -1, 1, 2)), limits.min), limits.max)


def _sealed(body):
    return body + zlib.crc32(body).to_bytes(4, "little")


def _read(rules, read, data, random):
    """Read a game, which must be refused or sound."""
    game = refused_or(read, data)
    if game is not None:
        require_sound(rules, game, random)


def odd_states(rules, random):
    """Games that begin with states at the limits of the validation."""
    for game in odd_games(rules, random, BATCH // 2):
        require_sound(rules, game, random)


def saves(rules, random):
    """Saved batches with other bytes, shapes, types and names, or records of other games."""
    players = {} if rules.name == games.PATCHWORK else {"players": int(random.integers(1, 5))}
    env = SelfPlayBatch(rules, NUM_ENVS, seed=int(random.integers(2**32)), **players)
    for _ in range(BATCH // 2):
        saved = {key: _mutated(array, random) for key, array in env.save().items()}
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


def _mutated(array, random):
    """An array with other contents, sometimes of another length or type, half of the time unchanged."""
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


def _snapshot(env):
    return [array.tobytes() for array in (*env.save().values(), env.masks, env.counts, env.observations)]


def _require_running(env, steps):
    """Play random actions; require that masks, counts and observations are consistent."""
    bounds = env._rules.layout.upper_bounds
    for _ in range(steps):
        assert (env.masks.sum(1) == env.counts).all(), "masks and numbers of legal actions differ"
        assert env.masks[np.arange(NUM_ENVS), env.random_actions].all(), "a random action is not legal"
        assert ((env.observations >= 0) & (env.observations <= bounds)).all(), "observation out of bounds"
        env.step(env.random_actions)


# --- texts --------------------------------------------------------------------------------------------------


def notation(rules, random):
    """Games in notation, which must be refused or sound."""
    text, other = (started(rules, random).notation() for _ in range(2))
    for _ in range(BATCH):
        game = refused_or(rules.game.from_notation, mutate_text(text, random, other))
        if game is not None:
            check_position(game)


def positions(rules, random):
    """Positions, whose fields are also exchanged with those of another position."""
    text, other_text = (started(rules, random).position_text() for _ in range(2))
    fields, others = ([field.split("=", 1) for field in line.split()[1:]] for line in (text, other_text))
    for number in range(BATCH):
        changed = mutate_text(text, random, other_text)
        if number % 2:
            values = dict(fields)
            for field, value in random.permutation(others)[: random.integers(1, 4)]:
                values[str(field)] = mutate_text(str(pick(random, (value, values.get(field, "")))), random)
            changed = " ".join([text.split()[0], *(f"{field}={value}" for field, value in values.items())])
        _read(rules, rules.game.from_position, changed, random)


def words(rules, random):
    """Words of moves: a legal action with the same word, or an IllegalActionError."""
    game = started(rules, random)
    legal = game.legal_actions()
    for _ in range(BATCH if len(legal) else 0):
        word, other = (game.move_text(action) for action in random.choice(legal, 2))
        action = refused_or(game.parse_move, mutate_text(word, random, other), errors=IllegalActionError)
        if action is not None:
            assert action in legal, f"{action} is not legal"
            assert game.parse_move(game.move_text(action)) == action


def _attack(try_all, name, random):
    try_all(games.rules_of(name), random)


ATTACKS = {
    f"{try_all.__name__}_{name}": partial(_attack, try_all, name)
    for try_all in (damaged_bytes, fields_bytes, odd_states, saves, notation, positions, words)
    for name in (games.PATCHWORK, games.NMBR9)
}
