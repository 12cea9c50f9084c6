"""The thread pool: the number of its threads, the order of calls, and its end."""

import threading
from queue import Queue

import pytest

from patchwork_env.service.threads import ThreadPool


class Calls:
    """Calls that hang until ``release`` is set, and calls that do not; all note what runs them."""

    def __init__(self):
        self.release, self.notes = threading.Event(), Queue()

    def hang(self):
        self.notes.put(("hang", threading.current_thread()))
        self.release.wait(60)

    def note(self, name):
        return lambda: self.notes.put((name, threading.current_thread()))

    def next(self):
        return self.notes.get(timeout=60)


@pytest.fixture
def calls():
    calls = Calls()
    yield calls
    calls.release.set()


def test_urgent_calls_begin_first(calls):
    pool = ThreadPool(1)
    pool.submit(calls.hang)
    _, thread = calls.next()
    pool.submit(calls.note("last"), priority=-1)
    pool.submit(calls.note("first"), priority=1)
    pool.close()
    calls.release.set()
    assert [calls.next(), calls.next()] == [("first", thread), ("last", thread)]
    thread.join(60)
    assert not thread.is_alive()


def test_calls_wait_only_if_all_threads_hang(calls):
    pool = ThreadPool(3)
    for _ in range(2):
        pool.submit(calls.hang)
    hanging = {calls.next()[1] for _ in range(2)}
    pool.submit(calls.note("free"))
    _, free = calls.next()
    pool.submit(calls.hang)
    hanging.add(calls.next()[1])
    assert len(hanging) == 3
    assert free in hanging
    pool.submit(calls.note("waits"))
    assert calls.notes.empty()
    calls.release.set()
    assert calls.next()[1] in hanging
