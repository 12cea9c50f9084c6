"""Writing files and folders so that they are complete or absent, whatever happens meanwhile."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

from patchwork_env.errors import StorageError

PARTIAL = ".partial"
"""The ending of names of files and folders that are not complete yet; such names begin with a dot."""
_REPLACED = "replaced"  # the name within a temporary folder of the folder that is being replaced
_LONGEST_PATH = 500  # letters of a path in a message
_CANNOT_SYNC = {errno.EACCES, errno.EBADF, errno.EINVAL, errno.ENOTSUP}


@contextlib.contextmanager
def storing_in(path: Path) -> Iterator[None]:
    """Within the block, an OSError becomes a :class:`StorageError` that names ``path``, a file or folder."""
    try:
        yield
    except StorageError:
        raise
    except OSError as error:
        name = str(path) if len(str(path)) <= _LONGEST_PATH else f"{str(path)[:_LONGEST_PATH]}…"
        raise StorageError(f"cannot write to {name}: {error.strerror or error}") from error


class GrowingFile:
    """A file, which may exist, to append to without a buffer: a killed process loses nothing.

    It is closed with this object at the latest.
    """

    def __init__(self, path: Path) -> None:
        self._file = path.open("ab", buffering=0)
        weakref.finalize(self, self._file.close)
        write_through(path.parent)

    def write(self, contents: bytes) -> None:
        """Appends some bytes, all of which are in the file when this returns."""
        rest = memoryview(contents)
        while rest:
            rest = rest[self._file.write(rest) :]

    def sync(self) -> None:
        """Waits until everything is on the disk."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Closes the file."""
        self._file.close()


def remove_partial(folder: Path) -> None:
    """Deletes the files and folders that killed processes left half written, in a folder and below it."""
    for path in list(folder.rglob(f".*{PARTIAL}")):
        if path.is_dir():
            _finish_replacing(path)
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def check_file_path(path: Path, option: str) -> None:
    """Raises OSError if a file cannot be written later to the path that an option of a command gives."""
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {path.parent} for {path.name}")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; {option} takes the path of a file")


def check_writable(path: Path) -> None:
    """Raise StorageError unless a file or a folder can be created or replaced at a path."""
    places = path.absolute().parents if path.is_file() else (path, *path.absolute().parents)
    with storing_in(path), tempfile.TemporaryFile(dir=next(place for place in places if place.exists())):
        pass


def check_new(path: Path, option: str, way_on: str) -> None:
    """Raises FileExistsError if something new is to be where there is a file, or a folder that is not empty.

    ``option`` is what gave the path, and ``way_on`` says what can be done beside giving another one.
    """
    if path.is_file() or (path.is_dir() and any(path.iterdir())):
        raise FileExistsError(f"{path} exists already: give another {option}, or {way_on}")


def write_text(path: Path, text: str) -> None:
    """Replaces a file by a text in UTF-8; see :func:`write_bytes`."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, contents: bytes) -> None:
    """Replaces a file by a complete new one, which is on the disk then, or raises StorageError."""
    temporary = path.with_name(f".{path.name}-{os.urandom(4).hex()}{PARTIAL}")
    with storing_in(path):
        try:
            with temporary.open("xb") as file:
                file.write(contents)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        write_through(path.parent)


def write_folder(folder: Path, write: Callable[[Path], object], *, replace: bool = False) -> None:
    """Has ``write`` fill a temporary folder and renames it: if ``folder`` exists, it is complete.

    Parents are created. Unless a folder that exists is to be replaced, it is a FileExistsError.
    """
    if folder.exists() and not replace:
        raise FileExistsError(f"{folder} exists already")
    make_folder(folder.parent)
    with tempfile.TemporaryDirectory(PARTIAL, f".{folder.name}-", folder.parent) as temporary:
        filled, old = Path(temporary, folder.name), Path(temporary, _REPLACED)
        filled.mkdir()
        write(filled)
        for path in (*filled.iterdir(), filled):
            write_through(path)
        if folder.exists():
            for path in (filled.parent, folder.parent):
                write_through(path)  # so that one of both is there whenever the power fails
            folder.rename(old)
        try:
            filled.rename(folder)
        except BaseException:
            if old.exists():
                old.rename(folder)
            raise
        write_through(folder.parent)


def _finish_replacing(temporary: Path) -> None:
    """Renames the new folder if :func:`write_folder` was stopped after it had taken the old one away."""
    if (temporary / _REPLACED).exists():
        for filled in temporary.iterdir():
            folder = temporary.parent / filled.name
            if filled.name != _REPLACED and not folder.exists():
                filled.rename(folder)
                write_through(folder.parent)


def make_folder(folder: Path) -> None:
    """Creates a folder and its parents, where they do not exist, so that their names are on the disk."""
    if not folder.is_dir():
        make_folder(folder.parent)
        with contextlib.suppress(FileExistsError):  # if it is a file, whoever writes below it gets the error
            folder.mkdir()
        write_through(folder.parent)


def write_through(path: Path) -> None:
    """Waits until a file, or the names in a folder, are on the disk, so that nothing later is there first.

    Folders that cannot be opened or synced, as on Windows and some network drives, are left to the system.
    """
    try:
        try:
            handle = os.open(path, os.O_RDWR)  # Windows syncs no file that was opened to be read alone
        except (IsADirectoryError, PermissionError):  # a folder, or a file that is there to be read alone
            handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        if error.errno not in _CANNOT_SYNC or not path.is_dir():
            raise
