"""The environments of NMBR 9: what is special to the game; ``tests/envs`` has what all games do."""

from __future__ import annotations

from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pettingzoo
import pytest

from patchwork_env import nmbr9_v0
from patchwork_env.nmbr9 import Game
from patchwork_env.nmbr9_v0 import Nmbr9AECEnv, Nmbr9Env, Nmbr9VectorEnv, SelfPlayVectorEnv

NAME = "patchwork_env:Nmbr9-v0"
LINE = {"deck": [3] * 20}


def test_seeds_and_decks_give_their_games() -> None:
    env = gymnasium.make(NAME).unwrapped
    env.reset(seed=11)
    assert env.game == Game(seed=11)
    env.reset()
    assert env.game != Game(seed=11)
    env.reset(options={"deck": [9, 1, 4]})
    assert env.game == Game(deck=[9, 1, 4])
    turns = pettingzoo.make("aec", "nmbr9/nmbr9_v0", players=3)
    turns.reset(seed=1)
    assert turns.agents == ["player_0", "player_1", "player_2"]
    assert turns.unwrapped.game == Game(seed=1, players=3)
    assert SelfPlayVectorEnv(1, seed=9).games()[0] == Game(seed=9)
    batch = SelfPlayVectorEnv(2, deck=[3, 1, 4], seed=1)
    for _ in range(7):
        batch.step(batch.random_actions)
        assert {game.deck for game in batch.games()} == {(3, 1, 4)}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"order": "random"}, "order is 'random'; allowed are 'unknown', 'known', 'free'"),
        ({"players": 5}, "players is 5"),
        ({"players": 1, "rewards": "outcome"}, "needs 2 players"),
        ({"players": 1, "rewards": "margin"}, "needs 2 players"),
    ],
)
def test_wrong_options(options: dict[str, Any], message: str) -> None:
    for make in (nmbr9_v0.raw_env, nmbr9_v0.parallel_env, partial(SelfPlayVectorEnv, 1), Nmbr9Env):
        with pytest.raises(ValueError, match=message):
            make(**options)


def first_action(game: Game) -> int:
    return int(game.legal_actions()[0])


def test_a_line_that_meets_the_end_of_the_table_goes_on_to_the_end_of_the_game() -> None:
    """Whoever lays it, and in every kind of environment."""
    options = {"players": 2, "seat": 1, "opponent": first_action}
    env, envs, steps = Nmbr9Env(**options), Nmbr9VectorEnv(2, **options), 0
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


def play_out(env: Nmbr9AECEnv, seed: int) -> dict[str, float]:
    """Random legal play; returns every agent's sum of rewards."""
    rng, returns = np.random.default_rng(seed), dict.fromkeys(env.possible_agents, 0.0)
    for agent in env.agent_iter():
        observation, reward, terminated, truncated, _ = env.last()
        returns[agent] += reward
        over = terminated or truncated
        env.step(None if over else rng.choice(np.flatnonzero(observation["action_mask"])))
    return returns


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
