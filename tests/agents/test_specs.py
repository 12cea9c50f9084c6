"""Specs, the strings that name agents: of the package, of the user, of other packages, and on disk."""

from __future__ import annotations

import re
import sys
from functools import partial
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from patchwork_env import agents
from patchwork_env.agents import Agent, GreedyAgent, options, specs
from patchwork_env.agents.checkpoints import SHIPPED_FOLDER, read_checkpoint
from patchwork_env.agents.network_config import NetworkConfig
from patchwork_env.agents.networks import save_policy
from patchwork_env.agents.patchwork.policy.network import PatchworkNetwork
from patchwork_env.agents.specs import import_agent
from patchwork_env.games import register
from patchwork_env.learning.commands.match_options import help_on_agents
from patchwork_env.patchwork import Game

register("row", "tests.toy")


@pytest.fixture
def own_registry(monkeypatch):
    """A registry for one test."""
    monkeypatch.setattr(specs, "_entries", dict(specs._entries))


class Patient(Agent):
    name = "patient"

    def __init__(self, seed, patience=3):
        self.seed, self.patience = seed, patience

    def act(self, game):
        return int(game.legal_actions()[0])


@pytest.mark.usefixtures("own_registry")
def test_a_registered_agent_is_a_spec_like_any_other():
    agents.register("patient", Patient, games=("patchwork",), options={"patience": options.integer(1, 9)})
    agent = agents.as_agent("patient:patience=5", seed=4)
    assert isinstance(agent, Patient)
    assert (agent.patience, agent.seed) == (5, 4)
    assert "patient" in agents.names("patchwork")
    assert "patient" not in agents.names("nmbr9")
    assert agents.path_of("patient") is None
    agents.register("plain", lambda seed, size2=1, share=0.0: 7, options={"size2": int, "share": float})
    for spec, message in (
        ("patient:patience=10", "'patience' of agent 'patient' is '10'; it must be an integer of 1 to 9"),
        ("plain:size2=a", "'a'; it must be an integer"),
        ("plain:share=b", "'b'; it must be a number"),
    ):
        with pytest.raises(ValueError, match=message):
            agents.load(spec)
    for name in ("patient", "champion"):
        with pytest.raises(ValueError, match=f"there is already an agent '{name}'"):
            agents.register(name, Patient)
    agents.register("wrong", lambda seed: 7)
    with pytest.raises(TypeError, match="registered to make agents, but returned 7"):
        agents.load("wrong")
    for name in ("", "a:b", "a/b", 3):
        with pytest.raises(ValueError, match="the name of an agent is"):
            agents.register(name, Patient)


@pytest.mark.usefixtures("own_registry")
def test_agents_of_other_packages_are_found_by_their_entry_points(monkeypatch):
    points = {
        "patient": "tests.agents.test_specs:Patient",
        **dict.fromkeys(("broken", "champion", "greedy"), "no.such.module:factory"),
        "empty": "patchwork_env.errors",
    }
    found = [EntryPoint(name, value, specs.ENTRY_POINT_GROUP) for name, value in points.items()]
    monkeypatch.setattr(specs, "entry_points", lambda group: found)
    for name in ("greedy", "champion"):  # a broken entry point does not affect other agents
        assert agents.load(name).name == name
    for spec, message in (
        ("zzzz", "'patient', 'broken', 'empty' and paths of checkpoint folders"),
        ("broken", "agent 'broken' of the package .* cannot be loaded: ModuleNotFound"),
        ("empty", "has an entry point 'empty', but registers no agent"),
        ("patien", "did you mean 'patient'"),
    ):
        with pytest.raises(ValueError, match=message):
            agents.load(spec)
    assert {*points} <= set(help_on_agents().replace(",", "").split())
    agent: Any = agents.load("patient", 3)
    assert (type(agent).__name__, agent.seed) == ("Patient", 3)


def test_malformed_specs_are_errors_in_few_words():
    for spec in ("x" * 100_000, "greedy:" + "a=1," * 30_000 + "a=1", "a/" * 50_000):
        with pytest.raises(ValueError, match="characters; at most 4096 are allowed") as error:
            agents.load(spec)
        assert len(str(error.value)) < 200
    for spec in ("a" * 4000, "runs/" + "a" * 4000, "a" * 4000 + ".onnx", "\ud800", "greedy:\ud800"):
        with pytest.raises((ValueError, FileNotFoundError), match=r"^.{1,999}$"):
            agents.load(spec)
    for other in (None, 3, b"greedy", ["greedy"], 1.5):
        for read in (agents.load, agents.path_of):
            with pytest.raises(ValueError, match="must be a str or a path, not"):
                read(other)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run") / "final"
    save_policy(folder, PatchworkNetwork(NetworkConfig(width=8, depth=1, channels=4)), {})
    return folder


def test_names_of_agents():
    assert tuple(agents.load(name).name for name in agents.names()) == agents.names()
    assert repr(agents.load("greedy")) == "<agent greedy>"


@pytest.mark.parametrize("name", [name for name in agents.names() if agents.path_of(name)])
def test_shipped_agents_have_their_training_facts(name):
    info = read_checkpoint(SHIPPED_FOLDER / name).info
    assert info["configuration"]["algorithm"] == info["algorithm"]
    assert info["steps"] >= info["configuration"]["total_steps"]
    assert info["seconds"] > 0
    assert info["machine"]
    assert info["made_with"] == "python -m training.train"


def test_path_of_a_spec(tmp_path, monkeypatch):
    assert agents.path_of("ppo:sample=true") == SHIPPED_FOLDER / "ppo"
    assert agents.path_of("runs/ppo/final:simulations=8") == Path("runs/ppo/final")
    (tmp_path / "ppo").mkdir()
    monkeypatch.chdir(tmp_path)
    assert agents.path_of(Path("ppo")) == Path("ppo")  # a folder and not a name


def test_modules_of_the_current_folder_are_found(tmp_path, monkeypatch):
    module = "from patchwork_env.agents import GreedyAgent as Own\n\n\ndef first(game):\n    return 0\n"
    (tmp_path / "of_this_folder.py").write_text(module)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [folder for folder in sys.path if folder])
    assert import_agent("of_this_folder:first").act(Game(seed=1)) == 0
    assert isinstance(import_agent("of_this_folder:Own"), GreedyAgent)
    assert sys.path[-1] == str(tmp_path)  # last, so that it hides no module of Python


def test_options_follow_the_last_colon(checkpoint, tmp_path):
    assert [agents.load(f"{checkpoint}:sample={word}").sample for word in ("true", "false")] == [True, False]
    odd = tmp_path / "width=8:final.zip"
    save_policy(odd, PatchworkNetwork(NetworkConfig(width=8, depth=1, channels=4)), {})
    assert [agents.load(f"{odd}{options}").sample for options in ("", ":sample=true")] == [False, True]


def test_wrong_specs_are_errors_that_say_what_is_allowed(checkpoint):
    for spec, message in (
        ("gredy", "no agent 'gredy'; allowed are 'random', 'greedy', .* and paths .* did you mean 'greedy'"),
        ("dqn:simulations=400", "no agent 'dqn'; allowed are 'random', 'greedy', .*'champion'.* and"),
        ("a" * 4096, "no agent 'a{199}…; allowed are 'random'"),
        ("", "the spec of an agent is empty; allowed are 'random', 'greedy'"),
        ("random:temperature=2", "agent 'random' has no option 'temperature'; its options: none"),
        ("ppo:samples=true", "agent 'ppo' has no option 'samples'; its options: sample"),
        ("greedy:a=1,b=2", "agent 'greedy' has no option 'a'"),
        ("greedy:a=1,a=1", "gives the option 'a' twice"),
        (f"{checkpoint}:samples=true", "has no option 'samples'; its options: sample"),
        (f"{checkpoint}:sample=maybe", "option 'sample' of .* is 'maybe'; it must be true or false"),
        ("runs\0final", "there is no agent"),
        ("beem", "no agent 'beem'; allowed are .*'beam', .* did you mean 'beam'"),
        ("beam:1000", "of 'beam:1000' need the form beam:key=value; those of 'beam': width, seconds$"),
        ("partner:3", "of 'partner:3' need the form partner:key=value; those of 'partner': level$"),
        ("greedy:", "of 'greedy:' need the form greedy:key=value; those of 'greedy': none$"),
    ):
        with pytest.raises(ValueError, match=message):
            agents.load(spec)


def test_a_path_without_a_checkpoint_is_an_error_that_names_it(tmp_path):
    missing = tmp_path / "missing"
    for spec in (missing, str(missing)):
        with pytest.raises(FileNotFoundError, match=re.escape(f"no checkpoint at '{missing}'")):
            agents.load(spec)
    with pytest.raises(FileNotFoundError, match=r"is not a checkpoint: it has no checkpoint\.json$"):
        agents.load(str(tmp_path))
    file = tmp_path / "weights"
    file.write_text("")
    with pytest.raises(ValueError, match="is a file; a checkpoint is a folder"):
        agents.load(str(file))


def test_a_wrong_seed_is_an_error():
    for seed in (-1, 2**64, 1.5, "1"):
        for call in (partial(agents.load, "greedy"), agents.load("greedy").reseed):
            with pytest.raises(ValueError, match="seed"):
                call(seed)


def test_a_third_game_has_the_agents_that_need_only_its_rules():
    assert {"random", "uct"} <= set(agents.names("row"))
    assert not {"greedy", "mcts"} & set(agents.names("row"))
    for game in ("row", "row" * 21):
        with pytest.raises(ValueError, match=f"agent 'greedy' plays patchwork and nmbr9, not {game[:60]}$"):
            agents.as_agent("greedy", game=game)


class Named(Patient):
    def __init__(self, rest, seed, size=1):
        self.name, self.seed, self.size = rest, seed, size


@pytest.fixture
def _schemes(own_registry):
    agents.register("run:", Named, options={"size": options.integer(1, 9)}, needs_trust=True)
    agents.register("read:", Named)


@pytest.mark.usefixtures("_schemes")
def test_factories_of_schemes_get_the_text_after_the_colon():
    agent = agents.load("run:./a b:c --level 3:size=4", seed=5)
    assert (agent.name, agent.seed, agent.size) == ("./a b:c --level 3", 5, 4)  # type: ignore[attr-defined]
    assert agents.path_of("run:./a") is None
    assert agents.path_of("runs/a") == Path("runs/a")
    with pytest.raises(ValueError, match="agent 'run:a' has no option 'depth'"):
        agents.load("run:a:depth=3")
    with pytest.raises(ValueError, match="there is already an agent 'read:'"):
        agents.register("read:", Named)


@pytest.mark.usefixtures("_schemes")
def test_specs_tell_whether_they_run_code():
    for spec, imports, runs in (
        ("run:program", False, True),
        ("run:./program --level 3", False, True),
        ("run:", False, True),
        ("read:program", False, False),
        ("module:program", True, True),
        ("hf:ann", False, True),
        ("runs/hf:x/final", False, False),
        *((name, False, False) for name in (*agents.names(), "beam:width=3")),
        ("run", False, False),
        *((f"{name}:fast", False, False) for name in ("champion", "beam")),
        ("./run:size=3", False, False),
    ):
        assert (specs.is_import(spec), specs.runs_code(spec)) == (imports, runs), spec
