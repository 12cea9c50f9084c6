"""Specs that begin with a word and a colon, and which of them only the user may name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from patchwork_env import agents
from patchwork_env.agents import Agent, specs
from patchwork_env.agents.specs import integer, is_import, runs_code


class Named(Agent):
    def __init__(self, rest: str, seed: int | None, size: int = 1) -> None:
        self.name, self.seed, self.size = rest, seed, size

    def act(self, game: Any) -> int:
        return 0


@pytest.fixture(autouse=True)
def _registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(specs, "_entries", dict(specs.registered()))
    agents.register("run:", Named, options={"size": integer(1, 9)}, needs_trust=True)
    agents.register("read:", Named)


def test_what_stands_behind_the_colon_is_for_the_factory() -> None:
    agent = agents.load("run:./a b:c --level 3:size=4", seed=5)
    assert (agent.name, agent.seed, agent.size) == ("./a b:c --level 3", 5, 4)  # type: ignore[attr-defined]
    assert agents.path_of("run:./a") is None
    assert agents.path_of("runs/a") == Path("runs/a")
    with pytest.raises(ValueError, match="agent 'run:a' has no option 'depth'"):
        agents.load("run:a:depth=3")
    with pytest.raises(ValueError, match="there is an agent 'read:' already"):
        agents.register("read:", Named)


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
    assert (is_import(spec), runs_code(spec)) == (imports, runs)
