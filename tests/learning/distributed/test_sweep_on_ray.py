"""A sweep whose trials are tasks on a Ray cluster, one of which loses its process.

Runs where Ray is installed: ``make test-older``.
"""

import os
import signal
from pathlib import Path

import pytest

pytest.importorskip("ray")

from patchwork_env.learning.commands import train
from patchwork_env.learning.sweeps.sweep import Sweep
from tests.learning.distributed.test_jobs_on_ray import output_after, program, wait_until
from tests.learning.same_runs import tensors_of
from tests.learning.sweeps.test_sweep import TINY

pytestmark = pytest.mark.older


def holder_of(path):
    """The process that has opened a file."""
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            if link.readlink() == path:
                return int(link.parts[2])
        except OSError:
            continue
    return None


def has_checkpoints(run, number):
    return len(list(run.glob("checkpoints/step_*"))) >= number


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="finds processes in /proc")
def test_lost_processes_and_signals_lose_nothing_that_has_ended(tmp_path):
    folder, config = tmp_path / "sweep", tmp_path / "tiny.yaml"
    config.write_text(TINY)
    command = ["training.sweep", "--config", config, "--out", folder, "--workers", 1, "--cluster", "local"]
    runs = [folder / "trials" / name for name in ("000", "001")]
    command += ["--set", "evaluation.every=1000", "checkpoint_every=10"]
    with program(*command, "--param", "total_steps=grid(3200, 19200)") as process:
        assert wait_until(lambda: has_checkpoints(runs[0], 2), 90)
        pid = holder_of(runs[0] / "lock")
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        assert wait_until(lambda: has_checkpoints(runs[1], 2), 90)
        output = output_after(process, signal.SIGTERM)
    assert "trial 000 finished (1 of 2 have ended)" in output
    assert f"stopped by SIGTERM; go on with --resume {folder}" in output
    assert [row.state for row in Sweep(folder).rows()] == ["finished", "unfinished"]

    alone = tmp_path / "alone"
    assert train.main(["--config", str(runs[0] / "config.yaml"), "--run-dir", str(alone)]) == 0
    assert tensors_of(runs[0] / "final") == tensors_of(alone / "final")
