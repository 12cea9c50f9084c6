"""Writing files so that they are complete or absent, whatever happens meanwhile."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from patchwork_env.agents.checkpoints import PARTIAL, finish_replacing, write_through
from patchwork_env.errors import StorageError


@contextmanager
def storing_in(path: Path) -> Iterator[None]:
    """Within the block, an OSError becomes a :class:`StorageError` that names ``path``, a file or folder."""
    try:
        yield
    except StorageError:
        raise
    except OSError as error:
        raise StorageError(f"cannot write to {path}: {error.strerror or error}") from error


class GrowingFile:
    """A file to append to, without a buffer, which is closed with this object at the latest.

    What :meth:`write` gets is in the file when it returns: a killed process loses nothing, and errors are
    raised by the call that they belong to.

    Args:
        path: The path of the file, which may exist.
    """

    def __init__(self, path: Path) -> None:
        self._file = path.open("ab", buffering=0)
        weakref.finalize(self, self._file.close)
        write_through(path.parent)

    def write(self, contents: bytes) -> None:
        """Appends some bytes."""
        rest = memoryview(contents)
        while rest:
            rest = rest[self._file.write(rest) :]

    def sync(self) -> None:
        """Waits until everything that was written is on the disk."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Closes the file; nothing can be written afterwards."""
        self._file.close()


def remove_partial(folder: Path) -> None:
    """Deletes the files and folders that killed processes left half written, in a folder and below it."""
    for path in list(folder.rglob(f".*{PARTIAL}")):
        if path.is_dir():
            finish_replacing(path)
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def check_file_path(path: Path, option: str) -> None:
    """Checks the path of a file that is to be written later, before any work is done.

    Args:
        path: The path of the file.
        option: The option of the command that gave the path, for the message.

    Raises:
        FileNotFoundError: The folder of the file does not exist.
        IsADirectoryError: The path is that of a folder.
    """
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {path.parent} for {path.name}")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; {option} takes the path of a file")


def write_text(path: Path, text: str) -> None:
    """Replaces a file by a text in UTF-8; see :func:`write_bytes`."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, contents: bytes) -> None:
    """Replaces a file by a complete new one, which is on the disk then, or leaves it as it was.

    Raises:
        StorageError: The file cannot be written.
    """
    with storing_in(path):
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
        write_through(path.parent)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
