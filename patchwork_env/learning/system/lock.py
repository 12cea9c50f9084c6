"""A lock that lets one process at a time work in a folder."""

from __future__ import annotations

import errno
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from patchwork_env.core.extras import from_extra
from patchwork_env.core.files import storing_in
from patchwork_env.errors import InUseError

_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP}
"""The error numbers of file systems that have no locks, as on some clusters."""
_PATIENCE = 1.0
"""Seconds for which the lock is waited for: what a killed process has begun may hold it for a moment more."""


@contextmanager
def exclusive_lock(folder: Path) -> Iterator[None]:
    """Within the block, this process alone works in the folder; the lock of a process that dies is freed.

    InUseError is raised if another one does. Where the file system has no locks, a warning is printed.
    """
    with from_extra("train", "what is stored in folders needs"):
        from filelock import FileLock, Timeout
    lock = FileLock(folder / "lock", timeout=_PATIENCE)
    try:
        lock.acquire()
    except Timeout:
        raise InUseError(f"{folder} is in use: another process works there") from None
    except (OSError, NotImplementedError) as error:
        if isinstance(error, OSError) and error.errno not in _NO_LOCKS:
            with storing_in(folder):
                raise
        reason = getattr(error, "strerror", None) or error
        print(f"{folder} cannot be locked ({reason}): let no other process work there", file=sys.stderr)
    try:
        yield
    finally:
        lock.release()
