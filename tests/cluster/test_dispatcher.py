"""Jobs are done once each, whoever comes and goes. Needs no Ray."""

from __future__ import annotations

from collections import Counter
from itertools import count

import pytest

from patchwork_env.errors import NoWorkersError
from patchwork_env.learning.distributed.dispatcher import Dispatcher, StoppedError
from tests.cluster.staffs import FakeStaff

JOBS = list(range(10, 30))


def add(shared, job):
    return shared + job


def dispatcher_of(staff, workers=3, patience=5.0):
    seconds = count()
    return Dispatcher(staff, workers, patience, clock=lambda: next(seconds))


@pytest.mark.parametrize("workers", [1, 2, 3, 30])
def test_results_come_in_the_order_of_the_jobs(workers):
    staff = FakeStaff(add)
    dispatcher = dispatcher_of(staff, workers)
    assert dispatcher.do(100, JOBS) == [100 + job for job in JOBS]
    assert dispatcher.do(7, JOBS[:3]) == [17, 18, 19]
    assert dispatcher.do(0, []) == []
    assert len(staff.alive) == workers
    assert staff.at_most_together <= workers
    assert sorted(job for _, job in staff.given) == sorted(JOBS + JOBS[:3])
    assert dispatcher.lost == 0


def test_workers_are_busy_at_the_same_time():
    staff = FakeStaff(add)
    dispatcher = dispatcher_of(staff, 4)
    for _ in range(3):
        dispatcher.do(0, JOBS)
    assert staff.at_most_together == 4


def test_a_lost_job_is_done_once_more_by_a_worker_that_lives():
    staff = FakeStaff(add, lost=(0, 5, 6))
    dispatcher = dispatcher_of(staff)
    assert dispatcher.do(100, JOBS) == [100 + job for job in JOBS]
    times = Counter(job for _, job in staff.given)
    assert sorted(times.values()) == [1] * 17 + [2] * 3
    assert dispatcher.lost == 3
    assert len(staff.workers) == 6
    assert len(staff.alive) == 3


def test_who_does_a_lost_job_is_not_who_lost_it():
    staff = FakeStaff(add, lost=(2,))
    dispatcher_of(staff).do(0, JOBS)
    loser, job = staff.given[2]
    assert [worker for worker, given in staff.given if given == job][1] != loser
    assert loser not in [worker for worker, _ in staff.given[3:]]


def test_workers_begin_when_there_is_room_for_them():
    staff = FakeStaff(add, room=1)
    dispatcher = dispatcher_of(staff)
    dispatcher.do(0, JOBS)
    assert dispatcher.workers == 1
    staff.room = 2
    dispatcher.do(0, JOBS)
    assert dispatcher.workers == 2
    assert len(staff.workers) == 3  # the third one still waits


def test_machines_are_counted():
    dispatcher = dispatcher_of(FakeStaff(add, machines=2), 5)
    dispatcher.do(0, JOBS * 3)
    assert (dispatcher.workers, dispatcher.machines) == (5, 2)


def test_without_room_for_any_worker_patience_ends():
    dispatcher = dispatcher_of(FakeStaff(add, room=0), patience=4.0)
    with pytest.raises(NoWorkersError, match=r"no worker for 4 s: there is room for 0 of 3"):
        dispatcher.open()
    with pytest.raises(NoWorkersError, match=r"no worker for 4 s"):
        dispatcher.do(0, JOBS)


def test_patience_begins_when_the_last_worker_ends():
    staff = FakeStaff(add, lost=(15,))
    dispatcher = dispatcher_of(staff, 1, patience=3.0)
    dispatcher.open()
    assert dispatcher.do(0, JOBS[:10]) == JOBS[:10]

    def wait(tickets, seconds, wait=staff.wait):
        if staff.given[-1:] and len(staff.given) > 15:
            staff.room = 0
        return wait(tickets, seconds)

    staff.wait = wait
    with pytest.raises(NoWorkersError, match=r"no worker for 3 s: there is room for 0 of 1"):
        dispatcher.do(0, JOBS)
    assert dispatcher.lost == 1


def test_a_job_that_nobody_survives_is_an_error():
    staff = FakeStaff(add, lost=range(1000))
    with pytest.raises(NoWorkersError, match=r"10 workers ended in the same job: killed"):
        dispatcher_of(staff, 2).do(0, JOBS)
    assert len(staff.given) < 100


def test_errors_in_a_job_are_not_hidden():
    def fail(shared, job):
        raise ZeroDivisionError(f"job {job}")

    with pytest.raises(ZeroDivisionError, match="job 10"):
        dispatcher_of(FakeStaff(fail)).do(0, JOBS)


def test_open_waits_for_one_worker():
    staff = FakeStaff(add)
    dispatcher = dispatcher_of(staff)
    dispatcher.open()
    assert dispatcher.workers == 1


def test_a_stopped_dispatcher_does_nothing_more_and_a_closed_one_has_no_workers():
    staff = FakeStaff(add)
    dispatcher = dispatcher_of(staff)
    dispatcher.do(0, JOBS)
    dispatcher.stop()
    with pytest.raises(StoppedError):
        dispatcher.do(0, JOBS)
    assert len(staff.alive) == 3
    dispatcher.close()
    assert staff.alive == []
