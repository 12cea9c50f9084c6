"""The PettingZoo environments, by turns and parallel: conformance, rewards, and what is revealed when."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pettingzoo
import pytest

from patchwork_env import nmbr9_v0
from patchwork_env.nmbr9 import Game, IllegalActionError
from patchwork_env.nmbr9.observation import as_dict
from patchwork_env.nmbr9.rules import outcome
from patchwork_env.nmbr9_v0 import Nmbr9AECEnv

OPTIONS: list[dict[str, Any]] = [
    {"players": 1},
    {"players": 2, "order": "free", "observation": "dict", "deck_size": 6},
    {"players": 4, "rewards": "score", "order": "known", "deck_size": 6},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
def test_conformance(options: dict[str, Any]) -> None:
    from pettingzoo.test import api_test, parallel_api_test, seed_test

    api_test(nmbr9_v0.env(**options), num_cycles=50)
    seed_test(lambda: nmbr9_v0.env(**options), num_cycles=10)
    parallel_api_test(nmbr9_v0.parallel_env(**options), num_cycles=50)


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
    assert [outcome(game.state, 0, player) for player in range(2)] == [0.0, 0.0]


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


def test_by_turns_and_parallel_are_the_same_game() -> None:
    for options in OPTIONS:
        turns, parallel = nmbr9_v0.raw_env(**options), nmbr9_v0.parallel_env(**options)
        turns.reset(seed=8)
        observations, _ = parallel.reset(seed=8)
        rng = np.random.default_rng(8)
        while parallel.agents:
            masks = {agent: seen["action_mask"] for agent, seen in observations.items()}
            actions = {agent: rng.choice(np.flatnonzero(mask)) for agent, mask in masks.items()}
            for agent in parallel.agents:
                assert turns.agent_selection == agent
                seen = turns.observe(agent)
                assert (seen["action_mask"] == masks[agent]).all()
                one, other = seen["observation"], observations[agent]["observation"]
                if isinstance(one, dict):
                    assert all((one[name] == other[name]).all() for name in one)
                else:
                    assert (one == other).all()
                turns.step(actions[agent])
            observations, rewards, terminations, truncations, _ = parallel.step(actions)
            assert parallel.game == turns.game
            assert terminations == turns.terminations
            assert truncations == turns.truncations
        assert all(not seen["action_mask"].any() for seen in observations.values())
        if options.get("rewards") != "score":
            assert rewards == turns.rewards


def test_the_edge_of_the_table_truncates_for_all() -> None:
    turns, parallel = nmbr9_v0.raw_env(), nmbr9_v0.parallel_env()
    turns.reset(options={"deck": [3] * 20})
    while not any(turns.truncations.values()):
        turns.step(turns.observe(turns.agent_selection)["action_mask"].argmax())
    assert turns.truncations == {"player_0": True, "player_1": True}
    assert not any(turns.terminations.values())
    observations, _ = parallel.reset(options={"deck": [3] * 20})
    while parallel.agents:
        actions = {agent: seen["action_mask"].argmax() for agent, seen in observations.items()}
        observations, rewards, _, truncations, _ = parallel.step(actions)
    assert truncations == {"player_0": True, "player_1": True}
    assert rewards == {"player_0": 0.0, "player_1": 0.0}


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


def test_copies_pickles_and_set_games_go_on_alike() -> None:
    env = nmbr9_v0.raw_env(players=2, deck_size=5)
    env.reset(seed=2)
    env.step(env.observe("player_0")["action_mask"].argmax())
    twins = [copy.deepcopy(env), pickle.loads(pickle.dumps(env)), nmbr9_v0.raw_env(players=2, deck_size=5)]
    twins[2].game = env.game
    expected = play_out(env, 5)
    for twin in twins:
        assert play_out(twin, 5) == expected
        assert twin.game == env.game
    with pytest.raises(ValueError, match="game has 3 players, this environment 2"):
        env.game = Game(players=3)
    with pytest.raises(TypeError, match="not str"):
        env.game = "game"


def test_bad_options() -> None:
    for options, message in (
        ({"players": 5}, "players is 5; allowed are 1 to 4"),
        ({"players": 1, "rewards": "outcome"}, "needs 2 players at least"),
        ({"rewards": "margin"}, "rewards is 'margin'; allowed are 'score', 'outcome'"),
    ):
        with pytest.raises(ValueError, match=message):
            nmbr9_v0.raw_env(**options)
    env = nmbr9_v0.raw_env()
    with pytest.raises(ValueError, match="unknown reset option 'circle'; allowed are 'deck'"):
        env.reset(options={"circle": []})


def test_observations_of_others_end_with_the_round() -> None:
    game = Game(seed=1, players=2, deck_size=3)
    game.play(game.legal_actions()[0])
    own, other = as_dict(game.observation(0)), as_dict(game.observation(1))
    assert own["tiles"][0, 0, 0] == 1
    assert not other["tiles"][1].any()
    game.play(game.legal_actions()[0])
    assert as_dict(game.observation(1))["tiles"][1, 0, 0] == 1
