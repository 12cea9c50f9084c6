"""The folders in which machine code is kept on disk, and the access rights that they need.

Machine code that is read is run. So it is read only from folders and files that belong to the user or to root
and that no other user can write to.
"""

from __future__ import annotations

import hashlib
import itertools
import logging
import os
from pathlib import Path

from numba import config

_LOGGER = logging.getLogger(__name__)
_WARNINGS = itertools.count()


def folders_for(source: Path) -> list[Path]:
    """Return the folders for the machine code of a source file, which need not exist; the first is preferred.

    The only one is in that of ``NUMBA_CACHE_DIR``, if this is set. Else they are ``__pycache__`` beside the
    source, and one in the user's cache folder.
    """
    folder = source.absolute().parent
    name = f"{folder.name}_{hashlib.sha256(str(folder).encode()).hexdigest()[:16]}"
    if config.CACHE_DIR:
        return [Path(config.CACHE_DIR, name)]
    beside = [folder / "__pycache__"] if folder.is_dir() else []
    return [*beside, *(parent / name for parent in user_folders())]


def user_folders() -> list[Path]:
    """Return the user's cache folder of the package; no folder if the user has no home."""
    try:
        return [Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "patchwork_env")]
    except RuntimeError:
        return []


def is_safe(status: os.stat_result) -> bool:
    """Whether a file or folder belongs to the user or to root, and no other user can write to it."""
    if os.name == "nt":  # where the mode says nothing about other users
        return True
    return status.st_uid in (0, os.geteuid()) and not status.st_mode & 0o022


def read(path: Path) -> bytes | None:
    """Return the contents of a file of machine code; None if there is none that is safe to read."""
    try:
        with path.open("rb") as file:
            if is_safe(path.parent.stat()) and is_safe(os.fstat(file.fileno())):
                return file.read()
    except OSError:
        pass
    return None


def write(path: Path, contents: bytes) -> None:
    """Replace a file of machine code atomically. Other users can read it, and only the user can change it.

    Raises:
        OSError: The folder cannot be written to, or is not safe to read from.
    """
    path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    if not is_safe(path.parent.stat()):
        raise PermissionError(f"other users can write to {path.parent}")
    partial = path.with_name(f".{path.name}-{os.urandom(4).hex()}")
    try:
        with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644), "wb") as file:
            file.write(contents)
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def warn(problem: object) -> None:
    """Log why machine code is not kept, and the remedy, once in a process."""
    if next(_WARNINGS) == 0:
        _LOGGER.warning(
            "some code is compiled anew in every process: %s; "
            "set NUMBA_CACHE_DIR to a folder that you alone can write to",
            problem,
        )
