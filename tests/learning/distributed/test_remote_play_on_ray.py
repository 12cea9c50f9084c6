"""Self-play by actors of Ray on several nodes: killed workers, lost and new nodes, killed drivers.

Runs where Ray is installed: ``make test-ray``.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from patchwork_env.errors import NoWorkersError

pytest.importorskip("ray")

import ray
from ray.cluster_utils import Cluster

from patchwork_env.learning.algorithms.common import remote_trainer
from patchwork_env.learning.algorithms.common.remote_trainer import played_on_cluster
from patchwork_env.learning.algorithms.common.trainer import make_trainer
from patchwork_env.learning.commands import train
from patchwork_env.learning.config import load_config
from patchwork_env.learning.distributed import ray_workers
from tests.learning.distributed.configs import CONFIGS, state_of
from tests.learning.distributed.fake_workers import shared
from tests.learning.same_runs import tensors_of

pytestmark = pytest.mark.ray

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


class Disturbed(ray_workers.RayBackend):
    """A backend that has an accident when it has given some job, to the worker that is at work on it."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.given, self.accidents = 0, {}

    def submit(self, worker, shared, job):
        self.given += 1
        happens = self.accidents.pop(self.given, None) or self.accidents.pop("next", None)
        victim = happens and ray.get(worker.start.remote())
        ticket = super().submit(worker, shared, job)
        if happens:
            happens(victim)
        return ticket


@pytest.fixture
def accidents(monkeypatch):
    """What happens in the next run: by the number of a job, or ``next``, called with its worker."""
    planned = {}

    def make(*arguments):
        backend = Disturbed(*arguments)
        backend.accidents = planned
        return backend

    monkeypatch.setattr(remote_trainer, "RayBackend", make)
    return planned


def kill(worker):
    os.kill(worker.process, signal.SIGKILL)


def until(condition, seconds=DEADLINE):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("it does not come about")


# --- workers and nodes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(CONFIGS))
def test_a_killed_worker_changes_nothing(nodes, paths, accidents, name):
    """The reference is played in this process; other tests compare that with runs without workers."""
    settings = ["cluster.ahead=true"]
    with shared(paths[name], 1, *settings) as (expected, _):
        for _ in range(4):
            expected.step()
    accidents[5] = kill
    trainer = make_trainer(load_config(paths[name], ["cluster.workers=2", *settings]))
    with played_on_cluster(trainer):
        metrics = [trainer.step() for _ in range(4)]
        assert accidents == {}
        assert metrics[-1]["cluster/jobs_lost"] == 1
        assert state_of(trainer) == state_of(expected)


def test_a_lost_node_and_a_new_one_change_nothing(nodes, paths, accidents):
    settings = ["total_steps=1000000"]
    lost = []

    def lose_node(worker):
        node = next(node for node in nodes.worker_nodes if node.node_id == worker.machine)
        nodes.remove_node(node, allow_graceful=False)
        lost.append(node)

    trainer = make_trainer(load_config(paths["td"], ["cluster.workers=2", *settings]))
    with played_on_cluster(trainer):
        until(lambda: trainer.step()["cluster/workers"] == 2)
        accidents["next"] = lose_node
        metrics = trainer.step()
        assert metrics["cluster/jobs_lost"] == 1
        assert len(lost) == 1
        until(lambda: trainer.step()["cluster/workers"] == 1)
        nodes.add_node(num_cpus=1)
        until(lambda: trainer.step()["cluster/workers"] == 2)
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


# --- errors -------------------------------------------------------------------------------------------------


def test_a_cluster_without_a_free_processor_says_so(nodes, paths):
    first = make_trainer(load_config(paths["td"], ["cluster.workers=3"]))
    second = make_trainer(load_config(paths["td"], ["cluster.workers=3", "cluster.patience=3.0"]))
    with played_on_cluster(first):
        until(lambda: first.step()["cluster/workers"] == 2)
        with (
            pytest.raises(
                NoWorkersError, match=r"of the 3 workers .* the cluster has 2, of which 0 are free"
            ),
            played_on_cluster(second),
        ):
            pass


def test_a_worker_with_other_packages_is_refused(nodes, paths, monkeypatch):
    here = ray_workers.versions()
    monkeypatch.setattr(ray_workers, "versions", lambda: here | {"python": "2.7.18", "ray": "0.1"})
    trainer = make_trainer(load_config(paths["td"], ["cluster.workers=1"]))
    expected = rf"has python {here['python']} instead of 2\.7\.18, ray \S+ instead of 0\.1: workers need"
    with pytest.raises(NoWorkersError, match=expected), played_on_cluster(trainer):
        pass


def test_a_worker_that_cannot_begin_says_why(nodes, paths, monkeypatch):
    def fail(config):
        raise KeyError(config.algorithm)

    monkeypatch.setattr(remote_trainer, "new_service", fail)
    trainer = make_trainer(load_config(paths["td"], ["cluster.workers=1"]))
    with pytest.raises(NoWorkersError, match="cannot begin: KeyError: 'td'"), played_on_cluster(trainer):
        pass
