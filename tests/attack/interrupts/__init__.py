"""Interrupts at random moments of every public call, after which nothing may be half done.

Signal handlers of Python run between two bytecodes. So an attempt counts the bytecodes of the package that a
call runs, and raises an error before a random one of them, which repeats exactly; one in some attempts sends
a real signal after a random time instead. The object must then be equal to a copy that did nothing of the
call, or to one that did all of it, and must go on exactly like that copy.
"""

from __future__ import annotations

import copy
import time
from functools import partial
from typing import Any

from numpy.random import Generator

from tests.attack.interrupts import batches, learners, players, turns
from tests.attack.interrupts.kinds import Kind
from tests.attack.interrupts.stepper import ERRORS, counting, quietly, with_a_signal
from tests.attack.sound import pick

SIGNALS = 0.2
"""The share of attempts with a real signal."""
KINDS = turns.KINDS | learners.KINDS | batches.KINDS | players.KINDS


def attack(kind: Kind, random: Generator) -> None:
    """Interrupts one call of one object."""
    target = kind.make(random)
    call = pick(random, kind.calls(target, random))
    error = pick(random, ERRORS)
    before, after = copy.deepcopy(target), copy.deepcopy(target)
    quietly(call, copy.deepcopy(target))  # compiles
    began = time.perf_counter()
    with counting(None, error) as count:
        quietly(call, after)
    took = time.perf_counter() - began
    if random.random() < SIGNALS:
        with_a_signal(call, target, random.random() * took / 3, error)
    else:
        with counting(int(random.integers(1, count[0] + 2)), error):
            quietly(call, target)
    require_whole(kind, target, before, after)


def require_whole(kind: Kind, target: Any, before: Any, after: Any) -> None:
    """Raises AssertionError unless an object is equal to one of two others and goes on like it."""
    seen = kind.look(target)
    fitting = [twin for twin in (before, after) if kind.look(twin) == seen]
    assert fitting, f"torn: {_difference(seen, kind.look(before), kind.look(after))}"
    future = list(kind.go_on(target))
    assert any(list(kind.go_on(twin)) == future for twin in fitting), "it does not go on like either"


def _difference(seen: Any, before: Any, after: Any) -> str:
    if not (isinstance(seen, tuple) and len(seen) == len(before) == len(after)):
        return f"{seen!r:.300} is neither {before!r:.300} nor {after!r:.300}"
    parts = zip(seen, before, after, strict=True)
    words = (
        "both" if s == b == a else "before" if s == b else "after" if s == a else "neither"
        for s, b, a in parts
    )
    return f"the parts are those {', '.join(words)}"


ATTACKS = {f"interrupt_{name}": partial(attack, kind) for name, kind in KINDS.items()}
