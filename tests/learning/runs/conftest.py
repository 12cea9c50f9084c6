"""A tiny run that all tests of runs share, and copies of it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.learning.same_runs import environment, forget_the_end, train_command

TINY = """
description: tiny
total_steps: 600
checkpoint_every: 2
threads: 1
seed: 5
tracker: [tensorboard, csv]
network: {width: 8, depth: 1, channels: 4}
ppo: {num_envs: 8, rollout_steps: 8, minibatch_size: 32, epochs: 1}
league: {fraction: 0.5, snapshot_every: 2, size: 3, opponents: 2}
evaluation: {every: 4, games: 2, final_games: 4, opponents: [random, greedy]}
"""
"""Ten iterations of 64 steps, the last of which reaches ``total_steps``."""


@pytest.fixture(scope="session")
def config(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("configs") / "tiny.yaml"
    path.write_text(TINY)
    return path


@pytest.fixture(scope="session")
def trained(tmp_path_factory, config) -> tuple[str, str, Path]:
    """What the real command said, to both streams, and the run that it made, far from the project."""
    folder = tmp_path_factory.mktemp("elsewhere")
    done = subprocess.run(
        train_command("--config", str(config)),
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr, folder / "runs" / "tiny"


@pytest.fixture(scope="session")
def finished(trained) -> Path:
    """The folder of a run that nothing has disturbed."""
    return trained[-1]


@pytest.fixture
def run(finished, tmp_path) -> Path:
    """A copy of the finished run."""
    return Path(shutil.copytree(finished, tmp_path / "run"))


@pytest.fixture
def interrupted(run) -> Path:
    """A copy of the run, as if it had been killed some time after its last but one checkpoint."""
    forget_the_end(run)
    return run
