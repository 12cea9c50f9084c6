"""Games in RLlib: a whole trajectory for every player, and the league."""

from collections import Counter, defaultdict
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("ray")

import torch
from ray.rllib.algorithms.algorithm import Algorithm
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec

from examples import rllib_self_play as example
from patchwork_env.integrations.rllib.league import MAIN, LeagueCallback, module_of
from patchwork_env.integrations.rllib.module import module_spec
from patchwork_env.learning.distributed import connected

pytestmark = [
    pytest.mark.older,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning"),
]


@pytest.fixture(scope="module")
def built():
    """Builds the example's algorithm with few games at once; all are stopped after the tests, and Ray."""
    made = []

    def build(env_config, players=2, turns=256, **league):
        config = example.ppo(iterations=10, workers=0, turns=turns, seed=5)
        spec = module_spec(env_config.get("game", "patchwork"))
        config.environment(env_config={"rewards": "outcome", **env_config})
        config.env_runners(num_envs_per_env_runner=4)
        config.rl_module(rl_module_spec=MultiRLModuleSpec(rl_module_specs={MAIN: spec}))
        config.callbacks(partial(LeagueCallback, players=players, **league))
        made.append(config.build_algo())
        return made[-1]

    with connected("local", 1):
        yield build
        for algorithm in made:
            algorithm.stop()


@pytest.mark.parametrize("env_config", [{}, {"game": "nmbr9", "players": 3}], ids=["patchwork", "nmbr9"])
def test_every_player_has_a_whole_trajectory_with_the_reward_at_its_end(built, env_config):
    algorithm, games = built(env_config, turns=28), defaultdict(list)
    for _ in range(25):  # chunks of 7 turns
        for chunk in algorithm.env_runner.sample():
            games[chunk.id_].append(chunk)
    ended = [chunks for chunks in games.values() if chunks[-1].is_terminated]
    assert len(ended) >= 8
    for chunks in ended:
        returns = []
        for agent in chunks[-1].agent_ids:
            parts = [chunk.agent_episodes[agent] for chunk in chunks if agent in chunk.agent_ids]
            assert parts[-1].is_terminated
            for part in parts:
                masks = part.get_observations(slice(0, len(part)))["action_mask"]
                assert masks[np.arange(len(part)), part.get_actions()].all(), "decisions of this player"
            returns.append(sum(sum(part.get_rewards()) for part in parts))
            assert returns[-1] == pytest.approx(5 * parts[-1].get_infos(-1)["outcome"]), "that of the end"
        assert len(returns) == env_config.get("players", 2)
        assert sum(returns) == pytest.approx(0)
        turns = sum(len(part) for chunk in chunks for part in chunk.agent_episodes.values())
        assert turns == sum(len(chunk) for chunk in chunks)


def test_past_selves_are_frozen_have_a_seat_win_or_lose_and_outlive_a_checkpoint(built, tmp_path):
    algorithm = built({}, turns=128, every=1, fraction=1.0)
    assert algorithm.train()["win_rates"] == {}
    copy = {name: tensor.clone() for name, tensor in algorithm.get_module(MAIN).state_dict().items()}

    def is_copy(module):
        state = algorithm.get_module(module).state_dict()
        return all(torch.equal(state[name], copy[name]) for name in copy)

    assert is_copy("past_0"), "from the next game on"
    results = [algorithm.train() for _ in range(3)]
    assert is_copy("past_0"), "frozen"
    assert not is_copy(MAIN)
    assert set(results[-1]["win_rates"]) == {"past_0", "past_1", "past_2"}
    assert any(0 < rate != 0.5 for rate in results[-1]["win_rates"].values())
    restored = Algorithm.from_checkpoint(algorithm.save_to_path(tmp_path))
    assert restored.train()["win_rates"] == {**results[-1]["win_rates"], "past_3": 0.5}, "no game ended since"
    restored.stop()
    learners, dealt = Counter(), {}
    for _ in range(4):
        for game in algorithm.env_runner.sample():
            modules = {agent: game.module_for(agent) for agent in ("player_0", "player_1")}
            assert modules == dealt.setdefault(game.id_, modules), "a game keeps its opponent"
    for modules in dealt.values():
        (learner,) = (agent for agent, module in modules.items() if module == MAIN)
        learners[learner] += 1
    assert set(learners) == {"player_0", "player_1"}


@pytest.mark.parametrize("players", [2, 3])
def test_seats_and_past_selves_are_drawn_in_their_shares(players):
    win_rates, games, found = {"past_0": 0.8, "past_1": 0.6}, 4000, Counter()
    for game in range(games):
        episode = SimpleNamespace(id_=f"game {game}")
        deal = partial(module_of, episode=episode, win_rates=win_rates, fraction=0.5, players=players)
        modules = [deal(f"player_{player}") for player in range(players)]
        others = set(modules) - {MAIN}
        assert modules.count(MAIN) == (1 if others else players)
        found[*sorted(others), *((modules.index(MAIN),) if others else ())] += 1
    assert found[()] / games == pytest.approx(0.5, abs=0.04)
    for seat in range(players):
        for name, share in (("past_0", 0.2), ("past_1", 0.8)):
            assert found[name, seat] / games == pytest.approx(0.5 * share / players, abs=0.02)


@pytest.mark.parametrize(
    ("modules", "outcome", "logged"),
    [
        ((MAIN, "past_4"), 1.0, [("past_4", 1.0)]),
        (("past_4", MAIN), -1.0, [("past_4", 0.0)]),
        (("past_4", MAIN, "past_4"), 0.25, [("past_4", 0.5)]),
        ((MAIN, MAIN), 1.0, []),
    ],
)
def test_wins_of_the_learner_count_and_shared_wins_are_halves(modules, outcome, logged):
    agents = {f"player_{number}": module for number, module in enumerate(modules)}
    ends = {
        agent: SimpleNamespace(get_infos=lambda at, own=module == MAIN: {"outcome": outcome if own else 7.0})
        for agent, module in agents.items()
    }
    episode = SimpleNamespace(agent_ids=set(agents), agent_episodes=ends, module_for=agents.get)
    found = []
    logger = SimpleNamespace(log_value=lambda key, value, reduce: found.append((key[-1], value)))
    LeagueCallback().on_episode_end(episode=episode, metrics_logger=logger)
    assert found == logged
