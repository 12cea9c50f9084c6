"""Interrupts before single bytecodes of the package, and signals after a time."""

from __future__ import annotations

import dis
import functools
import signal
import sys
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import patchwork_env

ERRORS = (KeyboardInterrupt, SystemExit, MemoryError)
FOLDERS = (str(Path(patchwork_env.__file__).parent), "pettingzoo/utils/wrappers", "pettingzoo/utils/env.py")
"""Where bytecodes are counted: in the package, and in the wrappers of PettingZoo around it."""
LEFT_OUT = ("core/compile.py",)  # which runs while Numba compiles

Call = Callable[[Any], object]


def quietly(call: Call, target: Any) -> None:
    """Makes a call, whatever it raises."""
    try:
        call(target)
    except (*ERRORS, Exception):
        pass


@contextmanager
def counting(at: int | None, error: type[BaseException]) -> Iterator[list[int]]:
    """Counts the bytecodes of the package that run; raises ``error`` before number ``at``."""
    count = [0]

    def trace(frame: types.FrameType, event: str, argument: Any) -> Any:
        if not _is_counted(frame.f_code):
            return None
        frame.f_trace_opcodes = True
        return trace_inside

    def trace_inside(frame: types.FrameType, event: str, argument: Any) -> Any:
        if event == "opcode" and frame.f_lasti not in _unbreakable(frame.f_code):
            count[0] += 1
            if count[0] == at:
                raise error
        return trace_inside

    sys.settrace(trace)
    try:
        yield count
    finally:
        sys.settrace(None)


@functools.cache
def _is_counted(code: types.CodeType) -> bool:
    file = code.co_filename
    return any(folder in file for folder in FOLDERS) and not file.endswith(LEFT_OUT)


@functools.cache
def _unbreakable(code: types.CodeType) -> frozenset[int]:
    """The bytecodes between the end of a ``with`` block and the call of its exit, where no handler runs."""
    found: list[int] = []
    listed = list(dis.get_instructions(code))
    for k in range(len(listed) - 3):
        values = [(one.opname, one.argval) for one in listed[k : k + 3]]
        if values == 3 * [("LOAD_CONST", None)] and listed[k + 3].opname in ("PRECALL", "CALL"):
            first = k - (k > 0 and listed[k - 1].opname == "SWAP")  # of the value that the block returns
            found += [one.offset for one in listed[first : k + 4 + (listed[k + 3].opname == "PRECALL")]]
    return frozenset(found)


def with_a_signal(call: Call, target: Any, seconds: float, error: type[BaseException]) -> None:
    """Makes a call during which, or after which, a signal comes, whose handler raises ``error``."""

    def interrupt(*_: Any) -> None:
        if armed:
            armed.clear()
            raise error

    armed, handler = [True], signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-6))
        quietly(call, target)
        armed.clear()
    except error:  # it came before the call or after it
        pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
