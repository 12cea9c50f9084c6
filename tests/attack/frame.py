"""The frame of all attacks: finds them, repeats an attempt by its number, and runs many in worker processes.

A module of this package takes part with ``ATTACKS``, a dictionary from a name to a function. One call of the
function is one attempt: it gets a random generator, raises whatever shows that something broke, and returns
the number of inputs that it tried (None counts as one). Names in ``SLOW``, a set beside ``ATTACKS``, take too
long for the test suite; those in ``NEEDS``, a dictionary, are left out where a module is not installed.
"""

from __future__ import annotations

import contextlib
import faulthandler
import importlib.util
import multiprocessing
import os
import pkgutil
import resource
import signal
import tempfile
import threading
import time
import traceback
import warnings
import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import connection
from pathlib import Path
from typing import Any

import numpy as np

Attack = Callable[[np.random.Generator], int | None]

PACKAGE = "tests.attack"
"""The package whose modules are searched for attacks."""
TIMEOUT = 300.0
"""Seconds after which an attempt counts as hanging."""
_PATIENCE = 10.0
MOST_FAILURES = 10
"""An attack that failed so often is not tried again."""
_MOST_ABOUT_A_FAILURE = 8000
"""Characters that are kept of what is said about a failure, the last ones."""
MOST_MEMORY = 8 * 2**30
"""Bytes that a worker may have, so that an attempt cannot take all memory of the machine."""


def find_attacks(package=PACKAGE):
    """All attacks of a package, or of a module, by name, but for those that :func:`left_out` tells of."""
    missing = left_out(package)
    return {name: attack for name, attack in _all(package, "ATTACKS").items() if name not in missing}


def left_out(package=PACKAGE):
    """The names of the attacks that need a module which is not installed, and this module."""
    return {name: need for name, need in _all(package, "NEEDS").items() if not importlib.util.find_spec(need)}


def slow_attacks():
    """The names of the attacks that the test suite leaves out."""
    return set(_all(PACKAGE, "SLOW"))


def _all(package, variable):
    """What the modules of a package have in a variable, by the names of attacks; none is there twice."""
    folder = getattr(importlib.import_module(package), "__path__", ())
    found: dict[str, Any] = {}
    for name in (package, *(module.name for module in pkgutil.iter_modules(folder, f"{package}."))):
        if not name.startswith((f"{package}.__main__", f"{package}.test_")):
            entries = getattr(importlib.import_module(name), variable, ())
            assert not found.keys() & set(entries), f"{name} repeats the name of an attack"
            found |= entries if isinstance(entries, dict) else dict.fromkeys(entries)
    return found


def attempt(name, attack, seed, number):
    """Runs one attempt, the same whenever it is repeated; returns the number of inputs that it tried."""
    random = np.random.default_rng([seed, zlib.crc32(name.encode()), number])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        inputs = attack(random)
    return 1 if inputs is None else inputs


@dataclass
class Result:
    """What came of the attempts of one attack; ``seconds`` are those of all workers together."""

    attempts: int = 0
    inputs: int = 0
    failures: int = 0
    seconds: float = 0.0


class Worker:
    """A process that runs one attempt after the other until it is ended, dies or takes too long.

    It leads a process group of its own, which ends with it: an attack may start processes. What
    ``faulthandler`` says about a crash or a hang goes to a file.
    """

    def __init__(self, package, timeout):
        self._timeout = timeout
        self._log = tempfile.NamedTemporaryFile(suffix=".log")  # noqa: SIM115  # closed by end()
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(theirs, package, self._log.name, timeout))
        self.process.start()
        theirs.close()

    def attempt(self, name, seed, number):
        """Runs one attempt; returns the number of inputs, and what broke."""
        with contextlib.suppress(EOFError, ConnectionError):
            self._connection.recv()  # it is ready
            self._connection.send((name, seed, number))
            signs = [self._connection, self.process.sentinel]
            while not connection.wait(signs, self._timeout + _PATIENCE):
                self.kill()  # it has ended itself; what it started keeps its signs open
            if self._connection.poll():
                return self._connection.recv()
        self.process.join()
        code = self.process.exitcode or 0
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return 1, f"the process ended with {how}\n{Path(self._log.name).read_text(errors='replace')}"

    def kill(self):
        """Kills the process with all that it started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()

    def end(self):
        """Kills the process with all that it started, and forgets it."""
        self.kill()
        self.process.join()
        self._connection.close()
        self._log.close()


def _work(parent, package, log_path, timeout):
    os.setsid()
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY, MOST_MEMORY))
    attacks = find_attacks(package)
    with open(log_path, "w") as log, contextlib.suppress(EOFError, ConnectionError):
        faulthandler.enable(log)
        while True:
            parent.send(None)
            name, seed, number = parent.recv()
            faulthandler.dump_traceback_later(timeout, exit=True, file=log)
            try:
                answer = attempt(name, attacks[name], seed, number), None
            except BaseException:
                answer = 1, traceback.format_exc()
            faulthandler.cancel_dump_traceback_later()
            parent.send(answer)


def run(
    names, seed, *, seconds=None, attempts=None, workers=1, timeout=TIMEOUT, messages=None, package=PACKAGE
):
    """Runs attacks in so many worker processes; each failure is told at once, to ``messages``.

    No attempt begins after ``seconds``, of which every attack gets the same share, and at least one attempt;
    or else every attack gets so many ``attempts``.
    """
    results = {name: Result() for name in names}
    following = _next_attempts(results, attempts, time.monotonic() + (seconds or float("inf")))
    lock, staff = threading.Lock(), [Worker(package, timeout) for _ in range(workers)]

    def work(place):
        """Runs attempts with one worker after the other, until there are no more."""
        while True:
            with lock:
                if (job := next(following, None)) is None:
                    return
                if not staff[place].process.is_alive():
                    staff[place].end()
                    staff[place] = Worker(package, timeout)
            began = time.monotonic()
            inputs, error = staff[place].attempt(job[0], seed, job[1])
            with lock:
                result = results[job[0]]
                result.attempts += 1
                result.inputs += inputs
                result.failures += error is not None
                result.seconds += time.monotonic() - began
                if error is not None:
                    repeat = f"python -m {PACKAGE} {job[0]} --seed {seed} --attempt {job[1]}"
                    said = error[-_MOST_ABOUT_A_FAILURE:].rstrip()
                    print(f"{said}\nrepeat with: {repeat}\n", file=messages, flush=True)

    threads = [threading.Thread(target=work, args=(place,), daemon=True) for place in range(workers)]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        for worker in staff:
            worker.end()
    return results


def _next_attempts(results, attempts, ends_at):
    """The next attempt whenever a worker is free: of the attack that had the least time."""
    begun: Counter[str] = Counter()

    def cost(name):
        """Seconds; an attempt that runs counts like the mean of those before it."""
        return results[name].seconds / max(results[name].attempts, 1) * begun[name], begun[name]

    while True:
        waiting = [
            name
            for name, result in results.items()
            if result.failures < MOST_FAILURES
            and (begun[name] < attempts if attempts else not begun[name] or time.monotonic() < ends_at)
        ]
        if not waiting:
            return
        name = min(waiting, key=cost)
        begun[name] += 1
        yield name, begun[name] - 1
