"""Sweeps with Ray Tune: the table, failures, lost processes, and sweeps that were stopped.

Runs where Ray is installed: ``make test-ray``.
"""

from __future__ import annotations

import csv
import json
import os
import signal
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("ray")

from patchwork_env.learning.commands import train
from patchwork_env.learning.commands.sweep import main
from patchwork_env.learning.config import load_config
from patchwork_env.learning.distributed.ray_cluster import connected
from patchwork_env.learning.sweeps.folder import FAILED, FINISHED, STOPPED, End, Halving, read_sweep
from tests.learning.distributed.test_jobs_on_ray import output_after, program, wait_until
from tests.learning.same_runs import tensors_of
from tests.learning.sweeps.test_sweep import TINY, tiny_sweep

pytestmark = pytest.mark.ray


@pytest.fixture(scope="module", autouse=True)
def ray():
    """One Ray for all tests, to which they connect."""
    with connected("local", 2) as connection:
        yield connection


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "tiny.yaml"
    path.write_text(TINY)
    return path


def holder_of(path: Path) -> int | None:
    """The process that has opened a file."""
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            if link.readlink() == path:
                return int(link.parts[2])
        except OSError:
            continue
    return None


def has_checkpoints(run: Path, number: int) -> bool:
    return len(list(run.glob("checkpoints/step_*"))) >= number


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="finds processes in /proc")
def test_lost_processes_and_signals_lose_nothing_that_has_ended(config, tmp_path, capsys):
    """A trial loses its process, the other one is stopped with the sweep, which goes on."""
    folder = tmp_path / "sweep"
    command = ["training.sweep", "--config", config, "--out", folder, "--workers", 1]
    runs = [folder / "trials" / name for name in ("000", "001")]
    command += ["--set", "evaluation.every=1000", "checkpoint_every=10"]
    with program(*command, "--param", "total_steps=grid(3200, 19200)") as process:
        assert wait_until(lambda: has_checkpoints(runs[0], 2), 60)
        pid = holder_of(runs[0] / "lock")
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        assert wait_until(lambda: has_checkpoints(runs[1], 2), 60)
        output = output_after(process, signal.SIGTERM)
    assert "trial 000 has lost its process; it goes on in another one" in output
    assert "trial 000 finished (1 of 2 have ended)" in output
    assert f"1 of 2 trials have ended; go on with --resume {folder}\nstopped by SIGTERM" in output
    assert "unfinished" in (folder / "results.txt").read_text()
    assert read_sweep(folder).end(1) is None

    before = (folder / "trials" / "000.json").stat().st_mtime_ns, tensors_of(runs[0] / "final")
    assert main(["--resume", str(folder)]) == 0
    output = capsys.readouterr().out
    assert "1 of 2 trials have ended" in output
    assert "trial 000" not in output.replace("best: ", "").partition("by win rate")[0]
    assert [read_sweep(folder).end(trial) for trial in (0, 1)] == [End(FINISHED)] * 2
    assert before == ((folder / "trials" / "000.json").stat().st_mtime_ns, tensors_of(runs[0] / "final"))
    assert sorted(path.name for path in folder.iterdir()) == [
        "config.yaml", "lock", "results.csv", "results.json", "results.txt", "sweep.json", "trials",
        "winner.json",
    ]  # fmt: skip

    alone = tmp_path / "alone"
    assert train.main(["--config", str(runs[0] / "config.yaml"), "--run-dir", str(alone)]) == 0
    assert tensors_of(runs[0] / "final") == tensors_of(alone / "final")


def test_a_trial_that_fails_is_told_of_and_ends_nothing(config, tmp_path, capsys):
    folder = tmp_path / "sweep"
    rates = "ppo.learning_rate=grid({start: 1e30, end: 1e30}, {start: 1e-3, end: 1e-3})"
    arguments = ["--config", str(config), "--set", "ppo.minibatch_size=100", "--out", str(folder)]
    assert main([*arguments, "--param", rates, "--metric", "score", "--against", "random"]) == 0
    sweep, output = read_sweep(folder), capsys.readouterr().out
    ends = [sweep.end(trial) for trial in (0, 1)]
    assert [end.state for end in ends] == [FAILED, FINISHED]
    assert ends[0].error.startswith("DivergenceError: training diverged: the loss is nan")
    assert f"trial 000 failed: {ends[0].error}\n" in output.partition("intervals")[2]
    assert f"best: {folder / 'trials' / '001'}" in output
    assert load_config(folder / "trials" / "001" / "config.yaml").ppo.learning_rate.end == 1e-3
    assert load_config(folder / "trials" / "001" / "config.yaml").threads == 1

    with (folder / "results.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["trial"] for row in rows] == ["1", "0"]
    results = json.loads((folder / "results.json").read_text())["trials"]
    evaluation = json.loads((folder / "trials" / "001" / "evaluations" / "step_0000000640.json").read_text())
    assert results[0]["matches"] == evaluation["matches"]
    assert float(rows[0]["score_against_random"]) == results[0]["metric"]


def test_successive_halving_notes_what_it_stops(tmp_path):
    """Of trials that have come to a rung, those below the best half end."""
    from patchwork_env.learning.sweeps.tuning import _Halving

    sweep = tiny_sweep(tmp_path, count=4, halving=Halving(100, 2))
    scheduler = _Halving(sweep)
    scheduler.set_search_properties("metric", "max")

    def report(trial: int, steps: int, metric: float) -> str:
        running = SimpleNamespace(trial_id=str(trial), config={"trial": trial})
        if trial not in added:
            added.add(trial)
            scheduler.on_trial_add(None, running)
        result = {"steps": steps, "metric": metric, "is_last": steps >= 640}
        return str(scheduler.on_trial_result(None, running, result))

    added: set[int] = set()
    assert report(0, 100, 0.5) == "CONTINUE"
    assert report(1, 50, 0.1) == "CONTINUE"  # within its grace
    assert report(1, 100, 0.1) == "STOP"
    assert report(2, 100, 0.9) == "CONTINUE"
    assert report(2, 640, 0.9) == "CONTINUE"
    assert report(0, 640, 0.2) == "CONTINUE"  # it is done anyway
    assert [sweep.end(trial) for trial in range(4)] == [None, End(STOPPED), None, None]
