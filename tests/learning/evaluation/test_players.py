"""Participants: specs, functions of modules, names and hashes of weights."""

import hashlib
from pathlib import Path

import pytest

from patchwork_env import agents
from patchwork_env.agents import CallableAgent, GreedyAgent
from patchwork_env.agents.checkpoints import SHIPPED_FOLDER, copy_checkpoint
from patchwork_env.learning.evaluation.matches import fingerprint, load_player
from patchwork_env.learning.evaluation.tables import labels
from patchwork_env.patchwork import Game

MODULE = """from patchwork_env.agents import Agent, GreedyAgent

def first(game):
    return game.legal_actions()[0]

class Last(Agent):
    name = "last"

    def act(self, game):
        return int(game.legal_actions()[-1])

best = GreedyAgent()
number = 7"""


@pytest.mark.parametrize(
    ("spec", "error", "message"),
    [
        (
            "agents_of_test_players:Last:place=2",
            ValueError,
            "only commands take module:name, without options",
        ),
        (
            "agents_of_test_players:number",
            ValueError,
            "agents_of_test_players:number is 7; it must be an Agent or",
        ),
        ("agents_of_test_players:none", ImportError, "module 'agents_of_test_players' has no 'none'"),
        ("no_such_module:first", ImportError, "no_such_module"),
        ("no_such_module.py:first", ImportError, "write no_such_module:"),
        ("gredy", ValueError, "there is no agent 'gredy'"),
    ],
)
def test_an_unknown_agent_is_an_error(module, spec, error, message):
    with pytest.raises(error, match=message):
        load_player(spec)
    with pytest.raises(ValueError, match=r"only commands take module:name, .*from my_module import first\)"):
        agents.load("my_module:first")


def test_a_spec_gives_its_agent_and_a_module_functions_agents_and_classes_of_agents(module):
    assert isinstance(load_player("greedy"), GreedyAgent)
    for spec in ("ppo:sample=true", "champion:instant"):
        assert load_player(spec).name == spec
    game = Game(seed=3)
    first, last, best = (load_player(f"{module}:{name}") for name in ("first", "Last", "best"))
    assert isinstance(first, CallableAgent)
    assert first.act(game) == game.legal_actions()[0]
    assert last.act(game) == game.legal_actions()[-1]
    assert isinstance(best, GreedyAgent)
    assert first.name == f"{module}:first"


def test_fingerprints_are_those_of_the_weights(tmp_path):
    (copy := tmp_path / "copy").mkdir()
    copy_checkpoint(SHIPPED_FOLDER / "ppo", copy)
    digest = hashlib.sha256((copy / "weights.safetensors").read_bytes()).hexdigest()
    for spec in ("ppo", "ppo:sample=true", str(SHIPPED_FOLDER / "ppo"), str(copy)):
        assert fingerprint(spec) == digest
    assert fingerprint("ppo-quick") != digest
    assert fingerprint("champion:instant") == fingerprint("champion")
    exported = tmp_path / "policy.onnx"
    exported.write_bytes(b"network")
    assert fingerprint(str(exported)) == hashlib.sha256(b"network").hexdigest()
    assert [fingerprint(text) for text in ("greedy", "module:function")] == [None, None]
    assert fingerprint(f"{__name__}:x") == hashlib.sha256(Path(__file__).read_bytes()).hexdigest()


def test_labels_are_as_short_as_they_can_be():
    specs = ["random", "runs/a/final", "runs/b/final/", "runs/a/step_1:sample=true"]
    assert labels(specs) == ["random", "a/final", "b/final", "step_1:sample=true"]
    assert labels(["final", "runs/final"]) == ["final", "runs/final"]
