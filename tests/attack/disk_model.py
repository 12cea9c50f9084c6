"""A disk that loses power: what real code writes is recorded, and cut off at any moment.

The model is POSIX at its worst, with the one promise of journals that a rename happens as a whole:

- Contents of a file are on the disk once the file was synced. Without that, what was written may be missing,
  cut off anywhere or full of zeros, whatever became of the name.
- A name (of something created, renamed or deleted) is on the disk once its folder was synced. Without that,
  every change of a name may be there or not, for itself and in any order.
"""

from __future__ import annotations

import contextlib
import itertools
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

ROOT = 0
"""The number of the folder that is recorded; everything in it has a number of its own."""


@dataclass(frozen=True)
class Names:
    """Names that change at once: the number of the folder, the name, and what it stands for from now on."""

    changes: tuple[tuple[int, str, int | None], ...]


@dataclass(frozen=True)
class Contents:
    """New contents of a file."""

    file: int
    contents: bytes


@dataclass(frozen=True)
class Sync:
    """A file or folder is on the disk."""

    node: int


@dataclass
class Recording:
    """What was done to a folder, one operation after the other.

    Attributes:
        operations: The operations.
        folders: The numbers of all folders.
        promises: The contents that a path must have once so many operations were done, by the path.
    """

    operations: list[Names | Contents | Sync] = field(default_factory=list)
    folders: set[int] = field(default_factory=lambda: {ROOT})
    promises: dict[Path, list[tuple[int, Any]]] = field(default_factory=dict)

    def promise(self, path, contents):
        """Notes that a path has its contents for good from here on."""
        self.promises.setdefault(path, []).append((len(self.operations), contents))

    def check(self, root, moment):
        """Checks that all promises hold in a folder after so many operations.

        Raises:
            AssertionError: A file is lost, or is neither what was promised nor what came later.
        """
        for path in self.promises:
            allowed = self.allowed(path, moment)
            assert not allowed or (root / path).is_file(), f"{path} is lost"
            assert not allowed or (root / path).read_bytes() in allowed, f"{path} is damaged"

    def allowed(self, path, moment):
        """What a path may hold after so many operations; empty before the first promise."""
        kept = [contents for since, contents in self.promises[path] if since <= moment]
        later = [contents for since, contents in self.promises[path] if since > moment]
        return [kept[-1], *later] if kept else []


@contextlib.contextmanager
def recorded(root):
    """Within the block, what this process does to a folder is recorded.

    Deleting, renaming, new folders and syncing are noticed as they happen; new and changed files before the
    next of them, which loses nothing, because no power loss tells them apart.
    """
    recorder = _Recorder(root)
    with contextlib.ExitStack() as stack:
        for name in ("mkdir", "rmdir", "unlink", "remove", "rename", "replace", "fsync"):
            wrapped = recorder.wrap(getattr(os, name), getattr(recorder, name))
            stack.enter_context(mock.patch.object(os, name, wrapped))
        yield recorder.recording
        recorder.scan()


class _Recorder:
    """Keeps the names and contents of the folder, and notes every change."""

    def __init__(self, root):
        self.recording = Recording()
        self._root = root.resolve()
        self._nodes: dict[Path, int] = {self._root: ROOT}
        self._seen: dict[int, tuple[int, ...]] = {}
        self._numbers = itertools.count(1)

    def wrap(self, function, note):
        """A function of ``os`` that notes what it did, if that was within the folder."""

        def wrapped(*given, **named):
            self.scan()
            number = 2 if note in (self.rename, self.replace) else 1
            paths = [self._path(path, named) for path in given[:number]]
            result = function(*given, **named)
            if all(path.is_relative_to(self._root) for path in paths):
                note(*paths)
            return result

        return wrapped

    def _path(self, given, named):
        if isinstance(given, int):
            return Path(os.readlink(f"/proc/self/fd/{given}"))
        folder = named.get("dir_fd")
        path = Path(os.fspath(given))
        return (Path(os.readlink(f"/proc/self/fd/{folder}")) / path if folder else path).absolute()

    def scan(self):
        """Notes files that are new or have other contents than before."""
        for place, _, files in os.walk(self._root):
            for name in files:
                path = Path(place, name)
                if path not in self._nodes:
                    self._name(path, next(self._numbers))
                node, status = self._nodes[path], path.stat()
                sign = status.st_size, status.st_mtime_ns, status.st_ino
                if self._seen.get(node) != sign:
                    self._seen[node] = sign
                    self.recording.operations.append(Contents(node, path.read_bytes()))

    def mkdir(self, path):
        node = next(self._numbers)
        self.recording.folders.add(node)
        self._name(path, node)

    def unlink(self, path):
        self.recording.operations.append(Names(((self._nodes[path.parent], path.name, None),)))
        del self._nodes[path]

    rmdir = remove = unlink

    def rename(self, old, new):
        node, folders = self._nodes[old], (self._nodes[old.parent], self._nodes[new.parent])
        self.recording.operations.append(Names(((folders[0], old.name, None), (folders[1], new.name, node))))
        below = [path for path in self._nodes if path == old or old in path.parents]
        moved = {new / path.relative_to(old): self._nodes.pop(path) for path in below}
        self._nodes |= moved

    replace = rename

    def fsync(self, path):
        self.recording.operations.append(Sync(self._nodes[path]))

    def _name(self, path, node):
        self._nodes[path] = node
        self.recording.operations.append(Names(((self._nodes[path.parent], path.name, node),)))


def lose_power(recording, moment, folder, random):
    """Writes what may be left on the disk after so many operations into an empty folder."""
    disk = _Disk(recording.folders)
    for number, operation in enumerate(recording.operations[:moment]):
        disk.do(number, operation)
    disk.lose_power(random)
    disk.write(ROOT, folder, random)


class _Disk:
    """What is on the disk, and what is not there yet.

    Attributes:
        contents: The versions of every file: the first is on the disk, the others may be.
        waiting: The changes of names that may be on the disk, by the number of the operation.
    """

    def __init__(self, folders):
        self.contents: dict[int, list[bytes]] = {}
        self.waiting: dict[int, Names] = {}
        self._folders = folders
        self._entries: dict[int, dict[str, tuple[int, int | None]]] = {}

    def do(self, number, operation):
        if isinstance(operation, Names):
            self.waiting[number] = operation
        elif isinstance(operation, Contents):
            self.contents.setdefault(operation.file, [b""]).append(operation.contents)
        elif operation.node in self._folders:
            for earlier, names in list(self.waiting.items()):
                if any(folder == operation.node for folder, _, _ in names.changes):
                    self._settle(earlier)
        else:
            self.contents[operation.node] = self.contents.get(operation.node, [b""])[-1:]

    def lose_power(self, random):
        """Lets none, some or all of the changes reach the disk that are on their way."""
        share = random.choice([0.0, 0.5, 1.0])
        for number in list(self.waiting):
            if random.random() < share:
                self._settle(number)

    def _settle(self, number):
        for folder, name, node in self.waiting.pop(number).changes:
            entries = self._entries.setdefault(folder, {})
            if entries.get(name, (-1, None))[0] < number:
                entries[name] = number, node

    def write(self, node, path, random):
        """Writes a file, or a folder with all below it."""
        if node not in self._folders:
            path.write_bytes(_left_of(self.contents.get(node, [b""]), random))
            return
        path.mkdir(exist_ok=True)
        for name, (_, entry) in sorted(self._entries.get(node, {}).items()):
            if entry is not None:
                self.write(entry, path / name, random)


def _left_of(versions, random):
    """What is left of a file, of which the first version is on the disk and later ones may be."""
    synced, written = versions[0], versions[-1]
    if len(versions) == 1:
        return synced
    cut = int(random.integers(len(synced) if written.startswith(synced) else 0, len(written) + 1))
    left = (synced, written, written[:cut], written[:cut] + bytes(len(written) - cut))
    return left[random.integers(len(left))]
