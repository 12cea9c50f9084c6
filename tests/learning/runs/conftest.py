"""A tiny run that all tests of runs share, and copies of it."""

import io
import shutil
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from patchwork_env.core import progress
from patchwork_env.learning.commands import train

TINY = """
description: tiny
total_steps: 600
checkpoint_every: 2
threads: 1
seed: 5
tracker: tensorboard
network: {width: 8, depth: 1, channels: 4, features: false}
ppo: {num_envs: 8, rollout_steps: 8, minibatch_size: 32, epochs: 1}
league: {fraction: 0.5, snapshot_every: 2, size: 3, opponents: 2}
evaluation: {every: 4, games: 2, final_games: 4, opponents: [random]}
"""
"""Ten iterations of 64 steps; the last one reaches ``total_steps``."""


@pytest.fixture(scope="session")
def config(tmp_path_factory):
    path = tmp_path_factory.mktemp("configs") / "tiny.yaml"
    path.write_text(TINY)
    return path


@pytest.fixture(scope="session")
def trained(tmp_path_factory, config):
    """The output of the command, its errors, and its run in the working directory."""
    folder, output, errors = tmp_path_factory.mktemp("elsewhere"), io.StringIO(), io.StringIO()
    with chdir(folder), redirect_stdout(output), redirect_stderr(errors), pytest.MonkeyPatch.context() as m:
        for pause in ("_SECONDS_BEFORE_NOTICE", "_PAUSE"):
            m.setattr(progress, pause, 0.0)
        assert train.main(["--config", str(config)]) == 0
    return output.getvalue(), errors.getvalue(), folder / "runs" / "tiny"


@pytest.fixture(scope="session")
def finished(trained):
    """The folder of a run that nothing has disturbed."""
    return trained[-1]


@pytest.fixture
def run(finished, tmp_path):
    """A copy of the finished run."""
    return Path(shutil.copytree(finished, tmp_path / "run"))
