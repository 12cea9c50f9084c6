"""The environments of RLlib: who is to move, what is seen, and what the end is worth."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("ray")

from patchwork_env.errors import IllegalActionError, UnknownOptionError
from patchwork_env.integrations.rllib.env import GameMultiAgentEnv, final_rewards
from patchwork_env.integrations.rllib.trainer import env_config
from patchwork_env.learning.config import Reward
from tests.integrations.rllib.small import small_config

pytestmark = pytest.mark.older

GAMES = [("patchwork", 2, 0.0), ("nmbr9", 1, 0.5), ("nmbr9", 3, 0.25)]
REWARD = Reward(outcome=1.0, margin=0.5)


def env_of(game, players=2, points=0.0):
    config = small_config(game, players=players, points=points or float(players == 1))
    return GameMultiAgentEnv(env_config(config) | {"reward": REWARD.model_dump(), "points": points})


def play(env, seed, rng):
    """A game of random legal actions: all steps, each with who acted, and what came of it."""
    observations, infos = env.reset(seed=seed)
    assert infos == {}
    steps, over = [(None, observations, {}, {}, {})], False
    while not over:
        ((player, seen),) = observations.items()
        action = int(rng.choice(np.flatnonzero(seen["action_mask"])))
        observations, rewards, terminated, truncated, _ = env.step({player: action})
        steps.append(((player, action), observations, rewards, terminated, truncated))
        over = terminated["__all__"] or truncated["__all__"]
    return steps


def test_all_settings_have_defaults():
    assert len(GameMultiAgentEnv({"game": "nmbr9"}).possible_agents) == 2
    env, other = GameMultiAgentEnv(None), GameMultiAgentEnv({})
    for one in (env, other):
        steps = play(one, 2, np.random.default_rng(2))
        assert any(any(rewards.values()) for *_, rewards, _, _ in steps)
    assert env.finished == other.finished
    other.salt = 1
    other.reset(seed=2)
    assert env.finished.root() != other.game
    with pytest.raises(UnknownOptionError, match="'palyers'; did you mean 'players'"):
        GameMultiAgentEnv({"palyers": 3})
    with pytest.raises(ValueError, match="there is no game 'chess'"):
        GameMultiAgentEnv({"game": "chess"})


@pytest.mark.parametrize(("name", "players", "points"), GAMES)
def test_players_move_as_the_engine_says_and_see_what_it_shows(name, players, points):
    env, rng = env_of(name, players, points), np.random.default_rng(1)
    for seed in range(2):
        beginning = env.reset(seed=seed)
        game = env.game
        steps = play(env, seed, rng)
        np.testing.assert_equal(steps[0][1], beginning[0])
        for acted, observations, *_ in steps:
            if acted is not None:
                player, action = acted
                assert player == f"player_{game.current_player}"
                game.play(action)
            if game.is_over:
                assert list(observations) == env.possible_agents
                assert not any(seen["action_mask"].any() for seen in observations.values())
                continue
            ((to_move, seen),) = observations.items()
            assert to_move == f"player_{game.current_player}"
            np.testing.assert_array_equal(seen["action_mask"], game.action_mask())
            np.testing.assert_array_equal(seen["observation"], game.observation())
            assert env.observation_spaces[to_move].contains(seen)
        assert game.is_over
        assert env.finished == game


def worths(game):
    """What the end of a game is worth for each player."""
    scores, winners, players = game.scores(), game.winners(), game.num_players
    if players == 1:
        return [0]
    found = []
    for player, score in enumerate(scores):
        share = (players * (player in winners) / len(winners) - 1) / (players - 1)
        margin = score - max(other for number, other in enumerate(scores) if number != player)
        found.append(share + 0.5 * np.clip(margin / 40, -1, 1))
    return found


@pytest.mark.parametrize(("name", "players", "points"), GAMES)
def test_everybody_is_rewarded_at_the_end_and_for_points_at_once(name, players, points):
    env, rng = env_of(name, players, points), np.random.default_rng(2)
    for seed in range(2):
        steps = play(env, seed, rng)
        finals, scores = worths(env.finished), env.finished.scores()
        assert final_rewards(REWARD, env.finished) == pytest.approx(finals)
        sums = dict.fromkeys(env.possible_agents, 0.0)
        for (player, _), _, rewards, terminated, _ in steps[1:-1]:
            assert set(rewards) == {player}
            assert not any(terminated.values())
            sums[player] += rewards[player]
        (last, _), _, rewards, terminated, truncated = steps[-1]
        assert all(terminated.values())
        assert not any(truncated.values())
        assert set(rewards) == set(env.possible_agents)
        for number, agent in enumerate(env.possible_agents):
            gained = points * scores[number] if name == "nmbr9" else 0.0
            assert sums[agent] + rewards[agent] == pytest.approx(gained + finals[number])
            if agent != last:  # whoever did not move last gets nothing but the end's worth
                assert rewards[agent] == pytest.approx(finals[number])


def test_actions_that_are_not_legal_are_refused_and_change_nothing():
    env = env_of("patchwork")
    observations, _ = env.reset(seed=1)
    ((player, seen),) = observations.items()
    before = env.game
    with pytest.raises(IllegalActionError):
        env.step({player: int(np.flatnonzero(seen["action_mask"] == 0)[0])})
    other = "player_1" if player == "player_0" else "player_0"
    for actions in ({other: 0}, {}, {player: 0, other: 0}):
        with pytest.raises(ValueError, match=f"it is the turn of {player} alone"):
            env.step(actions)
    assert env.game == before
