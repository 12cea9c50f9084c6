"""Odd arguments that used to end in errors from inside, or worse; the attacks try many more."""

import numpy as np
import pytest

from patchwork_env import agents, games, nmbr9, nmbr9_v0, patchwork, patchwork_v0
from patchwork_env.errors import ConfigError, IllegalActionError
from tests.attack.sound import require_message

BOTH = pytest.mark.parametrize("rules", [games.rules_of(name) for name in games.GAMES[:2]], ids=repr)


def refused(function, *arguments, error=ValueError, **named):
    with pytest.raises(error) as caught:
        function(*arguments, **named)
    assert type(caught.value) in (error, IllegalActionError)
    require_message(caught.value)


@BOTH
def test_a_view_of_a_player_who_does_not_exist_is_an_error(rules):
    """It read beyond the record, and crashed for large numbers."""
    env = {games.PATCHWORK: patchwork_v0, games.NMBR9: nmbr9_v0}[rules.name].raw_env()
    env.reset(seed=1)
    for player in (-1, 2, 5, 2**31, 2**64, "0", 0.0, True):
        refused(env.game.observation, player)
    for agent in ("player_2", 0, None, [], {}):
        for method in (env.observe, env.action_space, env.observation_space):
            refused(method, agent)


@BOTH
def test_agents_refuse_what_is_no_game(rules):
    for agent in (agents.load("random", 1), agents.load("greedy"), agents.as_agent(lambda game: 0)):
        for game in (None, 1, "game", object()):
            refused(agent.act, game)
        state = rules.game(seed=1).state
        for states in (None, [], state[0], state.reshape(1, 1), np.zeros(3), "patchwork " * 1000):
            refused(agent.act_batch, states)
        for name in (None, 7, "x" * 5000):
            refused(agent.check_game, name)
        refused(agent.reseed, -1)
    refused(agents.CallableAgent, 5)
    refused(agents.CallableAgent, len, name=5)


@pytest.mark.parametrize("package", [patchwork, nmbr9])
def test_an_observation_of_another_length_is_an_error(package):
    for vector in (None, 5, np.zeros(5), np.float32(1), memoryview(b"x")):
        refused(package.as_dict, vector)


@BOTH
def test_numpy_integers_are_integers(rules):
    module = {games.PATCHWORK: patchwork_v0, games.NMBR9: nmbr9_v0}[rules.name]
    single = module.PatchworkEnv if rules.name == games.PATCHWORK else module.Nmbr9Env
    many = module.PatchworkVectorEnv if rules.name == games.PATCHWORK else module.Nmbr9VectorEnv
    for kind in (np.int8, np.array):
        seven, one = kind(7), kind(1)
        assert rules.game(seed=seven) == rules.game(seed=7)
        assert agents.RandomAgent(seven).act(rules.game(seed=7)) == agents.RandomAgent(7).act(
            rules.game(seed=7)
        )
        for env in (module.raw_env(), single(seat=kind(0)), many(one), module.SelfPlayBatch(one)):
            env.reset(seed=seven)


def test_learning_refuses_what_is_nothing_of_the_kind():
    from patchwork_env.learning import config, evaluation

    for number in ("1", 7, 10**5000, np.zeros(2)):
        refused(evaluation.play_gauntlet, "random", games=number)
    for names in ("random", 5, [1, 2], [["random"], "greedy"], None):
        refused(evaluation.Tournament.enter, names, 2)
    for anchor in (5, "greedy " * 1000, np.zeros(2)):
        refused(evaluation.Tournament.enter, ["a", "b"], 2, anchor=anchor)
    for source in (None, 5, b"quick"):
        refused(config.load_config, source, error=ConfigError)
    for overrides in (None, 5, "seed=1", [1]):
        refused(config.load_config, "quick", overrides, error=ConfigError)
        refused(config.explain, overrides, error=ConfigError)
