"""Threads that share loops of some microseconds, without ever waiting for a thread that does not run.

A step of a batch is too short for handing parts of it to threads and waiting until they wake up. And if
threads meet at a barrier on a busy machine, all of them wait until the last one is given a core again, which
takes a thousand times as long as the work. So here the caller, the leader of the team, works through the
chunks of the batch itself, and those members of the team that happen to be awake take over some of the
chunks. The leader waits only for chunks that a member has begun. Members without work keep looking for more
for 50 to 100 microseconds before they go to sleep. The less they helped, the more rarely they are woken.

Which thread works on a chunk has no effect on the result, since chunks share no data.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from patchwork_env.core.compile import kernel
from patchwork_env.core.intrinsics import CACHE_LINE, Counters, add_to_counter, read_counter, set_counter

_LINE = CACHE_LINE // 8  # the counters that the threads of a team share have a cache line each
_CLAIMED = 0 * _LINE
"""Index of the number of claims: chunks that have been begun, and claims that came too late. The lower 32
bits count those of the leader, the upper ones those of the members."""
_DONE = 1 * _LINE  # index of the number of chunks that are done
_CHUNKS = 2 * _LINE  # index of the number of all chunks
_PHASE = 3 * _LINE  # index of the number of the phase, which says what is to be done with the chunks
_ASLEEP = 4 * _LINE  # index of the number of members that wait to be woken
_COUNTERS_SIZE = 5 * _LINE

_MEMBER_CLAIM = 1 << 32
_LEADER_CLAIMS = _MEMBER_CLAIM - 1
_SPINS = 200_000  # looks at the counters: 50 to 100 microseconds
_LONGEST_PAUSE = 63  # calls without waking members
_NAP = 1e-6  # seconds; the system makes it some ten microseconds


# --- what kernels do with the counters ----------------------------------------------------------------------


@kernel
def begin_phase(counters: Counters, phase: int) -> None:
    """Begins a phase, so that all chunks can be claimed; those of the phase before must be done."""
    set_counter(counters, _PHASE, phase)
    set_counter(counters, _DONE, 0)
    set_counter(counters, _CLAIMED, 0)


@kernel
def claim_chunk(counters: Counters, leads: bool) -> int:
    """Claims a chunk that no other thread works on; returns its index, or -1 if all have been begun.

    The leader takes chunks from the front and members from the back, so that most stay in the cache of one
    core.
    """
    claimed: int = add_to_counter(counters, _CLAIMED, 1 if leads else _MEMBER_CLAIM)
    if _unclaimed(counters, claimed) <= 0:
        return -1
    return claimed & _LEADER_CLAIMS if leads else int(counters[_CHUNKS]) - 1 - claimed // _MEMBER_CLAIM


@kernel
def _unclaimed(counters: Counters, claimed: int) -> int:
    return int(counters[_CHUNKS]) - (claimed & _LEADER_CLAIMS) - claimed // _MEMBER_CLAIM


@kernel
def phase_of(counters: Counters) -> int:
    """The phase to which a claimed chunk belongs: what is to be done with it."""
    phase: int = read_counter(counters, _PHASE)
    return phase


@kernel
def finish_chunk(counters: Counters) -> None:
    """Says that a claimed chunk is done."""
    add_to_counter(counters, _DONE, 1)


@kernel
def spin_for_work(counters: Counters) -> bool:
    """Looks for chunks to claim; returns whether there are any. If not, the thread is counted as asleep."""
    for _ in range(_SPINS):
        if _unclaimed(counters, read_counter(counters, _CLAIMED)) > 0:
            return True
    add_to_counter(counters, _ASLEEP, 1)
    return False


@kernel
def wait_for_members(counters: Counters, patience: int) -> bool:
    """Waits until all chunks are done, for at most ``patience`` looks; returns whether they are done."""
    looks = 0
    while read_counter(counters, _DONE) < counters[_CHUNKS]:
        looks += 1
        if looks > patience:
            return False
    return True


@kernel
def _count_as_awake(counters: Counters, members: int) -> None:
    add_to_counter(counters, _ASLEEP, -members)


# --- the threads ------------------------------------------------------------------------------------------


class Team:
    """Threads that help the caller, their leader, with work of one kind, always in the same arrays.

    ``lead(counters, *arguments)`` does all the work: for each phase it calls :func:`begin_phase`, and then
    :func:`claim_chunk` and :func:`finish_chunk` until there is no chunk left to claim; between phases it
    calls :func:`wait_for_members`. As this is one call, no interrupt leaves some of the chunks undone. The
    members run ``assist`` with the same arguments: as long as :func:`spin_for_work` returns True, it works on
    chunks of whatever phase.
    """

    def __init__(
        self,
        size: int,
        chunks: int,
        lead: Callable[..., Any],
        assist: Callable[..., None],
        arguments: tuple[Any, ...],
    ) -> None:
        self._counters = np.zeros(_COUNTERS_SIZE, np.int64)
        self._counters[[_CLAIMED, _DONE, _CHUNKS]] = chunks
        self._lead, self._arguments = lead, arguments
        self._members = size - 1
        if not self._members:
            return
        self._alarm = threading.Semaphore(0)
        self._helped = False  # whether members have, since they were woken last
        self._pause = self._pauses_left = 0
        assist(self._counters, *arguments)  # compiles
        self._counters[_ASLEEP] = size - 1
        stopped = threading.Event()
        known = (self._counters, self._alarm, stopped, assist, arguments)
        weakref.finalize(self, _stop, stopped, self._alarm, size - 1)
        for number in range(1, size):
            threading.Thread(target=_run_member, args=known, name=f"team-{number}", daemon=True).start()

    def work(self) -> Any:
        """Does the work, with the help of the members that are awake; returns what ``lead`` returns."""
        if not self._members:
            return self._lead(self._counters, *self._arguments)
        if self._counters[_ASLEEP]:
            self._wake_members()
        try:
            result = self._lead(self._counters, *self._arguments)
        finally:
            self._wait()
        self._helped = self._helped or self._have_shared()
        return result

    def _wait(self) -> None:
        """Waits for the chunks that members work on; leaves them this core if that takes long.

        An interrupt waits too, so that the arrays are never those of half a step.
        """
        try:
            while not wait_for_members(self._counters, _SPINS):
                time.sleep(_NAP)
        except BaseException:
            self._wait()
            raise

    def _have_shared(self) -> bool:
        """Whether members and leader both did chunks; members that did all of them had the leader's core."""
        by_leader = (int(self._counters[_CLAIMED]) & _LEADER_CLAIMS) - 1  # the last claim came too late
        return 0 < by_leader < int(self._counters[_CHUNKS])

    def _wake_members(self) -> None:
        """Wakes the members that sleep; if they did not help after the last time, only some calls later."""
        if self._pauses_left:
            self._pauses_left -= 1
            return
        self._pause = 0 if self._helped else min(2 * self._pause + 1, _LONGEST_PAUSE)
        self._helped, self._pauses_left = False, self._pause
        sleepers = min(int(self._counters[_ASLEEP]), self._members)
        self._alarm.release(sleepers)  # first: members that were counted as awake would never be woken
        _count_as_awake(self._counters, sleepers)


def _run_member(
    counters: Counters,
    alarm: threading.Semaphore,
    stopped: threading.Event,
    assist: Callable[..., None],
    arguments: tuple[Any, ...],
) -> None:
    alarm.acquire()
    while not stopped.is_set():
        assist(counters, *arguments)
        alarm.acquire()


def _stop(stopped: threading.Event, alarm: threading.Semaphore, members: int) -> None:
    stopped.set()
    for _ in range(members):
        alarm.release()
