"""One process at a time in the folder of a run or of a tournament."""

from __future__ import annotations

import errno
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import BaseFileLock, FileLock, Timeout

from patchwork_env.errors import InUseError
from patchwork_env.learning.system.files import storing_in

LOCK_FILE = "lock"
_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP}
"""What file systems of some clusters answer, which have no locks."""


@contextmanager
def sole_user(folder: Path) -> Iterator[None]:
    """Within the block no other process can enter it with the same folder; the system frees dead ones' locks.

    Raises:
        InUseError: Another process is in the block.
        StorageError: The folder cannot be written.
    """
    lock = FileLock(folder / LOCK_FILE, timeout=0)
    with storing_in(folder):
        is_free = _acquire(lock, folder)
    if not is_free:
        raise InUseError(f"{folder} is in use: another process works there")
    try:
        yield
    finally:
        lock.release()


def _acquire(lock: BaseFileLock, folder: Path) -> bool:
    """Whether no other process has the lock; also true, with a warning, where there are no locks."""
    try:
        lock.acquire()
    except Timeout:
        return False
    except (OSError, NotImplementedError) as error:
        if isinstance(error, OSError) and error.errno not in _NO_LOCKS:
            raise
        reason = getattr(error, "strerror", None) or error
        print(f"{folder} cannot be locked ({reason}): let no other process work there", file=sys.stderr)
    return True
