"""The examples for other libraries: each trains, saves and measures."""

import importlib
import re

import pytest
import torch

from patchwork_env import agents
from patchwork_env.agents.checkpoints import read_checkpoint
from patchwork_env.agents.networks import read_network
from patchwork_env.agents.patchwork.policy.network import PatchworkNetwork
from patchwork_env.patchwork import Game

EXAMPLES = {
    "agilerl_ppo": ("agilerl", "--steps 2048 --games 4"),
    "cleanrl_ppo": (None, "--total-steps 4000 --num-envs 32 --games 4 --out policy"),
    "rllib_self_play": ("ray", "--iterations 2 --turns 512 --games 4 --out policy"),
    "tianshou_self_play": ("tianshou", "--steps 1000 --games 4 --out policy"),
    "torchrl_ppo": ("torchrl", "--steps 1100 --num-envs 16 --games 4 --out policy"),
}
"""The library that each needs, and its arguments."""
MARKS = {None: pytest.mark.slow, "agilerl": pytest.mark.older, "ray": pytest.mark.older}
WARNINGS = {"agilerl": "ignore", "ray": "ignore", "torchrl": "ignore:Creating :DeprecationWarning"}


@pytest.mark.parametrize(
    "words", ["cleanrl_ppo --out .", "cleanrl_ppo --games 75", "sb3_maskable_ppo --games 75"]
)
def test_what_would_be_lost_at_the_end_is_refused_at_once(words, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", words.split())
    with pytest.raises(SystemExit):
        importlib.import_module(f"examples.{words.split()[0]}").main()
    assert re.search("error: . exists already|is 75; it must be even", capsys.readouterr().err)


@pytest.mark.parametrize(
    ("name", "library", "arguments"),
    [
        pytest.param(name, library, arguments, marks=MARKS.get(library, pytest.mark.libraries), id=name)
        for name, (library, arguments) in EXAMPLES.items()
    ],
)
def test_it_trains_saves_and_measures(start, tmp_path, name, library, arguments):
    if library:
        pytest.importorskip(library)
    printed = start(f"{name}.py", *arguments.split(), ignored=WARNINGS.get(library))
    assert "against greedy: 4 games" in printed
    if "--out" not in arguments:
        return
    assert agents.load(tmp_path / "policy").act(Game(seed=1)) in Game(seed=1).legal_actions()
    torch.manual_seed(0)  # the default seed of the examples
    trained = read_network(read_checkpoint(tmp_path / "policy"), PatchworkNetwork)
    before, after = PatchworkNetwork().state_dict(), trained.state_dict()
    if before.keys() == after.keys():
        assert all(bool(torch.isfinite(tensor).all()) for tensor in after.values())
        assert not any(torch.equal(before[key], after[key]) for key in before)
