"""A lock that lets one process at a time work in a folder."""

from __future__ import annotations

import errno
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from patchwork_env.core.extras import from_extra
from patchwork_env.core.files import storing_in
from patchwork_env.errors import InUseError

if TYPE_CHECKING:
    from filelock import BaseFileLock

LOCK_FILE = "lock"
_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP}
"""The error numbers of file systems that have no locks, as on some clusters."""


@contextmanager
def exclusive_lock(folder: Path) -> Iterator[None]:
    """Within the block, this process alone works in the folder; the lock of a process that dies is freed.

    Raises:
        InUseError: Another process works in the folder.
        StorageError: The folder cannot be written.
        ModuleNotFoundError: The library of locks is not installed.
    """
    with from_extra("train", "what is stored in folders needs"):
        from filelock import FileLock
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
    """Takes the lock if no other process has it, and returns whether that is so.

    Where there are no locks it prints a warning and returns True.
    """
    from filelock import Timeout

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
