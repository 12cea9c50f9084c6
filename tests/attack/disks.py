"""Full and read-only disks: a command says so in one line, leaves nothing half written, and goes on later.

The disks are small file systems in memory, which only root may mount; without them the attacks do nothing.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from numpy.random import Generator

from tests.attack import kills
from tests.attack.whole_runs import configurations, require_same, result_of

_SIZE = 1 << 28
_PAGE = 4096


def fill_training(algorithm: str, random: Generator) -> int:
    """Trains on a disk that gets full or read-only, and goes on when that is mended."""
    expected, _ = kills.unharmed(algorithm)
    with _disk() as disk:
        if disk is None:
            return 0
        config, run = disk.parent / "config.yaml", disk / "run"
        config.write_text(configurations()[algorithm])
        start = partial(kills.start_training, config, run, False)
        with _spoiled(disk, random):
            _require_told(start(), disk)
            assert (run / "config.yaml").exists() or not run.exists(), "half a run is left"
        assert kills.ends(start())
        require_same(result_of(run), expected)
    return 1


def fill_games(command: str, random: Generator) -> int:
    """Evaluates or plays a tournament on such a disk, and goes on when that is mended."""
    expected, _ = kills.unharmed_games(command)
    with _disk() as disk:
        if disk is None:
            return 0
        start = partial(kills.start_games, command, disk, disk.parent / "output.txt")
        with _spoiled(disk, random):
            _require_told(start(), disk)
        assert kills.ends(start())
        assert kills.results_of(disk) == expected
    return 1


def _require_told(process: kills.Forked | kills.Fresh, disk: Path) -> None:
    """Waits for a command, which finds room enough or says in its last line what failed where."""
    while (code := process.poll()) is None:
        kills.pause()
    said = process.output.read_text()
    process.output.unlink()
    assert code in (0, 2), f"exit code {code}:\n{said[-2000:]}"
    assert "Traceback" not in said, said[-2000:]
    if code == 2:
        last = said.strip().splitlines()[-1]
        assert f"cannot write to {disk}" in last, f"the last line names no path: {last}"
    left = [path.name for path in disk.rglob("*.partial")] if os.access(disk, os.W_OK) else []
    assert not left, f"left half written: {left}"


@contextlib.contextmanager
def _disk() -> Iterator[Path | None]:
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
def _spoiled(disk: Path, random: Generator) -> Iterator[None]:
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


def _mount(*arguments: str) -> bool:
    done = subprocess.run(["mount", *arguments], capture_output=True, check=False)
    return done.returncode == 0


ATTACKS: dict[str, Callable[[Generator], int]] = {
    **{f"full_disk_{name}": partial(fill_training, name) for name in ("ppo", "td", "alphazero")},
    **{f"full_disk_{name}": partial(fill_games, name) for name in ("evaluate", "tournament")},
}
SLOW = set(ATTACKS)
