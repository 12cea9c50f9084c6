"""Files and folders that are complete or absent, and on the disk when the function returns."""

import errno
import gc
import os
import re
import stat
import warnings
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from patchwork_env.core.files import GrowingFile, make_folder, remove_partial, write_folder, write_text
from patchwork_env.errors import StorageError
from tests.attack.disk_model import lose_power, recorded


def write_texts(path, promise):
    make_folder(path.parent)
    for text in ("old", "new"):
        write_text(path, text)
        promise()


def write_folders(path, promise):
    for text in ("old", "new"):
        write_folder(
            path.parent, lambda folder, text=text: (folder / path.name).write_text(text), replace=True
        )
        promise()


def grow(path, promise):
    make_folder(path.parent)
    file = GrowingFile(path)
    for text in ("o", "l", "d"):
        file.write(text.encode())
    file.sync()
    promise()
    file.close()


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="the record of a disk needs Linux")
@pytest.mark.parametrize("write", [write_texts, write_folders, grow])
def test_what_was_written_survives_a_loss_of_power(write, tmp_path):
    name = Path("deep", "folder", "file")
    with recorded(tmp_path) as recording:
        write(tmp_path / name, lambda: recording.promise(name, (tmp_path / name).read_bytes()))
    for moment, seed in product(range(len(recording.operations) + 1), range(4)):
        left = tmp_path / f"left-{moment}-{seed}"
        lose_power(recording, moment, left, np.random.default_rng(seed))
        remove_partial(left)
        recording.check(left, moment)
        assert not list(left.rglob("*.partial"))


def test_a_folder_that_cannot_be_synced_is_left_to_the_system(tmp_path, monkeypatch):
    sync = os.fsync

    def refuse(handle):
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        sync(handle)

    monkeypatch.setattr(os, "fsync", refuse)
    write_text(tmp_path / "file", "text")
    assert (tmp_path / "file").read_text() == "text"


@pytest.mark.skipif(os.name == "nt", reason="Windows syncs only files that may be written")
def test_files_that_may_only_be_read_are_stored(tmp_path, monkeypatch):
    """Modes count here as they do for whoever is not root."""
    really_open = os.open

    def open_by_mode(path, flags, *more, **options):
        if flags & os.O_RDWR and not os.stat(path).st_mode & stat.S_IWUSR:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return really_open(path, flags, *more, **options)

    def write(folder):
        (folder / "file").write_text("text")
        (folder / "file").chmod(0o444)

    monkeypatch.setattr(os, "open", open_by_mode)
    write_folder(tmp_path / "folder", write)
    assert (tmp_path / "folder" / "file").read_text() == "text"


def test_a_growing_file_is_closed_with_its_object(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        GrowingFile(tmp_path / "file")
        gc.collect()
    GrowingFile(tmp_path / "file").write(b"1")
    assert (tmp_path / "file").read_bytes() == b"1"


def test_a_file_is_complete_or_as_it_was(tmp_path, monkeypatch):
    path = tmp_path / "figures.json"
    write_text(path, "old")
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask

    def full_disk(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(StorageError, match=re.escape(f"cannot write to {path}: No space left")):
        write_text(path, "new")
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("figures.json", "old")]


def contents(folder):
    """Everything below a folder."""
    return {str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None for p in folder.rglob("*")}


def test_a_message_about_a_path_without_end_is_short(tmp_path):
    with pytest.raises(StorageError, match=r"cannot write to .*…: ") as caught:
        write_text(tmp_path / ("a" * 5000), "")
    assert len(str(caught.value)) < 600


def test_folder_appears_only_when_it_is_complete(tmp_path):
    target, seen = tmp_path / "target", []

    def write(folder):
        (folder / "file").write_text("half")
        seen.append(target.exists())
        (folder / "file").write_text("whole")

    write_folder(target, write)
    assert seen == [False]
    assert contents(tmp_path) == {"target": None, os.path.join("target", "file"): b"whole"}


def write_new(folder):
    (folder / "file").write_text("new")


@pytest.fixture
def old(tmp_path):
    """A folder with a file."""
    folder = tmp_path / "target"
    write_folder(folder, lambda target: (target / "file").write_text("old"))
    return folder


def test_folders_are_replaced_only_on_demand_and_when_the_new_one_is_complete(tmp_path, old, monkeypatch):
    def write_half(folder):
        write_new(folder)
        assert (old / "file").read_text() == "old"
        raise OSError("disk full")

    rename = Path.rename

    def refuse_the_new_one(path, target):
        if target == old and path.parent.name.endswith(".partial") and path.name == "target":
            raise OSError("no renaming")
        return rename(path, target)

    with pytest.raises(FileExistsError, match="target exists already"):
        write_folder(old, write_new)
    with pytest.raises(OSError, match="disk full"):
        write_folder(old, write_half, replace=True)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", refuse_the_new_one)
        with pytest.raises(OSError, match="no renaming"):
            write_folder(old, write_new, replace=True)
    assert contents(tmp_path) == {"target": None, os.path.join("target", "file"): b"old"}
    write_folder(old, write_new, replace=True)
    assert contents(tmp_path) == {"target": None, os.path.join("target", "file"): b"new"}
