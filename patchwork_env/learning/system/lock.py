"""One process at a time in the folder of a run or of a tournament."""

from __future__ import annotations

import fcntl
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from patchwork_env.errors import InUseError
from patchwork_env.learning.system.files import storing_in

LOCK_FILE = "lock"


@contextmanager
def sole_user(folder: Path) -> Iterator[None]:
    """Within the block no other process can enter it with the same folder; the system frees dead ones' locks.

    The empty file ``lock`` stays: deleting it would let two processes lock two files of that name.

    Raises:
        InUseError: Another process is in the block.
        StorageError: The folder cannot be written.
    """
    with storing_in(folder):
        handle = os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InUseError(f"{folder} is in use: another process works there") from None
        except OSError as error:  # some file systems of clusters have no locks
            reason = error.strerror or error
            print(f"{folder} cannot be locked ({reason}): let no other process work there", file=sys.stderr)
        yield
    finally:
        os.close(handle)
