"""Opponents that are changed while games go on, and the interface of Gymnasium's vector environments."""

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from patchwork_env import agents, patchwork_v0
from tests.envs.cases import LastAction

NAME = "patchwork_env:Patchwork-v0"


def first(game):
    return int(game.legal_actions()[0])


@pytest.mark.parametrize(
    "change",
    [
        lambda env, opponent: env.unwrapped.set_opponent(opponent),
        lambda env, opponent: env.set_wrapper_attr("opponent", opponent),
    ],
    ids=["set_opponent", "set_wrapper_attr"],
)
def test_a_game_keeps_its_opponent_and_the_next_has_the_new_one(change):
    env, twin = (gymnasium.make(NAME, opponent=LastAction(), seat=0) for _ in range(2))
    new = gymnasium.make(NAME, opponent="greedy", seat=0)
    for one in (env, twin):
        one.reset(seed=1)
    change(env, "greedy")
    assert env.unwrapped.opponent.name == "greedy"
    over = False
    while not over:
        action = env.unwrapped.action_masks().argmax()
        result, expected = env.step(action), twin.step(action)
        assert (result[0] == expected[0]).all()
        over = result[2]
    for one in (env, new):
        one.reset(seed=2)
        for _ in range(5):
            one.step(one.unwrapped.action_masks().argmax())
    assert env.unwrapped.game == new.unwrapped.game


def test_an_opponent_that_is_refused_changes_nothing():
    env, alone = patchwork_v0.PatchworkEnv("random"), gymnasium.make("patchwork_env:Nmbr9-v0").unwrapped
    for wrong in ("gredy", 3, None):
        with pytest.raises(ValueError, match=str(wrong)):
            env.opponent = wrong
    assert env.opponent.name == "random"
    with pytest.raises(ValueError, match="a game for one player has none"):
        alone.set_opponent("greedy")


def test_single_environments_of_make_vec_change_their_opponents():
    envs = gymnasium.make_vec(NAME, 3, "sync", opponent="random")
    envs.set_attr("opponent", ["greedy", "random", "greedy"])
    assert [agent.name for agent in envs.get_attr("opponent")] == ["greedy", "random", "greedy"]
    envs.set_attr("opponent", "greedy")
    assert [env.unwrapped.opponent.name for env in envs.envs] == ["greedy"] * 3


def test_a_batch_has_the_interface_of_gymnasiums_vector_environments():
    envs = gymnasium.make_vec(NAME, 4, "vector_entry_point", opponent="random", render_mode="ansi")
    envs.reset(seed=1)
    batch = envs.unwrapped
    assert batch.autoreset_mode is AutoresetMode.SAME_STEP
    assert (np.array(batch.call("action_masks")) == batch.action_masks()).all()
    assert batch.get_attr("seat") == (1, 0, 1, 0)
    assert list(batch.get_attr("game")) == batch.games()
    assert batch.call("render") == batch.render()
    one, other = agents.load("greedy"), agents.load("random")
    batch.set_attr("opponent", [one, one, other, other])
    batch.reset()
    assert batch.get_attr("opponent") == (one, one, other, other)
    batch.set_attr("opponent", "greedy")
    batch.reset()
    assert {opponent.name for opponent in batch.get_attr("opponent")} == {"greedy"}
    with pytest.raises(ValueError, match="there are 2 opponents for 4 games"):
        batch.set_attr("opponent", [one, other])
    for call in (lambda: batch.call("spam"), lambda: batch.set_attr("seat", 1)):
        with pytest.raises(AttributeError, match=r"spam|cannot be set"):
            call()
