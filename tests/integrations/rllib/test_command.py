"""The commands: a run, its end, going on, and the evaluation of what it leaves."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

pytest.importorskip("ray")

from patchwork_env.learning.commands import evaluate, train
from patchwork_env.learning.config import CONFIGS

pytestmark = pytest.mark.older

SMALL = [
    *("network.width=16", "network.depth=1", "network.channels=8", "total_steps=384", "checkpoint_every=1"),
    *("rllib_ppo.num_envs=8", "rllib_ppo.batch_size=128"),
    *("rllib_ppo.minibatch_size=64", "league.snapshot_every=1", "league.fraction=0.5"),
    *("evaluation.opponents=[random]", "evaluation.games=2", "evaluation.final_games=2"),
]


def curves_of(folder):
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [row for row in rows if "losses/entropy" in row]


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
def test_a_run_ends_goes_on_and_plays(connection, tmp_path, capsys):
    folder = tmp_path / "run"
    command = [sys.executable, "-m", "training.train", "--config", CONFIGS / "rllib_ppo_quick.yaml"]
    command += ["--run-dir", folder, "--set", *SMALL]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stderr
    assert "final policy" in done.stdout
    curves = curves_of(folder)
    assert {"losses/value_loss", "league/snapshots", "games/score"} <= set(curves[-1])
    steps = curves[-1]["steps"]
    assert train.main(["--resume", str(folder), "--set", "total_steps=512"]) == 0
    assert f"resuming from {folder}/checkpoints/step_{steps:010d}" in capsys.readouterr().out
    longer = curves_of(folder)
    assert longer[: len(curves)] == curves
    assert longer[-1]["steps"] >= 512
    assert evaluate.main([str(folder / "final"), "--against", "random", "--games", "4"]) == 0
    assert "against random: 4 games" in capsys.readouterr().out
