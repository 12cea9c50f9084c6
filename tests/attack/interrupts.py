"""Interrupts at random moments of every public call, which must not leave a partial change.

Signal handlers of Python run between two bytecodes. So an attempt counts the bytecodes of the package that a
call runs, and raises an error before a random one of them. The object must then be equal to a copy from
before or after the call, and must continue exactly like that copy. A batch with opponents may require a reset
instead.
"""

from __future__ import annotations

import copy
import dis
import functools
import sys
import types
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from gymnasium.error import ResetNeeded

import patchwork_env
from tests.attack.objects import KINDS, plain
from tests.attack.sound import pick

ERRORS = (KeyboardInterrupt, SystemExit, MemoryError)
FOLDERS = (str(Path(patchwork_env.__file__).parent), "pettingzoo/utils/wrappers", "pettingzoo/utils/env.py")
"""The files in which bytecodes are counted: the package, and PettingZoo's wrappers around it."""
LEFT_OUT = ("core/compile.py",)  # runs while Numba compiles


def quietly(call, target):
    """Make a call and ignore its errors."""
    try:
        call(target)
    except (*ERRORS, Exception):
        pass


@contextmanager
def counting(at, error):
    """Count the bytecodes of the package that run; raise ``error`` before number ``at``."""
    count = [0]

    def trace(frame, event, argument):
        if not _is_counted(frame.f_code):
            return None
        frame.f_trace_opcodes = True
        return trace_inside

    def trace_inside(frame, event, argument):
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


def attack(kind, random):
    """Interrupt one call of one object."""
    target = kind.make(random)
    call = pick(random, kind.calls(target, random))
    error = pick(random, ERRORS)
    before, after = copy.deepcopy(target), copy.deepcopy(target)
    quietly(call, copy.deepcopy(target))  # compiles
    with counting(None, error) as count:
        quietly(call, after)
    with counting(int(random.integers(1, count[0] + 2)), error):
        quietly(call, target)
    require_whole(kind, target, before, after)


def require_whole(kind, target, before, after):
    """Raise AssertionError unless an object is equal to one of two others and continues like it.

    If it requires a reset, it must continue like another one after a reset with the same seed.
    """
    try:
        seen = kind.look(target)
    except ResetNeeded:
        begun = [plain(one.reset(seed=3)) for one in (target, before)]
        assert begun[0] == begun[1]
        assert list(kind.go_on(target)) == list(kind.go_on(before)), "it does not begin anew"
        return
    looks = [kind.look(twin) for twin in (before, after)]
    fitting = [twin for twin, look in zip((before, after), looks, strict=True) if look == seen]
    assert fitting, f"torn: {seen!r:.300} is neither {looks[0]!r:.300} nor {looks[1]!r:.300}"
    future = list(kind.go_on(target))
    assert any(list(kind.go_on(twin)) == future for twin in fitting), "it does not go on like either"


ATTACKS = {f"interrupt_{name}": partial(attack, kind) for name, kind in KINDS.items()}
