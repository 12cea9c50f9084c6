"""The environments of RLlib: players to move, observations and rewards."""

import numpy as np
import pytest

pytest.importorskip("ray")

from ray.rllib.utils.pre_checks.env import check_multiagent_environments

from patchwork_env.errors import IllegalActionError, UnknownOptionError
from patchwork_env.integrations.rllib.env import GameMultiAgentEnv

pytestmark = pytest.mark.older

CONFIGS = (
    {},
    {"rewards": "margin", "reward_scale": 5.0},
    {"game": "nmbr9", "players": 1, "reward_scale": 0.5},
    {"game": "nmbr9", "players": 3},
    {"game": "nmbr9", "players": 2, "rewards": "score"},
)


def play(env, seed, rng):
    """Play random legal actions; return all steps: the player with the action, and the results."""
    observations, infos = env.reset(seed=seed)
    assert infos == {}
    steps, over = [(None, observations, {}, {}, {}, {})], False
    while not over:
        ((player, seen),) = observations.items()
        action = int(rng.choice(np.flatnonzero(seen["action_mask"])))
        result = env.step({player: action})
        steps.append(((player, action), *result))
        observations, over = result[0], result[2]["__all__"]
    return steps


@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_games_are_those_of_the_engine_and_all_players_hear_of_the_end(config):
    env, rng = GameMultiAgentEnv(config), np.random.default_rng(1)
    kind, scale = config.get("rewards", "outcome"), config.get("reward_scale", 1.0)
    steps = play(env, 3, rng)
    env.reset(seed=3)
    game, sums = env.game, dict.fromkeys(env.possible_agents, 0.0)
    for acted, observations, rewards, terminated, truncated, infos in steps:
        if acted is not None:
            assert acted[0] == f"player_{game.current_player}"
            game.play(acted[1])
            assert set(rewards) == (set(sums) if game.is_over else {acted[0]})
            assert terminated == dict.fromkeys([*sums, "__all__"], game.is_over)
            assert truncated == dict.fromkeys([*sums, "__all__"], False)
        for agent, reward in rewards.items():
            sums[agent] += reward
        if not game.is_over:
            ((player, seen),) = observations.items()
            assert player == f"player_{game.current_player}"
            np.testing.assert_array_equal(seen["action_mask"], game.action_mask())
            np.testing.assert_array_equal(seen["observation"], game.observation())
            assert env.observation_spaces[player].contains(seen)
            assert infos == {}
    assert game.is_over
    assert list(observations) == env.possible_agents
    assert not any(seen["action_mask"].any() for seen in observations.values())
    scores, winners, n = game.scores(), game.winners(), len(sums)
    for player, (agent, gained) in enumerate(sums.items()):
        if n > 1:
            outcome = (n * (player in winners) / len(winners) - 1) / (n - 1)
            assert infos[agent] == {"outcome": pytest.approx(outcome)}
        if kind == "score" or n == 1:
            assert gained == pytest.approx(scale * scores[player])
        elif kind == "margin":
            assert gained == pytest.approx(scale * (scores[player] - scores[1 - player]) / 100)
        else:
            assert gained == pytest.approx(scale * outcome)
    assert n > 1 or infos == {}


@pytest.mark.parametrize("options", [{}, {"game": "nmbr9", "players": 2}])
def test_it_passes_the_check_of_rllib_which_knows_no_masks(options):
    env = GameMultiAgentEnv({"illegal_action": "terminate", **options})
    for agent in env.possible_agents:
        env.action_spaces[agent].seed(1)
    check_multiagent_environments(env)


def test_an_illegal_action_is_refused_or_ends_the_game():
    env, ending = GameMultiAgentEnv(), GameMultiAgentEnv({"illegal_action": "terminate"})
    ((player, seen),) = env.reset(seed=1)[0].items()
    ending.reset(seed=1)
    before, illegal = env.game, int(np.flatnonzero(seen["action_mask"] == 0)[0])
    with pytest.raises(IllegalActionError):
        env.step({player: illegal})
    other = "player_1" if player == "player_0" else "player_0"
    for actions in ({other: 0}, {}, {player: 0, other: 0}):
        with pytest.raises(ValueError, match=f"it is the turn of {player} alone"):
            env.step(actions)
    assert env.game == before
    _, rewards, terminated, truncated, infos = ending.step({player: illegal})
    assert rewards == {player: -1, other: 0}
    assert terminated["__all__"]
    assert truncated["__all__"]
    assert infos == {}


@pytest.mark.parametrize(
    ("config", "error", "message"),
    [
        ({"palyers": 3}, UnknownOptionError, "'palyers'"),
        ({"game": "chess"}, ValueError, "there is no game 'chess'"),
        ({"reward_scale": 0}, ValueError, "reward_scale is 0; it must be a finite number above 0"),
    ],
)
def test_invalid_configurations_are_refused(config, error, message):
    with pytest.raises(error, match=message):
        GameMultiAgentEnv(config)
