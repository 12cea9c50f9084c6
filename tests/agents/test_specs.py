"""The registry of what specs name: agents of one's own, those of other packages, and a third game."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, ClassVar

import pytest

from patchwork_env import agents
from patchwork_env.agents import Agent, GreedyAgent, RandomAgent, specs
from patchwork_env.games import GAMES, register
from patchwork_env.learning.commands.match_options import help_on_agents
from patchwork_env.patchwork import Game
from tests.toy import Game as Row

register("row", "tests.toy")


@pytest.fixture
def own_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """A registry that forgets what a test registers."""
    monkeypatch.setattr(specs, "_entries", dict(specs.registered()))


class Patient(Agent):
    name = "patient"

    options: ClassVar = {"patience": int}

    def __init__(self, seed: int | None, patience: int = 3) -> None:
        self.seed, self.patience = seed, patience

    def act(self, game: Game) -> int:
        return int(game.legal_actions()[0])


@pytest.mark.usefixtures("own_registry")
def test_a_registered_agent_is_a_spec_like_any_other() -> None:
    agents.register("patient", Patient, games=("patchwork",), options={"patience": specs.integer(1, 9)})
    agent = agents.as_agent("patient:patience=5", seed=4)
    assert isinstance(agent, Patient)
    assert (agent.patience, agent.seed) == (5, 4)
    assert "patient" in agents.names("patchwork")
    assert "patient" not in agents.names("nmbr9")
    assert agents.path_of("patient") is None
    with pytest.raises(
        ValueError, match="'patience' of agent 'patient' is '10'; it must be an integer of 1 to 9"
    ):
        agents.load("patient:patience=10")
    with pytest.raises(ValueError, match="there is an agent 'patient' already"):
        agents.register("patient", Patient)
    for name in ("", "a:b", "a/b", 3):
        with pytest.raises(ValueError, match="the name of an agent is"):
            agents.register(name, Patient)


@pytest.mark.usefixtures("own_registry")
def test_a_factory_that_makes_no_agent_is_an_error() -> None:
    agents.register("wrong", lambda seed: 7)
    with pytest.raises(TypeError, match="registered to make agents, but returned 7"):
        agents.load("wrong")


@pytest.mark.usefixtures("own_registry")
def test_agents_of_other_packages_are_found_by_their_entry_points(monkeypatch: pytest.MonkeyPatch) -> None:
    points = {
        "patient": "tests.agents.test_specs:Patient",
        "broken": "no.such.module:factory",
        "empty": "patchwork_env.errors",
    }
    found = [EntryPoint(name, value, specs.ENTRY_POINT_GROUP) for name, value in points.items()]
    monkeypatch.setattr(specs, "entry_points", lambda group: found)
    assert isinstance(agents.load("greedy"), GreedyAgent)  # a broken one disturbs nobody else
    with pytest.raises(ValueError, match="'patient', 'broken', 'empty' and paths of checkpoint folders"):
        agents.load("zzzz")
    assert {*points} <= set(help_on_agents().replace(",", "").split())
    agent: Any = agents.load("patient:patience=5", 3)
    assert (type(agent).__name__, agent.patience) == ("Patient", 5)
    with pytest.raises(
        ValueError, match=r"agent 'broken' of the package .* cannot be loaded: ModuleNotFound"
    ):
        agents.load("broken")
    with pytest.raises(ValueError, match="promises an agent 'empty', but registers none"):
        agents.load("empty")
    with pytest.raises(ValueError, match="did you mean 'patient'"):
        agents.load("patien")


@pytest.mark.parametrize("kind", [GreedyAgent, RandomAgent, Agent, int])
def test_a_class_is_no_agent(kind: type) -> None:
    with pytest.raises(ValueError, match=f"is a class, not an agent; .* such as {kind.__name__}"):
        agents.as_agent(kind)


@pytest.mark.parametrize("spec", ["x" * 100_000, "greedy:" + "a=1," * 30_000 + "a=1", "a/" * 50_000])
def test_a_spec_of_absurd_length_is_an_error(spec: str) -> None:
    with pytest.raises(ValueError, match="characters; at most 4096 are allowed") as error:
        agents.load(spec)
    assert len(str(error.value)) < 200


@pytest.mark.parametrize("spec", [None, 3, b"greedy", ["greedy"], 1.5])
def test_a_spec_that_is_no_text_is_an_error(spec: object) -> None:
    for read in (agents.load, agents.path_of):
        with pytest.raises(ValueError, match="must be text or a path, not"):
            read(spec)


def test_a_path_with_a_null_character_is_an_error() -> None:
    with pytest.raises(ValueError, match="null character"):
        agents.load("runs\0final")


@pytest.mark.parametrize(
    "spec", ["a" * 4000, "runs/" + "a" * 4000, "a" * 4000 + ".onnx", "\ud800", "greedy:\ud800"]
)
def test_a_path_that_no_file_can_have_is_an_error(spec: str) -> None:
    with pytest.raises((ValueError, FileNotFoundError)) as caught:
        agents.load(spec)
    assert len(str(caught.value)) < 1000


def test_paths_are_specs() -> None:
    with pytest.raises(FileNotFoundError, match="no checkpoint"):
        agents.load(Path("runs/missing/final"))


@pytest.mark.parametrize("spec", ["random", "uct:simulations=20"])
def test_a_third_game_has_agents_that_need_only_its_rules(spec: str) -> None:
    assert "row" in GAMES
    agent, game = agents.as_agent(spec, seed=1, game="row"), Row(seed=1)
    while not game.is_over:
        action = agent.act(game)
        assert action in game.legal_actions()
        game.play(action)
    with pytest.raises(ValueError, match="the game is over"):
        agent.act(game)
    assert {"random", "uct"} <= set(agents.names("row"))
    assert not {"greedy", "mcts"} & set(agents.names("row"))
    with pytest.raises(ValueError, match="agent 'greedy' plays patchwork and nmbr9, not row"):
        agents.as_agent("greedy", game="row")


# --- specs that begin with a word and a colon -------------------------------------------------------------


class Named(Agent):
    def __init__(self, rest: str, seed: int | None, size: int = 1) -> None:
        self.name, self.seed, self.size = rest, seed, size

    def act(self, game: Any) -> int:
        return 0


@pytest.fixture
def _schemes(own_registry: None) -> None:
    agents.register("run:", Named, options={"size": specs.integer(1, 9)}, needs_trust=True)
    agents.register("read:", Named)


@pytest.mark.usefixtures("_schemes")
def test_what_stands_behind_the_colon_is_for_the_factory() -> None:
    agent = agents.load("run:./a b:c --level 3:size=4", seed=5)
    assert (agent.name, agent.seed, agent.size) == ("./a b:c --level 3", 5, 4)  # type: ignore[attr-defined]
    assert agents.path_of("run:./a") is None
    assert agents.path_of("runs/a") == Path("runs/a")
    with pytest.raises(ValueError, match="agent 'run:a' has no option 'depth'"):
        agents.load("run:a:depth=3")
    with pytest.raises(ValueError, match="there is an agent 'read:' already"):
        agents.register("read:", Named)


@pytest.mark.usefixtures("_schemes")
@pytest.mark.parametrize(
    ("spec", "imports", "runs"),
    [
        ("run:program", False, True),
        ("run:./program --level 3", False, True),
        ("run:", False, True),
        ("read:program", False, False),
        ("module:program", True, True),
        ("run", False, False),
        ("champion:fast", False, False),
        ("./run:size=3", False, False),
    ],
)
def test_what_runs_code_is_known_by_its_spec(spec: str, imports: bool, runs: bool) -> None:
    assert (specs.is_import(spec), specs.runs_code(spec)) == (imports, runs)
