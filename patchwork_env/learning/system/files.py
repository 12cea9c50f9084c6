"""Files that are complete or absent, whatever happens while they are written."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from patchwork_env.agents.checkpoints import PARTIAL
from patchwork_env.errors import StorageError


@contextmanager
def storing_in(folder: Path) -> Iterator[None]:
    """Within the block, errors of the system become a :class:`StorageError` that names ``folder``."""
    try:
        yield
    except StorageError:
        raise
    except OSError as error:
        raise StorageError(f"cannot write to {folder}: {error.strerror or error}") from error


class GrowingFile:
    """A file that grows by what is written to it, and has it when :meth:`write` returns.

    Nothing waits in a buffer: a killed process loses nothing, and errors come where they belong.

    Args:
        path: Of the file, which may exist.
    """

    def __init__(self, path: Path) -> None:
        self._file = path.open("ab", buffering=0)

    def write(self, contents: bytes) -> None:
        """Appends some bytes."""
        rest = memoryview(contents)
        while rest:
            rest = rest[self._file.write(rest) :]

    def sync(self) -> None:
        """Waits until all of it is on the disk."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Nothing can be written any more."""
        self._file.close()


def remove_partial(folder: Path) -> None:
    """Deletes what killed processes left half written in a folder and the folders in it."""
    for path in list(folder.rglob(f".*{PARTIAL}")):
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def check_file_path(path: Path, option: str) -> None:
    """Finds out before any work is done that a file cannot be written.

    Args:
        path: Of the file.
        option: Of the command that named it.

    Raises:
        FileNotFoundError: Its folder does not exist.
        IsADirectoryError: It is a folder itself.
    """
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {path.parent} for {path.name}")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; {option} takes the path of a file")


def write_text(path: Path, text: str) -> None:
    """:func:`write_bytes` of a text, in UTF-8."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, contents: bytes) -> None:
    """Replaces a file by a complete new one, or leaves it as it was."""
    handle, temporary = tempfile.mkstemp(PARTIAL, f".{path.name}-", path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(contents)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
