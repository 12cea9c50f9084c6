"""Values that are actions, and those that are not: the same in every interface."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import gymnasium
import numpy as np
import pytest
import torch
from pettingzoo.utils.env_logger import EnvLogger

from patchwork_env import nmbr9_v0
from patchwork_env.envs.self_play import SelfPlayBatch
from patchwork_env.envs.single import GameEnv
from patchwork_env.envs.vector import GameVectorEnv
from patchwork_env.errors import IllegalActionError, OpponentError
from tests.envs.cases import NMBR9, BatchCheat, Cheat, LastAction

GAMES = 3
OPTIONS = {"players": 2, "deck": [3, 1, 4]}
ACTION = int(NMBR9.game(**OPTIONS).legal_actions()[0])  # a beginning of both players
ILLEGAL = 1
LEARNER = {"opponent": LastAction(), "seat": 0}
libraries = pytest.mark.libraries


class Door(NamedTuple):
    """An interface with a new game: ``play`` an action, ``look`` at the games."""

    play: Callable[[Any], Any]
    look: Callable[[], Any]
    error: type[Exception] = IllegalActionError


@pytest.fixture(autouse=True)
def no_printing(monkeypatch):
    monkeypatch.setattr(EnvLogger, "mqueue", [])
    monkeypatch.setattr(EnvLogger, "_output", False)


# --- interfaces that take one action ------------------------------------------------------------------------


def game(method="play"):
    one = NMBR9.game(**OPTIONS)
    return Door(getattr(one, method), one.to_bytes)


def decode_all():
    one = NMBR9.game(**OPTIONS)
    return Door(lambda action: one.decode_all([ACTION, action]), one.to_bytes)


def turns(make):
    env = make(**OPTIONS)
    env.reset(seed=1)
    return Door(env.step, lambda: (env.unwrapped.game.to_bytes(), env.terminations))


def parallel(**options):
    env = nmbr9_v0.parallel_env(**OPTIONS, **options)
    env.reset(seed=1)
    actions = {"player_0": ACTION, "player_1": ACTION}
    return Door(lambda action: env.step(actions | {"player_1": action}), lambda: (env.game, env.agents))


def single():
    env = gymnasium.make("patchwork_env:Nmbr9-v0", **LEARNER, **OPTIONS)
    env.reset(seed=1)
    return Door(env.step, lambda: env.unwrapped.game)


def answer():
    cheat = Cheat()
    env = GameEnv(NMBR9, cheat, seat=0, **OPTIONS)
    env.reset(seed=1)
    return Door(
        lambda action: answered(cheat, lambda game: action, env, ACTION), lambda: env.game, OpponentError
    )


def answered(cheat, answer, env, own):
    cheat.answer = answer
    env.step(own)


def open_spiel(method):
    pyspiel = pytest.importorskip("pyspiel")
    pytest.importorskip("patchwork_env.integrations.open_spiel")
    state = pyspiel.load_game("python_nmbr9(players=2,deck=3 1 4)").new_initial_state()
    while state.is_chance_node():
        state.apply_action(state.legal_actions()[0])
    return Door(getattr(state, method), lambda: str(state))


def rllib():
    pytest.importorskip("ray")
    from patchwork_env.integrations.rllib.env import GameMultiAgentEnv

    env = GameMultiAgentEnv({"game": "nmbr9", "players": 2})
    env.reset(seed=1, options={"deck": OPTIONS["deck"]})
    return Door(lambda action: env.step({"player_0": action}), lambda: env.game)


ONE = {
    "game.play": game,
    "game.decode": partial(game, "decode"),
    "game.move_text": partial(game, "move_text"),
    "game.decode_all": decode_all,
    "env": partial(turns, nmbr9_v0.env),
    "raw_env": partial(turns, nmbr9_v0.raw_env),
    "parallel_env": parallel,
    "parallel_env that ends": partial(parallel, illegal_action="terminate"),
    "Gymnasium": single,
    "answer of an opponent": answer,
    "RLlib": rllib,
    "OpenSpiel": partial(open_spiel, "apply_action"),
    "OpenSpiel, checked": partial(open_spiel, "apply_action_with_legality_check"),
}
MARKS = {"OpenS": libraries, "RLlib": pytest.mark.older}
ONE_ALLOWED: dict[str, Callable[[int], Any]] = {
    "int16": np.int16,
    "uint64": np.uint64,
    "array ()": np.array,
    "array (1,)": lambda action: np.array([action], np.int32),
    "array (1, 1)": lambda action: np.array([[action]]),
    "tensor ()": torch.tensor,
    "tensor (1,)": lambda action: torch.tensor([action], dtype=torch.int32),
}
ONE_REFUSED = [True, False, np.True_, np.array(True), np.array([False]), torch.tensor(True)]
ONE_REFUSED += [float(ACTION), np.float64(ACTION), np.array(1.0), np.array([1.5]), torch.tensor([1.0])]
ONE_REFUSED += [torch.tensor(float(ACTION), requires_grad=True), float("nan"), 1j, np.array([None])]
ONE_REFUSED += [np.zeros(0, int), np.array([ACTION, ACTION]), torch.tensor([ACTION, ACTION])]
ONE_REFUSED += [np.eye(1, NMBR9.num_actions, ACTION, bool), np.eye(1, NMBR9.num_actions, ACTION, int)[0]]
ONE_REFUSED += ["0", b"\0", [ACTION], (), {}, object(), np.int64, np.dtype(int), memoryview(b"x")]


@pytest.mark.parametrize(
    "make", [pytest.param(make, id=name, marks=MARKS.get(name[:5], ())) for name, make in ONE.items()]
)
def test_where_one_action_is_expected(make):
    plain = make()
    result = plain.play(ACTION)
    for kind, allowed in ONE_ALLOWED.items():
        door = make()
        assert str(door.play(allowed(ACTION))) == str(result), kind
        assert door.look() == plain.look(), kind
    door = make()
    assert_refused(door, ONE_REFUSED)
    for none in (-1, NMBR9.num_actions, 2**70, np.uint64(2**64 - 1), np.array([-1])):
        with pytest.raises(door.error, match=r"action .* does not exist; actions are 0 to 16393"):
            door.play(none)


def assert_refused(door, values):
    """Require that all values are errors with their type, dtype and shape, and change nothing."""
    before = door.look()
    for value in values:
        with pytest.raises(door.error, match=r"must be (an integer|3 integers|one-hot rows)") as caught:
            door.play(value)
        told = [type(value).__name__]
        if isinstance(value, np.ndarray | np.generic | torch.Tensor):
            told += [f"dtype {value.dtype}", f"shape {tuple(value.shape)}"]
        assert all(part in str(caught.value) for part in told), (value, str(caught.value))
        assert door.look() == before


# --- interfaces that take many ------------------------------------------------------------------------------


def vector():
    envs = GameVectorEnv(NMBR9, GAMES, **LEARNER, **OPTIONS)
    envs.reset(seed=1)
    return Door(envs.step, envs.games)


def answers():
    cheat, own = BatchCheat(), [ACTION] * GAMES
    envs = GameVectorEnv(NMBR9, GAMES, cheat, seat=0, **OPTIONS)

    def play(actions):
        envs.reset(seed=1)  # a batch needs it after an error of an opponent
        return answered(cheat, actions, envs, own)

    return Door(play, lambda: envs._batch._reset_reason is None and envs.games(), OpponentError)


def self_play():
    batch = SelfPlayBatch(NMBR9, GAMES, seed=1, **OPTIONS)
    return Door(batch.step, batch.games)


def sb3():
    from patchwork_env.integrations.sb3.vec_env import SelfPlayVecEnv

    env = SelfPlayVecEnv(GAMES, LastAction(), game="nmbr9", seed=1, **OPTIONS)
    env.reset()
    return Door(env.step, env.games)


def torchrl(**options):
    module = pytest.importorskip("patchwork_env.integrations.torchrl")
    env = module.make_env("nmbr9", GAMES, seed=1, **OPTIONS, **options)
    before = env.reset()

    def play(actions):
        tensordict = before.clone()
        tensordict["action"] = actions
        env.step(tensordict)

    return Door(play, env.batch.games)


MANY = {"vector": vector, "answers of an opponent": answers, "self-play": self_play, "Stable-Baselines3": sb3}
ALL = np.full(GAMES, ACTION)
MANY_ALLOWED = [ALL.tolist(), tuple(ALL), ALL.astype(np.int16), ALL.astype(np.uint64)]
MANY_ALLOWED += [[np.array([ACTION])] * GAMES]
TENSORS_ALLOWED = [torch.tensor(ALL), torch.tensor(ALL, dtype=torch.int32)]
ROWS = torch.zeros(GAMES, NMBR9.num_actions, dtype=torch.bool)
ROWS[:, ACTION] = True
TENSORS_REFUSED = [torch.ones(GAMES, dtype=torch.bool), torch.tensor(ALL) * 1.0, torch.tensor(ALL)[:, None]]
TENSORS_REFUSED += [torch.tensor(ALL)[:, None, None], ROWS, ROWS.long()]
MANY_REFUSED = [*map(np.asarray, TENSORS_REFUSED), ALL[None], ALL[:2], ALL[0], ALL.astype(object)]
MANY_REFUSED += [[ACTION, True, ACTION], [ACTION, ACTION, np.True_], [ACTION, 1.0, ACTION], [ACTION] * 2]
MANY_REFUSED += [ALL[:, None].tolist(), [2**70] * GAMES, [None] * GAMES, "abc", b"abc"]
MANY_REFUSED += [{}, set(range(GAMES)), ACTION]


@pytest.mark.parametrize("make", MANY.values(), ids=MANY)
def test_where_many_actions_are_expected(make):
    check_many(make, [*MANY_ALLOWED, *TENSORS_ALLOWED], [*MANY_REFUSED, *TENSORS_REFUSED])


@libraries
@pytest.mark.parametrize("options", [{}, LEARNER], ids=["self-play", "against an opponent"])
def test_where_torchrl_has_many(options):
    check_many(partial(torchrl, **options), TENSORS_ALLOWED, TENSORS_REFUSED)


def check_many(make, allowed, refused):
    first = make()
    first.play(torch.tensor(ALL))
    for value in allowed:
        door = make()
        door.play(value)
        assert door.look() == first.look(), value
    door = make()
    assert_refused(door, refused)
    for none in (-1, NMBR9.num_actions, 2**40):
        with pytest.raises(door.error, match=f"action {none} .*not legal"):
            door.play(torch.tensor([ACTION, none, ACTION]))


# --- actions that exist and are not legal -------------------------------------------------------------------


def test_in_parallel_environments_each_agent_is_punished_for_its_own_action():
    env = nmbr9_v0.parallel_env(players=3, illegal_action="terminate")
    env.reset(seed=1)
    legal = int(env.game.legal_actions()[0])
    for missing in ({"player_0": legal, "player_1": legal}, legal):
        with pytest.raises(IllegalActionError, match=r"there is no action of player_[02] in"):
            env.step(missing)
    _, rewards, *ends, _ = env.step({"player_0": ILLEGAL, "player_1": legal, "player_2": ILLEGAL})
    assert rewards == {"player_0": -1.0, "player_1": 0.0, "player_2": -1.0}
    assert ends == [dict.fromkeys(rewards, True)] * 2
    assert "Illegal move" in EnvLogger.mqueue[0]
    with pytest.raises(RuntimeError, match=r"call reset\(\)"):
        env.step({})


STRICT: dict[str, Callable[..., Any]] = {
    "env": nmbr9_v0.env,
    "raw_env": nmbr9_v0.raw_env,
    "parallel_env": nmbr9_v0.parallel_env,
    "Gymnasium": partial(nmbr9_v0.Nmbr9Env, **LEARNER),
    "vector": partial(nmbr9_v0.Nmbr9VectorEnv, 2, **LEARNER),
}


@pytest.mark.parametrize("name", STRICT)
def test_an_illegal_action_can_be_an_error(name):
    env = STRICT[name](illegal_action="raise", **OPTIONS)
    env.reset(seed=1)
    many = {"parallel_env": {"player_0": ILLEGAL, "player_1": ACTION}, "vector": [ACTION, ILLEGAL]}
    look = env.games if name == "vector" else lambda: env.unwrapped.game
    before = look()
    for _ in range(2):
        with pytest.raises(IllegalActionError, match=f"action {ILLEGAL} .*is not legal"):
            env.step(many.get(name, ILLEGAL))
        assert look() == before
