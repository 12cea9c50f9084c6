"""Self-play by tasks of Ray on several nodes: killed workers, lost and new nodes, killed drivers.

Runs where Ray is installed: ``make test-older``.
"""

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

pytest.importorskip("ray")

import ray
from ray.cluster_utils import Cluster

from patchwork_env.learning.algorithms.common.trainer import make_trainer
from patchwork_env.learning.commands import train
from patchwork_env.learning.config import load_config
from patchwork_env.learning.distributed import RayPool
from tests.learning.distributed.configs import CONFIGS, state_of
from tests.learning.distributed.fake_pool import shared
from tests.learning.same_runs import tensors_of

pytestmark = pytest.mark.older

ROOT = Path(__file__).parents[3]
DEADLINE = 120
FAST_NEWS = {
    "health_check_initial_delay_ms": 0,
    "health_check_period_ms": 200,
    "health_check_timeout_ms": 500,
}


@pytest.fixture(scope="module")
def nodes():
    """A head without processors and two nodes with one each, as three machines would be."""
    cluster = Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 0, "include_dashboard": False, "_system_config": FAST_NEWS},
    )
    cluster.add_node(num_cpus=1)
    cluster.add_node(num_cpus=1)
    ray.init(address=cluster.address, log_to_driver=False)
    yield cluster
    ray.shutdown()
    cluster.shutdown()


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    folder = tmp_path_factory.mktemp("configs")
    for name, text in CONFIGS.items():
        (folder / f"{name}.yaml").write_text(text)
    return {name: folder / f"{name}.yaml" for name in CONFIGS}


@pytest.fixture
def accident(monkeypatch):
    """Sets a function that is called once, after a job has ended while others run.

    If it returns False, it is called again after the next job.
    """
    planned, watch = [], RayPool._watch

    def watch_jobs(pool, has_result):
        if planned and has_result and planned[-1]() is not False:
            planned.pop()
        watch(pool, has_result)

    monkeypatch.setattr(RayPool, "_watch", watch_jobs)
    return planned.append


def kill():
    """Kills a busy worker, whose process Ray names after its function; returns whether there was one."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it has ended meanwhile
            if path.read_bytes().startswith(b"ray::_do"):
                os.kill(int(path.parent.name), signal.SIGKILL)
                return True
    return False


def until(condition, seconds=DEADLINE):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("the condition stays false")


# --- workers and nodes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(CONFIGS))
def test_a_killed_worker_changes_nothing(nodes, paths, accident, name):
    """The reference is played in this process; other tests compare that with runs without workers."""
    settings = ["cluster.ahead=true", "cluster.games_per_job=1"]
    with shared(paths[name], 1, *settings) as (expected, _):
        for _ in range(4):
            expected.step()
    trainer = make_trainer(load_config(paths[name], ["cluster.workers=2", *settings]))
    with trainer.workers():
        trainer.step()
        for _ in range(3):  # a worker that ends its job at this moment loses none
            accident(kill)
            trainer.step()
        assert state_of(trainer) == state_of(expected)


def test_a_lost_node_and_a_new_one_change_nothing(nodes, paths, accident):
    settings = ["total_steps=1000000"]
    lost = []

    def lose_node():
        lost.append(next(iter(nodes.worker_nodes)))
        nodes.remove_node(lost[0], allow_graceful=False)

    trainer = make_trainer(load_config(paths["td"], ["cluster.workers=2", *settings]))
    with trainer.workers():
        trainer.step()
        accident(lose_node)
        trainer.step()
        assert len(lost) == 1
        until(lambda: ray.cluster_resources()["CPU"] == 1)
        trainer.step()
        nodes.add_node(num_cpus=1)
        trainer.step()
        expected = make_trainer(load_config(paths["td"], settings))
        while expected.iteration < trainer.iteration:
            expected.step()
        assert state_of(trainer) == state_of(expected)


# --- drivers ------------------------------------------------------------------------------------------------


@contextmanager
def driver(*arguments):
    """The real command in a process group of its own, as a terminal starts it."""
    command = [sys.executable, "-m", "training.train", *map(str, arguments)]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, process_group=0
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def checkpoints_of(run):
    return sorted(folder.name for folder in (run / "checkpoints").glob("step_*"))


def wait_for_checkpoints(run, number, process):
    until(lambda: process.poll() is not None or len(checkpoints_of(run)) >= number)
    assert process.poll() is None, process.communicate()[0]


def assert_same_end(run, other):
    newest = checkpoints_of(run)[-1]
    assert checkpoints_of(other)[-1] == newest
    for folder in (f"checkpoints/{newest}", "final"):
        assert tensors_of(run / folder) == tensors_of(other / folder)


LENGTH = "total_steps=6000"


@pytest.fixture(scope="module")
def undisturbed(paths, tmp_path_factory):
    """A run without workers."""
    run = tmp_path_factory.mktemp("runs") / "undisturbed"
    assert train.main(["--config", str(paths["td"]), "--run-dir", str(run), "--set", LENGTH]) == 0
    return run


def test_a_killed_driver_is_resumed_by_another_number_of_workers(nodes, paths, undisturbed, tmp_path):
    run = tmp_path / "run"
    settings = ["--set", LENGTH, f"cluster.address={nodes.address}", "cluster.workers=1"]
    with driver("--config", paths["td"], "--run-dir", run, *settings) as process:
        wait_for_checkpoints(run, 3, process)
        process.kill()
        process.wait()
    assert not (run / "final").exists()
    until(lambda: ray.available_resources().get("CPU") == 2)  # its worker has ended with it
    assert train.main(["--resume", str(run), "--set", "cluster.workers=2"]) == 0
    assert_same_end(run, undisturbed)


def test_an_interrupted_driver_saves_and_its_own_ray_ends_with_it(paths, undisturbed, tmp_path):
    """Ctrl-C goes to the whole process group, and must not end the workers before the iteration."""
    run = tmp_path / "run"
    settings = ["--set", LENGTH, "cluster.workers=1"]
    with driver("--config", paths["td"], "--run-dir", run, *settings) as process:
        wait_for_checkpoints(run, 3, process)
        os.killpg(process.pid, signal.SIGINT)
        said = process.communicate()[0]
    assert process.returncode == 128 + signal.SIGINT, said
    assert "stopped by SIGINT: saved" in said
    assert train.main(["--resume", str(run), "--set", "cluster.workers=0"]) == 0
    assert_same_end(run, undisturbed)
