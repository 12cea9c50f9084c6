"""Full and read-only disks.

A command says in one line what failed, leaves nothing incomplete, and can be resumed later. The disks are
small file systems in memory, which only root may mount; without them the attacks do nothing.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
from functools import partial
from pathlib import Path

from tests.attack import kills
from tests.attack.whole_runs import JOBS, require_same, unharmed

_SIZE = 1 << 28
_PAGE = 4096


def fill(name, random):
    """Trains or plays on a disk that gets full or read-only, and goes on when that is mended."""
    (expected, _), job = unharmed(name), JOBS[name]
    with _disk() as disk:
        if disk is None:
            return 0
        with _spoiled(disk, random):
            _require_told(kills.start(job, disk), disk)
            run = disk / "run"
            assert (run / "config.yaml").exists() or not run.exists(), "half a run is left"
        assert kills.start(job, disk).ends()
        require_same(job.result(disk), expected)
    return 1


def _require_told(process, disk):
    """Waits for a command, which finds room enough or says in its last line what failed where."""
    process.wait()
    code, said = process.poll(), process.output.read_text()
    process.output.unlink()
    assert code in (0, 2), f"exit code {code}:\n{said[-2000:]}"
    assert "Traceback" not in said, said[-2000:]
    if code == 2:
        last = said.strip().splitlines()[-1]
        assert f"cannot write to {disk}" in last, f"the last line names no path: {last}"
    left = [path.name for path in disk.rglob("*.partial")] if os.access(disk, os.W_OK) else []
    assert not left, f"left half written: {left}"


@contextlib.contextmanager
def _disk():
    """A small file system of its own; None where it cannot be mounted."""
    with tempfile.TemporaryDirectory() as name:
        disk = Path(name, "disk")
        disk.mkdir()
        if not _mount("-t", "tmpfs", "-o", f"size={_SIZE}", "none", str(disk)):
            yield None
            return
        try:
            yield disk
        finally:
            subprocess.run(["umount", "-l", str(disk)], check=True)


@contextlib.contextmanager
def _spoiled(disk, random):
    """Within the block the disk has little room, or is read-only."""
    if random.random() < 0.25:
        assert _mount("-o", "remount,ro", str(disk))
        yield
        assert _mount("-o", "remount,rw", str(disk))
        return
    filler, free = disk / "filler", int(60_000 ** random.random()) * _PAGE - _PAGE
    filler.write_bytes(bytes(_SIZE - free))
    yield
    filler.unlink()


def _mount(*arguments):
    return subprocess.run(["mount", *arguments], capture_output=True, check=False).returncode == 0


_FILLED = ("ppo", "td", "alphazero", "evaluate", "tournament")
ATTACKS = {f"full_disk_{name}": partial(fill, name) for name in _FILLED}
SLOW = set(ATTACKS)
