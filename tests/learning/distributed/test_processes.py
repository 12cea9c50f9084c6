"""Jobs in several processes: results, errors, and remaining processes after a kill."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from patchwork_env.errors import WorkerError
from patchwork_env.learning.distributed import do_jobs

ROOT = Path(__file__).parents[3]

SLOW = """
import os, sys, time
from pathlib import Path
from patchwork_env.learning.distributed import do_jobs

def work(folder, job):
    (Path(folder) / f"{os.getpid()}").touch()
    if job:
        time.sleep(60)
    return job

if __name__ == "__main__":
    for number, _ in do_jobs(work, sys.argv[1], [0, 1, 1], 2):
        print("done", number, flush=True)
        if "stop" in sys.argv:
            raise SystemExit(3)
"""


def look(shared, job):
    """A sum, and whether the process handles Ctrl-C, which jobs leave to the caller."""
    return shared + job, signal.getsignal(signal.SIGINT) != signal.SIG_IGN


def fail(shared, job):
    if job == 3:
        raise ValueError(f"job {job} of {shared}")
    return job


def die(shared, job):
    os._exit(1)


def threads(shared, job):
    return sys.modules["torch"].get_num_threads()


def alive(pid):
    """Whether a process with this id still runs."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until(condition, seconds=10):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return bool(condition())


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_every_job_is_done_once(workers):
    done = dict(do_jobs(look, 10, [3, 1, 2], workers))
    is_told = workers == 1 and signal.getsignal(signal.SIGINT) != signal.SIG_IGN
    assert done == {number: (total, is_told) for number, total in enumerate((13, 11, 12))}
    assert list(do_jobs(look, 10, [], workers)) == []


@pytest.mark.slow
def test_an_error_of_a_job_is_raised_and_ends_no_other_process_of_the_program():
    with pytest.raises(ValueError, match="job 3 of 5"):
        list(do_jobs(fail, 5, [1, 3], 1))
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        with pytest.raises(ValueError, match="job 3 of 5"):
            list(do_jobs(fail, 5, [3, 3], 2))
        assert other.poll() is None


@pytest.mark.slow
def test_a_process_that_dies_is_an_error_that_says_so():
    with pytest.raises(WorkerError, match="ended before its work was done"):
        list(do_jobs(die, 0, [1, 2], 2))


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_jobs_have_one_thread_and_the_caller_as_many_as_before(workers, monkeypatch):
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    monkeypatch.setenv("OMP_NUM_THREADS", "2")  # in new processes
    try:
        of_torch = torch.float32  # so that processes import it
        assert sorted(do_jobs(threads, of_torch, [0, 0], workers)) == [(0, 1), (1, 1)]
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads the states of processes from /proc")
@pytest.mark.parametrize("end", ["kill", "stop"])
def test_no_process_stays_behind(tmp_path, end):
    """Neither after an error during long jobs, nor after a kill of the parent."""
    script, folder = tmp_path / "slow.py", tmp_path / "pids"
    script.write_text(SLOW)
    folder.mkdir()
    command = [sys.executable, str(script), str(folder), *(["stop"] if end == "stop" else [])]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "done 0\n"
        if end == "kill":
            program.send_signal(signal.SIGKILL)
        began = time.monotonic()
        assert program.wait() == (-signal.SIGKILL if end == "kill" else 3)
        assert time.monotonic() - began < 10
    pids = [int(file.name) for file in folder.iterdir()]
    assert pids
    assert wait_until(lambda: not any(map(alive, pids)))
