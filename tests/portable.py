"""Hides what other systems do not have from its process, and uses the package: ``-m tests.portable NAME``.

The names are those of the functions ``without_posix``, ``vectors`` and ``plain_numba``.
"""

from __future__ import annotations

import errno
import importlib
import os
import signal
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

TINY = """
total_steps: 64
checkpoint_every: 1
threads: 1
network: {width: 8, depth: 1, channels: 4}
ppo: {num_envs: 8, rollout_steps: 8, minibatch_size: 32, epochs: 1}
league: {fraction: 0.5, snapshot_every: 1, size: 2}
evaluation: {every: 1, games: 2, final_games: 2, opponents: [random]}
"""
OPENED = Path("/proc/self/fd")


def hide_posix() -> None:
    """Makes modules, functions and files as they are on Windows, as far as that is possible."""
    fcntl, open_file, sync = importlib.import_module("fcntl"), os.open, os.fsync
    for name in ("fcntl", "grp", "pty", "pwd", "resource", "termios"):
        sys.modules[name] = None  # type: ignore[assignment]
    hidden = {
        os: ("fork", "forkpty", "getuid", "killpg", "sched_getaffinity", "sysconf"),
        signal: ("SIGALRM", "SIGKILL", "pthread_kill", "pthread_sigmask", "setitimer"),
    }
    for module, names in hidden.items():
        for name in names:
            vars(module).pop(name, None)

    def open_files_alone(path: Any, flags: int, *rest: Any, **named: Any) -> int:
        if os.path.isdir(path) and "dir_fd" not in named:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return open_file(path, flags, *rest, **named)

    def sync_what_can_be_written(handle: int) -> None:
        if fcntl.fcntl(handle, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        sync(handle)

    os.open, os.fsync = open_files_alone, sync_what_can_be_written
    tempfile.TemporaryFile = tempfile.NamedTemporaryFile  # the other one deletes a file that is open
    for name in ("rename", "replace", "remove", "unlink"):
        setattr(os, name, unless_open(getattr(os, name)))


def unless_open(change: Callable[..., None]) -> Callable[..., None]:
    """A change of names that refuses files which this process has open, and the folders around them."""

    def changed(*paths: Any, **named: Any) -> None:
        numbers = os.listdir(OPENED) if OPENED.is_dir() and not named else []
        opened = [os.path.realpath(OPENED / number) for number in numbers]
        for path in map(os.path.realpath, paths):
            for each in opened:
                if each == path or each.startswith(path + os.sep):
                    raise PermissionError(errno.EACCES, f"{each} is open", path)
        change(*paths, **named)

    return changed


def without_posix(folder: str) -> None:
    """Stores a run and resumes it, answers the page, interrupts work, and imports tests."""
    hide_posix()
    from patchwork_env.learning.commands import train
    from tests.play.client import Client

    config, run = Path(folder, "tiny.yaml"), str(Path(folder, "run"))
    config.write_text(TINY, encoding="utf-8")
    assert train.main(["--config", str(config), "--run-dir", run]) == 0
    assert train.main(["--resume", run, "--set", "total_steps=128"]) == 0
    client = Client()
    notation = client.ask("/api/open", {"game": "patchwork", "seed": 7}).json["notation"]
    events = client.ask("/api/choose", {"notation": notation, "agent": "champion:instant"}).events
    assert list(events[-1]) == ["choice"], events
    print("the page answered")
    interrupt_work()
    for name in ("core", "envs", "patchwork", "nmbr9"):
        for path in sorted(Path("tests", name).glob("*.py")):
            with suppress(pytest.skip.Exception):  # of what needs a library that is not installed
                importlib.import_module(f"tests.{name}.{path.stem}")
    print("tests were imported")


def interrupt_work() -> None:
    """A signal takes effect where the work can stop."""
    from patchwork_env.learning.system import Interruption, signals_interrupt, stop_if_asked

    done = False
    try:
        with signals_interrupt():
            signal.raise_signal(signal.SIGTERM)
            done = True
            stop_if_asked()
    except Interruption as interruption:
        assert done
        print(f"{interruption} came after the work")


def vectors() -> None:
    """Prints what is kept in vector registers: sums, bits that are unpacked, anchors of patches and tiles."""
    import numpy as np

    from patchwork_env.agents.layers import product_adder, rows_adder
    from patchwork_env.core.compile import kernel
    from patchwork_env.core.intrinsics import unpack_bits
    from patchwork_env.nmbr9 import Game as Nmbr9
    from patchwork_env.patchwork import Game

    add_products, add_rows = product_adder(64), rows_adder(64)

    @kernel
    def compute(out, matrix, inputs, rows, bits):  # type: ignore[no-untyped-def]
        add_products(out, matrix, inputs, len(inputs))
        add_rows(out, matrix, rows, len(rows))
        unpack_bits(bits, 0, np.uint64(0xF0F0))

    out, matrix = np.zeros(64, np.float32), np.arange(640, dtype=np.float32).reshape(10, 64)
    bits = np.zeros(64, np.int8)
    compute(out, matrix, np.arange(10, dtype=np.float32), np.array([1, 7], np.int32), bits)
    (assembly,) = compute.inspect_asm().values()
    games = [Game(seed=1), Nmbr9(seed=1)]
    games[1].play(games[1].legal_actions()[0])
    legal = [game.legal_actions().tolist() for game in games]
    print(out.tolist(), bits.tolist(), legal, "calls fmaf" if "fmaf" in assembly else "")


def plain_numba() -> None:
    """Plays a game of Patchwork, and a step of a batch of a small game."""
    import numba.core.typed_passes

    del numba.core.typed_passes.NativeLowering
    from patchwork_env.core import compile
    from patchwork_env.envs.self_play import SelfPlayBatch
    from patchwork_env.patchwork import Game
    from tests.toy import RULES

    print(compile.IS_LINKING)
    game = Game(seed=1)
    while not game.is_over:
        game.play(int(game.legal_actions()[-1]))
    print(game.scores())
    batch = SelfPlayBatch(RULES, 4, seed=7)
    batch.step(batch.random_actions)
    print(batch.masks.shape)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
