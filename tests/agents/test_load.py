"""Specs: the strings that name agents."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from patchwork_env import agents
from patchwork_env.agents import CallableAgent, GreedyAgent, RandomAgent
from patchwork_env.agents.checkpoints import SHIPPED_FOLDER, read_description
from patchwork_env.agents.networks import NetworkConfig
from patchwork_env.agents.partner import PartnerAgent
from patchwork_env.agents.patchwork.champion import ChampionAgent
from patchwork_env.agents.patchwork.mcts import MctsAgent
from patchwork_env.agents.patchwork.policy import PolicyAgent, save_policy
from patchwork_env.agents.patchwork.policy_network import PatchworkNetwork
from patchwork_env.agents.specs import import_agent
from patchwork_env.agents.uct import UctAgent
from patchwork_env.patchwork import Game


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run") / "final"
    save_policy(folder, PatchworkNetwork(NetworkConfig(width=8, depth=1, channels=4)), {})
    return folder


def test_every_name_gives_its_agent() -> None:
    types = {name: type(agents.load(name)) for name in agents.names("patchwork")}
    assert types.pop("random") is RandomAgent
    assert types.pop("greedy") is GreedyAgent
    assert types.pop("uct") is UctAgent
    assert types.pop("mcts") is MctsAgent
    assert types.pop("champion") is ChampionAgent
    assert types.pop("partner") is PartnerAgent
    assert {"ppo", "ppo-quick"} <= set(types)
    assert set(types.values()) == {PolicyAgent}


def test_an_agent_is_called_by_its_name() -> None:
    assert tuple(agents.load(name).name for name in agents.names()) == agents.names()
    assert repr(agents.load("greedy")) == "<agent greedy>"


@pytest.mark.parametrize("name", [name for name in agents.names() if agents.path_of(name)])
def test_agents_that_come_with_the_package_say_how_they_were_made(name: str) -> None:
    info = read_description(SHIPPED_FOLDER / name)["info"]
    assert info["configuration"]["algorithm"] == info["algorithm"]
    assert info["steps"] >= info["configuration"]["total_steps"]
    assert info["seconds"] > 0
    assert info["machine"]
    assert info["made_with"] == "python -m training.train"


def test_where_the_policy_of_a_spec_lies() -> None:
    assert agents.path_of("greedy") is None
    assert agents.path_of("ppo:sample=true") == SHIPPED_FOLDER / "ppo"
    assert agents.path_of("runs/ppo/final:simulations=8") == Path("runs/ppo/final")


def test_agents_that_come_with_the_package_have_the_options_of_checkpoints() -> None:
    assert agents.load("ppo:sample=true").sample is True
    with pytest.raises(ValueError, match="agent 'ppo' has no option 'samples'; its options: sample"):
        agents.load("ppo:samples=true")


def test_the_seed_reaches_the_agent() -> None:
    first, same, other = (agents.load("random", seed=seed) for seed in (5, 5, 6))
    game = Game(seed=1)
    actions = [[agent.act(game) for _ in range(20)] for agent in (first, same, other)]
    assert actions[0] == actions[1] != actions[2]


def test_a_path_gives_the_policy_of_a_checkpoint(checkpoint) -> None:
    for spec in (checkpoint, str(checkpoint), f"{checkpoint}/"):
        agent = agents.load(spec)
        assert agent.act(Game(seed=2)) in Game(seed=2).legal_actions()


def test_modules_of_the_current_folder_are_found(tmp_path, monkeypatch) -> None:
    (tmp_path / "of_this_folder.py").write_text("def first(game):\n    return game.legal_actions()[0]\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [folder for folder in sys.path if folder])
    assert import_agent("of_this_folder:first").act(Game(seed=1)) == 0
    assert sys.path[-1] == str(tmp_path)  # last, so that nothing of Python's own is covered


def test_options_stand_behind_the_last_colon(checkpoint, tmp_path) -> None:
    assert agents.load(f"{checkpoint}:sample=true").sample is True
    assert agents.load(f"{checkpoint}:sample=false").sample is False
    odd = tmp_path / "width=8:final"
    save_policy(odd, PatchworkNetwork(NetworkConfig(width=8, depth=1, channels=4)), {})
    assert agents.load(str(odd)).sample is False
    assert agents.load(f"{odd}:sample=true").sample is True


def test_the_seed_reaches_a_policy_that_samples(checkpoint) -> None:
    game = Game(seed=1)
    first, same, other = (agents.load(f"{checkpoint}:sample=true", seed=seed) for seed in (5, 5, 6))
    actions = [[agent.act(game) for _ in range(20)] for agent in (first, same, other)]
    assert actions[0] == actions[1] != actions[2]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("gredy", "no agent 'gredy'; allowed are 'random', 'greedy', .* and paths .* did you mean 'greedy'"),
        (
            "dqn:simulations=400",
            "no agent 'dqn'; allowed are 'random', 'greedy', 'partner', .*'champion'.* and paths",
        ),
        ("", "the spec of an agent is empty; allowed are 'random', 'greedy'"),
        ("random:temperature=2", "agent 'random' has no option 'temperature'; its options: none"),
        ("greedy:a=1,b=2", "agent 'greedy' has no option 'a'"),
        ("greedy:a=1,a=1", "gives the option 'a' twice"),
    ],
)
def test_a_wrong_spec_is_an_error_that_says_what_is_allowed(spec: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        agents.load(spec)


def test_a_wrong_option_of_a_checkpoint_is_an_error_that_says_what_is_allowed(checkpoint) -> None:
    with pytest.raises(ValueError, match="has no option 'samples'; its options: sample"):
        agents.load(f"{checkpoint}:samples=true")
    with pytest.raises(ValueError, match=r"option 'sample' of .* is 'maybe'; it must be true or false"):
        agents.load(f"{checkpoint}:sample=maybe")


def test_a_path_without_a_checkpoint_is_an_error_that_names_it(tmp_path) -> None:
    missing = tmp_path / "missing"
    with pytest.raises(FileNotFoundError, match=re.escape(f"no checkpoint at '{missing}'")):
        agents.load(missing)
    with pytest.raises(FileNotFoundError, match=r"is no checkpoint: it holds no checkpoint\.json"):
        agents.load(str(tmp_path))
    file = tmp_path / "weights"
    file.write_text("")
    with pytest.raises(ValueError, match="is a file; a checkpoint is a folder"):
        agents.load(str(file))


@pytest.mark.parametrize("seed", [-1, 2**64, 1.5, "1"])
def test_a_wrong_seed_is_an_error(seed) -> None:
    with pytest.raises(ValueError, match="seed"):
        agents.load("greedy", seed=seed)


def test_as_agent_takes_specs_agents_and_functions() -> None:
    greedy = GreedyAgent()
    assert agents.as_agent(greedy) is greedy
    assert isinstance(agents.as_agent("random"), RandomAgent)
    assert isinstance(agents.as_agent(lambda game: 0), CallableAgent)
    with pytest.raises(ValueError, match="7 is no agent"):
        agents.as_agent(7)
