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
import time
import traceback
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from multiprocessing import connection
from pathlib import Path
from typing import IO, Any

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


def find_attacks(package: str = PACKAGE) -> dict[str, Attack]:
    """All attacks of a package, or of a module, by name, but for those that :func:`left_out` tells of."""
    attacks: dict[str, Attack] = {}
    for module in _modules(package):
        repeated = attacks.keys() & module.ATTACKS.keys()
        if repeated:
            raise ValueError(f"{module.__name__} repeats the names {sorted(repeated)}")
        attacks |= module.ATTACKS
    missing = left_out(package)
    return {name: attack for name, attack in attacks.items() if name not in missing}


def left_out(package: str = PACKAGE) -> dict[str, str]:
    """The names of the attacks that need a module which is not installed, and this module."""
    needs = {
        name: need for module in _modules(package) for name, need in getattr(module, "NEEDS", {}).items()
    }
    return {name: need for name, need in needs.items() if not importlib.util.find_spec(need)}


def slow_attacks() -> set[str]:
    """The names of the attacks that the test suite leaves out."""
    return {name for module in _modules(PACKAGE) for name in getattr(module, "SLOW", ())}


def _modules(package: str) -> Iterator[Any]:
    folder = getattr(importlib.import_module(package), "__path__", ())
    found = [module.name for module in pkgutil.walk_packages(folder, f"{package}.")]
    for name in (package, *found):
        if not name.startswith((f"{package}.__main__", f"{package}.test_")):
            module = importlib.import_module(name)
            if hasattr(module, "ATTACKS"):
                yield module


def attempt(name: str, attack: Attack, seed: int, number: int) -> int:
    """Runs one attempt, the same whenever it is repeated; returns the number of inputs that it tried."""
    random = np.random.default_rng([seed, zlib.crc32(name.encode()), number])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        inputs = attack(random)
    return 1 if inputs is None else inputs


@dataclass
class Failure:
    """What an attempt broke."""

    attack: str
    seed: int
    attempt: int
    error: str

    @property
    def command(self) -> str:
        """The command that repeats the attempt."""
        return f"python -m tests.attack {self.attack} --seed {self.seed} --attempt {self.attempt}"


@dataclass
class Result:
    """What came of the attempts of one attack; ``seconds`` are those of all workers together."""

    attempts: int = 0
    inputs: int = 0
    seconds: float = 0.0
    failures: list[Failure] = field(default_factory=list)


class Worker:
    """A process that runs one attempt after the other until it is ended, dies or takes too long.

    It leads a process group of its own, which ends with it: an attack may start processes. What
    ``faulthandler`` says about a crash or a hang goes to ``log``.
    """

    def __init__(self, package: str, timeout: float) -> None:
        self.log = tempfile.NamedTemporaryFile(suffix=".log")  # noqa: SIM115  # closed by end()
        self.running: tuple[str, int] | None = None
        self.since = 0.0
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(theirs, package, self.log.name, timeout))
        self.process.start()
        theirs.close()

    @property
    def signs(self) -> set[connection.Connection | int]:
        """What becomes ready when there is an answer or the process has ended."""
        return {self.connection, self.process.sentinel}

    def start(self, name: str, seed: int, number: int) -> None:
        """Begins an attempt."""
        self.running, self.since = (name, number), time.monotonic()
        with contextlib.suppress(ConnectionError):  # answer() tells of a process that has ended
            self.connection.send((name, seed, number))

    def answer(self) -> tuple[int, str | None]:
        """The number of inputs and what broke; waits for the attempt or for the end of the process."""
        connection.wait(self.signs)
        try:
            if self.connection.poll():
                return self.connection.recv()
        except (EOFError, ConnectionError):
            pass
        self.process.join()
        code = self.process.exitcode or 0
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return 1, f"the process ended with {how}\n{Path(self.log.name).read_text(errors='replace')}"

    def kill_group(self) -> None:
        """Kills the process with all that it started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def end(self) -> None:
        """Kills the process with all that it started, and forgets it."""
        self.kill_group()
        self.process.kill()
        self.process.join()
        self.connection.close()
        self.log.close()


def _work(parent: connection.Connection, package: str, log_path: str, timeout: float) -> None:
    os.setsid()
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY, MOST_MEMORY))
    attacks = find_attacks(package)
    with open(log_path, "w") as log:
        faulthandler.enable(log)
        while True:
            try:
                name, seed, number = parent.recv()
            except EOFError:
                return
            faulthandler.dump_traceback_later(timeout, exit=True, file=log)
            try:
                answer = attempt(name, attacks[name], seed, number), None
            except BaseException:
                answer = 1, traceback.format_exc()
            faulthandler.cancel_dump_traceback_later()
            parent.send(answer)


def run(
    names: list[str],
    seed: int,
    *,
    seconds: float | None = None,
    attempts: int | None = None,
    workers: int = 1,
    timeout: float = TIMEOUT,
    messages: IO[str] | None = None,
    package: str = PACKAGE,
) -> dict[str, Result]:
    """Runs attacks in worker processes and gives to each the same share of the time.

    Args:
        names: The names of the attacks.
        seed: The seed of all attempts.
        seconds: When no further attempt begins; every attack gets at least one.
        attempts: Or the number of attempts of each attack.
        workers: The number of processes.
        timeout: Seconds after which an attempt counts as hanging.
        messages: Where each failure is told at once.
        package: The package of the attacks.

    Returns:
        The results by name; after Ctrl-C those that there are.
    """
    results = {name: Result() for name in names}
    ends_at = float("inf") if seconds is None else time.monotonic() + seconds
    staff = [Worker(package, timeout) for _ in range(workers)]
    following = _next_attempts(results, attempts, ends_at)
    try:
        while True:
            for worker in staff:
                if worker.running is None and (job := next(following)):
                    worker.start(job[0], seed, job[1])
            busy = [worker for worker in staff if worker.running]
            if not busy:
                return results
            ready = connection.wait([end for worker in busy for end in worker.signs], _PATIENCE)
            for worker in busy:
                if time.monotonic() - worker.since > timeout + _PATIENCE:
                    worker.kill_group()  # the process has ended itself; what it started keeps its signs open
            for worker in [worker for worker in busy if not worker.signs.isdisjoint(ready)]:
                failure = _note(results, worker, seed)
                if failure and messages:
                    print(
                        f"{failure.error.rstrip()}\nrepeat with: {failure.command}\n",
                        file=messages,
                        flush=True,
                    )
                if not worker.process.is_alive():
                    worker.end()
                    staff[staff.index(worker)] = Worker(package, timeout)
    except KeyboardInterrupt:
        return results
    finally:
        for worker in staff:
            worker.end()


def _next_attempts(
    results: dict[str, Result], attempts: int | None, ends_at: float
) -> Iterator[tuple[str, int] | None]:
    """The next attempt whenever a worker is free: of the attack that had the least time; None for none."""
    begun: Counter[str] = Counter()
    while True:
        waiting = [
            name
            for name, result in results.items()
            if len(result.failures) < MOST_FAILURES
            and (begun[name] < attempts if attempts else not begun[name] or time.monotonic() < ends_at)
        ]
        # An attempt that runs counts like the mean of those before it.
        costs = {
            name: results[name].seconds / max(results[name].attempts, 1) * begun[name] for name in waiting
        }
        if not waiting:
            yield None
            continue
        name = min(waiting, key=lambda name: (costs[name], begun[name]))
        yield name, begun[name]
        begun[name] += 1


def _note(results: dict[str, Result], worker: Worker, seed: int) -> Failure | None:
    assert worker.running is not None
    name, number = worker.running
    inputs, error = worker.answer()
    worker.running = None
    result = results[name]
    result.attempts += 1
    result.inputs += inputs
    result.seconds += time.monotonic() - worker.since
    if error is None:
        return None
    result.failures.append(Failure(name, seed, number, error[-_MOST_ABOUT_A_FAILURE:]))
    return result.failures[-1]
