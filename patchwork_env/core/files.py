"""Atomic writes: files and folders that are complete or absent."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

from patchwork_env.errors import StorageError

PARTIAL = ".partial"
"""The suffix of files and folders that are not complete yet; their names begin with a dot."""


@contextlib.contextmanager
def storing_in(path: Path) -> Iterator[None]:
    """Within the block, raise an OSError as a :class:`StorageError` that names ``path``."""
    try:
        yield
    except StorageError:
        raise
    except OSError as error:
        raise StorageError(f"cannot write to {path}: {error.strerror or error}") from error


class GrowingFile:
    """An unbuffered file to append to; written bytes survive a killed process.

    Deleting this object closes the file.
    """

    def __init__(self, path: Path) -> None:
        self._file = path.open("ab", buffering=0)
        weakref.finalize(self, self._file.close)

    def write(self, contents: bytes) -> None:
        """Append all bytes."""
        rest = memoryview(contents)
        while rest:
            rest = rest[self._file.write(rest) :]

    def sync(self) -> None:
        """Wait until everything is on the disk."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def remove_partial(folder: Path) -> None:
    """Delete the incomplete files and folders that killed processes left below a folder."""
    for path in list(folder.rglob(f".*{PARTIAL}")):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def check_file_path(path: Path, option: str) -> None:
    """Raise OSError unless a file can be written at the path that an option of a command gives."""
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {path.parent} for {path.name}")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; {option} takes the path of a file")


def check_writable(path: Path) -> None:
    """Raise StorageError unless a file or a folder can be created or replaced at a path."""
    places = path.absolute().parents if path.is_file() else (path, *path.absolute().parents)
    with storing_in(path), tempfile.TemporaryFile(dir=next(place for place in places if place.exists())):
        pass


def check_new(path: Path, option: str, alternative: str) -> None:
    """Raise FileExistsError if a path is a file or a folder that is not empty.

    The message names the ``option`` that gave the path, and an ``alternative`` to giving another one.
    """
    if path.is_file() or (path.is_dir() and any(path.iterdir())):
        raise FileExistsError(f"{path} exists already: give another {option}, or {alternative}")


def write_text(path: Path, text: str) -> None:
    """Write or replace a file of text in UTF-8; see :func:`write_bytes`."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, contents: bytes) -> None:
    """Write or replace a file atomically; raise StorageError if that fails."""
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


def write_folder(folder: Path, write: Callable[[Path], object], *, replace: bool = False) -> None:
    """Have ``write`` fill a temporary folder, then rename it to ``folder``.

    Parents are created. FileExistsError if the folder exists, unless ``replace`` is true.
    """
    if folder.exists() and not replace:
        raise FileExistsError(f"{folder} exists already")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(PARTIAL, f".{folder.name}-", folder.parent) as temporary:
        filled = Path(temporary, "filled")
        filled.mkdir()
        write(filled)
        for path in filter(Path.is_file, filled.rglob("*")):
            with path.open("r+b") as file:
                os.fsync(file.fileno())
        if folder.exists():
            folder.rename(Path(temporary, "replaced"))
        filled.rename(folder)
