"""Threads that share a loop of microseconds, and never wait for one that is not there.

A step of a batch is too short to hand parts of it to threads and wait until they wake up. And where threads
meet at a barrier, on a machine that is not idle, they wait until the last of them is given a core again: a
thousand times as long as they work. So here the caller works through the chunks of the batch itself, and
members of the team that happen to be awake take chunks off its hands. It waits only for chunks that a member
has begun. Members without work look out for the next batch for some ten microseconds before they go to sleep,
and are woken the more rarely the less they helped.

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

from patchwork_env._compile import kernel

Board = npt.NDArray[np.int64]
"""What the threads of a team know of each other: counters, each in a cache line of its own."""

_LINE = 8  # int64 in a cache line
_NEXT = 0 * _LINE
"""The next chunk to begin; the number of chunks or more if all have been begun."""
_DONE = 1 * _LINE
"""Chunks that are done."""
_CHUNKS = 2 * _LINE
"""Chunks of a batch."""
_ASLEEP = 3 * _LINE
"""Members that wait to be woken."""
_HELPED = 4 * _LINE
"""How often a member found work."""
_BOARD_SIZE = 5 * _LINE

_PATIENCE = 200_000  # looks at the board: 50 to 100 microseconds
_LONGEST_PAUSE = 63
_NAP = 1e-6  # seconds; the system makes it some ten microseconds


# --- the board --------------------------------------------------------------------------------------------


@intrinsic  # type: ignore[untyped-decorator]
def _add(typing_context: Any, board: Any, at: Any, number: Any) -> Any:
    """Adds to a counter in one indivisible operation; returns what it was before."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        counters = make_array(signature.args[0])(context, builder, args[0]).data
        return builder.atomic_rmw("add", builder.gep(counters, [args[1]]), args[2], "seq_cst")

    return types.int64(board, types.intp, types.int64), codegen


@intrinsic  # type: ignore[untyped-decorator]
def _read(typing_context: Any, board: Any, at: Any) -> Any:
    """A counter as it is now, and with it all that was written before it got this value."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        counters = make_array(signature.args[0])(context, builder, args[0]).data
        return builder.load_atomic(builder.gep(counters, [args[1]]), "seq_cst", align=8)

    return types.int64(board, types.intp), codegen


@intrinsic  # type: ignore[untyped-decorator]
def _write(typing_context: Any, board: Any, at: Any, number: Any) -> Any:
    """Sets a counter; who reads it also sees all that was written before."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        counters = make_array(signature.args[0])(context, builder, args[0]).data
        builder.store_atomic(args[2], builder.gep(counters, [args[1]]), "seq_cst", align=8)
        return context.get_dummy_value()

    return types.void(board, types.intp, types.int64), codegen


@kernel
def begin_batch(board: Board) -> None:
    """Opens all chunks of a batch to whoever claims them; those of the batch before must be done."""
    _write(board, _DONE, 0)
    _write(board, _NEXT, 0)


@kernel
def claim_chunk(board: Board) -> int:
    """A chunk that nobody else works on, or -1 if all have been begun."""
    chunk = _add(board, _NEXT, 1)
    return chunk if chunk < _read(board, _CHUNKS) else -1


@kernel
def finish_chunk(board: Board) -> None:
    """Says that a claimed chunk is done."""
    _add(board, _DONE, 1)


@kernel
def look_out_for_work(board: Board) -> bool:
    """Whether there is a batch to help with; returns False, counted as asleep, when patience ends."""
    for _ in range(_PATIENCE):
        if _read(board, _NEXT) < _read(board, _CHUNKS):
            _add(board, _HELPED, 1)
            return True
    _add(board, _ASLEEP, 1)
    return False


@kernel
def _is_done(board: Board) -> bool:
    """Whether all chunks are done; waits for it as long as patience lasts."""
    looks = 0
    while _read(board, _DONE) < _read(board, _CHUNKS) and looks < _PATIENCE:
        looks += 1
    return looks < _PATIENCE


@kernel
def _take_sleepers(board: Board) -> int:
    """How many members are asleep; they count as awake from now on."""
    sleepers: int = _read(board, _ASLEEP)
    _add(board, _ASLEEP, -sleepers)
    return sleepers


# --- the threads ------------------------------------------------------------------------------------------


class Team:
    """Threads that help the caller with batches of one kind, always in the same arrays.

    Args:
        size: Threads, the caller's included.
        chunks: Chunks of a batch.
        work: Kernel, called as ``work(board, *batch)`` to do a batch: :func:`begin_batch`, then
            :func:`claim_chunk` and :func:`finish_chunk` until there is none left to claim.
        assist: Kernel, called likewise by the members: the same, again and again, each time that
            :func:`look_out_for_work` says so.
        batch: The arguments of both.
    """

    def __init__(
        self,
        size: int,
        chunks: int,
        work: Callable[..., None],
        assist: Callable[..., None],
        batch: tuple[Any, ...],
    ) -> None:
        self._board = np.zeros(_BOARD_SIZE, np.int64)
        self._board[[_NEXT, _DONE, _CHUNKS]] = chunks
        self._work, self._batch = work, batch
        self._alarm = threading.Semaphore(0)
        self._helped = self._pause = self._pauses_left = 0
        assist(self._board, *batch)  # compiles
        self._board[_ASLEEP] = size - 1
        dismissed = threading.Event()
        arguments = (self._board, self._alarm, dismissed, assist, batch)
        for number in range(1, size):
            threading.Thread(target=_be_a_member, args=arguments, name=f"team-{number}", daemon=True).start()
        weakref.finalize(self, _dismiss, dismissed, self._alarm, size - 1)

    def do_batch(self) -> None:
        """Does a batch, with whatever help there is."""
        self._wait()  # if the last call was interrupted
        if self._board[_ASLEEP]:
            self._wake_members()
        self._work(self._board, *self._batch)
        self._wait()

    def _wait(self) -> None:
        """Waits for the chunks that members work on, and lets them have this core if they lack one."""
        while not _is_done(self._board):
            time.sleep(_NAP)

    def _wake_members(self) -> None:
        """Wakes members that sleep, but after they have been of no use not until some batches later."""
        if self._pauses_left:
            self._pauses_left -= 1
            return
        helped = int(self._board[_HELPED])
        self._pause = 0 if helped > self._helped else min(2 * self._pause + 1, _LONGEST_PAUSE)
        self._helped, self._pauses_left = helped, self._pause
        self._alarm.release(_take_sleepers(self._board))


def _be_a_member(
    board: Board,
    alarm: threading.Semaphore,
    dismissed: threading.Event,
    assist: Callable[..., None],
    batch: tuple[Any, ...],
) -> None:
    alarm.acquire()
    while not dismissed.is_set():
        assist(board, *batch)
        alarm.acquire()


def _dismiss(dismissed: threading.Event, alarm: threading.Semaphore, members: int) -> None:
    dismissed.set()
    for _ in range(members):
        alarm.release()


def usable_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
