"""Jobs are done once each, whoever comes and goes. Needs no Ray."""

from __future__ import annotations

from collections import Counter
from itertools import count

import pytest

from patchwork_env.errors import NoWorkersError
from patchwork_env.learning.distributed.worker_pool import PoolStoppedError, WorkerPool
from tests.learning.distributed.fake_workers import FakeBackend

JOBS = list(range(10, 30))


def add(shared, job):
    return shared + job


def pool_of(backend, workers=3, patience=5.0):
    seconds = count()
    return WorkerPool(backend, workers, patience, clock=lambda: next(seconds))


@pytest.mark.parametrize("workers", [1, 2, 3, 30])
def test_results_come_in_the_order_of_the_jobs(workers):
    backend = FakeBackend(add)
    pool = pool_of(backend, workers)
    assert pool.map(100, JOBS) == [100 + job for job in JOBS]
    assert pool.map(7, JOBS[:3]) == [17, 18, 19]
    assert pool.map(0, []) == []
    assert len(backend.alive) == workers
    assert backend.at_most_together <= workers
    assert sorted(job for _, job in backend.given) == sorted(JOBS + JOBS[:3])
    assert pool.lost == 0


def test_workers_are_busy_at_the_same_time():
    backend = FakeBackend(add)
    pool = pool_of(backend, 4)
    for _ in range(3):
        pool.map(0, JOBS)
    assert backend.at_most_together == 4


def test_a_lost_job_is_done_once_more_by_a_worker_that_lives():
    backend = FakeBackend(add, lost=(0, 5, 6))
    pool = pool_of(backend)
    assert pool.map(100, JOBS) == [100 + job for job in JOBS]
    times = Counter(job for _, job in backend.given)
    assert sorted(times.values()) == [1] * 17 + [2] * 3
    assert pool.lost == 3
    assert len(backend.workers) == 6
    assert len(backend.alive) == 3


def test_who_does_a_lost_job_is_not_who_lost_it():
    backend = FakeBackend(add, lost=(2,))
    pool_of(backend).map(0, JOBS)
    loser, job = backend.given[2]
    assert [worker for worker, given in backend.given if given == job][1] != loser
    assert loser not in [worker for worker, _ in backend.given[3:]]


def test_workers_begin_when_there_is_room_for_them():
    backend = FakeBackend(add, room=1)
    pool = pool_of(backend)
    pool.map(0, JOBS)
    assert pool.workers == 1
    backend.room = 2
    pool.map(0, JOBS)
    assert pool.workers == 2
    assert len(backend.workers) == 3  # the third one still waits


def test_machines_are_counted():
    pool = pool_of(FakeBackend(add, machines=2), 5)
    pool.map(0, JOBS * 3)
    assert (pool.workers, pool.machines) == (5, 2)


def test_without_room_for_any_worker_patience_ends():
    pool = pool_of(FakeBackend(add, room=0), patience=4.0)
    with pytest.raises(NoWorkersError, match=r"no worker for 4 s: there is room for 0 of 3"):
        pool.open()
    with pytest.raises(NoWorkersError, match=r"no worker for 4 s"):
        pool.map(0, JOBS)


def test_patience_begins_when_the_last_worker_ends():
    backend = FakeBackend(add, lost=(15,))
    pool = pool_of(backend, 1, patience=3.0)
    pool.open()
    assert pool.map(0, JOBS[:10]) == JOBS[:10]

    def wait(tickets, seconds, wait=backend.wait):
        if backend.given[-1:] and len(backend.given) > 15:
            backend.room = 0
        return wait(tickets, seconds)

    backend.wait = wait
    with pytest.raises(NoWorkersError, match=r"no worker for 3 s: there is room for 0 of 1"):
        pool.map(0, JOBS)
    assert pool.lost == 1


def test_a_job_that_nobody_survives_is_an_error():
    backend = FakeBackend(add, lost=range(1000))
    with pytest.raises(NoWorkersError, match=r"10 workers ended in the same job: killed"):
        pool_of(backend, 2).map(0, JOBS)
    assert len(backend.given) < 100


def test_errors_in_a_job_are_not_hidden():
    def fail(shared, job):
        raise ZeroDivisionError(f"job {job}")

    with pytest.raises(ZeroDivisionError, match="job 10"):
        pool_of(FakeBackend(fail)).map(0, JOBS)


def test_open_waits_for_one_worker():
    backend = FakeBackend(add)
    pool = pool_of(backend)
    pool.open()
    assert pool.workers == 1


def test_a_stopped_dispatcher_does_nothing_more_and_a_closed_one_has_no_workers():
    backend = FakeBackend(add)
    pool = pool_of(backend)
    pool.map(0, JOBS)
    pool.stop()
    with pytest.raises(PoolStoppedError):
        pool.map(0, JOBS)
    assert len(backend.alive) == 3
    pool.close()
    assert backend.alive == []
