"""Jobs as tasks of Ray: results, errors, lost processes, and remaining processes after an early end.

Runs where Ray is installed: ``make test-older``.
"""

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from patchwork_env.errors import NoWorkersError, WorkerError

pytest.importorskip("ray")

from patchwork_env.learning.commands import tournament
from patchwork_env.learning.distributed import RayPool, connected, do_jobs
from tests.learning.distributed.test_processes import alive, die, wait_until

pytestmark = pytest.mark.older

ROOT = Path(__file__).parents[3]
LOCAL = "local"


@pytest.fixture(scope="module", autouse=True)
def ray():
    """One Ray for all tests, to which they connect."""
    with connected("local", 2) as connection:
        yield connection


def add(shared, job):
    return shared + job


def fail(shared, job):
    if job == 3:
        raise KeyError(f"job {job} of {shared}")
    return job


def die_once(folder, job):
    """Loses its process the first time."""
    seen = folder / str(job)
    if not seen.exists():
        seen.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return job


def describe_process(shared, job):
    """Its id, PyTorch's threads, a mark on what is shared, and whether arrays can be written."""
    import torch

    shared += 1
    return os.getpid(), torch.get_num_threads(), str(shared[0]), job.flags.writeable


def count_others(folder, job):
    """The number of jobs that are at work at the same time."""
    mine = folder / str(job)
    mine.touch()
    time.sleep(0.3)
    others = len(list(folder.iterdir())) - 1
    mine.unlink()
    return others


def sleep(folder, job):
    """The first job is quick, the others are not."""
    (folder / f"{job}-{os.getpid()}").touch()
    time.sleep(0 if job == 0 else 60)
    (folder / f"{job}-done").touch()
    return job


@contextmanager
def program(*arguments, folder=ROOT):
    """A command that is killed at the end of the block."""
    environment = os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{folder}"}
    process = subprocess.Popen(
        [sys.executable, "-m", *map(str, arguments)], env=environment, stdout=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def output_after(process, number, seconds=30):
    """What a process has said when a signal has ended it."""
    process.send_signal(number)
    output, _ = process.communicate(timeout=seconds)
    assert process.returncode == 128 + number, output
    return output


def test_every_job_is_done_once():
    assert sorted(do_jobs(add, 10, [3, 1, 2], LOCAL)) == [(0, 13), (1, 11), (2, 12)]
    assert list(do_jobs(add, 10, [], LOCAL)) == []


def test_a_pool_has_at_most_so_many_jobs_at_a_time(ray, tmp_path):
    assert dict(RayPool(ray, 1).imap(count_others, tmp_path, [0, 1, 2])) == {0: 0, 1: 0, 2: 0}


def test_a_cluster_without_processors_says_so(ray, monkeypatch, tmp_path):
    monkeypatch.setattr(ray, "cluster_resources", dict)
    with pytest.raises(NoWorkersError, match=r"the cluster has had no processor for 0\.1 s"):
        list(RayPool(ray, patience=0.1).imap(sleep, tmp_path, [1]))


def test_an_error_of_a_job_is_raised_as_it_is():
    with pytest.raises(KeyError) as caught:
        list(do_jobs(fail, 5, [1, 2, 3, 4], LOCAL))
    assert type(caught.value) is KeyError
    assert caught.value.args == ("job 3 of 5",)
    assert "in fail" in str(caught.value.__cause__)


def test_processes_read_once_what_is_shared_and_use_one_thread():
    shared, jobs = np.zeros(100_000), [np.zeros(1) for _ in range(4)]
    done = [process for _, process in do_jobs(describe_process, shared, jobs, LOCAL)]
    assert all(threads == 1 and writable for _, threads, _, writable in done)
    for pid in {process[0] for process in done}:
        marks = sorted(mark for other, _, mark, _ in done if other == pid)
        assert marks == [f"{float(k + 1)}" for k in range(len(marks))]
    assert shared[0] == 0


def test_a_job_whose_process_was_killed_is_done_again(ray, tmp_path):
    pool = RayPool(ray, 2)
    assert sorted(pool.imap(die_once, tmp_path, [0, 1, 2])) == [(0, 0), (1, 1), (2, 2)]
    assert len(list(tmp_path.iterdir())) == 3


def test_a_job_that_always_loses_its_process(monkeypatch):
    monkeypatch.setattr("patchwork_env.learning.distributed.RETRIES", 0)
    with pytest.raises(WorkerError, match="a job lost its process 1 times"):
        list(do_jobs(die, 0, [1], LOCAL))


def test_an_early_end_cancels_the_remaining_jobs(tmp_path):
    done = do_jobs(sleep, tmp_path, [0, 1, 2, 3, 4], LOCAL)
    assert next(done) == (0, 0)
    assert wait_until(lambda: list(tmp_path.glob("1-*")))
    done.close()
    pids = [int(path.name.partition("-")[2]) for path in tmp_path.glob("[1-4]-*")]
    assert pids
    assert wait_until(lambda: not any(map(alive, pids)))
    assert list(do_jobs(add, 1, [1], LOCAL)) == [(0, 2)]  # with processors that are free again
    assert len(list(tmp_path.glob("[1-4]-*"))) == len(pids)


def test_a_tournament_goes_on_and_ends_as_without_a_cluster(tmp_path, capsys):
    """Half of its blocks are played here, the others by the cluster."""
    game = ["random", "greedy", "--games", "256"]
    alone, shared = tmp_path / "alone", tmp_path / "shared"
    for folder in (alone, shared):
        assert tournament.main([*game, "--workers", "1", "--out", str(folder)]) == 0
    for block in sorted((shared / "blocks").iterdir())[1:]:
        block.unlink()
    assert tournament.main([*game, "--workers", "local", "--out", str(shared)]) == 0
    assert (shared / "games.csv").read_text() == (alone / "games.csv").read_text()


SLOW = """
import time

def slow(game):
    time.sleep(0.05)
    return game.legal_actions()[0]
"""


def test_a_signal_ends_a_tournament_which_goes_on_where_it_was(tmp_path):
    """With a Ray of its own, by the command."""
    (tmp_path / "players.py").write_text(SLOW)
    command = ["patchwork_env", "tournament", "random", "greedy", "players:slow", "--games", 8]
    with program(*command, "--out", tmp_path / "t", "--workers", "local", folder=tmp_path) as process:
        assert wait_until(lambda: list(tmp_path.glob("t/blocks/*")), 180)
        output = output_after(process, signal.SIGTERM)
    assert "stopped by SIGTERM" in output
    assert "the same command resumes" in output


def test_a_missing_cluster_is_an_error(tmp_path):
    """The connection of these tests must not hide it."""
    command = [sys.executable, "-m", "training.evaluate", "greedy", "--against", "random", "--games", "4"]
    environment = {key: value for key, value in os.environ.items() if key != "RAY_ADDRESS"}
    environment |= {"PYTHONPATH": str(ROOT)}
    command += ["--workers", "127.0.0.1:1"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "'127.0.0.1:1'" in done.stderr
