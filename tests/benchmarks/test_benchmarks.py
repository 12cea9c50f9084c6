"""The benchmarks of training and of policies run as documented, on small inputs."""

import json
import math
import tempfile
from pathlib import Path

import pytest

from patchwork_env.agents.compiled import write_weights
from patchwork_env.agents.patchwork.value.network import new_weights
from patchwork_env.games import PATCHWORK
from tests.scripts import ROOT
from tests.scripts import run_benchmark as run
from tools.figures import shown

pytestmark = pytest.mark.slow
WITHOUT_WRITE = ("versions.py",)
"""Benchmarks that store no figures."""


def figures_of(script, *arguments):
    """The JSON in the last line of a successful benchmark, whose stored figures can be shown."""
    with tempfile.TemporaryDirectory() as folder:
        writing = () if script in WITHOUT_WRITE else (f"--write={folder}",)
        done = run(script, *arguments, "--json", *writing)
        assert done.returncode == 0, done.stderr
        kept = [json.loads(path.read_text()) for path in Path(folder).iterdir()]
    assert len(kept) == len(writing)
    assert all(shown(one, "") for file in kept for one in file["figures"].values())
    return json.loads(done.stdout.splitlines()[-1])


TINY = """
threads: 1
network: {width: 8, depth: 1, channels: 4}
ppo: {num_envs: 16, rollout_steps: 8, minibatch_size: 32}
"""
TINY_TD = """
algorithm: td
reward: {outcome: 0.5, margin: 1.0}
td: {games: 8, candidate_placements: 4, gradient_steps: 4, minibatch_size: 64}
"""
RUNS = (
    ("training_speed.py", "--config ppo.yaml --set network.lookahead=true --iterations 1 --threads 1"),
    ("training_speed.py", "--config td.yaml --set td.window=2 --iterations 1 --threads 1"),
    ("accelerator.py", "--config ppo.yaml --seconds 0 --devices cpu"),
    ("inference.py", "--batches 1 3 --rounds 1 --seconds 0.01"),
    ("search.py", "--batches 1 3 --simulations 4 --rounds 1"),
    ("mcts.py", "--simulations 20 --endings 4 --games 2 --seconds 0.01"),
    ("champion.py", "--agent VALUE --levels instant --moves 5 --games 2 --self-play 2"),
    ("analysis.py", "--agent VALUE:nodes=9 --every 8"),
    ("engine.py", "--game nmbr9 --games 4 --repeats 1 --seconds 0.01"),
    ("versions.py", f"{ROOT} --agent greedy --opponent random --games 4 --workers 2"),
    ("versions.py", f"{ROOT} --agent greedy --opponent random --games 4 --sprt 0 20"),
    ("sequential.py", "--matches 20"),
    ("maskable_ppo.py", "--envs 2 --rounds 1 --decisions 128"),
)


@pytest.mark.parametrize(("script", "words"), RUNS)
def test_they_print_figures(script, words, tmp_path):
    for name, text in (("ppo.yaml", TINY), ("td.yaml", TINY_TD)):
        (tmp_path / name).write_text(text)
        words = words.replace(name, str(tmp_path / name))
    if "VALUE" in words:
        write_weights(tmp_path, PATCHWORK, new_weights(seed=1))
    numbers = numbers_of(figures_of(script, *words.replace("VALUE", str(tmp_path)).split()))
    assert numbers
    assert all(map(math.isfinite, numbers))
    assert max(numbers) > 0


def numbers_of(tree):
    """All numbers of figures."""
    if isinstance(tree, dict | list):
        return [
            number
            for one in (tree.values() if isinstance(tree, dict) else tree)
            for number in numbers_of(one)
        ]
    return [tree] if isinstance(tree, int | float) else []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("champion.py --agent missing", "missing"),
        ("analysis.py --agent none", "no agent 'none'"),
        (f"versions.py {ROOT / 'docs'}", "has no folder patchwork_env"),
    ],
)
def test_what_they_refuse(words, message):
    done = run(*words.split())
    assert done.returncode == 2
    assert message in done.stderr


def test_budgets_run_the_script_of_the_page(tmp_path):
    budgets = ("--steps", "1", "--mlp-steps", "1", "--seeds", "4", "5", "--games", "2")
    done = run("sb3_budgets.py", *budgets, f"--write={tmp_path}")
    assert done.returncode == 0, done.stderr
    kept = json.loads((tmp_path / "sb3_budgets.json").read_text())["figures"]
    rollout = 64 * 32
    assert list(kept) == [f"{of}{name} {rollout}" for name in ("network", "mlp") for of in ("", "random, ")]
    one = kept[f"mlp {rollout}"]
    assert (one["policy"], one["decisions"], one["runs"], one["games"]) == ("MlpPolicy", rollout, 2, 2)


def test_interfaces(tmp_path):
    old = {"torchrl": {"value": 123456.0, "unit": "steps/s"}}
    before = {"machine": "another", "date": "2026-01-02", "command": "it"}
    (tmp_path / "interfaces.json").write_text(json.dumps({**before, "figures": old}))
    done = run("interfaces.py", "game", "aec", "--rounds", "1", "--seconds", "0.01", f"--write={tmp_path}")
    assert done.returncode == 0, done.stderr
    kept = json.loads((tmp_path / "interfaces.json").read_text())
    assert kept["command"] == "python benchmarks/interfaces.py game aec --rounds 1 --seconds 0.01"
    assert list(kept["figures"]) == ["torchrl", "game", "aec"]
    assert kept["figures"]["torchrl"] == old["torchrl"] | before, "how it was measured stays"
    assert all(kept["figures"][name].keys() == {"value", "unit"} for name in ("game", "aec"))
