"""Imports load no heavy libraries, and the package runs without extras."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[1]
PACKAGE = PROJECT / "patchwork_env"

NUMBA = {"numba", "llvmlite"}
HEAVY = {"torch", "matplotlib", "pygame", "PIL", "stable_baselines3", "ray", "tensorboard", "pydantic"}
LIBRARY = [
    ("import patchwork_env as p", HEAVY | NUMBA | {"yaml"}),
    # Numba reads YAML where that is installed.
    ("game = p.patchwork.Game(seed=1); assert str(game) and p.patchwork.render.svg(game)", HEAVY),
    ("p.nmbr9_v0.env; p.errors.ConfigError", HEAVY),
    ("from patchwork_env.play import command", HEAVY | {"uvicorn"}),
    ("from patchwork_env.service.agents import AgentPool; AgentPool().listed('patchwork')", HEAVY),
    ("with AgentPool().borrow('champion:instant'): pass", HEAVY),
    ("from patchwork_env.play import server", HEAVY),
    ("p.agents.load('ppo-quick')", HEAVY - {"torch", "pydantic"} | {"torch._dynamo"}),
]
"""The steps of a process, and the libraries that it must not have imported after each."""
CONFIGURATIONS = (
    "train --list",
    "train --explain ppo.epochs",
    "train nothere.yaml",
    "train broken.yaml",
    "train quick --set no_such_key=1",
    "train ppo --set algorithm=td",
)
"""Commands that read configurations alone; the last four are wrong."""
COMMANDS = [
    ("from patchwork_env import cli", HEAVY | NUMBA | {"yaml"}),
    *(
        (f"call({words!r})", HEAVY | NUMBA | {"yaml"})
        for words in ("", "train --help", "train", "evaluate -h")
    ),
    *((f"call({words!r})", (HEAVY | NUMBA) - {"pydantic"}) for words in CONFIGURATIONS),
]
"""The same for a process that calls commands."""
CALL = """
def call(words):
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        cli.main(words.split())
"""
BASE = {"numpy", "numba", "llvmlite", "gymnasium", "pettingzoo", "safetensors", "patchwork_env"}
BASE |= {"cloudpickle", "typing_extensions", "farama_notifications"}


def python(code, cwd, **environment):
    """Run code in a new interpreter, with changed environment variables."""
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=cwd,
        env={**os.environ, "NUMBA_DISABLE_JIT": "0", **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    "steps",
    [pytest.param(LIBRARY, id="library", marks=pytest.mark.slow), pytest.param(COMMANDS, id="commands")],
)
def test_every_step_imports_only_what_it_needs(tmp_path, steps):
    (tmp_path / "broken.yaml").write_text("ppo: [", encoding="utf-8")
    told = (f"{code}\nprint(json.dumps(sorted(sys.modules)))" for code, _ in steps)
    done = python("\n".join(["import contextlib, io, json, sys", CALL, *told]), tmp_path)
    assert done.returncode == 0, done.stderr
    imported = [set(json.loads(line)) for line in done.stdout.splitlines()]
    for (code, absent), modules in zip(steps, imported, strict=True):
        assert not absent & modules, code
    if steps is LIBRARY:
        assert {"numba", "starlette", "uvicorn"} <= imported[-1]
    else:
        assert done.stderr.count("patchwork-env train: ") == 4 + 1


FREE_OF_EXTRAS = '''
import sys, tempfile
from importlib.metadata import packages_distributions
from pathlib import Path

class NoExtras:
    """Finds nothing but this package and what it requires."""

    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top not in BASE and top not in sys.stdlib_module_names and top in packages_distributions():
            raise ModuleNotFoundError(f"No module named {name!r}", name=top)

sys.meta_path.insert(0, NoExtras())

import gymnasium
from patchwork_env import agents, cli
from patchwork_env.integrations import language_models, text
from patchwork_env.learning.evaluation import Tournament, play_gauntlet, play_matches
from patchwork_env.patchwork import Game

game = Game(seed=7)
gymnasium.make("patchwork_env:Patchwork-v0", opponent="greedy").reset(seed=0)
play_matches(lambda game: game.legal_actions()[0], "random", games=2)
text.describe(game)
assert language_models.TextAgent(lambda prompt: "+").act(game) == text.parse(game, "+") == 0
assert cli.main(["evaluate", "greedy", "--against", "random", "--games", "2"]) == 0
for name in cli.COMMANDS:
    try:
        cli.main([name, "--help"])
    except SystemExit as end:
        assert end.code == 0
    else:
        raise AssertionError(name)
for spec in ("random", "greedy", "champion:nodes=4", agents.path_of("champion")):
    assert agents.load(spec, seed=1).act(game) in game.legal_actions()
for words in ("train quick", "report x", "publish x a/b", "play --no-browser", "openenv"):
    cli.main(words.split())
onnx = Path(tempfile.mkdtemp(), "policy.onnx")
onnx.write_bytes(b"")
for spec in ("ppo", onnx):
    try:
        agents.load(spec)
    except ModuleNotFoundError as error:
        print(error)
'''


@pytest.mark.slow
def test_what_documents_call_free_of_extras_runs_without_any(tmp_path):
    done = python(f"BASE = {BASE}\n{FREE_OF_EXTRAS}", tmp_path, PYTHONPATH=str(PROJECT))
    assert done.returncode == 0, done.stderr
    assert "greedy against random: 2 games" in done.stdout
    print(done.stderr)
    assert done.stdout.splitlines()[-2:] == [
        "agents from checkpoints need torch: pip install torch, or the extra 'train'",
        "agents from ONNX files need onnxruntime: pip install onnxruntime, or the extra 'onnx'",
    ]
