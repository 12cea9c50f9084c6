"""Threads that share a loop of microseconds, and never wait for one that is not there.

A step of a batch is too short to hand parts of it to threads and wait until they wake up. And where threads
meet at a barrier, on a machine that is not idle, they wait until the last of them is given a core again: a
thousand times as long as they work. So here the caller works through the chunks of the batch itself, and
members of the team that happen to be awake take chunks off its hands. It waits only for chunks that a member
has begun. Members without work look out for more for some ten microseconds before they go to sleep, and are
woken the more rarely the less they helped.

Who works on a chunk has no effect on the result, as chunks have nothing in common.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from patchwork_env.core.compile import kernel, require_layout

Board = npt.NDArray[np.int64]
"""What the threads of a team know of each other: counters, each in a cache line of its own."""

_LINE = 8  # int64 in a cache line
_CLAIMED = 0 * _LINE
"""Chunks that have been begun, and claims that came too late: the leader's in the lower 32 bits, those of the
members in the upper ones."""
_DONE = 1 * _LINE
"""Chunks that are done."""
_CHUNKS = 2 * _LINE
"""Chunks of the work."""
_PHASE = 3 * _LINE
"""What is to be done with the chunks."""
_ASLEEP = 4 * _LINE
"""Members that wait to be woken."""
_BOARD_SIZE = 5 * _LINE

_MEMBER_CLAIM = 1 << 32
_LEADER_CLAIMS = _MEMBER_CLAIM - 1
_PATIENCE = 200_000  # looks at the board: 50 to 100 microseconds
_LONGEST_PAUSE = 63
_NAP = 1e-6  # seconds; the system makes it some ten microseconds


# --- the board --------------------------------------------------------------------------------------------


@intrinsic  # type: ignore[untyped-decorator]
def _add(typing_context: Any, board: Any, at: Any, number: Any) -> Any:
    """Adds to a counter in one indivisible operation; returns what it was before."""
    require_layout(board, "a board", 1, types.int64)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        counters = make_array(signature.args[0])(context, builder, args[0]).data
        return builder.atomic_rmw("add", builder.gep(counters, [args[1]]), args[2], "seq_cst")

    return types.int64(board, types.intp, types.int64), codegen


@intrinsic  # type: ignore[untyped-decorator]
def _read(typing_context: Any, board: Any, at: Any) -> Any:
    """A counter as it is now, and with it all that was written before it got this value."""
    require_layout(board, "a board", 1, types.int64)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        counters = make_array(signature.args[0])(context, builder, args[0]).data
        return builder.load_atomic(builder.gep(counters, [args[1]]), "seq_cst", align=8)

    return types.int64(board, types.intp), codegen


@intrinsic  # type: ignore[untyped-decorator]
def _write(typing_context: Any, board: Any, at: Any, number: Any) -> Any:
    """Sets a counter; who reads it also sees all that was written before."""
    require_layout(board, "a board", 1, types.int64)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        counters = make_array(signature.args[0])(context, builder, args[0]).data
        builder.store_atomic(args[2], builder.gep(counters, [args[1]]), "seq_cst", align=8)
        return context.get_dummy_value()

    return types.void(board, types.intp, types.int64), codegen


@kernel
def begin(board: Board, phase: int) -> None:
    """Opens all chunks to whoever claims them; those of the phase before must be done."""
    _write(board, _PHASE, phase)
    _write(board, _DONE, 0)
    _write(board, _CLAIMED, 0)


@kernel
def claim_chunk(board: Board, leads: bool) -> int:
    """A chunk that nobody else works on, or -1 if all have been begun.

    The leader takes them from the front and members from the back: so most stay in the cache of one core.
    """
    claimed: int = _add(board, _CLAIMED, 1 if leads else _MEMBER_CLAIM)
    if _unclaimed(board, claimed) <= 0:
        return -1
    chunks: int = _read(board, _CHUNKS)
    return claimed & _LEADER_CLAIMS if leads else chunks - 1 - claimed // _MEMBER_CLAIM


@kernel
def _unclaimed(board: Board, claimed: int) -> int:
    chunks: int = _read(board, _CHUNKS)
    return chunks - (claimed & _LEADER_CLAIMS) - claimed // _MEMBER_CLAIM


@kernel
def phase_of(board: Board) -> int:
    """What is to be done with a chunk that has been claimed."""
    phase: int = _read(board, _PHASE)
    return phase


@kernel
def finish_chunk(board: Board) -> None:
    """Says that a claimed chunk is done."""
    _add(board, _DONE, 1)


@kernel
def look_out_for_work(board: Board) -> bool:
    """Whether there are chunks to claim; returns False, counted as asleep, when patience ends."""
    for _ in range(_PATIENCE):
        if _unclaimed(board, _read(board, _CLAIMED)) > 0:
            return True
    _add(board, _ASLEEP, 1)
    return False


@kernel
def wait_for_members(board: Board, patience: int) -> bool:
    """Waits until all chunks are done, for as many looks at the board as patience lasts; whether they are."""
    looks = 0
    while _read(board, _DONE) < _read(board, _CHUNKS):
        looks += 1
        if looks > patience:
            return False
    return True


@kernel
def _take_sleepers(board: Board) -> int:
    """How many members are asleep; they count as awake from now on."""
    sleepers: int = _read(board, _ASLEEP)
    _add(board, _ASLEEP, -sleepers)
    return sleepers


# --- the threads ------------------------------------------------------------------------------------------


class Team:
    """Threads that help the caller, their leader, with work of one kind, always in the same arrays.

    Args:
        size: Threads, the leader included.
        chunks: Chunks of the work.
        lead: Kernel, called as ``lead(board, *arguments)`` when phase 0 has begun, to do all the work:
            :func:`claim_chunk` and :func:`finish_chunk` until there is none left to claim, and if there is a
            further phase, :func:`wait_for_members` and :func:`begin` it.
        assist: Kernel, called likewise by the members: chunks of whatever phase, each time that
            :func:`look_out_for_work` says so.
        arguments: What both are called with.
    """

    def __init__(
        self,
        size: int,
        chunks: int,
        lead: Callable[..., Any],
        assist: Callable[..., None],
        arguments: tuple[Any, ...],
    ) -> None:
        self._board = np.zeros(_BOARD_SIZE, np.int64)
        self._board[[_CLAIMED, _DONE, _CHUNKS]] = chunks
        self._lead, self._arguments = lead, arguments
        self._alarm = threading.Semaphore(0)
        self._helped = False  # since members were woken last
        self._pause = self._pauses_left = 0
        assist(self._board, *arguments)  # compiles
        self._board[_ASLEEP] = size - 1
        dismissed = threading.Event()
        known = (self._board, self._alarm, dismissed, assist, arguments)
        for number in range(1, size):
            threading.Thread(target=_be_a_member, args=known, name=f"team-{number}", daemon=True).start()
        weakref.finalize(self, _dismiss, dismissed, self._alarm, size - 1)

    def work(self) -> Any:
        """Does the work, with whatever help there is; returns what ``lead`` returns."""
        self._wait()  # if the last call was interrupted
        begin(self._board, 0)  # before members wake, who look out for work at once
        if self._board[_ASLEEP]:
            self._wake_members()
        result = self._lead(self._board, *self._arguments)
        self._wait()
        self._helped = self._helped or self._have_shared()
        return result

    def _wait(self) -> None:
        """Waits for the chunks that members work on, and lets them have this core if they lack one."""
        while not wait_for_members(self._board, _PATIENCE):
            time.sleep(_NAP)

    def _have_shared(self) -> bool:
        """Whether members and leader both did chunks; members that did all of them had the leader's core."""
        by_leader = (int(self._board[_CLAIMED]) & _LEADER_CLAIMS) - 1  # the last claim came too late
        return 0 < by_leader < int(self._board[_CHUNKS])

    def _wake_members(self) -> None:
        """Wakes members that sleep, but after they have been of no use not until some calls later."""
        if self._pauses_left:
            self._pauses_left -= 1
            return
        self._pause = 0 if self._helped else min(2 * self._pause + 1, _LONGEST_PAUSE)
        self._helped, self._pauses_left = False, self._pause
        self._alarm.release(_take_sleepers(self._board))


def _be_a_member(
    board: Board,
    alarm: threading.Semaphore,
    dismissed: threading.Event,
    assist: Callable[..., None],
    arguments: tuple[Any, ...],
) -> None:
    alarm.acquire()
    while not dismissed.is_set():
        assist(board, *arguments)
        alarm.acquire()


def _dismiss(dismissed: threading.Event, alarm: threading.Semaphore, members: int) -> None:
    dismissed.set()
    for _ in range(members):
        alarm.release()


def usable_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
