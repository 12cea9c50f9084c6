"""The PPO of one's own: it trains, saves and measures, and learns what the algorithm ``ppo`` learns."""

import re

import pytest
import torch

from examples import own_ppo as example
from patchwork_env import agents
from patchwork_env.learning import toolbox
from patchwork_env.learning.algorithms.common.trainer import make_trainer
from patchwork_env.learning.algorithms.ppo.trainer import LOOKAHEAD_FACTOR
from patchwork_env.learning.config import load_config
from patchwork_env.patchwork import Game

ENVS, ITERATIONS = 16, 4


@pytest.mark.slow
def test_it_trains_saves_and_measures(start, tmp_path, monkeypatch, capsys):
    arguments = ["--steps", "2048", "--num-envs", "16", "--games", "4", "--threads", "2", "--out", "mine"]
    printed = start("own_ppo.py", *arguments)
    assert re.search(r"2048 steps .* minutes .*% \(.*% to .*%\) against greedy in 4 games", printed)
    assert agents.load(tmp_path / "mine").act(Game(seed=1)) in Game(seed=1).legal_actions()
    assert len(toolbox.play_matches(str(tmp_path / "mine"), "random", 2, seed=1).games.scores) == 2
    monkeypatch.chdir(tmp_path)
    refused = [(arguments, "mine exists already"), (["--games", "3"], "--games must be even")]
    refused += [([f"--{name}", "0"], "must be above 0") for name in ("minutes", "steps", "threads", "games")]
    for given, message in refused:
        monkeypatch.setattr("sys.argv", ["own_ppo.py", *given])
        with pytest.raises(SystemExit):
            example.parse_arguments()
        assert message in capsys.readouterr().err


def test_its_settings_are_those_of_the_configuration():
    config = load_config("ppo")
    assert config.network == example.NETWORK
    assert (config.reward, config.league) == (example.REWARD, example.LEAGUE)
    assert (config.ppo.rollout_steps, config.ppo.minibatch_size) == (example.TURNS, example.MINIBATCH)
    lookahead = config.ppo.lookahead_from, LOOKAHEAD_FACTOR
    assert lookahead == (example.LOOKAHEAD_FROM, example.LOOKAHEAD_FACTOR)


def test_it_learns_what_the_algorithm_learns(monkeypatch):
    """The same weights to the bit, with past selves in play that are drawn anew in every iteration.

    The last two iterations look ahead.

    Whoever changes one of the two changes the other, or tells in the example what is different.
    """
    sizes = {"width": 16, "depth": 1, "channels": 0, "offers": True, "lookahead": True}
    monkeypatch.setattr(example, "TURNS", 24)
    monkeypatch.setattr(example, "MINIBATCH", 100)
    monkeypatch.setattr(example, "LOOKAHEAD_FROM", 0.5)
    monkeypatch.setattr(example, "LEAGUE", toolbox.League(fraction=0.5, snapshot_every=1, size=2))
    keys = [f"network.{name}={value}" for name, value in sizes.items()]
    keys += [f"ppo.num_envs={ENVS}", "ppo.rollout_steps=24", "ppo.minibatch_size=100", "threads=2", "seed=3"]
    keys += [
        "ppo.precision=float32",
        "ppo.lookahead_from=0.5",
        "league.fraction=0.5",
        "league.snapshot_every=1",
        "league.size=2",
    ]
    trainer = make_trainer(load_config("ppo", [*keys, f"total_steps={ENVS * 24 * ITERATIONS}"]))
    torch.manual_seed(3)
    network = toolbox.PatchworkNetwork(toolbox.NetworkConfig(**sizes))
    optimizer = torch.optim.Adam(network.parameters(), eps=1e-5, fused=True)
    games = example.SelfPlay(ENVS, 3, toolbox.ThreadPool(2))
    for iteration in range(ITERATIONS):
        trainer.step()
        example.learn(network, optimizer, games, iteration / ITERATIONS)
        games.pool.add(network)
    assert (games.opponents >= 0).any()
    assert network.looks_ahead
    for name, weights in trainer.network.state_dict().items():
        assert torch.equal(network.state_dict()[name], weights), name
