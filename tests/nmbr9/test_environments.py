"""The environments of NMBR 9: what is special to the game; ``tests/envs`` has what all games do."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pettingzoo
import pytest

from patchwork_env import nmbr9_v0
from patchwork_env.errors import IllegalActionError
from patchwork_env.nmbr9 import Game
from patchwork_env.nmbr9.observation import as_dict
from patchwork_env.nmbr9_v0 import Nmbr9AECEnv, Nmbr9Env, Nmbr9VectorEnv, SelfPlayVectorEnv

NAME = "patchwork_env:Nmbr9-v0"
LINE = {"deck": [3] * 20}


def raw(**options: Any) -> Nmbr9Env:
    env = gymnasium.make(NAME, **options).unwrapped
    assert isinstance(env, Nmbr9Env)
    return env


def raw_vector(num_envs: int, **options: Any) -> Nmbr9VectorEnv:
    envs = gymnasium.make_vec(NAME, num_envs=num_envs, vectorization_mode="vector_entry_point", **options)
    assert isinstance(envs, Nmbr9VectorEnv)
    return envs


def test_the_seed_gives_the_game_of_that_seed() -> None:
    env = raw()
    env.reset(seed=11)
    assert env.game == Game(seed=11)
    env.reset()
    assert env.game != Game(seed=11)
    env.reset(options={"deck": [9, 1, 4]})
    assert env.game == Game(deck=[9, 1, 4])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"order": "random"}, "order is 'random'; allowed are 'unknown', 'known', 'free'"),
        ({"max_digit": 10}, "max_digit is 10; allowed are 0 to 9"),
        ({"copies": 5}, "5 copies of the digits 0 to 9 make 50 cards"),
        ({"deck_size": 21}, "deck_size is 21; allowed are 1 to 20"),
        ({"observation": "planes"}, "observation is 'planes'"),
        ({"illegal_action": "ignore"}, "illegal_action is 'ignore'"),
        ({"render_mode": "svg"}, "render_mode is 'svg'"),
    ],
)
def test_bad_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Nmbr9Env(**options)


def first_action(game: Game) -> int:
    return int(game.legal_actions()[0])


def test_a_line_that_meets_the_end_of_the_table_goes_on_to_the_end_of_the_game() -> None:
    """Whoever lays it, and in every kind of environment."""
    options = {"players": 2, "seat": 1, "opponent": first_action}
    env, envs, steps = raw(**options), raw_vector(2, **options), 0
    _, info = env.reset(options=LINE)
    envs.reset(options=LINE)
    turns, parallel = nmbr9_v0.raw_env(), nmbr9_v0.parallel_env()
    turns.reset(options=LINE)
    parallel.reset(options=LINE)
    batch = SelfPlayVectorEnv(1, players=2, seed=1, **LINE)
    terminated = False
    while not terminated:
        action, steps = int(info["action_mask"].argmax()), steps + 1
        _, reward, terminated, truncated, info = env.step(action)
        _, rewards, terminations, truncations, infos = envs.step([action] * 2)
        _, _, of_agents, cut_off, _ = parallel.step(dict.fromkeys(parallel.agents, action))
        for _ in range(2):
            turns.step(action)
            batch.step([action])
        assert set(map(bool, (*terminations, *of_agents.values(), *batch.terminations))) == {terminated}
        assert not any((truncated, *truncations, *cut_off.values(), *batch.truncations))
        assert turns.game == parallel.game
        assert rewards.tolist() == [reward] * 2 == [0.0, 0.0]
    assert steps == 20
    assert infos["final_info"]["scores"].tolist() == [info["scores"].tolist()] * 2


def test_illegal_actions_in_a_batch() -> None:
    envs = raw_vector(2)
    _, infos = envs.reset(options=LINE)
    _, rewards, terminations, _, infos = envs.step([0, int(infos["action_mask"][1].argmax())])
    assert rewards.tolist() == [-1.0, 0.0]
    assert terminations.tolist() == [True, False]
    assert infos["final_info"]["illegal_action"][0] == 0
    strict = raw_vector(2, illegal_action="raise")
    strict.reset(seed=1)
    with pytest.raises(IllegalActionError, match="action 0 of game 0"):
        strict.step([0, 0])


def test_it_is_registered() -> None:
    env = pettingzoo.make("aec", "nmbr9/nmbr9_v0", players=3)
    env.reset(seed=1)
    assert env.agents == ["player_0", "player_1", "player_2"]
    assert env.unwrapped.game == Game(seed=1, players=3)


def play_out(env: Nmbr9AECEnv, seed: int) -> dict[str, float]:
    """Random legal play; returns every agent's sum of rewards."""
    rng, returns = np.random.default_rng(seed), dict.fromkeys(env.possible_agents, 0.0)
    for agent in env.agent_iter():
        observation, reward, terminated, truncated, _ = env.last()
        returns[agent] += reward
        over = terminated or truncated
        env.step(None if over else rng.choice(np.flatnonzero(observation["action_mask"])))
    return returns


@pytest.mark.parametrize("players", [1, 3])
def test_scores_as_rewards_add_up(players: int) -> None:
    env = nmbr9_v0.raw_env(players=players, rewards="score")
    env.reset(seed=3)
    returns = play_out(env, 3)
    assert tuple(returns.values()) == env.game.scores()


@pytest.mark.parametrize("players", [2, 3, 4])
def test_outcomes(players: int) -> None:
    env = nmbr9_v0.raw_env(players=players, deck_size=8)
    ties = 0
    for seed in range(12):
        env.reset(seed=seed)
        returns, winners = list(play_out(env, seed).values()), env.game.winners()
        assert abs(sum(returns)) < 1e-9
        assert {player for player in range(players) if returns[player] == max(returns)} == set(winners)
        if len(winners) == 1:
            assert sorted(returns) == pytest.approx([-1 / (players - 1)] * (players - 1) + [1])
        ties += len(winners) > 1
    assert ties


def test_two_that_tie_get_nothing() -> None:
    game = Game(deck=[5], players=2)
    for _ in range(2):
        game.play(game.legal_actions()[0])
    assert game.winners() == (0, 1)
    assert [game.rules.kernels.outcome(game.state, 0, player) for player in range(2)] == [0.0, 0.0]


@pytest.mark.parametrize("order", ["unknown", "known", "free"])
def test_nothing_is_revealed_early(order: str) -> None:
    """What the last player sees before acting does not depend on what the others did in the round."""
    rng = np.random.default_rng(6)
    game = Game(seed=6, players=3, order=order, deck_size=9)
    while not game.is_over:
        seen = set()
        for _ in range(3):
            copy_of_game = game.clone()
            while copy_of_game.current_player < 2:
                copy_of_game.play(rng.choice(copy_of_game.legal_actions()))
            seen.add(copy_of_game.observation(2).tobytes())
        assert len(seen) == 1
        game = copy_of_game
        game.play(rng.choice(game.legal_actions()))


def test_illegal_actions() -> None:
    turns, parallel = nmbr9_v0.raw_env(), nmbr9_v0.parallel_env()
    turns.reset(seed=1)
    with pytest.raises(IllegalActionError):
        turns.step(0)
    observations, _ = parallel.reset(seed=1)
    good = int(observations["player_0"]["action_mask"].argmax())
    for actions, message in (
        ({"player_0": good, "player_1": 0}, "action 0 of player_1 is not legal"),
        ({"player_0": good}, "no action of player_1"),
    ):
        with pytest.raises(IllegalActionError, match=message):
            parallel.step(actions)
        assert parallel.game == turns.game == Game(seed=1, players=2)


def test_observations_of_others_end_with_the_round() -> None:
    game = Game(seed=1, players=2, deck_size=3)
    game.play(game.legal_actions()[0])
    own, other = as_dict(game.observation(0)), as_dict(game.observation(1))
    assert own["tiles"][0, 0, 0] == 1
    assert not other["tiles"][1].any()
    game.play(game.legal_actions()[0])
    assert as_dict(game.observation(1))["tiles"][1, 0, 0] == 1


def test_the_first_decks_are_those_of_the_seed_alone() -> None:
    few, many = SelfPlayVectorEnv(2, seed=9), SelfPlayVectorEnv(5, seed=9)
    for _ in range(50):
        few.step(few.random_actions)
        many.step(many.random_actions)
    assert few.states.tobytes() == many.states[:2].tobytes()
    assert SelfPlayVectorEnv(1, seed=9).games()[0] == Game(seed=9)


def test_a_given_deck_comes_again_and_again() -> None:
    env = SelfPlayVectorEnv(2, deck=[3, 1, 4], seed=1)
    for _ in range(7):
        env.step(env.random_actions)
        assert {game.deck for game in env.games()} == {(3, 1, 4)}


def test_margins() -> None:
    env = nmbr9_v0.raw_env(players=2, rewards="margin", deck_size=8)
    env.reset(seed=2)
    returns = play_out(env, 2)
    own, other = env.game.scores()
    assert returns == {"player_0": (own - other) / 100, "player_1": (other - own) / 100}


def test_alone_there_is_no_outcome() -> None:
    for kind in ("outcome", "margin"):
        with pytest.raises(ValueError, match="needs 2 players at least"):
            nmbr9_v0.raw_env(players=1, rewards=kind)
    with pytest.raises(ValueError, match="players is 5; allowed are 1 to 4"):
        nmbr9_v0.raw_env(players=5)
    with pytest.raises(ValueError, match="give a deck, or max_digit and copies, not both"):
        SelfPlayVectorEnv(1, deck=[1, 2], max_digit=3)
