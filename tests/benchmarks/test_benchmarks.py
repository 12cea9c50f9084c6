"""The benchmarks of training and of policies run as documented, on small inputs."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest

from patchwork_env.agents.compiled import write_weights
from patchwork_env.agents.patchwork.value import new_weights
from patchwork_env.games import PATCHWORK
from tests.scripts import ROOT
from tests.scripts import run_benchmark as run
from tools.figures import shown

pytestmark = pytest.mark.slow
WITHOUT_WRITE = ("versions.py",)
"""Benchmarks that keep nothing."""


def figures_of(script: str, *arguments: str) -> Any:
    """What a benchmark that succeeds prints last, as JSON; what it keeps can be shown."""
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


@pytest.mark.parametrize(
    ("text", "settings", "parts"),
    [(TINY, ["network.lookahead=true"], 5), (TINY_TD, ["td.window=2"], 0)],
    ids=["ppo", "td"],
)
def test_training_speed(tmp_path: Path, text: str, settings: list[str], parts: int) -> None:
    config = tmp_path / "tiny.yaml"
    config.write_text(text)
    arguments = ["--config", str(config), "--set", *settings, "--iterations", "1", "--threads", "1"]
    figures = figures_of("training_speed.py", *arguments)
    assert figures["steps_per_second"] > 0
    assert 0 < figures["share_collecting"] < 1
    assert len(figures["shares"]) == parts
    assert all(share > 0 for share in figures["shares"].values())


def test_accelerator(tmp_path: Path) -> None:
    config = tmp_path / "tiny.yaml"
    config.write_text(TINY)
    figures = figures_of("accelerator.py", "--config", str(config), "--seconds", "0", "--devices", "cpu")[
        "cpu"
    ]
    assert sum(figures["shares"].values()) == pytest.approx(1)
    assert 1 / figures["collecting"] + 1 / figures["learning"] == pytest.approx(1 / figures["whole"])


def test_inference() -> None:
    rates = figures_of("inference.py", "--batches", "1", "3", "--rounds", "1", "--seconds", "0.01")
    assert len(rates) == 4
    assert all(set(by_size) == {"1", "3"} and min(by_size.values()) > 0 for by_size in rates.values())


def test_search() -> None:
    figures = figures_of("search.py", "--batches", "1", "3", "--simulations", "4", "--rounds", "1")
    assert set(figures) == {"1", "3"}
    assert all(0 < row["search"] < row["total"] for row in figures.values())


def test_mcts() -> None:
    arguments = ["--simulations", "20", "--endings", "4", "--games", "2", "--seconds", "0.01"]
    figures = figures_of("mcts.py", *arguments)
    assert all(row[name] > 0 for row in figures["speed"] for name in row if name != "turn")
    assert sum(row["positions"] for row in figures["solver"]) >= 4
    assert [row["agent"] for row in figures["strength"]] == ["mcts", "mcts:seconds=0.01"]


def test_champion(tmp_path: Path) -> None:
    write_weights(tmp_path, PATCHWORK, new_weights(seed=1))
    arguments = ["--agent", str(tmp_path), "--levels", "instant", "--moves", "5", "--games", "2"]
    figures = figures_of("champion.py", *arguments, "--self-play", "2")
    assert 0 < figures["times"]["instant"]["mean"] <= figures["times"]["instant"]["most"]
    assert figures["microseconds_per_position"] > 0
    assert list(figures["matches"]) == [f"{tmp_path}:level=instant - {tmp_path}"]
    assert list(figures["self_play"]) == ["win", "rich", "margin", "score"]
    assert all(row["winner"] >= row["loser"] for row in figures["self_play"].values())
    done = run("champion.py", "--agent", str(tmp_path / "missing"))
    assert done.returncode == 2
    assert "missing" in done.stderr


def test_analysis(tmp_path: Path) -> None:
    write_weights(tmp_path, PATCHWORK, new_weights(seed=1))
    figures = figures_of("analysis.py", "--agent", f"{tmp_path}:nodes=9", "--every", "8")
    assert 0 < figures["mean"] <= figures["most"]
    assert "no agent 'none'" in run("analysis.py", "--agent", "none").stderr


def test_versions() -> None:
    given = ["--agent", "greedy", "--opponent", "random", "--games", "4", "--workers", "2"]
    assert figures_of("versions.py", str(ROOT), *given)["win_rate"] > 0.5
    done = run("versions.py", str(ROOT / "docs"))
    assert done.returncode == 2
    assert "has no folder patchwork_env" in done.stderr


def test_engine_of_nmbr9() -> None:
    arguments = ["--games", "4", "--repeats", "1", "--seconds", "0.01"]
    rates = figures_of("engine.py", "--game", "nmbr9", *arguments)["steps_per_second"]
    assert set(rates) == {"plain", "mask", "mask_observation"}
    assert min(rates.values()) > 0


def test_budgets_run_the_script_of_the_page(tmp_path: Path) -> None:
    budgets = ("--steps", "1", "--mlp-steps", "1", "--seeds", "4", "5", "--games", "2")
    done = run("sb3_budgets.py", *budgets, f"--write={tmp_path}")
    assert done.returncode == 0, done.stderr
    kept = json.loads((tmp_path / "sb3_budgets.json").read_text())["figures"]
    rollout = 64 * 32
    assert list(kept) == [f"{of}{name} {rollout}" for name in ("network", "mlp") for of in ("", "random, ")]
    one = kept[f"mlp {rollout}"]
    assert (one["policy"], one["decisions"], one["runs"], one["games"]) == ("MlpPolicy", rollout, 2, 2)


def test_interfaces(tmp_path: Path) -> None:
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
